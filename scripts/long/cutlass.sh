#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles the examples 70 to 92 of CUTLASS, but for 82 (several GPUs) and 88 (Hopper), for sm_100a,
# sm_103a and sm_120a, as they are, and runs them on the emulator with their own verification, in two
# sizes at least and under both schedules. Of three sizes the second is no multiple of a tile, and the
# third has several tiles. The versions are those of emulator/test/CudaRuntime/requirements.txt. A
# run passes where the program says so of each product; findings of the emulator are counted beside
# it. A program whose multiplications are replaced by additions must fail, so that the verification is
# known to bite.
#
#   scripts/long/cutlass.sh           all of them
#   scripts/long/cutlass.sh NAME...   those whose names or folders begin so: 72a, 73

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

requirements=$root/emulator/test/CudaRuntime/requirements.txt
work=$root/.cache/cutlass
emulate=$root/build/bin/blockscale-emulate
[ -x "$emulate" ] || die "no $emulate" "run scripts/build.sh"

mkdir -p "$work"
if ! cmp -s "$requirements" "$work/venv/requirements.txt"; then
  rm -rf "$work/programs"
  step "nvcc and CUTLASS" logged "$work/venv.log" /usr/bin/python3 -m venv --clear "$work/venv"
  logged "$work/pip.log" "$work/venv/bin/python" -m pip install --disable-pip-version-check \
    --no-input --no-deps --only-binary :all: -r "$requirements"
  cp "$requirements" "$work/venv/requirements.txt"
fi
packages=$(echo "$work"/venv/lib/python3*/site-packages)
toolkit=$packages/nvidia/cu13
source=$packages/cutlass_library/source
mkdir -p "$work/programs"
ln -sf libcudart.so.13 "$toolkit/lib/libcudart.so"
# What programs are linked with where they call the driver: PyPI has no stub of its library.
printf 'void cuMemsetD32Async(void) {}\nvoid cuGetErrorString(void) {}\n' |
  "${CC:-cc}" -x c -shared -Wl,-soname,libcuda.so.1 -o "$toolkit/lib/libcuda.so" -

# chip_of PATH: what an example is for.
chip_of() {
  case $1 in
  79* | 80* | 87*) echo 120a ;;
  89* | 90*) echo 103a ;;
  *) echo 100a ;;
  esac
}

# What 86 is compiled with: it wants nvcc 12.8, and asks for a minor version of 8 in nvcc 13.0, too.
# libcu++ compares that version with its own, before it is changed.
printf '%s\n' "#include <cuda/std/version>" "#undef __CUDACC_VER_MINOR__" \
  "#define __CUDACC_VER_MINOR__ 8" >"$work/nvcc-minor.h"

# compile PATH: an example, if it was not compiled before. An assertion of CUTLASS stops those for
# sm_103a, whose epilogue has no loads, on any device. Those of 77 have the options of their
# CMakeLists.txt.
compile() {
  local name chip options=()
  chip=$(chip_of "$1")
  name=$(basename "$1")
  case $1 in
  77*) options=(--use_fast_math -DFP16 -I.) ;;
  86*) options=(-include "$work/nvcc-minor.h") ;;
  89* | 90*) options=(-DNDEBUG) ;;
  esac
  [ -x "$work/programs/$name" ] && return
  (cd "$source/examples/$(dirname "$1")" &&
    step "$name" logged "$work/$name.log" "$toolkit/bin/nvcc" -std=c++17 -O2 -no-compress \
      -cudart shared --expt-relaxed-constexpr "${options[@]}" -I"$source/include" \
      -I"$source/tools/util/include" -I"$source/examples/common" \
      -gencode "arch=compute_$chip,code=compute_$chip" "$name.cu" -L"$toolkit/lib" -lcuda \
      -o "$work/programs/$name")
}

# is_chosen PATH: whether the command line names this example, or none.
is_chosen() {
  local name
  name=$(basename "$1")
  [ ${#chosen[@]} -eq 0 ] && return
  for prefix in "${chosen[@]}"; do
    if [[ $name == "$prefix"* || $1 == "$prefix"* ]]; then return; fi
  done
  return 1
}

chosen=("$@") passed=0 failed=0
# run PROGRAM EXPECTED SIZES SCHEDULE: one line of the table.
run() {
  local program=$1 expected=$2 sizes=$3 schedule=$4 start=$EPOCHREALTIME chip
  chip=$(chip_of "$(basename "$program")")
  local output result findings instructions
  # Sizes and options are words.
  # shellcheck disable=SC2086
  output=$("$emulate" $schedule --chip="sm_$chip" --profile --program "$program" $sizes --iterations=0 2>"$work/findings.txt") || true
  result=$(sed -nE 's/.*(Passed|PASSED|\[OK\]|test pass).*/Passed/p; s/.*(Failed|FAILED|\[FAIL\]|test fail|mismatch).*/Failed/p' <<<"$output" | sort -u | paste -sd,)
  findings=$(grep -c '^kernel ' "$work/findings.txt" || true)
  instructions=$(awk '/^launch of / {sum += $4} END {print sum + 0}' "$work/findings.txt")
  printf '%-38s %-33s %-31s %-7s %9s instructions %4s findings %s\n' "$(basename "$program")" \
    "${sizes/$work\//}" "${schedule:---schedule=prompt}" "${result:-none}" "$instructions" \
    "$findings" "$(seconds_since "$start")"
  if [ "$result" = "$expected" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# seed_of PATH: of the adversarial schedule. In the examples for sm_120a thread 0 of the
# producing warp says how many bytes an elected thread loads, so that they hold only where
# elect.sync elects thread 0, as GPUs do and PTX does not promise: this seed elects it.
seed_of() {
  case $(chip_of "$(basename "$1")") in
  120a) echo 61 ;;
  *) echo 1 ;;
  esac
}

# check EXAMPLE SIZES...: in each of the sizes, words of the program's command line.
check() {
  local example=$1 sizes schedule
  shift
  is_chosen "$example" || return 0
  compile "$example"
  for sizes in "$@"; do
    for schedule in "" "--schedule=adversarial --seed=$(seed_of "$example")"; do
      run "$work/programs/$(basename "$example")" Passed "$sizes" "$schedule"
    done
  done
}

# Groups of other sizes, each M x N x K; of mixtures of experts all have the greatest M and K.
printf '%s\n' "0 256x512x128" "1 128x256x384" "2 384x272x256" >"$work/groups.txt"
printf '%s\n' "0 256x128x256" "1 256x64x256" >"$work/experts2.txt"
printf '%s\n' "0 256x128x512" "1 256x192x512" "2 256x64x512" >"$work/experts3.txt"

check 70_blackwell_gemm/70_blackwell_fp16_gemm \
  "--m=256 --n=256 --k=256" "--m=264 --n=392 --k=200" "--m=512 --n=512 --k=384"
check 70_blackwell_gemm/70_blackwell_fp8_gemm \
  "--m=256 --n=256 --k=256" "--m=272 --n=400 --k=208" "--m=512 --n=512 --k=384"
check 71_blackwell_gemm_with_collective_builder/71_blackwell_gemm_with_collective_builder \
  "--m=256 --n=256 --k=128" "--m=264 --n=392 --k=200"
narrow=72_blackwell_narrow_precision_gemm
for example in $narrow/72{a_blackwell_nvfp4_bf16,b_blackwell_nvfp4_nvfp4}_gemm \
  $narrow/72c_blackwell_mixed_mxfp8_bf16_gemm; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024" "--m=512 --n=1024 --k=512"
done
for example in 73_blackwell_gemm_preferred_cluster/blackwell_gemm_preferred_cluster \
  74_blackwell_gemm_streamk/blackwell_gemm_streamk; do
  check "$example" "--m=512 --n=512 --k=256" "--m=264 --n=392 --k=1032" "--m=1024 --n=512 --k=128"
done
for example in 75_blackwell_grouped_gemm/75_blackwell_grouped_gemm{,_block_scaled}; do
  check "$example" "--m=256 --n=256 --k=256 --groups=2" "--benchmark=$work/groups.txt" \
    "--m=512 --n=768 --k=256 --groups=3"
done
# Filters of 1 x 3 x 3, and of 2 x 3 x 3 with a stride or a dilation.
filter="--c=64 --k=64 --r=3 --s=3 --pad_h=1 --pad_w=1"
for example in 76_blackwell_conv/76_blackwell_conv_{fprop,dgrad,wgrad}; do
  check "$example" "--n=1 --d=1 --h=4 --w=4 --t=1 $filter" "--n=2 --d=3 --h=5 --w=6 --t=2 $filter"
done
attention=77_blackwell_fmha
check $attention/77_blackwell_fmha "--b=1 --h=1 --q=256 --k=256 --d=64 --verify" \
  "--b=1 --h=2 --h_k=1 --q=300 --k=384 --d=128 --verify --mask=causal,residual"
check $attention/77_blackwell_fmha_gen "--b=1 --h=1 --k=128 --d=128 --verify" \
  "--b=2 --h=2 --h_k=1 --k=256 --d=128 --verify --remap"
check $attention/77_blackwell_mla "--b=1 --k=128 --page=128 --verify" \
  "--b=2 --k=256 --split_kv=2 --page=128 --verify"
check $attention/77_blackwell_mla_fwd "--b=1 --h=1 --q=128 --k=128 --verify" \
  "--b=1 --h=2 --q=256 --k=256 --verify --mask=causal,residual"
check $attention/77_blackwell_fmha_bwd "--b=1 --h=1 --q=128 --k=128 --d=64 --verify" \
  "--b=1 --h=2 --q=256 --k=256 --d=128 --verify --mask=causal"
check 78_blackwell_emulated_bf16x9_gemm/78_blackwell_emulated_bf16x9_gemm \
  "--m=256 --n=256 --k=64" "--m=384 --n=512 --k=128"
narrow=79_blackwell_geforce_gemm
for example in $narrow/79{a_blackwell_geforce_nvfp4_bf16,b_blackwell_geforce_nvfp4_nvfp4}_gemm \
  $narrow/79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024" "--m=512 --n=1024 --k=512"
done
check $narrow/79d_blackwell_geforce_nvfp4_grouped_gemm "--m=256 --n=256 --k=256 --groups=2" \
  "--benchmark=$work/groups.txt" "--m=512 --n=768 --k=256 --groups=3"
sparse=80_blackwell_geforce_sparse_gemm
for example in $sparse/80{a_blackwell_geforce_mxfp8_bf16,b_blackwell_geforce_nvfp4_nvfp4}_sparse_gemm; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024"
done
for example in 81_blackwell_gemm_blockwise/81_blackwell_gemm_{block,group}wise \
  87_blackwell_geforce_gemm_blockwise/87{a_blackwell_geforce_fp8_bf16_gemm_block,b_blackwell_geforce_fp8_bf16_gemm_group}wise; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=512"
done
for example in 81_blackwell_gemm_blockwise/81_blackwell_grouped_gemm_{block,group}wise \
  87_blackwell_geforce_gemm_blockwise/87c_blackwell_geforce_fp8_bf16_grouped_gemm_groupwise; do
  check "$example" "--m=256 --n=256 --k=256 --groups=2" "--m=384 --n=512 --k=384 --groups=3"
done
check 83_blackwell_sparse_gemm/83_blackwell_sparse_gemm \
  "--m=256 --n=256 --k=256" "--m=384 --n=512 --k=512"
sparse=84_blackwell_narrow_precision_sparse_gemm
for example in $sparse/84{a_blackwell_nvfp4_bf16,b_blackwell_mixed_mxfp8_bf16}_sparse_gemm; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024"
done
check 86_blackwell_mixed_dtype_gemm/86_blackwell_mixed_dtype \
  "--m=256 --n=128 --k=128" "--m=384 --n=256 --k=256"
check 89_sm103_fp4_ultra_gemm/89_sm103_fp4_ultra_gemm \
  "--m=256 --n=512 --k=768" "--m=384 --n=640 --k=1024" "--m=512 --n=512 --k=2304"
check 90_sm103_fp4_ultra_grouped_gemm/90_sm103_fp4_ultra_grouped_gemm \
  "--m=256 --n=256 --k=768 --groups=2" "--m=384 --n=512 --k=1536 --groups=3"
# It reads several stages of K ahead, whether they are there or not.
check 91_fp4_gemv/91_fp4_gemv "--m=64 --k=4096" "--m=128 --k=8192"
experts=92_blackwell_moe_gemm/92_blackwell_moe_gemm
for example in ${experts}_regular ${experts}_fp4_regular; do
  check "$example" "--m=256 --n=256 --k=256 --l=2" "--m=384 --n=64 --k=512 --l=3"
done
for example in ${experts}_grouped ${experts}_fp4_grouped; do
  check "$example" "--m=256 --n=128 --k=256 --l=2 --benchmark=$work/experts2.txt" \
    "--m=256 --n=192 --k=512 --l=3 --benchmark=$work/experts3.txt"
done

for name in 72a_blackwell_nvfp4_bf16_gemm 79a_blackwell_geforce_nvfp4_bf16_gemm; do
  is_chosen "$name" || continue
  sabotaged=$work/programs/${name%%_*}_sabotaged
  sed 's/mul\.f32/add.f32/g' "$work/programs/$name" >"$sabotaged"
  chmod +x "$sabotaged"
  run "$sabotaged" Failed "--m=256 --n=256 --k=256" ""
done

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

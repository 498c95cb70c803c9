#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles examples of CUTLASS for sm_100a, sm_103a and sm_120a, as they are, and runs them on the
# emulator with their own verification, in three sizes and under both schedules. The second size is no
# multiple of a tile, the third has several tiles. The versions are those of
# emulator/test/CudaRuntime/requirements.txt. A run passes where the program says so of each product;
# findings of the emulator are counted beside it. A program whose multiplications are replaced
# by additions must fail, so that the verification is known to bite.
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
  79*) echo 120a ;;
  89*) echo 103a ;;
  *) echo 100a ;;
  esac
}

# compile PATH: an example, if it was not compiled before. An assertion of CUTLASS stops the
# example for sm_103a, whose epilogue has no loads, on any device.
compile() {
  local name chip define=()
  chip=$(chip_of "$1")
  name=$(basename "$1")
  [ "$chip" != 103a ] || define=(-DNDEBUG)
  [ -x "$work/programs/$name" ] && return
  (cd "$source/examples/$(dirname "$1")" &&
    step "$name" logged "$work/$name.log" "$toolkit/bin/nvcc" -std=c++17 -O2 -no-compress \
      -cudart shared --expt-relaxed-constexpr "${define[@]}" -I"$source/include" \
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
  result=$(sed -n 's/^ *Disposition: //p' <<<"$output" | sort -u | paste -sd,)
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

# Groups of other sizes, each M x N x K.
printf '%s\n' "0 256x512x128" "1 128x256x384" "2 384x272x256" >"$work/groups.txt"

check 70_blackwell_gemm/70_blackwell_fp16_gemm \
  "--m=256 --n=256 --k=256" "--m=264 --n=392 --k=200" "--m=512 --n=512 --k=384"
check 70_blackwell_gemm/70_blackwell_fp8_gemm \
  "--m=256 --n=256 --k=256" "--m=272 --n=400 --k=208" "--m=512 --n=512 --k=384"
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
narrow=79_blackwell_geforce_gemm
for example in $narrow/79{a_blackwell_geforce_nvfp4_bf16,b_blackwell_geforce_nvfp4_nvfp4}_gemm \
  $narrow/79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm; do
  check "$example" "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024" "--m=512 --n=1024 --k=512"
done
check $narrow/79d_blackwell_geforce_nvfp4_grouped_gemm "--m=256 --n=256 --k=256 --groups=2" \
  "--benchmark=$work/groups.txt" "--m=512 --n=768 --k=256 --groups=3"
check 89_sm103_fp4_ultra_gemm/89_sm103_fp4_ultra_gemm \
  "--m=256 --n=512 --k=768" "--m=384 --n=640 --k=1024" "--m=512 --n=512 --k=2304"

for name in 72a_blackwell_nvfp4_bf16_gemm 79a_blackwell_geforce_nvfp4_bf16_gemm; do
  is_chosen "$name" || continue
  sabotaged=$work/programs/${name%%_*}_sabotaged
  sed 's/mul\.f32/add.f32/g' "$work/programs/$name" >"$sabotaged"
  chmod +x "$sabotaged"
  run "$sabotaged" Failed "--m=256 --n=256 --k=256" ""
done

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

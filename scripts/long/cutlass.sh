#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles examples of CUTLASS for sm_100a, as they are, and runs them on the emulator with
# their own verification, in three sizes and under both schedules. The versions are those of
# test/CudaRuntime/requirements.txt. A run passes where the program says so; findings of the
# emulator are counted beside it. A program whose multiplications are replaced by additions
# must fail, so that the verification is known to bite.
#
#   scripts/long/cutlass.sh           all of them
#   scripts/long/cutlass.sh NAME...   those whose names begin so: 72a

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

requirements=$root/test/CudaRuntime/requirements.txt
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

# compile PATH: an example, if it was not compiled before.
compile() {
  local name
  name=$(basename "$1")
  [ -x "$work/programs/$name" ] && return
  (cd "$source/examples/$(dirname "$1")" &&
    step "$name" logged "$work/$name.log" "$toolkit/bin/nvcc" -std=c++17 -O2 -no-compress \
      -cudart shared --expt-relaxed-constexpr -I"$source/include" \
      -I"$source/tools/util/include" -I"$source/examples/common" \
      -gencode arch=compute_100a,code=compute_100a "$name.cu" -L"$toolkit/lib" \
      -o "$work/programs/$name")
}

# is_chosen PATH: whether the command line names this example, or none.
is_chosen() {
  local name
  name=$(basename "$1")
  [ ${#chosen[@]} -eq 0 ] && return
  for prefix in "${chosen[@]}"; do
    if [[ $name == "$prefix"* ]]; then return; fi
  done
  return 1
}

chosen=("$@") passed=0 failed=0
# run PROGRAM EXPECTED SIZES SCHEDULE: one line of the table.
run() {
  local program=$1 expected=$2 sizes=$3 schedule=$4 start=$EPOCHREALTIME output result findings
  # Sizes and options are words.
  # shellcheck disable=SC2086
  output=$("$emulate" $schedule --program "$program" $sizes --iterations=0 2>"$work/findings.txt") || true
  result=$(sed -n 's/^ *Disposition: //p' <<<"$output")
  findings=$(grep -c '^kernel ' "$work/findings.txt" || true)
  printf '%-40s %-26s %-32s %-7s %4s findings %s\n' "$(basename "$program")" "$sizes" \
    "${schedule:---schedule=prompt}" "${result:-none}" "$findings" "$(seconds_since "$start")"
  if [ "$result" = "$expected" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

gemm=72_blackwell_narrow_precision_gemm
for example in $gemm/72a_blackwell_nvfp4_bf16_gemm $gemm/72b_blackwell_nvfp4_nvfp4_gemm \
  $gemm/72c_blackwell_mixed_mxfp8_bf16_gemm; do
  is_chosen "$example" || continue
  compile "$example"
  program=$work/programs/$(basename "$example")
  for sizes in "--m=256 --n=256 --k=256" "--m=384 --n=640 --k=1024" "--m=512 --n=1024 --k=512"; do
    for schedule in "" "--schedule=adversarial --seed=1"; do
      run "$program" Passed "$sizes" "$schedule"
    done
  done
done

if is_chosen 72a; then
  sed 's/mul\.f32/add.f32/g' "$work/programs/72a_blackwell_nvfp4_bf16_gemm" \
    >"$work/programs/72a_sabotaged"
  chmod +x "$work/programs/72a_sabotaged"
  run "$work/programs/72a_sabotaged" Failed "--m=256 --n=256 --k=256" ""
fi

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

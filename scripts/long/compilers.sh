#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles the kernels of emulator/test/Compilers anew, with the versions of Triton
# and nvcc that its requirements.txt names, and compares with the PTX of
# test/Data/compilers.
#
#   scripts/long/compilers.sh            compares
#   scripts/long/compilers.sh --update   replaces the PTX where it differs

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

kernels=$root/emulator/test/Compilers
data=$root/test/Data/compilers
work=$root/.cache/compilers
case "${1:-}" in
  "" | --update) ;;
  *) die "unknown option $1" "usage: scripts/long/compilers.sh [--update]" ;;
esac

mkdir -p "$work"
if ! cmp -s "$kernels/requirements.txt" "$work/venv/requirements.txt"; then
  step "Triton and nvcc" logged "$work/venv.log" /usr/bin/python3 -m venv --clear "$work/venv"
  logged "$work/pip.log" "$work/venv/bin/python" -m pip install --disable-pip-version-check \
    --no-input --only-binary :all: -r "$kernels/requirements.txt"
  cp "$kernels/requirements.txt" "$work/venv/requirements.txt"
fi

rm -rf "$work/ptx"
mkdir "$work/ptx"
# The cache would hide what this is to find out; line numbers are of no interest.
TRITON_CACHE_DIR=$(mktemp -d "$work/cache.XXXX") TRITON_DISABLE_LINE_INFO=1 \
  logged "$work/triton.log" "$work/venv/bin/python" "$kernels/triton_kernels.py" "$work/ptx"
rm -rf "$work"/cache.*
nvcc=$(echo "$work"/venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
for chip in sm_90a sm_100a; do
  # The text of a module names its source as the command line does.
  (cd "$kernels" && "$nvcc" -std=c++17 -O3 "-arch=$chip" -ptx cuda_kernels.cu -o "$work/ptx/nvcc_$chip.ptx")
done

passed=0 failed=0
for file in "$work"/ptx/*; do
  name=$(basename "$file")
  if [ "$name" = triton.json ]; then kept=$data/$name show=cat; else kept=$data/$name.gz show=zcat; fi
  if [ -e "$kept" ] && $show "$kept" | cmp -s - "$file"; then
    passed=$((passed + 1))
  elif [ "${1:-}" = --update ]; then
    if [ "$show" = cat ]; then cp "$file" "$kept"; else gzip -9 -n -c "$file" >"$kept"; fi
    printf 'replaced %s\n' "$name"
    passed=$((passed + 1))
  else
    printf 'differs: %s\n' "$name"
    failed=$((failed + 1))
  fi
done
for kept in "$data"/*.ptx.gz; do
  name=$(basename "$kept" .gz)
  if ! [ -e "$work/ptx/$name" ]; then
    printf 'no kernel gives %s\n' "$name"
    failed=$((failed + 1))
  fi
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints the first ptxas of CUDA 13 or later, in the order in which the tools
# search; prints nothing and exits 1 where there is none.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

candidates=()
if [ -n "${BLOCKSCALE_PTXAS:-}" ]; then candidates+=("$BLOCKSCALE_PTXAS"); fi
if on_path=$(command -v ptxas); then candidates+=("$on_path"); fi
for toolkit in "${CUDA_ROOT:-}" "${CUDA_HOME:-}" "${CUDA_PATH:-}"; do
  if [ -n "$toolkit" ]; then candidates+=("$toolkit/bin/ptxas"); fi
done
candidates+=("$root"/.venv/lib/python3*/site-packages/nvidia/cu*/bin/ptxas
             /usr/local/cuda/bin/ptxas)

for candidate in "${candidates[@]}"; do
  [ -x "$candidate" ] || continue
  version=$("$candidate" --version 2>/dev/null) || continue
  if [[ $version =~ release\ ([0-9]+)\. ]] && [ "${BASH_REMATCH[1]}" -ge 13 ]; then
    printf '%s\n' "$candidate"
    exit 0
  fi
done
exit 1

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Breaks kernels in every place that test/Emulator/Mutations knows, and asks whether
# the emulator notices; writes docs/logs/emulator-mutants.txt. The last line is
# `N passed, N failed`: mutants that are caught or make no faulty program, and those
# that nothing explains.
#
#   scripts/long/emulator-mutants.sh [OPTION...]   options of run.py, such as --filter

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

tools=${BLOCKSCALE_BUILD_DIR:-$root/build}/bin
python=$root/.venv/bin/python
if [ ! -x "$python" ]; then python=python3; fi
report=()
if [ $# -eq 0 ]; then report=(--report "$root/docs/logs/emulator-mutants.txt"); fi
exec "$python" "$root/test/Emulator/Mutations/run.py" --emulate "$tools/blockscale-emulate" \
  --compile "$tools/blockscale-compile" --run "$tools/blockscale-run" "${report[@]}" "$@"

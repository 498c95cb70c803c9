#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The import of JAX's functions against JAX, which is installed where it is missing
# (0.6 GB), and all-MiniLM-L6-v2 written in JAX, imported and run. The last line is
# `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" jax
"$root/scripts/build.sh" all
python=$root/.venv/bin/python
if [ ! -x "$python" ]; then python=python3; fi
suites=$("$python" "$root/scripts/run_suites.py" --only jax | tee /dev/stderr | tail -n 1) || true
package=$(dirname "$(echo "$root"/build/package/lib/python3*/site-packages/blockscale)")
model=$(PYTHONPATH=$package:$root/test/Jax "$root/.cache/jax/bin/python" \
  "$root/test/Jax/minilm.py" | tee /dev/stderr | tail -n 1) || true
# A program that ended without its counts is a failure.
printf '%s\n' "$suites" "$model" | awk '
  / passed, / { passed += $1; failed += $3; runs += 1 }
  END { failed += 2 - runs; printf "%d passed, %d failed\n", passed, failed; exit failed != 0 }'

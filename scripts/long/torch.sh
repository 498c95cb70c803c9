#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The import of PyTorch's programs against PyTorch and torchao, and adapters of peft, which are
# installed where they are missing (5.1 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" lora
"$root/scripts/build.sh" all
python=$root/.venv/bin/python
if [ ! -x "$python" ]; then python=python3; fi
exec "$python" "$root/scripts/run_suites.py" --only torch

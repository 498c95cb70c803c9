#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Quantized checkpoints in vLLM, by the Python files of its wheel: small models of eight families with
# random weights, in six layouts (test/Vllm/check_models.py). Packages are installed where they are
# missing (5 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" vllm
find_package
export PYTHONPATH=$package
counted "$root/.cache/logs/vllm.log" \
  "$root/.cache/vllm/bin/python" "$root/test/Vllm/check_models.py" "$@"

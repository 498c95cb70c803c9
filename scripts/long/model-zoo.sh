#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every model class of the installed transformers, small and with random weights, quantized by three
# policies and used as people use models (test/Torch/check_model_zoo.py). Packages are installed
# where they are missing (5 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" checkpoints
build_package
export PYTHONPATH=$package HF_HUB_OFFLINE=1
exec "$root/.cache/checkpoints/bin/python" "$root/test/Torch/check_model_zoo.py" \
  --jobs "$(nproc)" "$@"

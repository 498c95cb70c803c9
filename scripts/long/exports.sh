#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Model classes of the installed transformers, small, quantized, exported by torch.export and
# imported whole, against PyTorch (test/Torch/check_exports.py). Packages are installed where they
# are missing (5 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" checkpoints
build_package
export PYTHONPATH=$package HF_HUB_OFFLINE=1
exec "$root/.cache/checkpoints/bin/python" "$root/test/Torch/check_exports.py" "$@"

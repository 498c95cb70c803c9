#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The conformance kit (docs/Conformance.md): the CPU quantizers of torchao, TransformerEngine's
# reference, ModelOpt and compressed-tensors, each by its recipe and by those of the others, and
# every single changed rule of every recipe, which must be named. Packages are installed where they
# are missing (5.4 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" checkpoints
"$root/scripts/peers.sh" training
# TransformerEngine lies in a folder of its own, beside the same PyTorch.
transformer_engine=$(echo "$root"/.cache/training/lib/python3*/site-packages)
PYTHONPATH=$root/python:$root/test/Python:$root/test/Torch:$transformer_engine \
  exec "$root/.cache/checkpoints/bin/python" "$root/test/Torch/check_vectors.py"

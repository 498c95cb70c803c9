#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Models of Hugging Face, small and with random weights, imported from PyTorch whole: on the CPU
# and in the emulator, plain and quantized by a policy, against PyTorch
# (test/Torch/check_models.py). Packages are installed where they are missing (5 GB). The last line
# is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" exporter
build_package
export PYTHONPATH=$package
exec "$root/.cache/exporter/bin/python" "$root/test/Torch/check_models.py" "$@"

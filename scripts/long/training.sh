#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 300 gated MLPs, projections of attention and layers of experts, at random, trained for a step
# beside products in f64 of the numpy reference's codes (test/Torch/check_training.py). Linear layers,
# gated MLPs and layers of experts in each form as kernels of SM100 in the emulator, beside the CPU
# (test/Torch/emulated_training.py). Packages are installed where they are missing (4.7 GB). The last
# line is `N passed, N failed`. Arguments are those of check_training.py.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh"
find_package
export PYTHONPATH=$package
python=$root/.cache/peers/bin/python
logs=("$root"/.cache/logs/{check,emulated}_training.log)
counted "${logs[0]}" "$python" "$root/test/Torch/check_training.py" "$@" || true
counted "${logs[1]}" "$python" "$root/test/Torch/emulated_training.py" || true
sum_counts "${logs[@]}"

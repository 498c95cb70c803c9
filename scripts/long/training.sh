#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 300 gated MLPs, projections of attention and layers of experts, at random, trained for a step
# beside products in f64 of the numpy reference's codes (test/Torch/check_training.py). Linear layers,
# gated MLPs and layers of experts in each form as kernels of SM100 in the emulator, beside the CPU
# (test/Torch/emulated_training.py). Packages are installed where they are missing (4.7 GB). The last
# line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh"
find_package
export PYTHONPATH=$package
logs=()
for program in check_training emulated_training; do
  log=$root/.cache/logs/$program.log
  counted "$log" "$root/.cache/peers/bin/python" "$root/test/Torch/$program.py" || true
  logs+=("$log")
done
sum_counts "${logs[@]}"

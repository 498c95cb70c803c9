#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Quantized checkpoints in transformers, the newest release and an older one: small models of 12
# families with random weights, in six layouts (test/Transformers/check_families.py). Packages are
# installed where they are missing (5.5 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" lora
"$root/scripts/peers.sh" transformers
find_package
export PYTHONPATH=$package HF_HUB_OFFLINE=1
logs=()
for packages in lora transformers; do
  log=$root/.cache/logs/hf-checkpoints-$packages.log
  counted "$log" \
    "$root/.cache/$packages/bin/python" "$root/test/Transformers/check_families.py" "$@" || true
  logs+=("$log")
done
sum_counts "${logs[@]}"

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checkpoints beside the packages of others, which are installed where they are missing (5.4 GB):
# every stored result computed again, our files read by transformers, torchao,
# compressed-tensors and gguf, 20 kills behind random tasks (the seed is the date, and printed)
# and one at each step, a checkpoint of
# 20 GiB in 2 GiB of memory, a second worker of a cluster, and the times of ModelOpt and
# compressed-tensors (test/Checkpoint/long/run.py). It needs 18 GiB of disk; MiniLM is left out where scripts/run-example.sh did not fetch it. The
# last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" checkpoints
build_package
BLOCKSCALE_SEED=$(date -u +%Y%m%d)
echo "seed $BLOCKSCALE_SEED"
export BLOCKSCALE_SEED
export PYTHONPATH=$package:$root/test/Checkpoint BLOCKSCALE_BUILD_DIR=$root/build
exec "$root/.cache/checkpoints/bin/python" "$root/test/Checkpoint/long/run.py" "$@"

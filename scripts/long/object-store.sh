#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checkpoints in S3: s3fs against moto's server behind a proxy that cuts connections and throttles,
# and two workers that share nothing but the store (test/Checkpoint/store). Packages are installed
# where they are missing (0.7 GB). What is broken depends on the date, which is printed as the seed.
# The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" store
find_package
BLOCKSCALE_SEED=${BLOCKSCALE_SEED:-$(date -u +%Y%m%d)}
echo "seed $BLOCKSCALE_SEED"
export BLOCKSCALE_SEED PYTHONPATH=$package:$root/test/Checkpoint
exec "$root/.cache/store/bin/python" "$root/test/Checkpoint/store/run.py"

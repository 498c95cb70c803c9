#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Damaged bundles, launch plans, JSON, .npy files and answers about bytecode under
# libFuzzer, with both sanitizers and assertions. An input that crashes, leaks or hangs
# is kept in build-fuzz/fuzz-readers. The last line is `N passed, N failed`.
#
#   scripts/long/fuzz-readers.sh [SECONDS]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

seconds=${1:-600}
seed=$(date -u +%Y%m%d)
folder=$root/build-fuzz/fuzz-readers
python=$root/.venv/bin/python
if [ ! -x "$python" ]; then python=python3; fi

fuzz() {
  echo "seed $seed"
  "$root/scripts/build.sh" blockscale-compile
  "$root/scripts/build.sh" --preset fuzz blockscale-fuzz-readers
  mkdir -p "$folder/found"
  "$python" "$root/scripts/fuzz_seeds_readers.py" "$folder/seeds" \
    "$root/build/bin/blockscale-compile"
  "$root/build-fuzz/bin/blockscale-fuzz-readers" -seed="$seed" -max_total_time="$seconds" -timeout=60 \
    -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$folder/" "$folder/found" "$folder/seeds"
}

if (fuzz); then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi

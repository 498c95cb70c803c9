#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libFuzzer on the emulator for ten minutes: PTX is parsed and verified, and its
# kernels run under both schedules, with AddressSanitizer,
# UndefinedBehaviorSanitizer and assertions. An input that crashes, leaks or hangs
# is kept in build-fuzz/fuzz-ptx. The last line is `N passed, N failed`.
#
#   scripts/long/fuzz-ptx.sh [SECONDS]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

seconds=${1:-600}
seed=$(date -u +%Y%m%d)
folder=$root/build-fuzz/fuzz-ptx

fuzz() {
  echo "seed $seed"
  "$root/scripts/build.sh" blockscale-compile
  "$root/scripts/build.sh" --preset fuzz blockscale-fuzz-ptx
  mkdir -p "$folder/found"
  python3 "$root/scripts/fuzz_seeds_ptx.py" "$folder/seeds" "$root/build/bin/blockscale-compile"
  "$root/build-fuzz/bin/blockscale-fuzz-ptx" -seed="$seed" -max_total_time="$seconds" -timeout=60 \
    -rss_limit_mb=4096 -max_len=32768 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$folder/" "$folder/found" "$folder/seeds"
}

if (fuzz); then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi

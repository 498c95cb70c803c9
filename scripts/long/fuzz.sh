#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libFuzzer on the dialect for ten minutes: text and generated modules are
# parsed, verified and lowered, with AddressSanitizer, UndefinedBehaviorSanitizer
# and assertions. An input that crashes, leaks or hangs is kept in build-fuzz/fuzz.
# The last line is `N passed, N failed`.
#
#   scripts/long/fuzz.sh [SECONDS]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

seconds=${1:-600}
seed=$(date -u +%Y%m%d)
folder=$root/build-fuzz/fuzz

fuzz() {
  echo "seed $seed"
  "$root/scripts/build.sh" --preset fuzz blockscale-fuzz
  mkdir -p "$folder/found"
  python3 "$root/scripts/fuzz_seeds.py" "$folder/seeds"
  python3 "$root/scripts/fuzz_corpus.py" unpack "$folder/corpus"
  # Freed memory is overwritten, so that libMLIR, which is not instrumented,
  # does not go on with what it no longer owns.
  ASAN_OPTIONS=max_free_fill_size=4096:free_fill_byte=205 \
    "$root/build-fuzz/bin/blockscale-fuzz" -seed="$seed" -max_total_time="$seconds" -timeout=60 \
    -rss_limit_mb=4096 -max_len=8192 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$folder/" "$folder/found" \
    "$folder/corpus" "$folder/seeds"
}

if (fuzz); then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs what is too slow for `check`: every executable of scripts/long, in the
# order of their names. Each ends with a line `N passed, N failed`, and so does
# this script. Writes its log, with date and machine, to docs/logs/check-long.txt.
#
#   scripts/check-long.sh          everything
#   scripts/check-long.sh NAME...  these of scripts/long only; the log stays as it is

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

log=$root/docs/logs/check-long.txt
output=$root/.cache/logs/check-long
counts_line='^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$'
passed=0 failed=0 skipped=0 summary=()

describe_run() {
  printf 'date      %s\n' "$(date -u '+%Y-%m-%d %H:%M UTC')"
  printf 'commit    %s\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
  printf 'machine   %s cores, %s\n' "$(nproc)" "$(uname -sm)"
  printf 'compiler  %s\n' "$("$(cached CMAKE_C_COMPILER)" --version | head -n 1)"
}

# run_part FILE: shows and keeps its output; counts by its last line.
run_part() {
  local part=$1 name start=$EPOCHREALTIME last status=0
  name=$(basename "$part")
  printf '\n==== %s\n' "$name"
  "$part" 2>&1 | tee "$output/$name.log" || status=$?
  last=$(tail -n 1 "$output/$name.log")
  if ! [[ $last =~ $counts_line ]]; then
    last="0 passed, 1 failed"
    [[ $last =~ $counts_line ]]
  elif [ "$status" -ne 0 ] && [ "${BASH_REMATCH[2]}" -eq 0 ]; then
    last="${BASH_REMATCH[1]} passed, 1 failed"
    [[ $last =~ $counts_line ]]
  fi
  passed=$((passed + BASH_REMATCH[1]))
  failed=$((failed + BASH_REMATCH[2]))
  skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
  summary+=("$(printf '%-24s %s (%s)' "$name" "$last" "$(seconds_since "$start")")")
}

"$root/scripts/setup.sh" --long
mkdir -p "$output" "$(dirname "$log")"
chosen=("${@/#/$root/scripts/long/}")
if [ $# -eq 0 ]; then chosen=("$root"/scripts/long/*); fi
for part in "${chosen[@]}"; do
  [ -x "$part" ] || die "no executable $part" "there are: $(ls "$root/scripts/long")"
done
for part in "${chosen[@]}"; do run_part "$part"; done

total="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then total+=", $skipped skipped"; fi
if [ $# -eq 0 ]; then
  {
    describe_run
    printf '\n'
    printf '%s\n' "${summary[@]}"
    for part in "${chosen[@]}"; do
      name=$(basename "$part")
      printf '\n==== %s, the end of its output\n' "$name"
      tail -n 12 "$output/$name.log"
    done
    printf '\n%s\n' "$total"
  } >"$log"
fi
printf '\n'
printf '   %s\n' "${summary[@]}"
printf '\n%s\n' "$total"
[ "$failed" -eq 0 ]

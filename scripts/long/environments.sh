#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The suites of `check` in environments in which they must say the same: with the date a year
# ahead, in the time zone of Apia (where a day of 2011 is missing), with Turkish letters (whose
# lower-case I has no dot), in the C locale, on one core, with other orders of Python's sets, with
# load beside them, without HOME, and as a user without a name who is not root. One whose tool is
# missing is skipped, with the reason. Without --only, all suites run. Each line says what an
# environment counted; it passes where no test failed and where it counts as the first one does,
# which is the caller's. The last line is `N passed, N failed, N skipped`.
#
#   scripts/long/environments.sh [--in ENVIRONMENT]... [--only SUITE]...

set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

environments=(date apia turkish c core hash load homeless user)
chosen=() suites=()
while [ $# -gt 0 ]; do
  case $1 in
  --in) chosen+=("${2:?--in needs an environment}") ;;
  --only) suites+=(--only "${2:?--only needs a suite}") ;;
  *)
    echo "unknown option $1; the options are --in and --only" >&2
    exit 1
    ;;
  esac
  shift 2
done
for name in ${chosen[@]+"${chosen[@]}"}; do
  case " ${environments[*]} " in
  *" $name "*) ;;
  *)
    echo "no environment $name; there are ${environments[*]}" >&2
    exit 1
    ;;
  esac
done
if [ ${#chosen[@]} -eq 0 ]; then chosen=("${environments[@]}"); fi

build=${BLOCKSCALE_BUILD_DIR:-$root/build}
if [ -z "${BLOCKSCALE_BUILD_DIR:-}" ] &&
  ! "$root/scripts/build.sh" all BlockScaleUnitTests blockscale-doc; then
  echo "0 passed, 1 failed"
  exit 1
fi
logs=$build/logs/environments
mkdir -p "$logs"
run=("$root/.venv/bin/python" "$root/scripts/run_suites.py" --build "$build" --timeout 7200
  ${suites[@]+"${suites[@]}"})
passed=0 failed=0 skipped=0 expected=
# The load ends with this script.
trap 'jobs -p | xargs -r kill 2> /dev/null' EXIT

# What is missing for an environment, if anything.
find_missing() {
  case $1 in
  date) command -v cc > /dev/null || echo "no C compiler; apt-get install gcc" ;;
  apia) [ -e /usr/share/zoneinfo/Pacific/Apia ] || echo "no time zones; apt-get install tzdata" ;;
  turkish)
    locale -a 2> /dev/null | grep -qix 'tr_TR\.utf-\?8' ||
      echo "no locale tr_TR.UTF-8; localedef -i tr_TR -f UTF-8 tr_TR.UTF-8"
    ;;
  core) command -v taskset > /dev/null || echo "no taskset; apt-get install util-linux" ;;
  user)
    unshare --user --map-user=12345 --map-group=12345 true 2> /dev/null ||
      echo "unshare --user --map-user does not work here"
    ;;
  esac
}

# Runs the suites in an environment.
run_in() {
  case $1 in
  own) "${run[@]}" ;;
  date)
    cc -shared -fPIC -O1 "$root/scripts/shifted_clock.c" -o "$logs/shifted_clock.so" &&
      BLOCKSCALE_CLOCK_SHIFT=$((365 * 86400)) LD_PRELOAD=$logs/shifted_clock.so "${run[@]}"
    ;;
  apia) TZ=Pacific/Apia "${run[@]}" ;;
  turkish) LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 "${run[@]}" ;;
  c) LANG=C LC_ALL=C "${run[@]}" ;;
  core) taskset -c "$(taskset -pc $$ | grep -o '[0-9]*' | tail -n 1)" "${run[@]}" ;;
  hash) PYTHONHASHSEED=7 "${run[@]}" ;;
  homeless) env -u HOME -u USER -u LOGNAME "${run[@]}" ;;
  load)
    local beside=() status
    for _ in $(seq $(($(nproc) * 4))); do
      "$root/.venv/bin/python" -c "while True: pass" &
      beside+=($!)
    done
    "${run[@]}"
    status=$?
    kill "${beside[@]}"
    wait "${beside[@]}" 2> /dev/null
    return $status
    ;;
  # The number has no name. Files of the caller are its own; it has no power beyond that.
  user) env -u HOME -u USER -u LOGNAME unshare --user --map-user=12345 --map-group=12345 "${run[@]}" ;;
  esac
}

for name in own "${chosen[@]}"; do
  missing=$(find_missing "$name")
  if [ -n "$missing" ]; then
    echo "skip $name: $missing"
    skipped=$((skipped + 1))
    continue
  fi
  run_in "$name" > "$logs/$name.log" 2>&1
  status=$?
  said=$(tail -n 1 "$logs/$name.log")
  expected=${expected:-$said}
  if [ $status -eq 0 ] && [ "$said" = "$expected" ]; then
    echo "pass $name: $said"
    passed=$((passed + 1))
  else
    echo "FAIL $name: $said; $logs/$name.log"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

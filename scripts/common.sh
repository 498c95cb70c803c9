# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the other scripts: the project's root, plain messages, timed steps.

# A fixed locale: a minimal machine has no other, and decimal points matter to
# the arithmetic on times below.
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '   %s\n' "$*"; }

die() {
  printf '\nerror: %s\n' "$1" >&2
  shift
  if [ $# -gt 0 ]; then printf '       %s\n' "$@" >&2; fi
  exit 1
}

# cached NAME: what the CMake cache of the default build has under NAME.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$root/build/CMakeCache.txt"; }

# seconds_since T: T is an earlier $EPOCHREALTIME.
seconds_since() {
  local tenths=$(((${EPOCHREALTIME/./} - ${1/./}) / 100000))
  printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

# step NAME CMD...: runs CMD under a heading and tells how long it took.
step() {
  local name=$1 start=$EPOCHREALTIME status=0
  shift
  printf '\n== %s\n' "$name"
  "$@" || status=$?
  if [ "$status" -eq 0 ]; then
    say "$name: done in $(seconds_since "$start")"
  else
    say "$name: failed after $(seconds_since "$start") (exit status $status)"
  fi
  return "$status"
}

# deliver_wheel WHEEL FOLDER MIB: moves a wheel of at most MIB mebibytes into a folder.
deliver_wheel() {
  local size
  size=$(stat -c %s "$1")
  [ "$size" -le $(($3 << 20)) ] ||
    die "expected a wheel of at most $3 MiB, but got $size bytes"
  mv "$1" "$2/"
  say "$2/$(basename "$1"), $(awk "BEGIN {printf \"%.1f\", $size / 1048576}") MiB"
}

# build_package: builds the package of Python; `package` is the folder that PYTHONPATH needs.
build_package() {
  "$root/scripts/build.sh" all
  "$root/scripts/package.sh" "$root/build"
  package=$(dirname "$(echo "$root"/build/package/lib/python3*/site-packages/blockscale)")
}

# find_package: the same, but with BLOCKSCALE_BUILD_DIR the library of a build that is there, and the
# package in the sources.
find_package() {
  if [[ -z ${BLOCKSCALE_BUILD_DIR:-} ]]; then
    build_package
    return
  fi
  export BLOCKSCALE_LIBRARY=$BLOCKSCALE_BUILD_DIR/lib/libBlockScaleC.so
  package=$root/python
}

# counted LOG CMD...: runs CMD, which prints its counts last, shows its output and keeps it in LOG. Its
# errors are kept in LOG.err, since libraries warn there when a program ends, too; if CMD fails, their
# end is shown in front of the last line, again.
counted() {
  local log=$1 status=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" 2>"$log.err" | tee "$log" || status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    printf '   the last lines of %s:\n' "$log.err"
    tail -n 20 "$log.err" | sed 's/^/   | /'
    tail -n 1 "$log"
  fi
  return "$status"
}

# sum_counts LOG...: prints the sum of the last lines `N passed, N failed` as another one. A log that
# ends otherwise is a failure, and the status is 1 if there is one.
sum_counts() {
  local log passed=0 failed=0
  for log; do
    if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
      passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
      failed=$((failed + 1))
    fi
  done
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# logged LOG CMD...: runs CMD with its output in LOG; shows the log's end if it fails.
logged() {
  local log=$1 status=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    printf '   the last lines of %s:\n' "$log" >&2
    tail -n 20 "$log" | sed 's/^/   | /' >&2
  fi
  return "$status"
}

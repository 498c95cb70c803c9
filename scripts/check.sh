#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds everything, runs every test. The last line
# is "N passed, N failed" with ", N skipped" where some were; the exit status
# is 1 if any failed.
#
#   scripts/check.sh [--preset default|dev|asan|tsan] [run_suites.py OPTION...]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=default build=$root/build
if [ "${1:-}" = --preset ]; then
  preset=${2:?--preset needs a name}
  shift 2
  if [ "$preset" != default ]; then build=$root/build-$preset; fi
fi

"$root/scripts/setup.sh" --check
# A build that fails is one failed test, so that the last line never lies.
if ! "$root/scripts/build.sh" --preset "$preset" all BlockScaleUnitTests blockscale-doc; then
  printf '\n0 passed, 1 failed\n'
  exit 1
fi
# What the pages say of speed is of older code where a log is stale: that fails a release alone.
step "Stale logs" "$root/.venv/bin/python" "$root/scripts/logs.py" --list
exec "$root/.venv/bin/python" "$root/scripts/run_suites.py" --build "$build" "$@"

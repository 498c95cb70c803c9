#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs the benchmarks of the CPU path and prints their report
# as markdown; build/benchmarks/report.json has all figures.
#
#   scripts/bench.sh                     compiled functions beside memcpy
#   scripts/bench.sh --peers             and beside torchao, torch.compile and numpy;
#                                        installs them into .cache/peers (4.7 GB)
#   scripts/bench.sh ... --filter REGEX  these functions only
#
# Exit status: 0 every bar is met, 1 a function failed or a bar is missed.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

peers='' filter=.
while [ $# -gt 0 ]; do
  case "$1" in
    --peers) peers=yes && shift ;;
    --filter) filter=${2:?--filter needs a regular expression} && shift 2 ;;
    *) die "unknown option $1" "usage: scripts/bench.sh [--peers] [--filter REGEX]" ;;
  esac
done

venv=$root/.cache/peers
results=$root/build/benchmarks

configure() {
  logged "$root/.cache/logs/configure-bench.log" \
    cmake -S "$root" -B "$root/build" -DBLOCKSCALE_BUILD_BENCHMARKS=ON
}

"$root/scripts/setup.sh" --bench
"$root/scripts/build.sh" blockscale-compile
step "Configure (benchmarks)" configure
"$root/scripts/build.sh" blockscale-bench
if [ -n "$peers" ]; then "$root/scripts/peers.sh"; fi

status=0
run_suite() {
  "$results/blockscale-bench" --benchmark_filter="$filter" \
    --benchmark_out="$results/suite.json" --benchmark_out_format=json >"$results/suite.txt"
}
# What failed is in the report.
step "Compiled functions" run_suite || true
report=(--suite "$results/suite.json" --out "$results/report.json")
if [ -n "$peers" ]; then
  step "Peers" "$venv/bin/python" "$root/benchmarks/peers.py" --out "$results/peers.json"
  report+=(--peers "$results/peers.json")
fi
printf '\n'
"$root/.venv/bin/python" "$root/benchmarks/report.py" "${report[@]}" || status=$?
exit "$status"

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up the machine, configures a CMake preset and builds it.
#
#   scripts/build.sh [--preset default|dev|aarch64|asan|fuzz|tsan] [NINJA TARGET...]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=default
if [ "${1:-}" = --preset ]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
case "$preset" in
  default) build=$root/build ;;
  *) build=$root/build-$preset ;;
esac

configure() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  (cd "$root" && logged "$root/.cache/logs/configure-$preset.log" \
    cmake --preset "$preset" "${launcher[@]}")
}

compile() {
  local cores memory jobs quiet=()
  # Progress is one line on a terminal, but one line per file in a log.
  if ! [ -t 1 ]; then quiet=(--quiet); fi
  cores=$(nproc)
  # The largest translation units need more than a gigabyte each.
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo)
  jobs=$((memory < cores ? (memory > 0 ? memory : 1) : cores))
  # Paths are hashed relative to the root, so that two checkouts share hits;
  # the sloppiness is what precompiled headers need. A miss compiles at once,
  # without a preprocessor before it (CCACHE_DEPEND).
  CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 \
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime \
    NINJA_STATUS='   [%f/%t] ' ninja -C "$build" -j "$jobs" "${quiet[@]}" "$@"
}

"$root/scripts/setup.sh"
# Ninja itself configures again when a CMakeLists.txt changed, but not for the presets.
if ! [ -e "$build/build.ninja" ] || [ "$root/CMakePresets.json" -nt "$build/build.ninja" ]; then
  step "Configure ($preset)" configure
fi
step "Build ($preset)" compile "$@"

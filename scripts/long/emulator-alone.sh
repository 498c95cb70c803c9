#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The emulator as a project of its own (emulator/CMakeLists.txt): configured where CMake finds no
# MLIR, built, its unit tests and its lit suite, and what `cmake --install` leaves. The last line
# is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
build=$work/build prefix=$work/prefix

configures() {
  cmake -G Ninja -S "$root/emulator" -B "$build" -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON &&
    ! grep -i mlir "$build/build.ninja"
}

builds() { cmake --build "$build"; }

passes() { cmake --build "$build" --target check-emulator; }

# Where the programs are, no LLVM is needed.
installs() {
  cmake --install "$build" --prefix "$prefix" &&
    "$prefix/bin/blockscale-emulate" --version &&
    "$prefix/bin/blockscale-emulate" "$root/test/Data/cuda/portable.ptx" --check &&
    ! ldd "$prefix/bin/blockscale-emulate" "$prefix/lib/blockscale/libcudart.so.13" |
      grep -E 'LLVM|MLIR|not found'
}

passed=0 failed=0
for part in configures builds passes installs; do
  if "$part"; then
    passed=$((passed + 1)) && say "$part: yes"
  else
    failed=$((failed + 1)) && say "$part: no"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

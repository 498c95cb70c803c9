#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What others build of the sources alone: examples/out-of-tree with BlockScale as a folder
# of it, and the Python package by `pip install .` in a fresh environment, with what
# it takes from PyPI. Runs the example's pipeline and the package's tests. The last
# line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0 failed=0
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

count() {
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

example() {
  cmake -G Ninja -S "$root/examples/out-of-tree" -B "$work/embed" -DCMAKE_BUILD_TYPE=Release \
    --toolchain "$root/cmake/Toolchain.cmake" -DLLVM_USE_LINKER=lld \
    -DBLOCKSCALE_SOURCE="$root" &&
    cmake --build "$work/embed" &&
    "$work/embed/embed-opt" "$root/test/CAPI/Inputs/quantize.mlir" \
      --embed-to-cpu='recipe=mslk to=form-kernels' | grep 'recipe mslk'
}

package() {
  /usr/bin/python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --disable-pip-version-check --no-input \
      --config-settings=build-dir="$work/package" "$root" &&
    (cd "$root" && BLOCKSCALE_BUILD_DIR=$root/build \
      "$work/venv/bin/python" -m unittest discover -s test/Package)
}

count example
count package
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the Python package from this checkout, with the library of a finished
# build, into BUILD/package: an environment of its own that sees the packages of
# .venv. The library is that of the wheel, where the build has it. Reaches no network.
#
#   scripts/package.sh [BUILD]

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build=$(cd "${1:-$root/build}" && pwd)
venv=$build/package
python=$root/.venv/bin/python

"$python" -m venv --clear --without-pip "$venv"
"$python" -c 'import site; print(site.getsitepackages()[0])' \
  >"$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/project.pth"
# python/CMakeLists.txt brings the library of that build up to date, and takes it.
BLOCKSCALE_BUILD_DIR=$build "$python" -m pip --python "$venv/bin/python" install \
  --disable-pip-version-check --no-input --no-index --no-deps --no-build-isolation \
  --force-reinstall --config-settings=build-dir="$build/package-build" "$root"

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the wheel that stands alone: the Python package with LLVM inside its C
# library, for Python 3.10 and later on Linux with glibc 2.36 and later. Installs
# what is missing.
#
#   scripts/wheel.sh [FOLDER]      FOLDER gets the wheel (default: dist)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

platform=manylinux_2_36_x86_64
most_mib=45
folder=${1:-$root/dist}
build=$root/build
python=$root/.venv/bin/python

"$root/scripts/build.sh" BlockScaleWheelFiles
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "Wheel" logged "$root/.cache/logs/wheel.log" \
  "$python" -m pip wheel --disable-pip-version-check --no-input --no-index --no-deps \
  --no-build-isolation --config-settings=build-dir="$build/wheel-build" \
  --config-settings=cmake.define.BLOCKSCALE_STANDALONE="$build/standalone" \
  --wheel-dir "$work" "$root"

# The libraries and versions of symbols that the platform has: others would not
# load there.
shown=$("$python" -m auditwheel show "$work"/blockscale-*.whl 2>&1)
grep -qF "\"$platform\"" <<<"$shown" ||
  die "expected a wheel for $platform, but auditwheel says:" "$shown"
"$python" -m wheel tags --remove --platform-tag "$platform" "$work"/blockscale-*.whl >/dev/null
deliver_wheel "$work"/blockscale-*.whl "$folder" "$most_mib"

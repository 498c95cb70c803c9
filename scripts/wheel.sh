#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the wheel that stands alone: the Python package with LLVM inside its C
# library, for Python 3.10 and later on Linux with glibc 2.36 and later. Installs
# what is missing. The wheel for aarch64 is cross-compiled. The libraries are linked
# to compress well (tools/standalone), and advzip packs the wheel anew, which takes
# a minute and makes it smaller by a thirtieth.
#
#   scripts/wheel.sh [--arch x86_64|aarch64] [FOLDER]
#                                  FOLDER gets the wheel (default: dist)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

arch=x86_64
if [ "${1:-}" = --arch ]; then
  arch=${2:?--arch needs a name}
  shift 2
fi
case "$arch" in
  x86_64) preset=default build=$root/build most_mib=23 ;;
  aarch64) preset=aarch64 build=$root/build-aarch64 most_mib=22 ;;
  *) die "expected --arch to be x86_64 or aarch64, but got $arch" ;;
esac
platform=manylinux_2_36_$arch
folder=${1:-$root/dist}
python=$root/.venv/bin/python

"$root/scripts/setup.sh" --wheel
if [ "$arch" = aarch64 ]; then "$root/scripts/sysroot.sh"; fi
"$root/scripts/build.sh" --preset "$preset" BlockScaleReleaseFiles
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "Wheel" logged "$root/.cache/logs/wheel.log" \
  "$python" -m pip wheel --disable-pip-version-check --no-input --no-index --no-deps \
  --no-build-isolation --config-settings=build-dir="$build/wheel-build" \
  --config-settings=cmake.define.BLOCKSCALE_STANDALONE="$build/release" \
  --wheel-dir "$work" "$root"

# tag NAME: the wheel says which platform it is for. It was packed by this machine,
# for which its libraries need not be.
tag() {
  "$python" -m wheel tags --remove --platform-tag "$1" "$work"/blockscale-*.whl >/dev/null
}

# The libraries and versions of symbols that the platform has: others would not
# load there.
tag "linux_$arch"
shown=$("$python" -m auditwheel show "$work"/blockscale-*.whl 2>&1)
grep -qF "\"$platform\"" <<<"$shown" ||
  die "expected a wheel for $platform, but auditwheel says:" "$shown"
tag "$platform"
advzip --quiet --recompress --shrink-normal "$work"/blockscale-*.whl
deliver_wheel "$work"/blockscale-*.whl "$folder" "$most_mib"

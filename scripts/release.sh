#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes the files of a release of the commit at hand: the sources as PyPI has them, the wheels of
# both architectures, the wheel of the conformance kit, and SHA256SUMS. Refuses before it builds
# anything if a rule of scripts/release.py is broken. Installs what is missing.
#
#   scripts/release.sh [FOLDER]     FOLDER gets the files (default: dist/VERSION)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=$(python3 "$root/scripts/release.py")
folder=${1:-$root/dist/$version}
[ ! -e "$folder" ] || die "expected no $folder" "a release is made once"
"$root/scripts/setup.sh" --wheel
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -c 'import sys
from scikit_build_core.build import build_sdist
build_sdist(sys.argv[1])' "$work"
"$root/scripts/wheel.sh" "$work"
"$root/scripts/wheel.sh" --arch aarch64 "$work"
"$root/scripts/vectors.sh" "$work"
(cd "$work" && sha256sum -- *.tar.gz *.whl >SHA256SUMS)
chmod 755 "$work"
# All of it or nothing: a build that fails leaves no folder.
mv -T "$work" "$folder"
say "BlockScale $version: $folder"

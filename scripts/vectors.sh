#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the wheel of the conformance kit, blockscale-vectors (docs/Conformance.md): the numpy
# reference, the check and the vectors that they compute. It needs no library of this project.
# Reaches no network once .venv is there (scripts/setup.sh).
#
#   scripts/vectors.sh [FOLDER]      FOLDER gets the wheel (default: dist)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

most_mib=5
folder=${1:-$root/dist}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-input --no-index \
  --no-deps --no-build-isolation --config-settings=build-dir="$work/build" \
  --wheel-dir "$work" "$root/python/vectors"
deliver_wheel "$work"/blockscale_vectors-*.whl "$folder" "$most_mib"

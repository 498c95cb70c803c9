#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the packages of others that benchmarks and tests compare with, PyTorch and
# torchao, into .cache/peers (4.7 GB), unless they are there.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

venv=$root/.cache/peers
requirements=$root/benchmarks/requirements-peers.txt
if cmp -s "$requirements" "$venv/stamp"; then exit 0; fi

install() {
  rm -f "$venv/stamp"
  /usr/bin/python3 -m venv --clear "$venv"
  logged "$root/.cache/logs/peers.log" "$venv/bin/python" -m pip install \
    --disable-pip-version-check --no-input --only-binary :all: -r "$requirements" ||
    die "pip could not install $requirements from PyPI: see above"
  cp "$requirements" "$venv/stamp"
}

mkdir -p "$root/.cache/logs"
step "Peers" install

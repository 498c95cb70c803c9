#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs a whole transformer in each format:
# tables of the noise of every layer, and of what becomes of sentence vectors.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/build.sh"
step "Accuracy: all-MiniLM-L6-v2" "$root/.venv/bin/python" "$root/examples/minilm/accuracy.py" "$@"

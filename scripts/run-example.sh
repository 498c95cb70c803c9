#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs the main example: a real
# transformer's weights, quantized and multiplied, every byte checked.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/build.sh"
step "Example: all-MiniLM-L6-v2" "$root/.venv/bin/python" "$root/examples/minilm/main.py" "$@"

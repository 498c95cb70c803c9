#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checkpoints that others write, by ModelOpt, compressed-tensors, torchao, transformers, gguf and by
# hand, with every command, and what is said of loaders beside the loaders (test/Checkpoint/foreign).
# Packages are installed where they are missing (5.4 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" checkpoints
find_package
export PYTHONPATH=$package:$root/test/Checkpoint:$root/test/Data
exec "$root/.cache/checkpoints/bin/python" "$root/test/Checkpoint/foreign/run.py" "$@"

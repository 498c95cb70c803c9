#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The arrays of test/Data/oracles against the packages that made them, which are
# installed where they are missing (6 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" oracles
exec "$root/.cache/oracles/bin/python" "$root/test/Data/make_oracle_vectors.py" --check

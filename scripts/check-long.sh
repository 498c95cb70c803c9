#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets the machine up and runs what is too slow for `check`: the programs of scripts/long
# (scripts/check_long.py, which has the options).

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh" --long
exec python3 "$root/scripts/check_long.py" "$@"

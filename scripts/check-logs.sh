#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails where a log of docs/logs does not hold for the code at hand, and says how to
# write it anew (scripts/logs.py). A release has none of these.

set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/logs.py" "$@"

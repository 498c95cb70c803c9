#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every suite of `check`, with the tools and unit tests built with
# AddressSanitizer and UndefinedBehaviorSanitizer.

exec "$(dirname "$0")/../check.sh" --preset asan --timeout 7200

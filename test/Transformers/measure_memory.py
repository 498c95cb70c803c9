# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that from_pretrained() takes at most, over the bytes of the model: of anonymous pages,
since files are mapped, whose pages the system may take back. Memory that is freed is given back at
once, as that of large models is: the allocator keeps small pieces.

    measure_memory.py [LAYERS]

Fails where it is more than MOST.
"""

import ctypes
import gc
import os
import sys
import tempfile
import threading
from pathlib import Path

import blockscale.transformers  # noqa: F401
from families import load, quantize, save_plain

#: Of the bytes of the model.
MOST = 1.15
#: Pieces of this size on are given back when they are freed.
THRESHOLD = {"MALLOC_MMAP_THRESHOLD_": "16384"}


def read_pages(name="RssAnon"):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


class Peak:
    """The most pages while the body runs, beyond those of before."""

    def __enter__(self):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        self.before = self.found = read_pages()
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._is_done.wait(0.0005):
            self.found = max(self.found, read_pages())

    def __exit__(self, *_):
        self._is_done.set()
        self._thread.join()
        self.found = max(self.found, read_pages())

    @property
    def nbytes(self):
        return self.found - self.before


def main():
    if not THRESHOLD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **THRESHOLD})
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, count in (("small", 1), ("large", layers)):
            save_plain("llama", root / name, num_hidden_layers=count, hidden_size=512,
                       intermediate_size=1024, num_key_value_heads=4, head_dim=128)
            quantize(root / name, root / f"{name}-quantized", "modelopt-nvfp4")
        # What is imported and compiled at the first time is no part of a model.
        load(root / "small-quantized")
        with Peak() as peak:
            model = load(root / "large-quantized")
        nbytes = sum(each.nbytes for each in (*model.parameters(), *model.buffers()))
    print(f"model {nbytes / 1e6:.1f} MB, peak {peak.nbytes / 1e6:.1f} MB: "
          f"{peak.nbytes / nbytes:.3f} of the model")
    return peak.nbytes > MOST * nbytes


if __name__ == "__main__":
    sys.exit(main())

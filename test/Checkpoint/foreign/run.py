#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/long/foreign.sh runs: every command on every foreign checkpoint, and what `check`
says of loaders beside the loaders. A line for each source, and one for each cell that is wrong; the
last line is `N passed, N failed`, of cells.

  run.py [WORD ...]   the sources whose names have one of these words; all without
"""

import collections
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1")
warnings.simplefilter("ignore")

from foreign import by_hand, by_packages, loaders, unknown
from foreign.matrix import REFUSED, RIGHT, WRONG, Cell, Matrix
from foreign.package_decoders import decode_result

#: How many sources there are at least, and how many become plain numbers and another layout.
LEAST_SOURCES, LEAST_CONVERTED = 40, 28


def list_makers():
    """The makers of all sources by name; they take a folder."""
    makers = {name: lambda folder, name=name: by_packages.make_source(name, folder)
              for name in by_packages.CASES}
    makers |= {f"hand-{name}": lambda folder, make=make: make()
               for name, make in by_hand.list_known().items()}
    makers |= {f"hand-{name}": lambda folder, name=name: unknown.make_unknown(name)
               for name in unknown.CASES}
    return makers


def run_source(name, make, folder):
    """The source, or None where it cannot be made, and the cells of all commands and of loaders."""
    try:
        source = make(folder)
        cells = list(Matrix(source, folder / "matrix", decode_result).run_all())
        path = source.write(folder / "matrix/source")
        return source, [*cells, loaders.ask(source, path, folder / "plain")]
    except Exception:
        return None, [Cell(name, "make", WRONG, traceback.format_exc())]


def is_converted(cells):
    """Whether a source becomes plain numbers, and another layout or plain numbers that are
    quantized."""
    right = [cell.command for cell in cells if cell.outcome == RIGHT]
    return "convert --to=plain" in right and any(
        command.startswith(("convert", "quantize")) and command != "convert --to=plain"
        for command in right)


def main():
    words = sys.argv[1:]
    counts, makers = collections.Counter(), collections.Counter()
    unconverted, converted, refused = [], 0, 0
    for name, make in list_makers().items():
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "matrix").mkdir()
            source, cells = run_source(name, make, Path(folder))
        found = collections.Counter(cell.outcome for cell in cells)
        counts += found
        print(f"{name}: {found[RIGHT]} right, {found[REFUSED]} refused by name, "
              f"{found[WRONG]} wrong", flush=True)
        for cell in cells:
            if cell.outcome == WRONG:
                print(f"   {cell.command}: {cell.why}", flush=True)
        if source is None:
            continue
        makers[source.maker] += 1
        if source.unknown:
            refused += 1
        elif is_converted(cells):
            converted += 1
        else:
            unconverted.append(name)
    total = sum(makers.values())
    failed = counts[WRONG] + len(unconverted)
    if not words:
        failed += (total < LEAST_SOURCES) + (converted < LEAST_CONVERTED)
    print(f"\n{total} sources: " + ", ".join(f"{count} by {maker}"
                                             for maker, count in makers.items()))
    print(f"{converted} convert, {refused} are of formats without a layout, which are named; "
          f"{', '.join(unconverted) or 'none'} neither")
    print(f"cells: {counts[RIGHT]} right, {counts[REFUSED]} refused by name, {counts[WRONG]} wrong")
    print(f"\n{counts[RIGHT] + counts[REFUSED]} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that TOSA's types leave open are compared when a program runs: a call with sizes that
agree gives a result, and one with others an error, never a read beyond an array."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations

BLOCK = "{block_size = BLOCK_SIZE_32}"


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def product(a, sa, b, sb, y):
    types = [tensor(a, "f8E4M3FN"), tensor(sa, "f8E8M0FNU"), tensor(b, "f8E4M3FN"),
             tensor(sb, "f8E8M0FNU")]
    y = tensor(y, "f32")
    head = ", ".join(f"%{i}: {type}" for i, type in enumerate(types))
    return (f"func.func @main({head}) -> {y} {{\n"
            f"  %y = tosa.matmul_t_block_scaled %0, %1, %2, %3 {BLOCK} : ({', '.join(types)}) "
            f"-> {y}\n  return %y : {y}\n}}\n")


def cast_from(data, scale, y):
    types = [tensor(data, "f8E4M3FN"), tensor(scale, "f8E8M0FNU")]
    y = tensor(y, "f32")
    return (f"func.func @main(%0: {types[0]}, %1: {types[1]}) -> {y} {{\n"
            f"  %y = tosa.cast_from_block_scaled %0, %1 {BLOCK} : ({', '.join(types)}) -> {y}\n"
            f"  return %y : {y}\n}}\n")


def cast_to(x, data, scale):
    types = tensor(x, "f32"), tensor(data, "f8E4M3FN"), tensor(scale, "f8E8M0FNU")
    return (f"func.func @main(%x: {types[0]}) -> ({types[1]}, {types[2]}) {{\n"
            f"  %d, %s = tosa.cast_to_block_scaled %x {BLOCK} : ({types[0]}) -> "
            f"({types[1]}, {types[2]})\n  return %d, %s : {types[1]}, {types[2]}\n}}\n")


N, H, C, W = 4, 8, 64, 16
OPEN = "?"
#: Programs, sizes that agree, and sizes that do not.
CASES = {
    "B is shared or not": (
        product([N, H, C], [N, H, 2], [OPEN, W, C], [OPEN, W, 2], [N, H, W]),
        [[(N, H, C), (N, H, 2), (1, W, C), (1, W, 2)],
         [(N, H, C), (N, H, 2), (N, W, C), (N, W, 2)]],
        [[(N, H, C), (N, H, 2), (3, W, C), (3, W, 2)], [(N, H, C), (N, H, 2), (5, W, C), (5, W, 2)],
         [(N, H, C), (N, H, 2), (1, W, C), (N, W, 2)],
         [(N, H, C), (N, H, 2), (N, W, C), (1, W, 2)]]),
    "one matrix of A": (
        product([1, H, C], [1, H, 2], [OPEN, W, C], [OPEN, W, 2], [1, H, W]),
        [[(1, H, C), (1, H, 2), (1, W, C), (1, W, 2)]],
        [[(1, H, C), (1, H, 2), (2, W, C), (2, W, 2)]]),
    "rows of the result alone": (
        product([N, OPEN, C], [N, OPEN, 2], [1, W, C], [1, W, 2], [N, H, W]),
        [[(N, H, C), (N, H, 2), (1, W, C), (1, W, 2)]],
        [[(N, H - 1, C), (N, H - 1, 2), (1, W, C), (1, W, 2)],
         [(N, H + 1, C), (N, H + 1, 2), (1, W, C), (1, W, 2)],
         [(N, H, C), (N, H - 1, 2), (1, W, C), (1, W, 2)]]),
    "a K that differs": (
        product([N, H, OPEN], [N, H, OPEN], [1, W, OPEN], [1, W, OPEN], [N, H, W]),
        [[(N, H, C), (N, H, 2), (1, W, C), (1, W, 2)],
         [(N, H, 32), (N, H, 1), (1, W, 32), (1, W, 1)]],
        [[(N, H, C), (N, H, 2), (1, W, 96), (1, W, 3)],
         [(N, H, 48), (N, H, 2), (1, W, 48), (1, W, 2)]]),
    "scales of a decoded tensor": (
        cast_from([OPEN, OPEN], [OPEN, OPEN], [OPEN, OPEN]), [[(H, C), (H, 2)]],
        [[(H, C), (H, 1)], [(H, C), (H - 1, 2)], [(H, 48), (H, 2)]]),
    "rows of quantized data alone": (
        cast_to([OPEN, OPEN], [H, OPEN], [OPEN, 2]), [[(H, C)]],
        [[(H - 1, C)], [(H, 96)], [(H, 48)]]),
}


def call(folder, text, shapes, results):
    """What blockscale-run says of arrays of these shapes, and whether results were written."""
    (folder / "m.mlir").write_text(text, encoding="utf-8")
    line = [folder / "m.mlir"]
    rng = np.random.default_rng(1)
    for i, shape in enumerate(shapes):
        array = rng.integers(110, 126, shape).astype(np.uint8)
        np.save(folder / f"{i}.npy", array if results == 1 else array.astype(np.float32))
        line.append(f"--in={folder / f'{i}.npy'}")
    outputs = [folder / f"out{i}.npy" for i in range(results)]
    for path in outputs:
        path.unlink(missing_ok=True)
        line.append(f"--out={path}")
    [(status, printed)] = run_lines([line])
    return status, printed, [path.exists() for path in outputs]


def main():
    folder = Path(sys.argv[1])
    expectations = Expectations()
    for name, (text, good, bad) in CASES.items():
        results = 2 if "cast_to" in text else 1
        for shapes in good:
            status, said, written = call(folder, text, shapes, results)
            fine = status == 0 and all(written)
            expectations.record(f"{name}: {shapes}", None if fine else said or "no result")
        for shapes in bad:
            status, said, written = call(folder, text, shapes, results)
            fine = status == 1 and "error: " in said and "expected" in said and not any(written)
            expectations.record(f"{name}: {shapes}", None if fine else
                                f"status {status}, expected an error: {said}")
    expectations.finish()


if __name__ == "__main__":
    main()

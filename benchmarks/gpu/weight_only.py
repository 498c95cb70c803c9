#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of bf16 activations and block-scaled weights beside cuBLAS and others.

  python3 benchmarks/gpu/weight_only.py pack FOLDER [--only GLOB] [--target CHIP]
                                                    [--humming WHEEL...]                  # here
  python3 FOLDER/weight_only.py run [--only GLOB] [--out FOLDER] [--no-humming]           # there

The other machine needs a Hopper GPU and torch. It also runs kernels of sm_80 and sm_89, which have
bars of their own and row-major weights alone, by which shares go then. Y = X W^T, of X: MxK in
bf16, W: NxK in a block-scaled format whose scales are swizzled, and Y: MxN in bf16. W is prepacked,
as constant weights are, and row-major, too. The peers compute the same of the same weights, in one
process:

  cuBLAS bf16      torch.mm of weights that were dequantized before
  dequantize       torch.compile of the dequantization, then torch.mm
  FP8              torch._scaled_mm with one scale a row, of other weights: half the bytes
  Humming          the kernels of vLLM (humming_peer.py), with weights of 8192x8192; a dash stands
                   where they could not be measured, and why is said above the table

Before each call 256 MiB are overwritten, so that operands come from memory; each call is a CUDA
graph. In each of three rounds all take turns call by call, 25 times, and so meet the same clock of
the GPU, which its power limits in large products. The median of a round is taken; the best round
counts. A share is cuBLAS's time over that of ours with prepacked weights. First the result is
compared with torch.mm in f32.

Prints a table with the bars; writes weight_only.json, weight_only.svg with the shares, and
weight_only_tflops.svg with the rates of products with weights of 8192x8192. The exit status is 1 if
a result of ours is wrong or a bar is missed. Other schedules than the default one are measured by
python/blockscale_tune.py.
"""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import humming_peer
from product_bench import Benchmark, capture, describe_error, main

# The rows and columns of a tile of scales in the swizzled layout.
TILE = (128, 4)
# The orders of weights in memory, as `blockscale.prepack` names them.
ORDERS = ("prepacked", "row-major")
# The works of others, as the table names them.
PEERS = ("cuBLAS bf16", "dequantize", "FP8", humming_peer.NAME)


@dataclass(frozen=True)
class Format:
    """A format of weights: its types, elements of a block, bytes of two elements, and the least
    share of cuBLAS's speed from each M on."""

    element: str
    scale: str
    block: int
    bytes_of_two: int
    bars: tuple

    def bar(self, rows):
        return [bar for first, bar in self.bars if rows >= first][-1]


FOUR_BITS = ((1, 2.3), (17, 1.8), (33, 1.5), (65, 1.25), (129, 0.92), (1024, 0.95), (4096, 0.97))
EIGHT_BITS = ((1, 1.6), (17, 1.4), (33, 1.2), (65, 1.1), (129, 0.92), (1024, 0.95))
FORMATS = {
    "NVFP4": Format("f4E2M1FN", "f8E4M3FN", 16, 1, FOUR_BITS),
    "MXFP4": Format("f4E2M1FN", "f8E8M0FNU", 32, 1, FOUR_BITS),
    "MXFP8": Format("f8E4M3FN", "f8E8M0FNU", 32, 2, EIGHT_BITS),
}
ROWS = (1, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192)
WEIGHTS = ((8192, 8192), (14336, 4096), (4096, 14336), (4096, 4096))
# The least shares of kernels of older chips, for NVFP4, by M, N and K.
OLDER_BARS = {(1, 8192, 8192): 1.8, (16, 8192, 8192): 1.8, (4096, 4096, 4096): 0.5}


@dataclass(frozen=True)
class Case:
    name: str  # of the format
    rows: int
    cols: int
    depth: int

    @property
    def format(self):
        return FORMATS[self.name]

    @property
    def label(self):
        return f"{self.name}, {self.rows}x{self.cols}x{self.depth}"

    @property
    def file(self):
        return f"{self.name}_{self.rows}_{self.cols}_{self.depth}"

    @property
    def is_square(self):
        """Whether bars, the chart and Humming speak of it."""
        return (self.cols, self.depth) == WEIGHTS[0]

    @property
    def flops(self):
        return 2 * self.rows * self.cols * self.depth

    @property
    def bar(self):
        return self.format.bar(self.rows) if self.is_square else None

    def module(self, is_prepacked):
        form = self.format
        x, y = (f"tensor<{self.rows}x{size}xbf16>" for size in (self.depth, self.cols))
        layout = ", #blockscale.data_layout<fragments_64x64>" if is_prepacked else ""
        w = f"tensor<{self.cols}x{self.depth}x{form.element}{layout}>"
        s = (f"tensor<{self.cols}x{self.depth // form.block}x{form.scale}, "
             "#blockscale.layout<swizzle_128x4>>")
        return (f"func.func @product(%x: {x}, %w: {w}, %s: {s}) -> {y} {{\n"
                f"  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, {form.block}]"
                f" : {x}, {w}, {s} -> {y}\n  return %y : {y}\n}}\n")


CASES = [Case(name, rows, *weights) for name in FORMATS for weights in WEIGHTS for rows in ROWS
         if weights == WEIGHTS[0] or name == "NVFP4"]


def make_weights(torch, case):
    """Codes and scales of random weights, swizzled and not."""
    form = case.format
    shape = (case.cols, case.depth * form.bytes_of_two // 2)
    codes = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
    if form.bytes_of_two == 2:
        codes[(codes & 127) == 127] = 0  # no NaN
    # Powers of two, and of E4M3 values between them: neighbours differ.
    low, high = (40, 72) if form.block == 16 else (119, 125)
    scales = torch.randint(low, high, (case.cols, case.depth // form.block), dtype=torch.uint8,
                           device="cuda")
    bands, tiles = case.cols // TILE[0], scales.shape[1] // TILE[1]
    swizzled = scales.reshape(bands, 4, 32, tiles, 4).permute(0, 3, 2, 1, 4).contiguous()
    return codes, scales, swizzled


def prepack(torch, case, codes):
    """The codes in the order of registers: #blockscale.data_layout<fragments_64x64>."""
    blocks = (case.cols // 64, case.depth // 64)
    if case.format.bytes_of_two == 2:
        # Rows are (block, warp, half, group); columns (block, half of products, product,
        # half, pair, element).
        split = codes.view(blocks[0], 4, 2, 8, blocks[1], 2, 2, 2, 4, 2)
        return split.permute(0, 4, 5, 1, 3, 8, 6, 7, 2, 9).contiguous()
    code = torch.stack([codes & 15, codes >> 4], dim=-1).to(torch.int32)
    # Columns are (block, pair of products, product, half, pair, element).
    split = code.view(blocks[0], 4, 2, 8, blocks[1], 2, 2, 2, 4, 2)
    code = split.permute(0, 4, 1, 3, 8, 5, 6, 7, 2, 9).reshape(*blocks, 128, 2, 8, 2)
    words = torch.zeros((*code.shape[:-2], 2), dtype=torch.int64, device=codes.device)
    # A register is a word that is rotated to the left, or bits of both words.
    for register, rotation in enumerate((0, 4, 10, 8, 2, 6, 12, 14)):
        for half in range(2):
            for bit, to in enumerate((6, 7, 8, 15)):
                place = (to + 16 * half - rotation) % 32
                is_second = not 0x06030603 >> place & 1 if register % 4 == 3 else register > 3
                words[..., int(is_second)] |= (
                    (code[..., register, half] >> bit & 1).to(torch.int64) << place)
    return words.to(torch.uint32).contiguous().view(torch.uint8)


def dequantize(torch, case, codes, scales, table):
    """The weights in bf16, exactly."""
    form = case.format
    if form.bytes_of_two == 1:
        both = torch.stack([codes & 15, codes >> 4], dim=-1).to(torch.int32)
        values = table[both]
    else:
        values = codes.view(torch.float8_e4m3fn).to(torch.bfloat16)
    if form.block == 16:
        factors = scales.view(torch.float8_e4m3fn).to(torch.bfloat16)
    else:
        factors = (scales.to(torch.int16) << 7).view(torch.bfloat16)
    blocks = values.reshape(case.cols, -1, form.block) * factors.unsqueeze(-1)
    return blocks.reshape(case.cols, case.depth)


def find_problem(torch, y, x, wide):
    """What is wrong with a result; an empty text if it is within the bound."""
    expected = x.float() @ wide.float().t()
    # The sums of f32 of K products, and their rounding to bf16.
    bound = expected.abs() * 2**-8 + (x.float().abs() @ wide.float().abs().t()) * (
        x.shape[1] * 2**-23)
    wrong = ~((y.float() - expected).abs() <= bound)
    return f"WRONG: {int(wrong.sum())} of {wrong.numel()}" if wrong.any() else ""


def make_table(torch):
    """The values of E2M1's codes."""
    table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6], device="cuda")
    return torch.cat([table, -table]).to(torch.bfloat16)


@functools.cache
def compile_dequantize(torch, name, cols, depth):
    """What torch.compile makes of `dequantize`, once for all products of the same weights."""
    case, table = Case(name, 1, cols, depth), make_table(torch)
    return torch.compile(lambda c, s: dequantize(torch, case, c, s, table), dynamic=False)


def block_prepacked(case, codes):
    """Prepacked codes as the array of blocks that the modules take."""
    shape = (case.cols // 64, case.depth // 64, 64 * 64 * case.format.bytes_of_two // 2)
    return codes.view(shape)


def measure_rows(machine, case, humming, orders):
    torch, clock = machine.torch, machine.clock
    codes, scales, swizzled = make_weights(torch, case)
    x = torch.randn((case.rows, case.depth), device="cuda").to(torch.bfloat16)
    table = make_table(torch)
    wide = dequantize(torch, case, codes, scales, table)
    y = torch.empty((case.rows, case.cols), dtype=torch.bfloat16, device="cuda")

    prepacked = block_prepacked(case, prepack(torch, case, codes))
    ours, results = {}, []
    weights_of = dict(zip(ORDERS, (prepacked, codes)))
    for order in orders:
        ours[order], result = machine.make_call(f"{case.file}_{order}", "product",
                                                (x, weights_of[order], swizzled))
        ours[order]()
        results.append(result)
    problems = [find_problem(torch, result, x, wide) for result in results]

    expand = compile_dequantize(torch, case.name, case.cols, case.depth)
    works = {orders[0]: ours[orders[0]], "cuBLAS bf16": lambda: torch.mm(x, wide.t(), out=y),
             **ours,
             "dequantize": lambda: torch.mm(x, expand(codes, scales).t(), out=y)}
    if case.rows >= 16:
        x8, w8 = (t.clamp(-448, 448).to(torch.float8_e4m3fn) for t in (x, wide))
        ones = [torch.ones(shape, device="cuda") for shape in ((case.rows, 1), (1, case.cols))]
        works["FP8"] = lambda: torch._scaled_mm(x8, w8.t(), *ones, out_dtype=torch.bfloat16)
    notes = []
    if humming and humming.has(case):
        try:
            works[humming_peer.NAME], result = humming.make_work(torch, case, codes, scales, x)
            works[humming_peer.NAME]()
            if problem := find_problem(torch, result, x, wide):
                notes.append(f"{humming_peer.NAME}: {problem}")
        except Exception as error:  # It may fail in any way; the others still count.
            works.pop(humming_peer.NAME, None)
            notes.append(f"{humming_peer.NAME} failed: {describe_error(error)}")
    calls, failed = capture(clock, works, (*orders, "cuBLAS bf16"))
    times = clock.compare(calls)
    return {"label": case.label, "us": times, "problem": max(problems),
            "notes": notes + failed,
            "share": times["cuBLAS bf16"] / times[orders[0]],
            "tflops": case.flops * 1e-6 / times[orders[0]]}


def describe_rates(device):
    return f"TFLOP/s of products with weights of {'x'.join(map(str, WEIGHTS[0]))}, {device}"


def make_lines(times):
    """The lines of a chart of these rates by rows: `times` has the microseconds of works, by case.
    A peer that reads bf16 or FP8 has one line, of the first format for which a case was timed."""
    lines = {}
    for case, of_work in times.items():
        if not case.is_square:
            continue
        names = {name: name for name in PEERS} | {
            "prepacked": f"{case.name}, ours",
            humming_peer.NAME: f"{case.name}, {humming_peer.NAME}"}
        for work, name in names.items():
            if work in of_work:
                line = lines.setdefault(name, {})
                line.setdefault(case.rows, case.flops * 1e-6 / of_work[work])
    return lines


class WeightOnly(Benchmark):
    name, cases = "weight_only", CASES
    chips = ("sm_90a", "sm_80", "sm_89")
    files = ("chart.py", "humming_peer.py")
    columns = ("weights, MxNxK", "us", "TFLOP/s", "row-major, us",
               *(f"{name}, us" for name in PEERS), "share of cuBLAS", "bar")
    humming = None

    @property
    def orders(self):
        return ORDERS if self.chip == self.chips[0] else ORDERS[1:]

    def get_bar(self, case):
        """The least share of a case; None if it has none."""
        if self.chip == self.chips[0]:
            return case.bar
        if case.name != "NVFP4":
            return None
        return OLDER_BARS.get((case.rows, case.cols, case.depth))

    def add_options(self, pack, run):
        pack.add_argument("--humming", nargs="+", type=Path, default=[], metavar="WHEEL",
                          help="wheels of Humming and of what it needs that the machine lacks")
        run.add_argument("--no-humming", action="store_true", help="leave this peer out")

    def pack_more(self, options):
        humming_peer.pack(options.humming, options.folder)

    def start(self, machine, options, cases):
        if not options.no_humming:
            self.humming = humming_peer.Humming([case for case in cases if case.is_square])
        return str(self.humming or "")

    def make_modules(self, case):
        return {f"{case.file}_{order}": case.module(order == "prepacked") for order in self.orders}

    def measure(self, machine, case):
        row = measure_rows(machine, case, self.humming, self.orders)
        return {**row, "bar": self.get_bar(case)}

    def make_cells(self, row):
        missing = dict.fromkeys((*ORDERS, *PEERS), "")
        missing[humming_peer.NAME] = "-" if row["bar"] else ""
        ours, *others = (f"{row['us'][name]:.1f}" if name in row["us"] else missing[name]
                         for name in (*ORDERS, *PEERS))
        return [row["label"], ours, f"{row['tflops']:.0f}", *others, f"{row['share']:.2f}",
                str(row["bar"] or "")]

    def finish(self, folder, device, rows):
        import chart
        chart.write_chart(folder / "weight_only.svg", f"Share of cuBLAS bf16, {device}", rows)
        case_of = {case.label: case for case in self.cases}
        lines = make_lines({case_of[row["label"]]: row["us"] for row in rows})
        (folder / "weight_only_tflops.svg").write_text(
            chart.draw_rates(describe_rates(device), lines))


if __name__ == "__main__":
    sys.exit(main(WeightOnly(), __doc__))

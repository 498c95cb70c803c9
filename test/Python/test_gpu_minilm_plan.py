# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/minilm_plan.py: its bars and weights, and what another checkout packs."""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "scripts")]

import minilm_plan
import product_bench

ROW = {"label": "32 of 128 words", "problem": "", "share": 0.5, "times": 5.0,
       "us": {"ours": 200.0, "torch.compile": 110.0, "max-autotune": 100.0, "older": 1000.0}}


class MiniLMTest(unittest.TestCase):
    def test_bars(self):
        for change, verdict in (({}, "met"), ({"share": 0.49}, "MISSED"),
                                ({"times": 4.9}, "MISSED"), ({"times": None}, "met"),
                                ({"times": None, "share": 0.4}, "MISSED"),
                                ({"problem": "WRONG"}, "WRONG")):
            with self.subTest(change):
                self.assertEqual(minilm_plan.MiniLM().verdict(ROW | change), verdict)

    # Without an older compiler, and where a peer failed, cells are empty.
    def test_cells(self):
        benchmark = minilm_plan.MiniLM()
        self.assertEqual(benchmark.make_cells(ROW),
                         ["32 of 128 words", "200.0", "110.0", "100.0", "1000.0", "0.50", "5.00",
                          "0.5; 5.0"])
        row = ROW | {"times": None, "us": {"ours": 200.0, "torch.compile": 110.0}}
        cells = benchmark.make_cells(row)
        self.assertEqual(len(cells), len(benchmark.columns))
        self.assertEqual(cells[3:7], ["", "", "0.50", ""])

    def test_weights(self):
        weights = minilm_plan.draw_weights()
        self.assertEqual({name: each.shape for name, each in weights.items()},
                         minilm_plan.list_weights())
        self.assertEqual({each.dtype for each in weights.values()}, {np.dtype(np.float32)})
        again = minilm_plan.draw_weights()
        self.assertTrue(all(np.array_equal(weights[name], again[name]) for name in weights))
        self.assertAlmostEqual(float(weights["norm1_0"].mean()), 1, delta=0.1)
        self.assertAlmostEqual(float(weights["norm1_0_bias"].mean()), 0, delta=0.1)


class Figures(product_bench.Benchmark):
    name = "figures"
    cases = (mock.Mock(label="small", file="small"),)

    def make_modules(self, case):
        return {case.file: str(self.checkout)}


class CheckoutTest(unittest.TestCase):
    # The scripts are those at hand; compiler, runtime and commit are the other's.
    def test_pack(self):
        with tempfile.TemporaryDirectory() as name:
            here, other = (Path(name).resolve() / part for part in ("here", "other"))
            for path in (here / "figures.py", here / "product_bench.py", here / "peers.py",
                         other / "build/lib/libBlockScaleRuntime.so",
                         other / "python/blockscale_runtime.py"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(path.name)
            commands, packed = [], Path(name) / "packed"

            def run(command, check):
                commands.append((command[0], command[1].read_text()))

            with (mock.patch.object(product_bench, "HERE", here),
                  mock.patch.object(product_bench, "subprocess", mock.Mock(run=run)),
                  mock.patch("log_head.describe_commit", lambda root: root.name),
                  mock.patch.object(sys, "argv", ["figures.py", "pack", str(packed),
                                                  "--checkout", str(other)])):
                self.assertEqual(product_bench.main(Figures(), ""), 0)
            self.assertEqual(commands, [(other / "build/bin/blockscale-compile", str(other))])
            self.assertEqual((packed / "blockscale_runtime.py").read_text(),
                             "blockscale_runtime.py")
            about = json.loads((packed / "figures_pack.json").read_text())
            self.assertEqual(about["commit"], "other")


if __name__ == "__main__":
    unittest.main()

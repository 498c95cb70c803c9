# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/product_bench.py and the benchmarks of products: what they pack and print, with
the compiler and the GPU replaced."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "scripts")]

import append
import both_scaled
import chart
import grouped
import humming_peer
import log_head
import minilm_plan
import plain
import product_bench
import weight_only

BENCHMARKS = (weight_only.WeightOnly, grouped.Grouped, both_scaled.BothScaled, plain.Plain,
              append.Append, minilm_plan.MiniLM)


class Case:
    def __init__(self, label):
        self.label, self.file = label, f"file_of_{label}"


class Figures(product_bench.Benchmark):
    """A benchmark whose rows are given."""

    name, columns = "figures", ("case", "us")
    cases = tuple(map(Case, ("small", "large", "huge")))

    def __init__(self, verdicts=(), notes=()):
        self.verdicts, self.notes = dict(verdicts), dict(notes)

    def make_modules(self, case):
        return {case.file: f"module {case.label}", "shared": "module of all"}

    def measure(self, machine, case):
        return {"label": case.label, "us": 3.25, "notes": self.notes.get(case.label, [])}

    def verdict(self, row):
        return self.verdicts.get(row["label"], "met")

    def make_cells(self, row):
        return [row["label"], f"{row['us']:.1f}"]


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_main(self, benchmark, *arguments):
        """The exit status, and what is printed."""
        torch = mock.MagicMock(__version__="9.9")
        device = mock.Mock(driver_version=13000)
        device.name = "a GPU"
        runtime = mock.Mock(Runtime=lambda path: mock.Mock(device=lambda: device))
        modules = {"torch": torch, "blockscale_runtime": runtime, "peers": mock.MagicMock()}
        with (mock.patch.dict(sys.modules, modules),
              mock.patch.object(product_bench, "HERE", self.folder),
              mock.patch.object(sys, "argv", ["figures.py", *map(str, arguments)]),
              contextlib.redirect_stdout(io.StringIO()) as text):
            return product_bench.main(benchmark, "What it does."), text.getvalue()

    def run_cases(self, benchmark, *options, cases=("small", "large")):
        (self.folder / "figures_pack.json").write_text(json.dumps(
            {"commit": "0123abc", "chip": "sm_90a",
             "cases": [f"file_of_{case}" for case in cases]}))
        return self.run_main(benchmark, "run", *options)

    def test_run(self):
        status, text = self.run_cases(Figures(notes={"large": ["a peer failed"]}))
        self.assertEqual(status, 0)
        head, = log_head.read_heads(text)
        self.assertEqual((head.commit, head.machine, head.command),
                         ("0123abc", "a GPU, driver 13000", "python3 figures.py run"))
        self.assertIn("kernels of sm_90a\n", text)
        self.assertTrue(text.endswith("torch 9.9\n\n| case | us |  |\n| --- | --- | --- |\n"
                                      "| small | 3.2 | met |\n| large | 3.2 | met |\n"
                                      "| a peer failed |  |  |\n"), text)
        written = json.loads((self.folder / "figures.json").read_text())
        self.assertEqual([row["label"] for row in written["rows"]], ["small", "large"])

    def test_run_of_some_cases(self):
        _, text = self.run_cases(Figures(), "--only", "la*")
        self.assertIn("| large |", text)
        self.assertNotIn("| small |", text)

    def test_exit_status(self):
        self.assertEqual(self.run_cases(Figures({"large": "MISSED"}))[0], 1)
        self.assertEqual(self.run_cases(Figures({"large": ""}))[0], 0)
        self.assertEqual(self.run_cases(Figures(), "--only", "none")[0], 1)

    # A module that two cases have is compiled once.
    def test_pack(self):
        for name in ("figures.py", "product_bench.py", "peers.py", "libBlockScaleRuntime.so"):
            path = self.folder / ("lib" if name.startswith("lib") else "") / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        compiled = {}

        def compile_one(command, check):
            compiled[command[1].stem] = command[1].read_text()

        with (mock.patch.object(product_bench, "BUILD", self.folder),
              mock.patch.object(product_bench, "subprocess", mock.Mock(run=compile_one))):
            packed = self.folder / "packed"
            self.run_main(Figures(), "pack", packed, "--only", "*l*")
        self.assertEqual(compiled, {"file_of_small": "module small", "shared": "module of all",
                                    "file_of_large": "module large"})
        self.assertEqual(json.loads((packed / "figures_pack.json").read_text())["cases"],
                         ["file_of_small", "file_of_large"])
        self.assertEqual(list(packed.glob("*.mlir")), [])


class CaptureTest(unittest.TestCase):
    def fail(self):
        raise RuntimeError("no kernel\nfor this GPU")

    def capture(self, needed):
        clock = mock.Mock(capture=lambda work: work())
        return product_bench.capture(clock, {"ours": lambda: "a graph", "a peer": self.fail},
                                     needed)

    def test_a_peer_that_fails(self):
        self.assertEqual(self.capture(["ours"]), ({"ours": "a graph"},
                                                  ["a peer failed: RuntimeError: no kernel"]))

    def test_a_work_that_must_not_fail(self):
        with self.assertRaises(RuntimeError):
            self.capture(["ours", "a peer"])


class CasesTest(unittest.TestCase):
    # Labels select cases, and files name them.
    def test_names(self):
        for benchmark in BENCHMARKS:
            for key in ("label", "file"):
                names = [getattr(case, key) for case in benchmark.cases]
                self.assertEqual(len(names), len(set(names)), benchmark.name)

    def test_packed_files_exist(self):
        for benchmark in BENCHMARKS:
            for name in (f"{benchmark.name}.py", *benchmark.files):
                self.assertTrue((ROOT / "benchmarks/gpu" / name).exists(), name)

    # A run that is cut short has them.
    def test_bars_of_both_scaled_come_first(self):
        cases = both_scaled.BothScaled.cases
        self.assertEqual([case.label for case in cases[:3]],
                         [f"{name}, 4096x4096x4096" for name in ("NVFP4", "MXFP4", "MXFP8")])
        self.assertEqual([bool(case.bars) for case in cases], [True] * 3 + [False] * 9)


class RowsTest(unittest.TestCase):
    def check(self, benchmark, row, verdict):
        cells = benchmark.make_cells(row)
        self.assertEqual(len(cells), len(benchmark.columns))
        self.assertTrue(all(isinstance(cell, str) for cell in cells), cells)
        self.assertEqual(benchmark.verdict(row), verdict)

    def test_weight_only(self):
        row = {"label": "NVFP4, 1x8192x8192", "tflops": 5, "share": 2.4, "bar": 2.3, "problem": "",
               "us": {"prepacked": 25.0, "row-major": 27.0, "cuBLAS bf16": 60.0}}
        # Only where it could have been timed is it missing.
        humming = weight_only.WeightOnly.columns.index("Humming, us")
        for change, cell in (({}, "-"), ({"bar": None}, ""), ({"us": row["us"] | {"Humming": 9}},
                                                              "9.0")):
            self.assertEqual(weight_only.WeightOnly().make_cells(row | change)[humming], cell)
        for change, verdict in (({}, "met"), ({"share": 2.2}, "MISSED"), ({"bar": None}, ""),
                                ({"problem": "WRONG: 1 of 2"}, "WRONG: 1 of 2")):
            self.check(weight_only.WeightOnly(), row | change, verdict)

    # Kernels of older chips read row-major weights, and have bars of their own.
    def test_weight_only_of_older_chips(self):
        benchmark = weight_only.WeightOnly()
        small, large = (weight_only.Case("NVFP4", *sizes) for sizes in
                        ((16, 8192, 8192), (4096, 4096, 4096)))
        self.assertEqual([benchmark.get_bar(case) for case in (small, large)], [2.3, None])
        self.assertEqual(len(benchmark.make_modules(small)), 2)
        benchmark.chip = "sm_80"
        self.assertEqual([benchmark.get_bar(case) for case in (small, large)], [1.8, 0.5])
        self.assertIsNone(benchmark.get_bar(weight_only.Case("MXFP4", 16, 8192, 8192)))
        self.assertEqual(list(benchmark.make_modules(small)), ["NVFP4_16_8192_8192_row-major"])
        row = {"label": small.label, "tflops": 5, "share": 1.9, "bar": 1.8, "problem": "",
               "us": {"row-major": 27.0, "cuBLAS bf16": 51.0}}
        self.check(benchmark, row, "met")

    def test_grouped(self):
        row = {"label": "8 groups of 1, 14336x4096", "us": {"ours": 112.0}, "limit_us": 108.0,
               "times": 1.03, "most": 1.6, "share": None, "problem": ""}
        for change, verdict in (({}, "met"), ({"times": 1.7}, "MISSED"), ({"share": 1.0}, "met"),
                                ({"share": 0.8}, "MISSED"), ({"problem": "WRONG"}, "WRONG")):
            self.check(grouped.Grouped(), row | change, verdict)

    def test_both_scaled(self):
        row = {"label": "MXFP4, 4096x4096x4096", "us": {"ours": 208.0, "cuBLAS bf16": 170.0},
               "tflops": 660, "speed": {"cuBLAS bf16": 0.8}, "problem": "", "bars": "met"}
        self.check(both_scaled.BothScaled(), row, "met")
        self.check(both_scaled.BothScaled(), row | {"problem": "WRONG"}, "WRONG")


    def test_plain(self):
        row = {"label": "16x8192x8192", "us": {"ours": 20.0, "torch": 19.0}, "tflops": 107,
               "share": 0.95, "bar": 0.95, "problem": ""}
        for change, verdict in (({}, "met"), ({"share": 0.94}, "MISSED"), ({"bar": None}, ""),
                                ({"problem": "WRONG"}, "WRONG")):
            self.check(plain.Plain(), row | change, verdict)


class HummingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for patch in (mock.patch.dict("os.environ"), mock.patch.object(sys, "path", [*sys.path]),
                      mock.patch.object(humming_peer, "HERE", self.folder)):
            patch.start()
            self.addCleanup(patch.stop)

    def try_formats(self, program, *names):
        """The peer after trials by a program."""
        (self.folder / "humming_peer.py").write_text(program)
        humming = humming_peer.Humming([weight_only.Case(name, rows, 8192, 8192)
                                        for name in names for rows in (1, 16)])
        self.addCleanup(humming.kept.cleanup)
        return humming

    def has(self, humming, *case):
        return humming.has(weight_only.Case(*case, 8192, 8192))

    def test_trials(self):
        humming = self.try_formats(
            "import sys\n"
            "assert sys.argv[2:] == ['1', '16']\n"
            "print('a word')\n"
            "print('1.2') if sys.argv[1] == 'NVFP4' else sys.exit('first\\nno kernel')\n",
            "NVFP4", "MXFP8")
        self.assertEqual(str(humming), "Humming 1.2; no Humming of MXFP8: no kernel")
        self.assertTrue(self.has(humming, "NVFP4", 16))
        self.assertFalse(self.has(humming, "NVFP4", 32))
        self.assertFalse(self.has(humming, "MXFP8", 16))
        self.assertFalse(self.has(humming, "MXFP4", 16))

    # All that it started ends with it.
    def test_a_trial_that_takes_too_long(self):
        with mock.patch.object(humming_peer, "LIMIT", 0.5):
            humming = self.try_formats("import subprocess\nsubprocess.run(['sleep', '60'])\n",
                                       "NVFP4")
        self.assertEqual(str(humming), "no Humming of NVFP4: not tried to the end within 0.5 s")

    def test_a_wheel_that_is_none(self):
        (self.folder / humming_peer.WHEELS).mkdir()
        (self.folder / humming_peer.WHEELS / "a.whl").write_text("no archive")
        self.assertIn("BadZipFile", str(self.try_formats("", "NVFP4")))

    # The trial finds the package, and its programs can be run.
    def test_wheels(self):
        wheel = self.folder / "a.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, mode in (("other.py", 0o644), ("program", 0o755)):
                entry = zipfile.ZipInfo(name)
                entry.external_attr = mode << 16
                archive.writestr(entry, "version = 3\n")
        humming_peer.pack([wheel], self.folder)
        humming = self.try_formats("import os, other\n"
                                   "path = os.path.dirname(other.__file__) + '/program'\n"
                                   "print(other.version, os.access(path, os.X_OK))\n", "MXFP4")
        self.assertEqual(str(humming), "Humming 3 True")

    # Intervals leave out their first number of rows; that of one row is always there.
    def test_configs(self):
        configs = [[0, 8, "a"], [8, 16, "b"], [16, 24, "c"], [24, 1 << 30, "d"]]
        self.assertEqual([config[2] for config in humming_peer.pick_configs(configs, [16, 8192])],
                         ["a", "b", "d"])

    def test_all_formats_have_a_scheme(self):
        self.assertEqual(set(humming_peer.SCHEMES), set(weight_only.FORMATS))


class ChartTest(unittest.TestCase):
    # Only weights of 8192x8192; one line of a peer, of the first format that has the case.
    def test_lines(self):
        cases = [weight_only.Case("NVFP4", 1, 8192, 8192), weight_only.Case("MXFP4", 1, 8192, 8192),
                 weight_only.Case("NVFP4", 1, 4096, 14336)]
        times = [{"prepacked": 8192, "cuBLAS bf16": 4096, "row-major": 1, "Humming": 1024},
                 {"prepacked": 2048, "cuBLAS bf16": 1, "Humming": 512}, {"prepacked": 1}]
        flops = 2 * 8192 * 8192 * 1e-6
        self.assertEqual(weight_only.make_lines(dict(zip(cases, times))), {
            "NVFP4, ours": {1: flops / 8192}, "cuBLAS bf16": {1: flops / 4096},
            "MXFP4, ours": {1: flops / 2048}, "NVFP4, Humming": {1: flops / 1024},
            "MXFP4, Humming": {1: flops / 512}})

    def test_points(self):
        picture = chart.draw_rates("A < B", {"a peer": {1: 2, 4: 4}, "ours": {1: 4, 16: 8}})
        root = xml.etree.ElementTree.fromstring(picture)
        lines = [item.get("points") for item in root if item.tag.endswith("polyline")]
        left, right = chart.LEFT, chart.LEFT + chart.WIDTH
        top, bottom = chart.TOP, chart.TOP + chart.HEIGHT
        middle = (top + bottom) / 2
        self.assertEqual(lines, [
            f"{left:.1f},{middle:.1f} {right:.1f},{top:.1f}",
            f"{left:.1f},{bottom:.1f} {(left + right) / 2:.1f},{middle:.1f}"])

    # As a run of no case, or of one, has it.
    def test_few_points(self):
        for lines in ({}, {"ours": {1: 5.0}}):
            xml.etree.ElementTree.fromstring(chart.draw_rates("", lines))


if __name__ == "__main__":
    unittest.main()

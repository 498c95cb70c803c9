# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner from end to end with the emulator's counts and a driver without a GPU, and what the
compiler and the tuner make of files that are no choices."""

import contextlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
COMPILE = BUILD / "bin/blockscale-compile"
OPT = BUILD / "bin/blockscale-opt"
RUN = BUILD / "bin/blockscale-run"
LIBRARY = BUILD / "lib/libBlockScaleRuntime.so"
FAKE_CUDA = BUILD / "lib/fake-cuda/libcuda.so.1"

sys.path.insert(0, str(ROOT / "python"))

import blockscale_choices as choices
import blockscale_tune as tune

# K is long and N small, so that the model cuts K in as many parts as it can. That is quick where
# multiprocessors would be idle, but the parts are more instructions in all.
NAME = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m16-n256-k4096"
MANIFEST = {"chip": "sm_90a", "compiler": "0.1.0", "gpu": "NVIDIA H200", "multiprocessors": 132,
            "driver": "CUDA 13", "policy": "none", "unit": "ns"}


def module(rows="16", cols=256):
    x, y = (f"tensor<{rows}x{size}xbf16>" for size in (4096, cols))
    w, s = f"tensor<{cols}x4096xf4E2M1FN>", (
        f"tensor<{cols}x256xf8E4M3FN, #blockscale.layout<swizzle_128x4>>")
    return (f"func.func @product(%x: {x}, %w: {w}, %s: {s}) -> {y} {{\n"
            f"  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]"
            f" : {x}, {w}, {s} -> {y}\n  return %y : {y}\n}}\n")


def why_not_loaded():
    """Why this process cannot load the library, or None."""
    if not LIBRARY.exists():
        return f"{LIBRARY} is not built"
    if any(name in LIBRARY.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        return "a sanitizer's library needs a process that began with the sanitizer"
    return None


class TuneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.module = self.folder / "m.mlir"
        self.module.write_text(module())
        self.choices = self.folder / "choices"

    def tune(self, *arguments):
        """The exit status, standard output and standard error of a command."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = tune.main([str(each) for each in arguments])
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def pack(self, *arguments):
        pack = self.folder / "pack"
        status, _, err = self.tune("pack", pack, self.module, "--target=sm_90a",
                                   f"--bin={BUILD / 'bin'}", *arguments)
        self.assertEqual((status, err), (0, ""))
        return pack

    def compile(self, tuned=None, source=None, target="sm_90a"):
        """The choice of a compilation, and its remark about a measured schedule."""
        path = self.folder / "compiled.mlir"
        path.write_text(source or module())
        done = subprocess.run(
            [COMPILE, path, f"--target={target}", "--emit=plan", "--remarks", "-o", "-",
             *([f"--tuned={tuned}"] if tuned else [])], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        remarks = [line for line in done.stderr.splitlines() if "[Analysis] tuned" in line]
        self.assertEqual(len(remarks), 1 if tuned else 0, done.stderr)
        return json.loads(done.stdout)["choices"][0], "".join(remarks)

    def candidates(self):
        done = subprocess.run([COMPILE, self.module, "--target=sm_90a", "--emit=choices",
                               "-o", "-"], capture_output=True, text=True, check=True)
        about = json.loads(done.stdout)
        self.assertEqual((about["chip"], about["compiler"]), ("sm_90a", MANIFEST["compiler"]))
        return about["choices"][0]

    def write(self, number=1, root=None, **manifest):
        """A choice of one of the model's candidates, and its folder."""
        choice = self.candidates()
        folder = choices.open_environment(root or self.choices, MANIFEST | manifest)
        candidates = [each | {"measured": 1000} for each in choice["candidates"]]
        choices.write_choice(folder, choice["name"], choice["key"],
                             candidates[number]["schedule"], "@product", candidates)
        return folder, candidates[number]["schedule"]


class EmulatorTest(TuneTest):
    def setUp(self):
        super().setUp()
        if reason := why_not_loaded():
            self.skipTest(reason)

    def test_counts_choose_another_schedule_than_the_model(self):
        pack = self.pack("--candidates=8")
        self.assertEqual(len(list(pack.glob("*.bundle"))), 8)
        for carried in ("blockscale_tune.py", "blockscale_choices.py", "blockscale_operands.py",
                        "blockscale_runtime.py", "libBlockScaleRuntime.so"):
            self.assertTrue((pack / carried).exists(), carried)
        measure = ("measure", pack, self.choices, "--on=emulator", f"--bin={BUILD / 'bin'}",
                   f"--runtime={LIBRARY}")
        status, out, err = self.tune(*measure)
        self.assertEqual((status, err), (0, ""))
        ((folder, manifest),) = choices.find_environments(self.choices)
        self.assertEqual((manifest["gpu"], manifest["unit"]), ("emulator", "instructions"))
        choice = choices.read_choice(folder, NAME)
        model, counts = self.compile()[0], [each["measured"] for each in choice["candidates"]]
        self.assertEqual(model["source"], "model")
        self.assertEqual(choice["candidates"][0]["schedule"], model["schedule"])
        self.assertNotEqual(choice["schedule"], model["schedule"])
        self.assertLess(min(counts), counts[0])
        self.assertEqual(choice["candidates"][counts.index(min(counts))]["schedule"],
                         choice["schedule"])

        # The compiler reads the choice, and the bundle says so.
        tuned, remark = self.compile(self.choices)
        self.assertEqual((tuned["source"], tuned["schedule"], tuned["name"]),
                         ("tuned", choice["schedule"], NAME))
        rows = choice["schedule"]["rows"]
        self.assertIn(f"measured on emulator: #blockscale.gemm_schedule<rows = {rows}", remark)
        self.assertEqual(self.compile(folder)[0]["source"], "tuned")

        # What is there is not measured again, unless that is asked for.
        before = (folder / f"{NAME}.json").stat().st_mtime_ns
        shutil.copy(pack / "0_1.bundle", pack / "0_0.bundle")
        status, out, err = self.tune(*measure)
        self.assertEqual((status, err), (0, ""))
        self.assertIn(f"{NAME}: is there", out)
        self.assertEqual((folder / f"{NAME}.json").stat().st_mtime_ns, before)
        status, out, err = self.tune(*measure, "--again")
        self.assertEqual(status, 1)
        self.assertIn("0_0.bundle to be the file that was packed, but got another one", err)

        # The table has a line for each candidate; counts are no times.
        status, out, err = self.tune("table", self.choices)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count(f"| {NAME} |"), 8)
        self.assertEqual((out.count(" model |"), out.count(" tuned |")), (1, 1))
        ratio = counts[0] / min(counts)
        self.assertIn(f"geometric mean {ratio:.3f}, worst {ratio:.3f}", out)
        self.assertNotIn("predictions off", out)

    def test_dynamic_sizes(self):
        self.module.write_text(module("?"))
        pack = self.pack("--candidates=1", "--dynamic-sizes=24")
        status, out, err = self.tune(
            "measure", pack, self.choices, "--on=emulator", f"--bin={BUILD / 'bin'}",
            f"--runtime={LIBRARY}")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("-m_any-n256-k4096:", out)


    def count(self, target, sizes="300"):
        """The choice of the only product of the module."""
        pack = self.folder / "pack"
        for arguments in (("pack", pack, self.module, f"--target={target}", "--candidates=2",
                           f"--dynamic-sizes={sizes}"),
                          ("measure", pack, self.choices, "--on=emulator",
                           f"--runtime={LIBRARY}")):
            status, _, err = self.tune(*arguments, f"--bin={BUILD / 'bin'}")
            self.assertEqual((status, err), (0, ""))
        ((folder, manifest),) = choices.find_environments(self.choices)
        self.assertEqual(manifest["chip"], target)
        ((name, choice),) = choices.read_choices(folder).items()
        self.assertTrue(all(each["measured"] > 0 for each in choice["candidates"]))
        return name

    def test_groups_of_rows(self):
        self.module.write_text("""
            #s = #blockscale.layout<swizzle_128x4>
            func.func @f(%x: tensor<?x64xbf16>, %w: tensor<3x128x64xf4E2M1FN>, %e: tensor<3xi32>,
                         %s: tensor<3x128x4xf8E4M3FN, #s>, %b: tensor<3x128xbf16>, %g: f32)
                -> tensor<?x128xbf16> {
              %y = blockscale.scaled_grouped_mm %x, %w offsets(%e) scales(none, %s) block [1, 16]
                  : tensor<?x64xbf16>, tensor<3x128x64xf4E2M1FN>, tensor<3xi32>,
                    tensor<3x128x4xf8E4M3FN, #s> -> tensor<?x128xbf16>
              return %y : tensor<?x128xbf16>
            }""")
        self.assertEqual(self.count("sm_90a"), "rows-bf16-f4E2M1FN-f8E4M3FN-block16-bf16"
                                               "-m_any-n128-k64-matrices4")

    def test_groups_of_k_on_another_chip(self):
        self.module.write_text("""
            #g = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
            func.func @f(%a: tensor<128x?xf4E2M1FN>, %b: tensor<128x?xf4E2M1FN>, %e: tensor<2xi32>,
                         %sa: tensor<128x?xf8E4M3FN, #g>, %sb: tensor<128x?xf8E4M3FN, #g>)
                -> tensor<2x128x128xf32> {
              %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(%sa, %sb) block [1, 16]
                  : tensor<128x?xf4E2M1FN>, tensor<128x?xf4E2M1FN>, tensor<2xi32>,
                    tensor<128x?xf8E4M3FN, #g>, tensor<128x?xf8E4M3FN, #g> -> tensor<2x128x128xf32>
              return %y : tensor<2x128x128xf32>
            }""")
        # K is 256: 128 bytes, and 5 tiles of scales.
        self.assertIn("-m128-n128-k_any-matrices2", self.count("sm_100a", "128,128,5"))

    def test_both_operands_scaled(self):
        self.module.write_text("""
            #s = #blockscale.layout<swizzle_128x4>
            func.func @f(%a: tensor<40x128xf8E4M3FN>, %b: tensor<128x128xf8E5M2>,
                         %sa: tensor<40x4xf8E8M0FNU, #s>, %sb: tensor<128x4xf8E8M0FNU, #s>)
                -> tensor<40x128xf32> {
              %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
                  : tensor<40x128xf8E4M3FN>, tensor<128x128xf8E5M2>,
                    tensor<40x4xf8E8M0FNU, #s>, tensor<128x4xf8E8M0FNU, #s> -> tensor<40x128xf32>
              return %y : tensor<40x128xf32>
            }""")
        self.assertEqual(self.count("sm_100a"), "dense-f8E4M3FN-f8E8M0FNU-f8E5M2-f8E8M0FNU-block32"
                                                "-f32-m64-n128-k128")


class DriverTest(TuneTest):
    """On a driver whose GPU does nothing, in 250 us for each CTA of a cluster: a product in parts
    has one of them for each."""

    def setUp(self):
        super().setUp()
        if reason := why_not_loaded():
            self.skipTest(reason)
        os.environ.pop("FAKE_CUDA", None)
        # Its memory is the host's, which 256 MiB take long in.
        flush = unittest.mock.patch.object(tune, "FLUSH_BYTES", 2 << 20)
        flush.start()
        self.addCleanup(flush.stop)

    def measure(self, pack, *arguments):
        return self.tune("measure", pack, self.choices, f"--runtime={LIBRARY}",
                         f"--driver={FAKE_CUDA}", *arguments)

    def test_times(self):
        pack = self.pack("--candidates=20")
        status, out, err = self.measure(pack)
        self.assertEqual((status, err), (0, ""))
        ((folder, manifest),) = choices.find_environments(self.choices)
        self.assertEqual(
            {name: manifest[name] for name in ("gpu", "multiprocessors", "driver", "unit")},
            {"gpu": "Fake GPU", "multiprocessors": 132, "driver": "CUDA 13", "unit": "ns"})
        self.assertIn("2 MiB overwritten before each replay, median of 25", manifest["policy"])
        choice = choices.read_choice(folder, NAME)
        for each in choice["candidates"]:
            parts = each["schedule"]["splits"]
            self.assertEqual(each["measured"], 250_000 * parts)
        self.assertEqual(choice["schedule"]["splits"], 1)
        self.assertGreater(choice["candidates"][0]["schedule"]["splits"], 1)
        self.assertEqual(self.compile(self.choices)[0]["schedule"], choice["schedule"])
        # Eight times as long is beyond both bars.
        status, out, err = self.tune("table", folder, "--check")
        self.assertEqual((status, err), (1, ""))
        self.assertIn("geometric mean 8.000, worst 8.000 (bars 1.08 and 1.20)", out)
        count = len(choice["candidates"])
        self.assertIn(f"predictions off by more than 15 %: {count} of {count}", out)
        self.assertEqual(self.tune("table", folder)[0], 0)

    def test_scalars_by_value_and_in_memory(self):
        self.module.write_text("""
            #s = #blockscale.layout<swizzle_128x4>
            func.func @f(%a: tensor<16x64xbf16>, %b: tensor<128x64xf4E2M1FN>,
                         %s: tensor<128x4xf8E4M3FN, #s>, %g: tensor<f32>, %h: f32)
                -> (tensor<16x128xf32>, tensor<16x128xf32>) {
              %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
                  global_scale_b(%g : tensor<f32>)
                  : tensor<16x64xbf16>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #s>
                  -> tensor<16x128xf32>
              %z = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
                  global_scale_b(%h : f32)
                  : tensor<16x64xbf16>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #s>
                  -> tensor<16x128xf32>
              return %y, %z : tensor<16x128xf32>, tensor<16x128xf32>
            }""")
        status, _, err = self.measure(self.pack("--candidates=1"))
        self.assertEqual((status, err), (0, ""))
        ((name, choice),) = choices.read_choices(
            choices.find_environments(self.choices)[0][0]).items()
        self.assertIn("-globals_b-", name)
        # Both of one key, in one function.
        self.assertEqual(choice["candidates"][0]["measured"], 500_000)

    def test_another_environment_is_another_folder(self):
        pack = self.pack("--candidates=1")
        self.assertEqual(self.measure(pack)[0], 0)
        os.environ["FAKE_CUDA"] = "version=12040"
        self.addCleanup(os.environ.pop, "FAKE_CUDA")
        status, out, err = self.measure(pack)
        self.assertEqual((status, err), (0, ""))
        self.assertNotIn("is there", out)
        self.assertEqual([manifest["driver"] for _, manifest in sorted(
            choices.find_environments(self.choices), key=lambda each: each[1]["driver"])],
            ["CUDA 12", "CUDA 13"])

    def test_the_default_stays_where_none_is_faster(self):
        pack = self.pack("--candidates=2")
        self.assertEqual(self.measure(pack)[0], 0)
        ((_, choice),) = choices.read_choices(
            choices.find_environments(self.choices)[0][0]).items()
        self.assertEqual(choice["schedule"], choice["candidates"][0]["schedule"])
        status, out, _ = self.tune("table", self.choices, "--check")
        self.assertEqual(status, 0)
        self.assertIn("geometric mean 1.000, worst 1.000", out)

    def test_errors_of_the_driver(self):
        pack = self.pack("--candidates=1")
        for setting, expected in (("devices=0", "no GPU"), ("cuGraphLaunch=719", "cuGraphLaunch"),
                                  ("memory=1000000", "cannot allocate")):
            os.environ["FAKE_CUDA"] = setting
            self.addCleanup(os.environ.pop, "FAKE_CUDA", None)
            status, _, err = self.measure(pack)
            self.assertEqual(status, 1, setting)
            self.assertRegex(err, f"blockscale_tune.py: error: .*{expected}|error: .*GPU")
            self.assertEqual(list(self.choices.glob("*/dense*")), [])


class MissTest(TuneTest):
    """Whatever is not a choice for the product leaves it to the model, with a reason."""

    def assertMiss(self, reason, tuned=None, source=None):
        # The pass alone, which is quick.
        self.module.write_text(source or module())
        done = subprocess.run(
            [OPT, self.module, ("--blockscale-choose-schedules=chip=sm_90a tuned="
                                f"{tuned or self.choices}"), "--remarks-filter-analyse=gpu-launch"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('source = "model"', done.stdout)
        self.assertIn("no measured schedule, so that the model chooses: ", done.stderr)
        self.assertIn(reason, done.stderr)

    def test_hit(self):
        folder, schedule = self.write()
        self.assertEqual(folder.name, choices.find_environments(self.choices)[0][0].name)
        for root in (self.choices, folder, f"{folder}/"):
            choice, remark = self.compile(root)
            self.assertEqual((choice["source"], choice["schedule"]), ("tuned", schedule))
            self.assertIn("measured on NVIDIA H200", remark)
        # Nine rows are in the bucket of 16.
        self.assertEqual(self.compile(folder, module("9"))[0]["source"], "tuned")
        # The model's own may be the fastest.
        self.write(0)
        self.assertIn("the model's is the same", self.compile(folder)[1])

    def test_runs(self):
        """blockscale-run executes the choice: its other kernels read and write other bytes."""
        folder, _ = self.write()
        random = np.random.default_rng(1)
        inputs = {"x": (random.integers(0, 3, (16, 4096)) << 7 | 0x3F00).astype(np.uint16),
                  "w": random.integers(0, 256, (256, 2048), np.uint8),
                  "s": random.integers(0x30, 0x40, (2, 64, 32, 4, 4), np.uint8)}
        for name, array in inputs.items():
            np.save(self.folder / name, array)
        found = []
        for number, options in enumerate(([], [f"--tuned={folder}"])):
            out = self.folder / f"y{number}.npy"
            done = subprocess.run(
                [RUN, self.module, "--on=emulator", "--target=sm_90a", "--profile",
                 *(f"--in={self.folder / name}.npy" for name in inputs), f"--out={out}", *options],
                capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found.append((done.stdout, np.load(out)))
        self.assertNotEqual(found[0][0], found[1][0])
        # bf16 as f32.
        y0, y1 = ((y.astype(np.uint32) << 16).view(np.float32) for _, y in found)
        np.testing.assert_allclose(y1, y0, rtol=2 ** -7, atol=2 ** -7 * np.abs(y0).max())

    def test_other_buckets(self):
        self.write()
        self.assertMiss("m8-n256-k4096.json' cannot be read", source=module("8"))
        self.assertMiss("m32-n256-k4096.json' cannot be read", source=module("17"))
        self.assertMiss("m16-n512-k4096.json' cannot be read", source=module(cols=257))
        self.assertMiss("m_any-n256-k4096.json' cannot be read", source=module("?"))

    def test_other_environments(self):
        self.assertMiss(f"'{self.choices}' has no environment")
        folder, _ = self.write(chip="sm_100a")
        reason = f"expected choices for sm_90a, but '{folder}' has those for sm_100a"
        self.assertMiss(reason)
        self.assertMiss(reason, folder)
        shutil.rmtree(folder)
        folder, _ = self.write(compiler="0.0.9")
        self.assertMiss(f"of version {MANIFEST['compiler']}, but '{folder}' has those of 0.0.9")
        # Beside them one that counts is found, but not one of two.
        self.write()
        self.assertEqual(self.compile(self.choices)[0]["source"], "tuned")
        other, schedule = self.write(2, gpu="NVIDIA H100")
        self.assertMiss("expected one environment for sm_90a")
        self.assertEqual(self.compile(other)[0]["schedule"], schedule)

    def test_manifests_that_were_changed(self):
        folder, _ = self.write()
        path = folder / "manifest.json"
        text = path.read_text()
        for old, new in (("H200", "H100"), (" ", ""), ("sm_90a", "sm_100a")):
            path.write_text(text.replace(old, new))
            self.assertMiss(f"expected the folder of '{path}' to have the name")
            self.assertEqual(choices.find_environments(self.choices), [])
        path.write_text(text)
        self.assertEqual(len(choices.find_environments(self.choices)), 1)

    def test_manifests_of_other_members(self):
        import hashlib
        for change, reason in (({"version": 2}, "to be of version 1"),
                               ({"more": 1}, "but got 'more'"),
                               ({"gpu": 3}, "expected texts"),
                               ({"multiprocessors": "132"}, "expected texts"),
                               ({"multiprocessors": 1.5}, "expected texts"),
                               ({"unit": None}, "expected texts")):
            text = json.dumps({"version": 1} | MANIFEST | change)
            folder = self.choices / hashlib.sha256(text.encode()).hexdigest()[:16]
            folder.mkdir(parents=True)
            (folder / "manifest.json").write_text(text)
            with self.subTest(change):
                self.assertMiss(reason)
                self.assertEqual(choices.find_environments(self.choices), [])
            shutil.rmtree(folder)

    def test_files_that_are_no_choices(self):
        folder, schedule = self.write()
        path = folder / f"{NAME}.json"
        whole = json.loads(path.read_text())

        def change(**members):
            return json.dumps({name: value for name, value in (whole | members).items()
                               if value is not None})

        def without(name):
            return {key: value for key, value in whole["schedule"].items() if key != name}

        # (text, the compiler's reason, whether the tuner takes the file for a choice)
        cases = [
            ("", "is not JSON", False),
            ("{", "is not JSON", False),
            (path.read_text()[:-3], "is not JSON", False),
            ("[" * 100_000, "nested up to 16 deep", False),
            ("\0" * 10, "is not JSON", False),
            ("\"\xff\"", "is not JSON", False),
            ("\"choice\"", "expected the choice", False),
            ("null", "expected the choice", False),
            ("[]", "expected the choice", False),
            (" " * (2 << 20), "to be a file of up to 1048576 bytes", False),
            (change(version=2), "to be of version 1", False),
            (change(version="1"), "to be of version 1", False),
            (change(version=None), "to have 'version'", False),
            (change(more=1), "but got 'more'", False),
            (change(key=None), "to have 'key'", False),
            (change(key={}), "to have 'groups'", True),
            (change(key=whole["key"] | {"m": "32"}), "expected 'm' of the key", True),
            (change(key=whole["key"] | {"m": 16}), "expected 'm' of the key", False),
            (change(key=whole["key"] | {"l": "16"}), "but got 'l'", True),
            (change(schedule=1), "expected the schedule", False),
            (change(schedule=without("rows")), "to have 'rows'", False),
            (change(schedule=schedule | {"index": 1}), "but got 'index'", False),
            (change(schedule=schedule | {"rows": "16"}), "one that this compiler considers",
             False),
            (change(schedule=schedule | {"rows": 16.5}), "one that this compiler considers",
             False),
            (change(schedule=schedule | {"stages": 99}), "one that this compiler considers",
             True),
            (change(schedule=schedule | {"rows": -1}), "one that this compiler considers", True),
            (change(schedule=schedule | {"rows": 1 << 70}), "one that this compiler considers",
             True),
            (change(measured_at=3), "expected 'measured_at'", False),
            (change(candidates={}), "'candidates' a list", False),
            (change(candidates=[1]), "expected a candidate", False),
            (change(candidates=[{"schedule": schedule}]), "to have 'predicted_ns'", False),
        ]
        for text, reason, is_choice in cases:
            path.write_bytes(text.encode("latin-1"))
            with self.subTest(text[:200]):
                self.assertMiss(reason)
                self.assertEqual(choices.read_choice(folder, NAME) is not None, is_choice)
        # Folders and unreadable files.
        path.unlink()
        path.mkdir()
        self.assertMiss("to be a file of up to")
        self.assertIsNone(choices.read_choice(folder, NAME))

    def test_members_that_are_there_twice(self):
        folder, _ = self.write()
        path = folder / f"{NAME}.json"
        path.write_text(path.read_text().replace('"version": 1', '"version": 1, "version": 1'))
        self.assertIsNone(choices.read_choice(folder, NAME))

    def test_options_without_effect(self):
        self.write()
        for options, reason in (
                (["--target=cpu", "--emit=object", f"--tuned={self.choices}"],
                 "expected tuned schedules with a chip as target, but got cpu"),
                (["--target=sm_90a", "--emit=ptx", "--candidates=2"],
                 "expected --candidates with --emit=choices, but got --emit=ptx"),
                (["--target=cpu", "--emit=choices"],
                 "expected emit to be mlir, llvm or object with target cpu, but got choices"),
                (["--target=sm_90a,sm_100a", "--emit=choices"],
                 "expected one target with emit choices")):
            done = subprocess.run([COMPILE, self.module, *options, "-o", self.folder / "out"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(reason, done.stderr)


class FilesTest(TuneTest):
    def test_writers_at_once(self):
        """Readers see a whole choice of one writer or the other, and nothing is left over."""
        code = ("import sys; import blockscale_choices as c\n"
                "for _ in range(100):\n"
                "  folder = c.open_environment(sys.argv[1], eval(sys.argv[2]))\n"
                "  schedule = dict.fromkeys(c.PARAMETERS, int(sys.argv[3]))\n"
                "  c.write_choice(folder, 'c', {}, schedule, sys.argv[3], [])\n")
        results, done = [], threading.Event()

        def read():
            while not done.is_set():
                for folder, _ in choices.find_environments(self.choices):
                    if (folder / "c.json").exists():
                        results.append(choices.read_choice(folder, "c"))

        reader = threading.Thread(target=read)
        reader.start()
        writers = [subprocess.Popen(
            [sys.executable, "-c", code, self.choices, repr(MANIFEST), str(number)],
            env=os.environ | {"PYTHONPATH": str(ROOT / "python")}) for number in (1, 2)]
        statuses = [writer.wait() for writer in writers]
        done.set()
        reader.join()
        self.assertEqual(statuses, [0, 0])
        self.assertTrue(results)
        self.assertTrue(all(each and str(each["schedule"]["rows"]) == each["measured_at"]
                            for each in results))
        (folder,) = self.choices.iterdir()
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["c.json", "manifest.json"])

    def test_tables(self):
        self.assertEqual(self.tune("table", self.choices)[0], 1)
        folder = choices.open_environment(self.choices, MANIFEST)
        schedule = dict.fromkeys(choices.PARAMETERS, 1)
        for name, times in (("a", (1000, 1000)), ("b", (1210, 1000))):
            candidates = [{"schedule": schedule | {"rows": rows}, "predicted_ns": 1000,
                           "measured": time} for rows, time in zip((16, 32), times)]
            choices.write_choice(folder, name, {}, candidates[1]["schedule"], "", candidates)
        status, out, _ = self.tune("table", self.choices, "--check")
        mean = math.sqrt(1.21)
        self.assertEqual(status, 1)
        self.assertIn(f"2 products: geometric mean {mean:.3f}, worst 1.210", out)
        self.assertIn("| b | 16x1 | 1.0 | 1.2 | 0.83 | 1.210 | model |", out)
        self.assertIn("off by more than 15 %: 1 of 4, at most by 17 %", out)

    def test_options_of_the_tool(self):
        (self.folder / "pack").mkdir()
        (self.folder / "pack/pack.json").write_text("{}")
        bin = f"--bin={BUILD / 'bin'}"
        plain = self.folder / "plain.mlir"
        plain.write_text("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                         "  return %x : tensor<4xf32>\n}\n")
        new, pack = self.folder / "new", self.folder / "pack"
        for arguments, status, reason in (
                ([], 2, "the following arguments are required: COMMAND"),
                (["tune"], 2, "invalid choice: 'tune'"),
                (["pack", new, self.module], 2, "--target"),
                (["pack", new, self.module, "--target=sm_90a", "--candidates=0", bin], 1,
                 "expected --candidates to be positive, but got 0"),
                (["pack", new, self.module, "--target=sm_90a", "--candidates=x"], 2, "invalid"),
                (["pack", new, self.module, "--target=sm_90a", "--dynamic-sizes=1,0", bin], 1,
                 "expected --dynamic-sizes to be positive, but got 1,0"),
                (["pack", new, self.module, "--target=sm_90a", "--dynamic-sizes=8,a"], 2,
                 "expected sizes with commas between, but got '8,a'"),
                (["pack", new, self.module, "--target=sm_1", bin], 1, "sm_1"),
                (["pack", new, self.folder / "none.mlir", "--target=sm_90a", bin], 1, "none.mlir"),
                (["pack", new, plain, "--target=sm_90a", bin], 1, "expected a product"),
                (["pack", new, self.module, "--target=sm_90a", f"--bin={self.folder}"], 1,
                 "expected blockscale-compile in"),
                (["pack", pack, self.module, "--target=sm_90a", bin], 1, "to hold no pack"),
                (["measure", new, self.choices], 1, "is no pack"),
                (["measure", pack, self.choices], 1, "is no pack"),
                (["measure", pack, self.choices, "--on=cpu"], 2, "invalid choice: 'cpu'"),
                (["measure", pack, self.choices, "--device=x"], 2, "invalid"),
                (["table", self.choices], 1, "to have choices, but it has none")):
            found, _, err = self.tune(*arguments)
            with self.subTest(arguments):
                self.assertEqual(found, status)
                self.assertIn(reason, err)
        self.assertFalse(self.choices.exists())

    def test_packs_that_are_none(self):
        pack = self.folder / "pack"
        pack.mkdir()
        case = {"candidates": [{"predicted_ns": 1, "bundle": "0.bundle", "sha256": ""}]}
        for text, reason in (("[", "JSONDecodeError"), ("[]", "TypeError"),
                             ('{"version": 1}', "cases"), ('{"version": 2, "cases": []}',
                                                           "version 1, but got 2"),
                             (json.dumps({"version": 1, "cases": [case]}), "0.bundle beside it")):
            (pack / "pack.json").write_text(text)
            status, _, err = self.tune("measure", pack, self.choices)
            self.assertEqual(status, 1)
            self.assertIn(reason, err)

    def test_help(self):
        for command in ((), ("pack",), ("measure",), ("table",)):
            status, out, _ = self.tune(*command, "--help")
            self.assertEqual(status, 0)
            self.assertIn("usage: blockscale_tune.py", out)


if __name__ == "__main__":
    unittest.main()

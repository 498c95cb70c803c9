# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu/stages.py: the stages of products in the emulator are those of an H200, a
comparison shows every difference, and texts that are not known are refused."""

import base64
import copy
import lzma
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
H200 = ROOT / "test/Data/stages/h200.json.gz"

sys.path.insert(0, str(ROOT / "scripts/gpu"))
import stage_dump
import stages


class EmulatorTest(unittest.TestCase):
    def test_has_the_stages_of_the_h200(self):
        if not EMULATED_CUDA.exists():
            self.skipTest(f"{EMULATED_CUDA} is not built")
        if any(name in EMULATED_CUDA.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
            self.skipTest("a sanitizer's library needs a process that began with the sanitizer")
        with tempfile.TemporaryDirectory() as temporary:
            folder, answers = Path(temporary) / "pack", Path(temporary) / "emulator.json.gz"
            stages.pack(folder)
            script = ROOT / "scripts/gpu/stages.py"
            for schedule in ("prompt", "adversarial"):
                run = subprocess.run(
                    [sys.executable, script, "--run", folder, "--driver", EMULATED_CUDA, "--out",
                     answers], capture_output=True, text=True,
                    env={**os.environ, "BLOCKSCALE_EMULATE_SCHEDULE": schedule})
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                run = subprocess.run([sys.executable, script, "--compare", H200, answers],
                                     capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stdout)
                self.assertRegex(run.stdout, r"\n20 products, \d+ stages: 0 different\npassed\n$")


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.silicon = stages.read_answers(H200)
        self.emulator = copy.deepcopy(self.silicon)

    def compare(self):
        lines, is_right = stages.compare(self.silicon, self.emulator)
        return "\n".join(lines), is_right

    def test_equal_answers(self):
        text, is_right = self.compare()
        self.assertTrue(is_right, text)
        self.assertIn("  less than a tile: 1 CTAs, 1 stages of 33792 bytes: equal\n", text)

    def test_a_planted_byte(self):
        dump = bytearray(lzma.decompress(base64.b85decode(self.silicon["first"])))
        dump[1000] ^= 1
        self.emulator["first"] = base64.b85encode(lzma.compress(dump)).decode()
        text, is_right = self.compare()
        self.assertFalse(is_right)
        self.assertIn("the dump of the first case differs from byte 1000 on", text)

    def test_another_stage(self):
        self.emulator["cases"][1]["stages"][0][5][2] = "0" * stages.DIGITS
        text, is_right = self.compare()
        self.assertFalse(is_right)
        self.assertIn("    CTA 0, stage 5: other scales of A\n", text)

    def test_a_missing_stage(self):
        self.emulator["cases"][2]["stages"][1].pop()
        text, is_right = self.compare()
        self.assertFalse(is_right)
        self.assertRegex(text, r"    CTA 1: (\d+) stages, but \d+ in the emulator\n")

    def test_other_results(self):
        self.emulator["cases"][3]["results"] = ["0" * stages.DIGITS]
        self.assertFalse(self.compare()[1])

    def test_another_case(self):
        self.emulator["cases"][4]["case"] = "Case()"
        text, is_right = self.compare()
        self.assertFalse(is_right)
        self.assertRegex(text, r"expected the case Case\(name='MXFP4', .*, but got Case\(\)")

    def test_a_missing_case(self):
        self.emulator["cases"].pop()
        text, is_right = self.compare()
        self.assertFalse(is_right)
        self.assertIn("expected 20 cases, but got 20 and 19", text)

    def test_the_first_dump_has_data_and_zeros_beyond_the_operand(self):
        dump = lzma.decompress(base64.b85decode(self.silicon["first"]))
        first = dump[:stages.CASES[0].layout.bytes]
        rows_of_a, rows_beyond = first[:32], first[5 * 128:6 * 128]
        self.assertGreater(len(set(rows_of_a)), 20)
        self.assertEqual(set(rows_beyond), {0})


class DumpTest(unittest.TestCase):
    """Each text that the changes of a kernel need."""

    def setUp(self):
        if not (BUILD / "bin/blockscale-compile").exists():
            self.skipTest("blockscale-compile is not built")
        sys.path.insert(0, str(ROOT / "python"))
        import blockscale_bundle
        case = next(case for case in stages.CASES if case.name == "pairs")
        run = subprocess.run([BUILD / "bin/blockscale-compile", "-", "--target=sm_100a",
                              "--emit=bundle", "-o", "-"], check=True, capture_output=True,
                             input=stages.write_module(case).encode())
        [(self.plan, self.ptx)], _ = blockscale_bundle.read(run.stdout)
        self.layout = case.layout

    def refuse(self, old, new, message):
        text = self.ptx.replace(old, new)
        self.assertNotEqual(text, self.ptx)
        with self.assertRaisesRegex(stage_dump.StageDumpError, message):
            stage_dump.make_dump(self.plan, text, self.layout, 8)

    def test_keeps_all_other_lines(self):
        [(_, text), (_, other)] = stage_dump.make_dump(self.plan, self.ptx, self.layout, 8)
        self.assertEqual(other, text.replace(".target sm_90a", ".target sm_100a"))
        left = {line.strip() for line in text.splitlines()}
        gone = [line.strip() for line in self.ptx.splitlines() if line.strip() not in left]
        kept = [line for line in gone if "tcgen05." not in line and "v4.b64" not in line]
        self.assertEqual(kept[0], ".target sm_100a")
        self.assertRegex(kept[1], r"^\.param \.u64 \w+_param_8$")  # has a comma now
        # Barriers of copies, the copies, and the bytes that the leader expects.
        forms = (r"and\.b64 \t%rd\d+, %rd\d+, 4278190072;", r"cp\.async\.bulk\.tensor\..*",
                 r"@%p\d+ bra \t\$L\w+;", r"mov\.b32 \t%r\d+, 68608;")
        for line in kept[2:]:
            self.assertRegex(line, f"^({'|'.join(forms)})$")

    def test_refuses_other_texts(self):
        self.refuse("tcgen05.mma.", "tcgen05.mma_other.", "nothing of SM100 to be left")
        self.refuse("tcgen05.alloc.", "tcgen05.alloc_other.", "one allocation")
        self.refuse(", 4278190072;", ", 4294967288;", "the barrier of the leader")
        self.refuse("mbarrier.arrive.expect_tx.", "mbarrier.arrive.expect.",
                    "the leader's announcement of bytes")
        self.refuse("elect.sync", "elect.other", "the guard of the products")
        self.refuse("multicast::cluster.b64", "multicast::other.b64", "one allocation")
        self.refuse("mbarrier.init.shared.b64 \t[", "mbarrier.init.shared.b64  [",
                    "the barriers of full stages")


if __name__ == "__main__":
    unittest.main()

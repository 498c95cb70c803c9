# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu: what is read from the disassembly of a kernel."""

import contextlib
import io
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "scripts")]
# The folder is on the path now.
import log_head
import recipes
import sass
import static

# Rows below the last have scales only; a rare case loops.
TEXT = """
//--------------------- .text.first --------------------------
    .section    .text.first,"ax",@progbits
first:
.text.first:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   ISETP.GE.U32.AND P0, PT, R0, UR4, PT ;
        /*0020*/               @P0 BRA `(.L_x_0) ;
        /*0030*/                   LDG.E R3, desc[UR6][R2.64] ;
        /*0040*/                   LDG.E.ENL2.256 R32, R36, desc[UR6][R4.64] ;
        /*0050*/                   LDG.E.128 R8, desc[UR6][R4.64+0x20] ;
        /*0060*/                   IMAD R7, R0, 0x2, R6 ;
        /*0070*/                   FMUL R40, R39, R7 ;
        /*0080*/                   LDG.E.128 R12, desc[UR6][R4.64+0x30] ;
        /*0090*/               @P1 BRA `(.L_x_2) ;
        /*00a0*/                   FMUL R41, R40, R40 ;
        /*00b0*/                   FADD R41, R41, R12 ;
        /*00c0*/                   BRA `(.L_x_3) ;
.L_x_2:
        /*00d0*/                   DMUL R40, R40, R40 ;
        /*00e0*/               @P2 BRA `(.L_x_2) ;
.L_x_3:
        /*00f0*/                   STG.E.128 desc[UR6][R60.64], R40 ;
        /*0100*/                   STG.E.U16 desc[UR6][R62.64], R3 ;
        /*0110*/                   EXIT ;
.L_x_0:
        /*0120*/                   STG.E.U16 desc[UR6][R62.64], RZ ;
        /*0130*/                   EXIT ;
.L_x_1:
        /*0140*/                   BRA `(.L_x_1);
        /*0150*/                   NOP;
.L_x_4:

//--------------------- .nv.shared.first --------------------------
    .section    .nv.shared.first,"aw",@nobits
        /*0000*/                   EXIT ;
//--------------------- .text.second --------------------------
    .section    .text.second,"ax",@progbits
        /*0000*/                   LDGSTS.E.BYPASS.128 [R3], desc[UR4][R2.64] ;
        /*0010*/                   LDGSTS.E.BYPASS.128 [R3+0x10], desc[UR4][R2.64+0x10] ;
        /*0020*/                   LDGDEPBAR ;
        /*0030*/                   DEPBAR.LE SB0, 0x0 ;
        /*0040*/                   STG.E.64 desc[UR4][R2.64], R4 ;
        /*0050*/                   EXIT ;
"""


class SassTest(unittest.TestCase):
    def setUp(self):
        self.kernels = sass.parse(TEXT)
        self.path = self.kernels["first"].find_main_path()

    def test_instructions_without_padding(self):
        self.assertEqual(["first", "second"], list(self.kernels))
        self.assertEqual(20, len(self.kernels["first"].instructions))
        self.assertEqual(6, len(self.kernels["second"].instructions))

    def test_main_path_has_no_loops_and_no_padding_of_rows(self):
        opcodes = [each.opcode for each in self.path]
        self.assertNotIn("DMUL", opcodes)
        self.assertEqual(16, len(opcodes))
        self.assertEqual(["STG.E.128", "STG.E.U16", "EXIT"], opcodes[-3:])

    def test_no_main_path(self):
        text = TEXT.replace("@P2 BRA `(.L_x_2)", "BRA `(.L_x_2)").replace("BRA `(.L_x_3)",
                                                                         "BRA `(.L_x_2)")
        self.assertEqual([], sass.parse(text)["first"].find_main_path())

    def test_main_path_has_all_stores(self):
        # The way around the second one is shorter.
        store = "        /*0040*/                   STG.E.64 desc[UR4][R2.64], R4 ;\n"
        self.assertIn(store, TEXT)
        text = TEXT.replace(store, store + "        /*0048*/               @P0 BRA `(.L_x_5) ;\n"
                            + store + ".L_x_5:\n")
        path = sass.parse(text)["second"].find_main_path()
        self.assertEqual(2, sum(each.starts("STG") for each in path))

    def test_shortest_turn_of_a_loop(self):
        # A rare case in it is longer, also where it lies behind the loop, and what loops in it is
        # passed once.
        text = """
    .section    .text.loop,"ax",@progbits
.L_x_0:
        /*0000*/                   LDS R1, [R2] ;
.L_x_1:
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3 ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
        /*0030*/               @P1 BRA `(.L_x_3) ;
        /*0040*/               @P2 BRA `(.L_x_2) ;
        /*0050*/                   FMUL R4, R4, R4 ;
        /*0060*/                   FMUL R4, R4, R4 ;
.L_x_2:
        /*0070*/                   STTM.x32 tmem[UR5], R8 ;
        /*0080*/               @P3 BRA `(.L_x_0) ;
        /*0090*/                   EXIT ;
.L_x_3:
        /*00a0*/                   FMUL R5, R5, R5 ;
        /*00b0*/                   BRA `(.L_x_2) ;
"""
        turn = sass.parse(text)["loop"].find_shortest_turn(0, 8)
        self.assertEqual(["LDS", "SYNCS", "BRA", "BRA", "BRA", "STTM", "BRA"],
                         [each.opcode.split(".")[0] for each in turn])
        self.assertEqual([], sass.parse(text)["loop"].find_shortest_turn(9, 8))

    def test_widths(self):
        accesses = [each.bytes for each in self.path if each.starts("LDG", "STG")]
        self.assertEqual([4, 32, 16, 16, 16, 2], accesses)

    def test_bytes_before_first_use(self):
        # R39 is in the second half of what two registers name.
        self.assertEqual(4 + 32 + 16, sass.bytes_before_first_use(self.path))
        self.assertEqual(32, sass.bytes_before_first_use(self.kernels["second"].instructions))

    def test_threads_per_sm(self):
        self.assertEqual(1024, sass.count_threads_per_sm("sm_100a", 128, 64, 0))
        self.assertEqual(2048, sass.count_threads_per_sm("sm_100a", 128, 32, 0))
        self.assertEqual(1152, sass.count_threads_per_sm("sm_90a", 128, 32, 24 << 10))
        self.assertEqual(768, sass.count_threads_per_sm("sm_80", 128, 32, 24 << 10))


class MeasureTest(unittest.TestCase):
    def setUp(self):
        self.case = next(case for case in static.CASES if case.name.startswith("nvfp4_1x16"))
        resources = {"kernel": "first", "registers": 64, "spills": 0, "stack": 0, "shared": 0,
                     "threads": 128}
        self.row = static.measure(self.case, "sm_100a", resources, sass.parse(TEXT)["first"])

    def test_figures(self):
        self.assertEqual(32, self.row["elements"])
        self.assertEqual((0.62, 0.5), (self.row["whole"], self.row["main"]))
        self.assertEqual((16, 2), (self.row["access"], self.row["scale_store"]))
        self.assertEqual(1024 * 52, self.row["in_flight"])

    def test_stores_of_data(self):
        self.assertEqual(([16, 16], [2]), static.split_widest([16, 2, 16], 32))
        # Those of a way that stores a part.
        self.assertEqual(([16, 2], []), static.split_widest([2, 16], 64))

    def test_bars(self):
        def misses(chip="sm_100a", **changes):
            return list(static.find_misses(self.case, chip, self.row | changes))

        self.assertEqual(["less than 54000 bytes in flight"], misses())
        self.assertEqual([], misses(in_flight=54_000))
        self.assertEqual(["spills or a stack"], misses("sm_90a", stack=8))
        self.assertEqual(["more than 16 instructions an element"], misses("sm_80", whole=16.1))
        self.assertEqual(3, len(misses(whole=7.6, access=8, in_flight=54_000, scale_store=2,
                                       spills=4)))
        self.assertEqual(1, len(misses(scale_store=1, in_flight=54_000)))

    def test_bar_of_main_path(self):
        case = next(each for each in static.CASES if "transformed_columns" in each.name)
        for main, chip, count in ((12, "sm_100a", 0), (12.1, "sm_100a", 1), (12.1, "sm_90a", 0)):
            row = self.row | {"main": main, "whole": 20}
            self.assertEqual(count, len(list(static.find_misses(case, chip, row))))


class RecipesTest(unittest.TestCase):
    def run_main(self, *options, spills=0):
        resources = {"kernel": "first", "registers": 64, "spills": spills, "stack": 0,
                     "shared": 0, "threads": 128}
        kernels = [(resources, sass.parse(TEXT)["first"])]
        with (mock.patch.object(recipes, "compile_case", return_value=kernels),
              mock.patch.object(recipes, "find_nvdisasm"),
              mock.patch.object(sys, "argv", ["recipes.py", *options]),
              contextlib.redirect_stdout(io.StringIO()) as text):
            status = recipes.main()
        head, table = text.getvalue().split("\n\n")
        # Behind a head there are tables only.
        self.assertEqual([head], list(map(str, log_head.read_heads(head))))
        return status, table

    def test_table_is_that_of_the_docs(self):
        status, text = self.run_main()
        self.assertEqual(0, status)
        docs = (ROOT / "docs/Kernels.md").read_text()

        def forget_numbers(line):
            return re.sub(r"\| [0-9.]+(?= \|)", "| n", line)

        printed = "\n".join(map(forget_numbers, text.splitlines()))
        self.assertIn("| NVFP4 `te`, amax given | n | n | n | n |", printed)
        self.assertIn(printed, "\n".join(map(forget_numbers, docs.splitlines())))

    def test_spills(self):
        status, text = self.run_main("--only", "MXFP4*", spills=4)
        self.assertEqual(1, status)
        self.assertEqual(3, len(text.splitlines()))
        self.assertIn("| MXFP4 `rceil` | 0.6 ! | 0.6 !", text)


if __name__ == "__main__":
    unittest.main()

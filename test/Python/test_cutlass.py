# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/long/cutlass.py: what it makes of programs, with an nvcc whose programs are scripts."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/long/cutlass.py"

sys.path.insert(0, str(SCRIPT.parent))
import cutlass

# Copies the source, a script, to where the program shall be.
NVCC = """#!/bin/sh
for word; do
  case $before in -o) program=$word ;; esac
  case $word in *.cu) source=$word ;; esac
  before=$word
done
grep -q ERROR "$source" && exit 1
cp "$source" "$program" && chmod +x "$program"
"""
PASSES = """#!/bin/sh
echo "launch of 'a': 12 warp instructions, 0 of the tensor core" >&2
echo "launch of 'b': 30 warp instructions, 2 of the tensor core" >&2
echo "kernel 'a', line 3: hazard: reads a register" >&2
test -n "$BLOCKSCALE_EMULATE_SEED" && echo "$1: mul.f32 Passed"
"""
FAILS = "#!/bin/sh\necho 'a: Passed'\necho 'b: Failed'\n"
HANGS = "#!/bin/sh\necho Passed\nexec sleep 60\n"


class JudgeTest(unittest.TestCase):
    def test_what_programs_say(self):
        for output, result in (("Disposition: Passed", "Passed"), ("[OK] a\n[OK] b", "Passed"),
                               ("The test passes\ntest failed", "Failed,Passed"), ("", "none"),
                               ("error: maximum mismatch 3", "Failed")):
            with self.subTest(output=output):
                self.assertEqual(cutlass.judge(output), result)


class ListTest(unittest.TestCase):
    def test_each_example_has_two_sizes_under_both_schedules(self):
        runs = cutlass.list_runs(cutlass.list_examples())
        self.assertEqual(len(runs), 43)
        for example, its in runs.items():
            with self.subTest(example=example.name):
                kinds = {(run.size, run.schedule) for run in its}
                self.assertGreaterEqual(len(example.sizes), 2)
                self.assertEqual(kinds, {(size, schedule) for size in example.sizes
                                         for schedule in ("prompt", "adversarial")})


class PoolTest(unittest.TestCase):
    # With one thread nobody would be left to take the second call.
    def test_a_call_that_raises_ends_the_work(self):
        called = []

        def fail():
            raise FileNotFoundError("no such program")
        pool = cutlass.Pool(1)
        pool.add(1, called.append, "later")
        pool.add(0, fail)
        with self.assertRaisesRegex(FileNotFoundError, "no such program"):
            pool.work()
        self.assertEqual(called, [])


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("toolkit/bin/nvcc", NVCC).chmod(0o755)
        self.write("runtime/libcudart.so.13", "")
        (self.folder / "cutlass/examples").mkdir(parents=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add(self, name, text):
        example = next(e for e in cutlass.list_examples() if e.name.startswith(name))
        self.write(f"cutlass/examples/{example.folder}/{example.name}.cu", text)

    def run_script(self, *arguments):
        """Its exit status, and the lines that it prints, without seconds."""
        run = subprocess.run(
            [sys.executable, SCRIPT, "--toolkit", self.folder / "toolkit", "--cutlass",
             self.folder / "cutlass", "--runtime", self.folder / "runtime", "--work",
             self.folder / "work", *arguments], capture_output=True, text=True)
        return run.returncode, run.stdout.splitlines(), run.stderr

    def test_programs_that_pass_in_the_order_of_examples(self):
        self.add("91", PASSES)
        self.add("80a", PASSES)
        status, lines, _ = self.run_script("91", "80a", "--jobs=3")
        self.assertEqual(status, 0)
        self.assertEqual([line[:3] for line in lines[:-2]], ["80a"] * 4 + ["91_"] * 4)
        self.assertRegex(lines[1], r"--schedule=adversarial --seed=61 +Passed +42 instructions +"
                                   r"1 findings \d+\.\d s$")
        self.assertEqual(lines[-2:], ["of 2 examples 2 pass all runs", "8 passed, 0 failed"])

    def test_a_copy_that_adds_must_fail(self):
        bites = "$(echo mul.f32 | grep -q mul && echo Passed || echo Failed)"
        self.add("72a", PASSES.replace("mul.f32 Passed", bites))
        status, lines, _ = self.run_script("72a")
        self.assertEqual(status, 0)
        self.assertRegex(lines[-3], "^72a_sabotaged .* Failed ")
        self.add("79a", PASSES)
        status, lines, _ = self.run_script("79a")
        self.assertEqual((status, lines[-1]), (1, "6 passed, 1 failed"))

    def test_programs_that_fail_hang_or_do_not_compile(self):
        self.add("91", FAILS)
        self.add("80a", HANGS)
        self.add("80b", "ERROR")
        status, lines, errors = self.run_script("91", "80", "--jobs=4", "--limit=1")
        self.assertEqual(status, 1)
        results = [next(word for word in ("cut", "not compiled", "Failed,Passed") if word in line)
                   for line in lines[:-2]]
        self.assertEqual(results, ["cut"] * 4 + ["not compiled"] * 4 + ["Failed,Passed"] * 4)
        self.assertEqual(lines[-2:], ["of 3 examples 0 pass all runs", "0 passed, 12 failed"])
        self.assertIn("80b_blackwell_geforce_nvfp4_nvfp4_sparse_gemm: not compiled", errors)

    def test_the_table_has_what_was_not_reached(self):
        self.add("80a", HANGS)
        self.add("80b", PASSES)
        status, lines, _ = self.run_script("80", "--until=1")
        self.assertEqual(status, 1)
        self.assertEqual(len(lines), 8 + 2)
        self.assertTrue(any(" cut " in line for line in lines))
        self.assertTrue(any(" not run " in line for line in lines))

    def test_arguments_that_name_nothing(self):
        for arguments, fault in ((["93"], "no example begins with 93"),
                                 (["--runtime=/nowhere"], "no libcudart.so.13 in /nowhere"),
                                 (["--toolkit=/nowhere"],
                                  "expected bin/nvcc in /nowhere, but there is none"),
                                 (["--cutlass=/nowhere"],
                                  "expected examples in /nowhere, but there is none")):
            with self.subTest(arguments=arguments):
                status, _, errors = self.run_script(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(fault, errors)


if __name__ == "__main__":
    unittest.main()

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The suite runner counts what ran, and a crash or an empty suite as a failure."""

import contextlib
import io
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import run_suites
from run_suites import Counts, Suites, counted

REPORT = """{"testsuites": [{"testsuite": [
  {"name": "a", "result": "COMPLETED"},
  {"name": "b", "result": "COMPLETED", "failures": [{}]},
  {"name": "c", "result": "SKIPPED"}]}]}"""


class CountedTest(unittest.TestCase):
    def test_one_row(self):
        self.assertEqual(counted(1, [("3", "2", "1")]), Counts(3, 2, 1))

    def test_no_row_is_a_failure(self):
        self.assertEqual(counted(0, []), Counts(0, 1, 0))

    def test_unexplained_exit_status_is_a_failure(self):
        self.assertEqual(counted(139, [(3, 0)]), Counts(3, 1, 0))

    def test_no_test_is_a_failure(self):
        self.assertEqual(counted(0, [(0, 0, 4)]), Counts(0, 1, 4))


class SuitesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        (self.build / "logs").mkdir()
        self.log = io.StringIO()
        self.suites = Suites(self.build, timeout=600)

    def unit_binary(self, body):
        path = self.build / "unittests/ATests"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/bash\nreport=${2#--gtest_output=json:}\n" + body)
        path.chmod(0o755)

    def test_unit_counts_by_the_report(self):
        self.unit_binary(f"cat > $report <<'END'\n{REPORT}\nEND\nexit 1\n")
        self.assertEqual(self.suites.unit(self.log), Counts(1, 1, 1))

    def test_importers_are_skipped_with_the_reason(self):
        for suite, reason in (
                (self.suites.torch, "no torch and torchao; scripts/peers.sh installs them"),
                (self.suites.jax, "no jax; scripts/peers.sh jax installs it")):
            output = io.StringIO()
            with (mock.patch.object(run_suites, "ROOT", self.build),
                  contextlib.redirect_stdout(output)):
                self.assertEqual(suite(self.log), Counts(skipped=1))
            self.assertIn(f"skipped: {reason}", output.getvalue())

    # With PyTorch there are adapters to test, if there is peft, and checkpoints, if there are
    # transformers and vLLM.
    def test_adapters_are_skipped_with_the_reason(self):
        (self.build / ".cache/peers").mkdir(parents=True)
        (self.build / ".cache/peers/stamp").touch()
        (self.build / "package/lib/python3.11/site-packages/blockscale").mkdir(parents=True)
        output = io.StringIO()
        with (mock.patch.object(run_suites, "ROOT", self.build),
              mock.patch.object(self.suites, "install", return_value=None),
              mock.patch.object(self.suites, "python_folder", return_value=Counts(passed=3)),
              contextlib.redirect_stdout(output)):
            self.assertEqual(self.suites.torch(self.log), Counts(passed=3, skipped=4))
        self.assertIn("skipped: no peft; scripts/peers.sh lora installs it", output.getvalue())
        self.assertIn("skipped: no transformers; scripts/peers.sh transformers installs it",
                      output.getvalue())
        self.assertIn("skipped: no vLLM; scripts/peers.sh vllm installs it", output.getvalue())

    # Each share of a divided binary runs once, with its number and how many there are.
    def test_unit_in_shards(self):
        self.unit_binary('echo "$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS" >> '
                         f"{self.build}/shards\ncat > $report <<'END'\n{REPORT}\nEND\nexit 1\n")
        with mock.patch.dict(run_suites.SHARDS, {"ATests": 2}):
            self.assertEqual(self.suites.unit(self.log), Counts(2, 2, 2))
        self.assertEqual(sorted((self.build / "shards").read_text().splitlines()),
                         ["0 of 2", "1 of 2"])

    # No more commands run at once than there are cores.
    def test_commands_wait_for_a_core(self):
        suites = Suites(self.build, timeout=600, cores=1)
        busy = self.build / "busy"
        command = f"mkdir {busy} && sleep 0.1 && rmdir {busy}"
        self.assertEqual(suites.sum_of(
            lambda _: counted(suites.run(self.log, "bash", "-c", command)[0], [(1, 0)]),
            range(3)), Counts(3))

    def test_unit_crash(self):
        self.unit_binary("kill -SEGV $$\n")
        self.assertEqual(self.suites.unit(self.log), Counts(failed=1))
        self.assertIn("exit status -11", self.log.getvalue())

    def test_unit_that_hangs(self):
        self.suites.timeout = 0.2
        self.unit_binary("sleep 60\n")
        self.assertEqual(self.suites.unit(self.log), Counts(failed=1))
        self.assertIn("no end after 0.2 s", self.log.getvalue())

    def test_python_counts(self):
        (self.build / "test_a.py").write_text(
            "import unittest\n"
            "class T(unittest.TestCase):\n"
            "    def test_a(self): pass\n"
            "    def test_b(self): self.fail()\n"
            "    def test_c(self): raise ValueError\n"
            "    @unittest.skip('no')\n"
            "    def test_d(self): pass\n")
        self.assertEqual(self.suites.python_folder(self.log, self.build), Counts(1, 2, 1))

    # Whatever was drawn before a test, and whatever the process drew, it draws the same.
    def test_python_tests_draw_the_same(self):
        (self.build / "test_a.py").write_text(
            "import random, unittest\n"
            "import numpy\n"
            "drawn = set()\n"
            "class T(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): cls.first = random.random()\n"
            "    def draw(self): drawn.add((self.first, random.random(), numpy.random.rand()))\n"
            "    def test_a(self): self.draw()\n"
            "    def test_b(self):\n"
            "        self.draw()\n"
            "        self.assertEqual(len(drawn), 1)\n"
            "        print(drawn, hash('a'))\n")
        logs = []
        for _ in range(2):
            self.log = io.StringIO()
            self.assertEqual(self.suites.python_folder(self.log, self.build), Counts(2))
            logs.append(self.log.getvalue().splitlines()[0])
        self.assertEqual(*logs)

    def test_python_folder_without_tests(self):
        self.assertEqual(self.suites.python_folder(self.log, self.build), Counts(failed=1))

    # The runner that CMake found is the one that runs, wherever it is.
    def test_lit_is_that_of_the_cmake_cache(self):
        lit = self.build / "some-lit"
        lit.write_text("#!/bin/bash\n[ \"$1 $2\" = '-sv --output' ] && cat > $3 <<'END'\n"
                       '{"tests": [{"name": "a", "code": "PASS"}, {"name": "b", "code": "FAIL"}]}\n'
                       "END\nexit 1\n")
        lit.chmod(0o755)
        (self.build / "CMakeCache.txt").write_text(
            f"LLVM_DIR:PATH=/elsewhere\nLLVM_EXTERNAL_LIT:FILEPATH={lit}\n")
        self.assertEqual(self.suites.lit(self.log), Counts(1, 1))

    def fuzz(self, modules="echo generated 10, lowered to cpu 2, to sm100 0",
             ptx="echo generated 10, verified 9, executed 2",
             readers="echo 'npy: 9 read, 1 accepted; plan: 9 read, 2 accepted'"):
        (self.build / "bin").mkdir()
        for name, body in (("blockscale-fuzz", modules), ("blockscale-fuzz-ptx", ptx),
                           ("blockscale-fuzz-readers", readers), ("blockscale-compile", "")):
            path = self.build / "bin" / name
            path.write_text("#!/bin/bash\n" + body + "\n")
            path.chmod(0o755)
        return self.suites.fuzz(self.log)

    def test_fuzz_to_its_end(self):
        self.assertEqual(self.fuzz(), Counts(6))

    # What is fuzzed is a number of inputs of one seed, whatever time that takes.
    def test_fuzz_has_a_seed_and_no_time(self):
        count = ("case $*' ' in *-seed=1\\ *-runs=[1-9]*) ;; *) exit 1;; esac; "
                 "! [[ $* =~ time ]] && ")
        said = ("echo generated 10, lowered to cpu 2, to sm100 0",
                "echo generated 10, verified 9, executed 2", "echo 'npy: 9 read, 1 accepted'")
        self.assertEqual(self.fuzz(*(count + each for each in said)), Counts(6))

    def test_fuzz_crash(self):
        self.assertEqual(self.fuzz(modules="kill -SEGV $$"), Counts(4, 1))

    def test_fuzz_of_ptx_crash(self):
        self.assertEqual(self.fuzz(ptx="kill -SEGV $$"), Counts(4, 1))

    def test_fuzz_of_refused_modules_fails(self):
        self.assertEqual(self.fuzz(modules="echo generated 10, lowered to cpu 1, to sm100 0"),
                         Counts(5, 1))

    def test_fuzz_of_refused_kernels_fails(self):
        self.assertEqual(self.fuzz(ptx="echo generated 10, verified 9, executed 1"),
                         Counts(5, 1))

    def test_fuzz_of_readers_crash(self):
        self.assertEqual(self.fuzz(readers="kill -SEGV $$"), Counts(4, 1))

    def test_fuzz_of_a_reader_that_accepts_nothing_fails(self):
        self.assertEqual(self.fuzz(readers="echo 'npy: 9 read, 0 accepted; plan: 9 read, 2 "
                                           "accepted'"),
                         Counts(5, 1))

    def test_site_with_a_warning(self):
        (self.build / "mkdocs").mkdir()
        (self.build / "mkdocs/__init__.py").touch()
        for status, counts in ((0, Counts(1)), (1, Counts(failed=1))):
            (self.build / "mkdocs/__main__.py").write_text(f"raise SystemExit({status})\n")
            # Both have one size, and times too coarse for a cache to tell them apart.
            self.suites.environment |= {"PYTHONPATH": str(self.build),
                                        "PYTHONDONTWRITEBYTECODE": "1"}
            with mock.patch("importlib.util.find_spec"):
                self.assertEqual(self.suites.site(self.log), counts)

    def test_site_without_mkdocs_is_skipped(self):
        output = io.StringIO()
        with mock.patch("importlib.util.find_spec", return_value=None), \
                contextlib.redirect_stdout(output):
            self.assertEqual(run_suites.run_suite(self.suites, "site")[0], Counts(skipped=1))
        self.assertIn("skipped: no mkdocs; scripts/setup.sh", output.getvalue())

    def main(self, **suites):
        """Runs main over stand-ins for suites; returns its status and last line."""
        for name, counts in suites.items():
            setattr(self.suites, name, mock.Mock(**counts))
        only = [word for name in suites for word in ("--only", name)]
        output = io.StringIO()
        with mock.patch.object(run_suites, "Suites", return_value=self.suites), \
                mock.patch.object(sys, "argv", ["run_suites.py", *only]), \
                contextlib.redirect_stdout(output):
            return run_suites.main(), output.getvalue().splitlines()[-1]

    def test_last_line_is_the_sum(self):
        self.assertEqual(self.main(lint={"return_value": Counts(6)},
                                   unit={"return_value": Counts(10, 0, 2)}),
                         (0, "16 passed, 0 failed, 2 skipped"))

    def test_a_suite_that_raises_fails(self):
        self.assertEqual(self.main(lint={"return_value": Counts(6)},
                                   lit={"side_effect": FileNotFoundError("lit")}),
                         (1, "6 passed, 1 failed"))

    # Suites that share the cores are waited for before one that needs all of them.
    def test_lit_runs_alone(self):
        running, seen = [], []
        # Two suites meet before and behind what they see; alone, they would wait for ever.
        both = threading.Barrier(2, timeout=600)

        def suite(name, meets=True):
            def run(log):
                running.append(name)
                if meets:
                    both.wait()
                seen.append((name, sorted(running)))
                if meets:
                    both.wait()
                running.remove(name)
                return Counts(1)
            return {"side_effect": run}

        self.main(lit=suite("lit", meets=False), lint=suite("lint"), site=suite("site"))
        self.assertIn(("lit", ["lit"]), seen)
        self.assertIn(("lint", ["lint", "site"]), seen)

    # What took longest comes first, and no more of it than is asked for.
    def test_slowest_tests(self):
        self.suites.seconds = {f"test{i}": float(i) for i in range(12)}
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run_suites.print_slowest(self.suites.seconds)
        lines = output.getvalue().splitlines()
        self.assertEqual(lines[1], "   the 10 slowest tests")
        self.assertEqual([line.split()[-1] for line in lines[2:]],
                         [f"test{i}" for i in range(11, 1, -1)])

    def test_unit_tells_how_long_tests_take(self):
        report = REPORT.replace('"name": "a"', '"name": "a", "time": "2.5s"')
        self.unit_binary(f"cat > $report <<'END'\n{report}\nEND\nexit 1\n")
        self.suites.unit(self.log)
        self.assertEqual(max(self.suites.seconds.values()), 2.5)

    def tidy(self, body, base="HEAD"):
        with mock.patch.object(run_suites.clang_tidy, "find_base", return_value=base), \
                mock.patch.object(run_suites.shutil, "which", return_value=body):
            return self.suites.tidy(self.log)

    def test_tidy_without_the_tool_is_skipped(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(self.tidy(None), Counts(skipped=1))
        self.assertIn("skipped: no clang-tidy-22", output.getvalue())

    def test_tidy_without_history_is_skipped(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(self.tidy("true", base=""), Counts(skipped=1))

    # A build that has no compile database is a failure, not a pass.
    def test_tidy_that_crashes_fails(self):
        self.assertEqual(self.tidy("true"), Counts(failed=1))

    def test_an_empty_suite_fails(self):
        self.assertEqual(self.main(unit={"return_value": Counts()}),
                         (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py with tools that fail, lie or agree; cases are made here."""

import contextlib
import io
import json
import os
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import numpy as np

import run
from ir import ENTRY, NVFP4, SWIZZLED, Function, Layout, Tensor
from jobs import Job
from runner import RunError, execute

ZEROS = (
    "import sys, numpy as np\n"
    "outputs = [v for k, v in zip(sys.argv, sys.argv[1:]) if k == '--out']\n"
    "for path in outputs: np.save(path, np.zeros({shape}, np.{dtype}))\n"
)


# A stand-in for blockscale-run, whose function `run` makes the run of a line.
BATCH = """
import shlex, sys
assert sys.argv[1:] == ["--batch=-"], sys.argv
for number, line in enumerate(sys.stdin, 1):
    sys.argv, status = ["tool", *shlex.split(line)], 0
    try:
        run()
    except SystemExit as error:
        status = print(error, file=sys.stderr) or 1
    print(f"line {number}: exit status {status}", flush=True)
"""


def zeros_of_results(job):
    stored = [value.type.storage() for value in job.function.results]
    return [np.zeros(shape, dtype) for dtype, shape in stored]


def zeros_like_results(tool, ways, job):
    return [zeros_of_results(job) for _ in ways]


def only_quantize(operation, _):
    """Refuses all other ops."""
    return None if operation.name == "quantize" else f"no kernel for {operation.name}"


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.cases = os.path.join(self.folder, "cases")
        os.mkdir(self.cases)

    def case(self, name="zeros", op="nvfp4_quantize", **arrays):
        defaults = dict(
            in_x=np.zeros((2, 16), np.uint16),
            out_ao_single_qdata=np.zeros((2, 8), np.uint8),
            out_ao_single_scale=np.zeros((2, 1), np.uint8),
        )
        path = os.path.join(self.cases, name + ".npz")
        np.savez(path, meta=json.dumps({"op": op}), **{**defaults, **arrays})

    def run_main(self, *options, tool=sys.executable, execute=zeros_like_results):
        """Exit status, lines of standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        argv = ["--cases", self.cases, "--tool", tool, *options]
        if not {"--on", "--compile-to"} & set(options):
            argv += ["--on", "cpu"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            with mock.patch("run.execute", side_effect=execute):
                try:
                    status = run.main(argv)
                except SystemExit as exit:
                    status = exit.code
        return status, out.getvalue().splitlines(), err.getvalue()

    def pin(self, *lines):
        with open(os.path.join(self.cases, "totals.txt"), "w") as file:
            file.writelines(f"{line}\n" for line in lines)

    def test_pinned_totals(self):
        self.case()
        self.pin("equal cpu 2", "equal emulator 2")
        status, lines, _ = self.run_main()
        self.assertEqual(status, 0)
        self.assertEqual(lines[-1], "arrays equal 2, mismatching 0, unsupported 0")

    def test_arrays_are_not_those_that_are_pinned(self):
        self.case()
        self.pin("equal cpu 3", "unsupported cpu zeros.ao_single_qdata")
        status, lines, _ = self.run_main()
        self.assertEqual(status, 1)
        self.assertIn("MISMATCH totals.txt: zeros.ao_single_qdata: expected unsupported, "
                      "but got equal", lines)
        self.assertIn("MISMATCH totals.txt: expected 3 arrays that are compared, but got 2",
                      lines)

    def test_equal_arrays(self):
        self.case()
        status, lines, _ = self.run_main()
        self.assertEqual(status, 0)
        self.assertEqual(lines[-1], "arrays equal 2, mismatching 0, unsupported 0")

    def test_a_mismatch_is_reported_and_fails(self):
        scale = np.array([[0], [8]], np.uint8)
        self.case(out_ao_single_scale=scale, out_te2d_scale=scale)
        status, lines, _ = self.run_main()
        self.assertEqual(status, 1)
        self.assertIn(
            "MISMATCH zeros.ao_single_scale: "
            "1 of 2, first at (1, 0): got 0x0, expected 0x8",
            lines,
        )
        self.assertEqual(lines[-1], "arrays equal 1, mismatching 1, unsupported 1")

    def test_a_failed_run_is_no_success(self):
        self.case()
        status, lines, _ = self.run_main(execute=RunError("broken"))
        self.assertEqual(status, 1)
        self.assertIn("MISMATCH zeros.ao_single_qdata: broken", lines)
        self.assertEqual(lines[-1], "arrays equal 0, mismatching 2, unsupported 0")

    def test_unsupported_is_no_mismatch(self):
        self.case(op="other")
        status, lines, _ = self.run_main()
        self.assertEqual(status, 0)
        self.assertIn("unsupported zeros.ao_single_qdata: unknown array", lines)
        self.assertEqual(lines[-1], "arrays equal 0, mismatching 0, unsupported 2")

    @mock.patch("gpu.refusal", only_quantize)
    def test_the_emulator_runs_what_has_kernels_in_both_schedules(self):
        self.case(
            out_te_qdata=np.zeros((2, 8), np.uint8),
            out_te_scale=np.zeros((2, 1), np.uint8),
        )
        ran = []

        def execute(tool, ways, job):
            ran.extend((options, len(job.function.results)) for options in ways)
            return zeros_like_results(tool, ways, job)

        status, lines, _ = self.run_main(
            "--on", "emulator", "--seed", "3", execute=execute
        )
        self.assertEqual(status, 0)
        self.assertIn("unsupported zeros.te_qdata: no kernel for amax", lines)
        # Linear and swizzled scales with their data.
        adversarial = ["--on=emulator", "--schedule=adversarial", "--seed=3"]
        prompt = ["--on=emulator", "--schedule=prompt"]
        self.assertEqual(sorted(ran), sorted([(prompt, 4), (adversarial, 4)]))
        self.assertEqual(lines[-1], "arrays equal 2, mismatching 0, unsupported 2")

    @mock.patch("gpu.refusal", only_quantize)
    def test_a_gpu_runs_what_has_kernels_once(self):
        self.case(
            out_te_qdata=np.zeros((2, 8), np.uint8),
            out_te_scale=np.zeros((2, 1), np.uint8),
        )
        ran = []

        def execute(tool, ways, job):
            ran.extend(ways)
            return zeros_like_results(tool, ways, job)

        status, lines, _ = self.run_main("--on", "cuda", "--target", "sm_90a", execute=execute)
        self.assertEqual(status, 0)
        self.assertEqual(ran, [["--on=cuda", "--target=sm_90a"]])
        self.assertIn("unsupported zeros.te_qdata: no kernel for amax", lines)
        self.assertEqual(lines[-1], "arrays equal 2, mismatching 0, unsupported 2")

    def test_a_kernel_that_the_compiler_refuses_is_a_mismatch(self):
        self.case()
        status, lines, _ = self.run_main(
            "--on", "emulator", execute=RunError("is not supported on sm_100a")
        )
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "arrays equal 0, mismatching 2, unsupported 0")

    def test_bundles_are_compiled_here(self):
        self.case()
        bundles = os.path.join(self.folder, "bundles")
        tool = self.tool(
            "a = sys.argv\n"
            "assert a[2:4] == ['--target=sm_80', '--emit=bundle'] and a[4] == '-o', a\n"
            "assert '[1, 16]' in open(a[1]).read()\n"
            "open(a[5], 'w').close()\n"
        )
        options = ("--compile-to", bundles, "--target", "sm_80")
        status, lines, _ = self.run_main(*options, tool=tool)
        self.assertEqual((status, lines), (0, ["1 bundles"]))
        (name,) = os.listdir(bundles)
        self.assertRegex(name, r"^[0-9a-f]{20}\.bundle$")

        broken = self.tool("sys.exit('m.mlir:1: error: wrong')")
        status, lines, _ = self.run_main(*options, tool=broken)
        self.assertEqual(status, 1)
        self.assertIn("zeros: tool exited with 1: m.mlir:1: error: wrong", lines)

    def test_bundles_are_run_there(self):
        self.case()

        class Bundles:
            def __init__(self, folder, library):
                assert (folder, library) == ("there", "lib.so")

            def describe(self):
                return "a GPU"

            def execute(self, job):
                return zeros_of_results(job)

        options = ("--on", "cuda", "--bundles", "there", "--runtime", "lib.so")
        with mock.patch("run.BundleRunner", Bundles):
            status, lines, _ = self.run_main(*options, tool="absent")
        self.assertEqual(status, 0)
        self.assertEqual(lines[0], "a GPU")
        self.assertEqual(lines[-1], "arrays equal 2, mismatching 0, unsupported 0")
        status, _, err = self.run_main(*options)
        self.assertEqual(status, 2)
        self.assertIn("lib.so", err)

    def test_only_names_cases_or_arrays(self):
        self.case("first")
        self.case("second")
        for glob, equal in (("*", 4), ("f*", 2), ("*.*_scale", 2), ("second.*_qdata", 1)):
            status, lines, _ = self.run_main("--only", glob)
            self.assertEqual(status, 0)
            self.assertEqual(
                lines[-1], f"arrays equal {equal}, mismatching 0, unsupported 0", glob
            )

    def test_out_holds_what_was_computed(self):
        self.case(out_ao_single_scale=np.array([[0], [8]], np.uint8))
        out = os.path.join(self.folder, "out")
        self.run_main("--out", out)
        scale = np.load(os.path.join(out, "zeros", "ao_single_scale.npy"))
        np.testing.assert_array_equal(scale, np.zeros((2, 1), np.uint8))
        self.assertEqual(scale.dtype, np.uint8)

    def tool(self, script):
        """A stand-in for a tool."""
        path = os.path.join(self.folder, "tool")
        with open(path, "w") as file:
            file.write(f"#!{sys.executable}\nimport sys\n{script}")
        os.chmod(path, 0o755)
        return path

    def test_usage_errors(self):
        status, _, err = self.run_main()
        self.assertEqual(status, 2)
        self.assertIn("no case in", err)
        open(os.path.join(self.cases, "broken.npz"), "w").close()
        status, _, err = self.run_main()
        self.assertEqual(status, 2)
        self.assertIn("broken: unreadable case", err)
        status, _, err = self.run_main(tool=os.path.join(self.folder, "absent"))
        self.assertEqual(status, 2)
        self.assertIn("not an executable", err)
        for options, message in {
            ("--compile-to", "there"): "--compile-to: needs --target",
            ("--bundles", "there"): "--bundles: only with --on cuda",
            ("--on", "cpu", "--compile-to", "there"): "not allowed with argument",
        }.items():
            status, _, err = self.run_main(*options)
            self.assertEqual(status, 2)
            self.assertIn(message, err)


class ExecuteTest(unittest.TestCase):
    """Stand-ins for blockscale-run, as processes."""

    def execute(self, script, ways=(["--on=cpu"],)):
        """The outcome of each way; of the one way, or its error, where there is one."""
        job = Job("job")
        x = job.input(Tensor((2, 16), "bf16"), np.zeros((2, 16), np.uint16))
        job.output(job.function.amax(x), ["a check"])
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "tool")
            with open(tool, "w") as file:
                run = textwrap.indent(script, "    ")
                file.write(f"#!{sys.executable}\ndef run():\n    pass\n{run}\n{BATCH}")
            os.chmod(tool, 0o755)
            outcomes = execute(tool, ways, job)
        if len(ways) > 1:
            return outcomes
        if isinstance(outcomes[0], RunError):
            raise outcomes[0]
        return outcomes[0]

    def test_results_are_read(self):
        (amax,) = self.execute(ZEROS.format(shape="()", dtype="float32"))
        self.assertEqual((amax.shape, amax.dtype), ((), np.float32))

    # The second way fails, and the others still have their results.
    def test_each_way_has_its_outcome(self):
        script = "import sys\nif '--b' in sys.argv: sys.exit('error: no')\n"
        first, second, third = self.execute(
            script + ZEROS.format(shape="()", dtype="float32"), (["--a"], ["--b"], ["--c"]))
        self.assertEqual((len(first), len(third)), (1, 1))
        self.assertRegex(str(second), "exited with 1: error: no")

    # A crash is the outcome of the way that it happens in, and of those after it.
    def test_a_crash_is_of_all_that_follow(self):
        script = "import os, sys\nif '--b' in sys.argv: os.abort()\n"
        first, second, third = self.execute(
            script + ZEROS.format(shape="()", dtype="float32"), (["--a"], ["--b"], ["--c"]))
        self.assertEqual(len(first), 1)
        for outcome in (second, third):
            self.assertRegex(str(outcome), "exited with -6")

    def test_exit_status_and_first_error(self):
        script = "import sys\nsys.exit('note: a\\nm.mlir:1: error: wrong')"
        with self.assertRaisesRegex(RunError, "exited with 1: m.mlir:1: error: wrong"):
            self.execute(script)

    def test_absent_result(self):
        with self.assertRaisesRegex(RunError, "unreadable result of type tensor<f32>"):
            self.execute("")

    def test_wrong_storage(self):
        for shape, dtype in (("(1,)", "float32"), ("()", "uint32")):
            with self.assertRaisesRegex(RunError, "expected a result of type"):
                self.execute(ZEROS.format(shape=shape, dtype=dtype))

    def test_command_line(self):
        script = (
            "import sys\na = sys.argv\n"
            f"assert a[2:4] == ['--on=cpu', '--entry={ENTRY}'], a\n"
            "assert a[4] == '--in' and a[6] == '--out' and len(a) == 8, a\n"
            "assert open(a[1]).read().startswith('func.func @'), a\n"
        )
        with self.assertRaisesRegex(RunError, "unreadable result"):
            self.execute(script)


class StorageTest(unittest.TestCase):
    def test_shapes(self):
        uint8 = np.dtype("uint8")
        for type, expected in (
            (Tensor((3, 5), "f4E2M1FN"), (uint8, (3, 3))),
            (Tensor((3, 5), "bf16"), (np.dtype("uint16"), (3, 5))),
            (Tensor((2, 130, 5), "f8E4M3FN", SWIZZLED), (uint8, (2, 2, 2, 32, 4, 4))),
            (Tensor((70, 3), "f8E8M0FNU", Layout(3, 0)), (uint8, (3, 32, 4, 4))),
            (Tensor((200, 7), "f8E8M0FNU", Layout(2, 1)), (uint8, (6, 32, 4, 4))),
        ):
            self.assertEqual(type.storage(), expected, str(type))

    def test_module_text(self):
        function = Function()
        x = function.argument(Tensor((2, 20), "bf16"))
        amax = function.amax(x)
        function.results += function.quantize(x, NVFP4, "te", SWIZZLED, global_amax=amax)
        self.assertIn(
            "%v1_0, %v1_1 = blockscale.quantize %arg0 block [1, 16] recipe te "
            "global_amax(%v0_0 : tensor<f32>) : tensor<2x20xbf16> -> "
            "tensor<2x20xf4E2M1FN>, "
            "tensor<2x2xf8E4M3FN, #blockscale.layout<swizzle_128x4>>",
            function.module(),
        )


if __name__ == "__main__":
    unittest.main()

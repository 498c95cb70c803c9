#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the examples 70 to 92 of CUTLASS, but for 82 (several GPUs) and 88 (Hopper), for
sm_100a, sm_103a and sm_120a, as they are, and runs them on the emulator with their own
verification, in two sizes at least and under both schedules, on a GPU of few multiprocessors. Where
an example takes it, one size is no multiple of a tile. The versions are those of
emulator/test/CudaRuntime/requirements.txt. A run passes where the program says so of each product;
findings of the emulator are counted beside it. A program whose multiplications are replaced by
additions must fail, so that the verification is known to bite.

    scripts/long/cutlass.py           all of them
    scripts/long/cutlass.py NAME...   those whose names or folders begin so: 72a, 73

Where nothing can be installed, --toolkit and --cutlass name folders of nvcc and CUTLASS, and
--runtime that of the emulator's libcudart.so.13. Each line is shown on standard error as soon as it
is known, and the whole table at the end, in the order of the examples.
"""

import argparse
import itertools
import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "emulator/test/CudaRuntime/requirements.txt"
#: Results of runs: what the program says of its products, or why it says nothing.
PASSED, FAILED, SILENT = "Passed", "Failed", "none"
NOT_COMPILED, NOT_RUN, CUT = "not compiled", "not run", "cut"
PASSES = re.compile(r"Passed|PASSED|\[OK\]|test pass")
FAILS = re.compile(r"Failed|FAILED|\[FAIL\]|test fail|mismatch")
PROMPT = "prompt"
ADVERSARIAL = "adversarial"

#: Files that sizes name. Groups of other sizes, each M x N x K; of mixtures of experts all have the
#: greatest M and K.
FILES = {
    "groups.txt": "0 256x512x128\n1 128x256x384\n2 384x272x256\n",
    "experts2.txt": "0 256x128x256\n1 256x64x256\n",
    "experts3.txt": "0 256x128x512\n1 256x192x512\n2 256x64x512\n",
}
#: What 86 is compiled with: it wants nvcc 12.8, and asks for a minor version of 8 in nvcc 13.0,
#: too. libcu++ compares that version with its own, before it is changed.
MINOR_VERSION = ("#include <cuda/std/version>\n#undef __CUDACC_VER_MINOR__\n"
                 "#define __CUDACC_VER_MINOR__ 8\n")
#: What programs are linked with where they call the driver: PyPI has no stub of its library.
DRIVER_STUB = "void cuMemsetD32Async(void) {}\nvoid cuGetErrorString(void) {}\n"


@dataclass(frozen=True)
class Example:
    folder: str
    name: str
    sizes: tuple  # of command lines
    cost: int = 0  # the greater, the earlier it is compiled and run

    @property
    def chip(self):
        number = self.folder[:2]
        return {"79": "120a", "80": "120a", "87": "120a", "89": "103a", "90": "103a"}.get(
            number, "100a")

    @property
    def seed(self):
        """Of the adversarial schedule. In the examples for sm_120a, in 78 and in 86 thread 0 of the
        producing warp says how many bytes an elected thread loads, so that they hold only where
        elect.sync elects thread 0, as GPUs do and PTX does not promise: this seed elects it."""
        return 61 if self.chip == "120a" or self.folder[:2] in ("78", "86") else 1

    def options(self, work):
        """Of nvcc. Those of 77 are of its CMakeLists.txt. An assertion of CUTLASS stops those for
        sm_103a, whose epilogue has no loads, on any device."""
        return {"77": ["--use_fast_math", "-DFP16", "-I."],
                "86": ["-include", str(work / "nvcc-minor.h")],
                "89": ["-DNDEBUG"], "90": ["-DNDEBUG"]}.get(self.folder[:2], [])


#: Of the GPU that programs find. Those that fill their operands on the device start as many threads
#: as it holds, and each begins with 10^4 instructions for its random numbers. No cluster of the
#: examples has more than 16 CTAs.
MULTIPROCESSORS = 16
#: Of examples that fill their operands on the device: 10^7 instructions and more.
FILLS, MANY_FILLS = 1, 2


def list_examples():
    """The examples, in their order."""
    found = []

    def add(folder, name, *sizes, cost=0):
        found.append(Example(folder, name, sizes, cost))

    folder = "70_blackwell_gemm"
    add(folder, "70_blackwell_fp16_gemm", "--m=256 --n=256 --k=256", "--m=264 --n=392 --k=200",
        cost=FILLS)
    add(folder, "70_blackwell_fp8_gemm", "--m=256 --n=256 --k=256", "--m=272 --n=400 --k=208",
        "--m=512 --n=512 --k=384")
    folder = "71_blackwell_gemm_with_collective_builder"
    add(folder, folder, "--m=256 --n=256 --k=128", "--m=264 --n=392 --k=200", cost=MANY_FILLS)
    folder = "72_blackwell_narrow_precision_gemm"
    for name in ("72a_blackwell_nvfp4_bf16_gemm", "72b_blackwell_nvfp4_nvfp4_gemm",
                 "72c_blackwell_mixed_mxfp8_bf16_gemm"):
        add(folder, name, "--m=256 --n=256 --k=256", "--m=384 --n=640 --k=1024",
            "--m=512 --n=1024 --k=512")
    for folder, name in (
            ("73_blackwell_gemm_preferred_cluster", "blackwell_gemm_preferred_cluster"),
            ("74_blackwell_gemm_streamk", "blackwell_gemm_streamk")):
        add(folder, name, "--m=512 --n=512 --k=256", "--m=264 --n=392 --k=1032", cost=FILLS)
    folder = "75_blackwell_grouped_gemm"
    add(folder, folder, "--m=256 --n=256 --k=256 --groups=2", "--benchmark=groups.txt", cost=FILLS)
    add(folder, f"{folder}_block_scaled", "--m=256 --n=256 --k=256 --groups=2",
        "--benchmark=groups.txt", "--m=512 --n=768 --k=256 --groups=3")
    # Filters of 1 x 3 x 3, and of 2 x 3 x 3 for several images.
    filters = "--c=64 --k=64 --r=3 --s=3 --pad_h=1 --pad_w=1"
    for name in ("fprop", "dgrad", "wgrad"):
        add("76_blackwell_conv", f"76_blackwell_conv_{name}",
            f"--n=1 --d=1 --h=4 --w=4 --t=1 {filters}", f"--n=2 --d=3 --h=5 --w=6 --t=2 {filters}",
            cost=FILLS)
    folder = "77_blackwell_fmha"
    add(folder, "77_blackwell_fmha", "--b=1 --h=1 --q=256 --k=256 --d=64 --verify",
        "--b=1 --h=2 --h_k=1 --q=512 --k=512 --d=128 --verify --mask=causal",
        cost=MANY_FILLS)
    add(folder, "77_blackwell_fmha_gen", "--b=1 --h=1 --k=128 --d=128 --verify",
        "--b=2 --h=2 --h_k=1 --k=256 --d=128 --verify --remap", cost=MANY_FILLS)
    add(folder, "77_blackwell_mla", "--b=1 --k=128 --page=128 --verify",
        "--b=2 --k=256 --split_kv=2 --page=128 --verify", cost=MANY_FILLS)
    add(folder, "77_blackwell_mla_fwd", "--b=1 --h=1 --q=128 --k=128 --verify",
        "--b=1 --h=2 --q=256 --k=256 --verify --mask=causal", cost=MANY_FILLS)
    add(folder, "77_blackwell_fmha_bwd", "--b=1 --h=1 --q=128 --k=128 --d=64 --verify",
        "--b=1 --h=2 --q=256 --k=256 --d=128 --verify --mask=causal", cost=MANY_FILLS)
    folder = "78_blackwell_emulated_bf16x9_gemm"
    add(folder, folder, "--m=256 --n=256 --k=64", "--m=384 --n=512 --k=128", cost=FILLS)
    folder = "79_blackwell_geforce_gemm"
    for name in ("79a_blackwell_geforce_nvfp4_bf16_gemm", "79b_blackwell_geforce_nvfp4_nvfp4_gemm",
                 "79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm"):
        add(folder, name, "--m=256 --n=256 --k=256", "--m=384 --n=640 --k=1024",
            "--m=512 --n=1024 --k=512")
    add(folder, "79d_blackwell_geforce_nvfp4_grouped_gemm", "--m=256 --n=256 --k=256 --groups=2",
        "--benchmark=groups.txt", "--m=512 --n=768 --k=256 --groups=3")
    for name in ("80a_blackwell_geforce_mxfp8_bf16_sparse_gemm",
                 "80b_blackwell_geforce_nvfp4_nvfp4_sparse_gemm"):
        add("80_blackwell_geforce_sparse_gemm", name, "--m=256 --n=256 --k=256",
            "--m=384 --n=640 --k=1024")
    folder = "81_blackwell_gemm_blockwise"
    for name in ("81_blackwell_gemm_blockwise", "81_blackwell_gemm_groupwise"):
        add(folder, name, "--m=256 --n=256 --k=256", "--m=384 --n=640 --k=512")
    for name in ("81_blackwell_grouped_gemm_blockwise", "81_blackwell_grouped_gemm_groupwise"):
        add(folder, name, "--m=256 --n=256 --k=256 --groups=2",
            "--m=384 --n=512 --k=384 --groups=3")
    folder = "83_blackwell_sparse_gemm"
    add(folder, folder, "--m=256 --n=256 --k=256", "--m=384 --n=512 --k=512", cost=FILLS)
    for name in ("84a_blackwell_nvfp4_bf16_sparse_gemm",
                 "84b_blackwell_mixed_mxfp8_bf16_sparse_gemm"):
        add("84_blackwell_narrow_precision_sparse_gemm", name, "--m=256 --n=256 --k=256",
            "--m=384 --n=640 --k=1024")
    add("86_blackwell_mixed_dtype_gemm", "86_blackwell_mixed_dtype",
        "--m=256 --n=128 --k=128 --verify", "--m=384 --n=256 --k=256 --verify", cost=FILLS)
    folder = "87_blackwell_geforce_gemm_blockwise"
    for name in ("87a_blackwell_geforce_fp8_bf16_gemm_blockwise",
                 "87b_blackwell_geforce_fp8_bf16_gemm_groupwise"):
        add(folder, name, "--m=256 --n=256 --k=256", "--m=384 --n=640 --k=512")
    add(folder, "87c_blackwell_geforce_fp8_bf16_grouped_gemm_groupwise",
        "--m=256 --n=256 --k=256 --groups=2", "--m=384 --n=512 --k=384 --groups=3")
    folder = "89_sm103_fp4_ultra_gemm"
    add(folder, folder, "--m=256 --n=512 --k=768", "--m=384 --n=640 --k=1024",
        "--m=512 --n=512 --k=2304")
    folder = "90_sm103_fp4_ultra_grouped_gemm"
    add(folder, folder, "--m=256 --n=256 --k=768 --groups=2",
        "--m=384 --n=512 --k=1536 --groups=3")
    # It reads several stages of K ahead, whether they are there or not.
    add("91_fp4_gemv", "91_fp4_gemv", "--m=64 --k=4096", "--m=128 --k=8192")
    folder = "92_blackwell_moe_gemm"
    for kind, cost in (("", FILLS), ("fp4_", 0)):
        add(folder, f"{folder}_{kind}regular", "--m=256 --n=256 --k=256 --l=2",
            "--m=384 --n=64 --k=512 --l=3", cost=cost)
        add(folder, f"{folder}_{kind}grouped",
            "--m=256 --n=128 --k=256 --l=2 --benchmark=experts2.txt",
            "--m=256 --n=192 --k=512 --l=3 --benchmark=experts3.txt", cost=cost)
    return found


#: Those of which a copy without multiplications must fail.
SABOTAGED = ("72a_blackwell_nvfp4_bf16_gemm", "79a_blackwell_geforce_nvfp4_bf16_gemm")


@dataclass(frozen=True)
class Places:
    """Where things are."""
    work: Path  # programs, and what they say
    toolkit: Path
    cutlass: Path
    runtime: Path  # the folder of the emulator's libcudart.so.13


def install(work):
    """The toolkit and CUTLASS of the requirements, installed in `work` unless they are there."""
    venv = work / "venv"
    kept = venv / REQUIREMENTS.name
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not kept.exists() or kept.read_text(encoding="utf-8") != wanted:
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "install", "--quiet", "--no-input",
                        "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                        "-r", REQUIREMENTS], check=True)
        for program in (work / "programs").glob("*"):
            program.unlink()
        kept.write_text(wanted, encoding="utf-8")
    packages = next(venv.glob("lib/python3*/site-packages"))
    return packages / "nvidia/cu13", packages / "cutlass_library/source"


def prepare(places):
    """Writes what compilations and runs need beside the sources."""
    for folder in ("programs", "stub", "said"):
        (places.work / folder).mkdir(parents=True, exist_ok=True)
    for name, text in {**FILES, "nvcc-minor.h": MINOR_VERSION}.items():
        (places.work / name).write_text(text, encoding="utf-8")
    runtime = places.work / "stub/libcudart.so"
    runtime.unlink(missing_ok=True)
    runtime.symlink_to(places.toolkit / "lib/libcudart.so.13")
    subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-shared",
                    "-Wl,-soname,libcuda.so.1", "-o", places.work / "stub/libcuda.so", "-"],
                   input=DRIVER_STUB, text=True, check=True)


def run_logged(command, said, seconds, **options):
    """Runs a command for some seconds at most, with its output in the files `said`.out and
    `said`.err. Its exit status, or None where it did not end."""
    with (open(f"{said}.out", "w", encoding="utf-8") as output,
          open(f"{said}.err", "w", encoding="utf-8") as errors):
        try:
            return subprocess.run(command, stdout=output, stderr=errors, timeout=seconds,
                                  **options).returncode
        except subprocess.TimeoutExpired:
            return None


def compile_example(places, example, seconds):
    """Compiles an example unless that was done before. Why it could not, or None."""
    program = places.work / "programs" / example.name
    if program.exists():
        return None
    sources = places.cutlass / "examples" / example.folder
    new = program.with_suffix(".new")
    includes = [f"-I{places.cutlass / folder}"
                for folder in ("include", "tools/util/include", "examples/common")]
    status = run_logged(
        [places.toolkit / "bin/nvcc", "-std=c++17", "-O2", "-no-compress", "-cudart", "shared",
         "--expt-relaxed-constexpr", *example.options(places.work), *includes, "-gencode",
         f"arch=compute_{example.chip},code=compute_{example.chip}", f"{example.name}.cu",
         f"-L{places.work / 'stub'}", f"-L{places.toolkit / 'lib'}", "-lcuda", "-o", new],
        places.work / "said" / f"nvcc-{example.name}", seconds, cwd=sources)
    if status == 0:
        new.rename(program)
        return None
    return CUT if status is None else NOT_COMPILED


def sabotage(program):
    """A copy of a program that adds where it should multiply."""
    copy = program.with_name(f"{program.name.split('_')[0]}_sabotaged")
    copy.write_bytes(program.read_bytes().replace(b"mul.f32", b"add.f32"))
    copy.chmod(0o755)
    return copy


@dataclass
class Run:
    """A run of a program, which is an example or a copy of it."""
    example: Example
    program: str
    size: str
    schedule: str
    expected: str = PASSED
    result: str = NOT_RUN
    instructions: int = 0
    findings: int = 0
    seconds: float = 0

    @property
    def passed(self):
        return self.result == self.expected

    def __str__(self):
        schedule = f"--schedule={self.schedule}"
        if self.schedule != PROMPT:
            schedule += f" --seed={self.example.seed}"
        return (f"{self.program:<38} {self.size:<33} {schedule:<31} {self.result:<7} "
                f"{self.instructions:>9} instructions {self.findings:>4} findings "
                f"{self.seconds:.1f} s")


def judge(output):
    """What a program says of its products."""
    said = [word for word, pattern in ((FAILED, FAILS), (PASSED, PASSES)) if pattern.search(output)]
    return ",".join(said) or SILENT


def execute(places, run, threads, seconds):
    """Runs a program on the emulator, and sets what came of it."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(places.runtime),
        "BLOCKSCALE_EMULATE_CHIP": f"sm_{run.example.chip}",
        "BLOCKSCALE_EMULATE_MULTIPROCESSORS": str(MULTIPROCESSORS),
        "BLOCKSCALE_EMULATE_SCHEDULE": run.schedule,
        "BLOCKSCALE_EMULATE_SEED": str(run.example.seed if run.schedule != PROMPT else 0),
        "BLOCKSCALE_EMULATE_JOBS": str(threads),
        "BLOCKSCALE_EMULATE_PROFILE": "1",
    }
    words = re.sub(r"\W+", "_", f"{run.program} {run.size} {run.schedule}")
    said = places.work / "said" / words
    start = time.monotonic()
    status = run_logged([places.work / "programs" / run.program, *run.size.split(),
                         "--iterations=0"], said, seconds, cwd=places.work, env=environment)
    run.seconds = time.monotonic() - start
    output, errors = (Path(f"{said}.{kind}").read_text(encoding="utf-8", errors="replace")
                      for kind in ("out", "err"))
    run.result = CUT if status is None else judge(output)
    run.instructions = sum(int(count) for count in
                           re.findall(r"(?m)^launch of \S+ (\d+)", errors))
    run.findings = len(re.findall(r"(?m)^kernel ", errors))


def list_runs(examples):
    """The runs of each example, in their order."""
    runs = {example: [Run(example, example.name, size, schedule)
                      for size in example.sizes for schedule in (PROMPT, ADVERSARIAL)]
            for example in examples}
    for example in examples:
        if example.name in SABOTAGED:
            name = f"{example.name.split('_')[0]}_sabotaged"
            runs[example].append(Run(example, name, example.sizes[0], PROMPT, FAILED))
    return runs


class Pool:
    """Calls functions in threads: those of the lowest rank first, of which each may add others."""

    def __init__(self, jobs):
        self._queue = queue.PriorityQueue()
        self._order = itertools.count()
        self._jobs = jobs
        self._failures = []

    def add(self, rank, function, *arguments):
        self._queue.put((rank, next(self._order), function, arguments))

    def work(self):
        """Returns once all are done. Raises what one of them raises, and calls no other then."""
        for _ in range(self._jobs):
            threading.Thread(target=self._serve, daemon=True).start()
        self._queue.join()
        if self._failures:
            raise self._failures[0]

    def _serve(self):
        while True:
            *_, function, arguments = self._queue.get()
            try:
                if not self._failures:
                    function(*arguments)
            except Exception as failure:
                self._failures.append(failure)
            finally:
                self._queue.task_done()


def run_all(places, examples, options):
    """Compiles and runs the examples. Their runs, in order."""
    runs = list_runs(examples)
    pool, lock = Pool(options.jobs), threading.Lock()
    end = time.monotonic() + options.until if options.until else None

    def seconds_left():
        """For one command; None if there is no limit."""
        left = [options.limit] if options.limit else []
        if end is not None:
            left.append(max(0.0, end - time.monotonic()))
        return min(left, default=None)

    def show(text):
        with lock:
            print(text, file=sys.stderr, flush=True)

    def perform(run):
        if seconds_left() != 0:
            execute(places, run, options.threads, seconds_left())
        show(run)

    def build(example):
        start = time.monotonic()
        fault = NOT_RUN
        if seconds_left() != 0:
            fault = compile_example(places, example, seconds_left())
        show(f"{example.name}: {fault or 'compiled'}, {time.monotonic() - start:.1f} s")
        for run in runs[example]:
            if fault:
                run.result = fault
                continue
            if run.expected == FAILED:
                sabotage(places.work / "programs" / example.name)
            # What takes longest begins first, before what is not yet compiled.
            slow = run.schedule != PROMPT
            pool.add((-example.cost, 0 if slow else 1), perform, run)

    for example in examples:
        pool.add((-example.cost, 2), build, example)
    pool.work()
    return [run for example in examples for run in runs[example]]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="compile and run so many programs at once (default: 1)")
    parser.add_argument("--threads", type=int, default=cores, metavar="N",
                        help="of the emulator in each run (default: one for each core)")
    parser.add_argument("--limit", type=float, metavar="SECONDS",
                        help="cut a compilation or a run that takes longer")
    parser.add_argument("--until", type=float, metavar="SECONDS",
                        help="cut what is not done after so long, and print the table")
    parser.add_argument("--toolkit", type=Path, metavar="FOLDER",
                        help="of bin/nvcc and lib/libcudart.so.13 (default: installed by pip)")
    parser.add_argument("--cutlass", type=Path, metavar="FOLDER",
                        help="of CUTLASS's include, tools and examples (default: likewise)")
    parser.add_argument("--runtime", type=Path, metavar="FOLDER",
                        default=ROOT / "build/lib/blockscale",
                        help="of the emulator's libcudart.so.13 (default: build/lib/blockscale)")
    parser.add_argument("--work", type=Path, metavar="FOLDER", default=ROOT / ".cache/cutlass",
                        help="of programs and what they say (default: .cache/cutlass)")
    options = parser.parse_args()
    if not (options.runtime / "libcudart.so.13").exists():
        parser.error(f"no libcudart.so.13 in {options.runtime}: run scripts/build.sh")
    if bool(options.toolkit) != bool(options.cutlass):
        parser.error("expected both of --toolkit and --cutlass, or none")
    for folder, what in ((options.toolkit, "bin/nvcc"), (options.cutlass, "examples")):
        if folder and not (folder / what).exists():
            parser.error(f"expected {what} in {folder}, but there is none")
    examples = [example for example in list_examples()
                if not options.names or example.name.startswith(tuple(options.names))
                or example.folder.startswith(tuple(options.names))]
    if not examples:
        parser.error(f"no example begins with {', '.join(options.names)}")
    work = options.work.resolve()
    toolkit, cutlass = ((options.toolkit.resolve(), options.cutlass.resolve())
                        if options.toolkit else install(work))
    places = Places(work, toolkit, cutlass, options.runtime.resolve())
    prepare(places)
    runs = run_all(places, examples, options)
    print(*runs, sep="\n")
    sound = {run.program for run in runs} - {run.program for run in runs if not run.passed}
    print(f"of {len(examples)} examples {len(sound & {e.name for e in examples})} pass all runs")
    passed = sum(run.passed for run in runs)
    print(f"{passed} passed, {len(runs) - passed} failed")
    return 0 if passed == len(runs) else 1


if __name__ == "__main__":
    sys.exit(main())

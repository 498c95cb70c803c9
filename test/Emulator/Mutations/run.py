#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks kernels one place at a time and asks whether the emulator notices.

    run.py [--emulate PROGRAM] [--compile PROGRAM] [--run PROGRAM] [--filter TEXT]
           [--every N] [--seeds N] [--report FILE]
           [--write-cases FILE | --cases FILE [--commit NAME]]

A mutant is caught where a run reports something, fails, or gives other bytes than
the kernel as it is. What is not caught must be benign: `explanations.py` says why the
change makes no faulty program. Prints a table; fails where a mutant has no explanation,
a run crashes, or nothing is caught.

With --write-cases the kernels and their launches are only compiled and written; --cases
reads them, on a machine that has more cores and the emulator alone.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pickle
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "emulator/test/Compilers")]

import numpy as np

import run as compilers
from explanations import explain
from kernels import kernels
from log_head import describe_commit, describe_machine, make_head
from product_kernels import product_cases
from ptx_sites import apply, find_mutations, probe_execution, probe_value

SCHEDULES = ("--schedule=adversarial", "--schedule=random")
# Mutants that never end are cut off well behind the end of the kernel.
STEPS = "--max-steps=400000"


def schedules(seeds):
    return [["--schedule=prompt", STEPS]] + [
        [schedule, f"--seed={seed}", STEPS] for seed in range(seeds) for schedule in SCHEDULES]


def same(first, second):
    return all(np.array_equal(first[name].view(np.uint8), second[name].view(np.uint8))
               for name in first)


def judge(program, case, expected, seeds):
    """'reported', 'wrong', 'crashed' or 'uncaught', and what was said."""
    for schedule in schedules(seeds):
        outputs = compilers.emulate(program, case, schedule)
        if isinstance(outputs, str):
            said = outputs.strip().splitlines() or [""]
            return ("crashed" if said[0].startswith("exit status -") else "reported"), said[0]
        if not same(expected, outputs):
            return "wrong", ""
    return "uncaught", ""


def judge_mutant(program, case, lines, mutation, expected, seeds):
    """Verdict and reason. A mutant that nothing catches is benign where a trap
    shows that its instruction never runs, or never gives another value."""
    def with_text(text):
        return dataclasses.replace(case, text=text.encode())

    verdict, said = judge(program, with_text(apply(lines, mutation)), expected, seeds)
    if verdict != "uncaught":
        return verdict, said
    for probe, reason in ((probe_execution, "no thread executes it in this launch"),
                          (probe_value, "it has the same value in every thread")):
        text = probe(lines, mutation)
        outputs = text and compilers.emulate(program, with_text(text), ["--schedule=prompt"])
        if isinstance(outputs, dict):
            return "benign", reason
        if outputs and "trap" not in outputs:
            sys.exit(f"{case.name}, probe of line {mutation.line + 1}: {outputs}")
    return explain(case.name, mutation, lines)


def judge_case(program, case, options):
    expected = compilers.emulate(program, case, ["--schedule=prompt"])
    if isinstance(expected, str):
        sys.exit(f"{case.name} as it is: {expected}")
    if case.check:
        case.check(expected)
    lines, mutations = find_mutations(case.text.decode(), case.kernel)
    mutations = mutations[::options.every]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda mutation: judge_mutant(program, case, lines, mutation, expected,
                                                          options.seeds), mutations)
        return [(m, lines[m.line].strip(), *v) for m, v in zip(mutations, verdicts)]


def replace_check(program, case):
    """The case without its check of the results, which is done here."""
    if case.check:
        case.check(compilers.emulate(program, case, ["--schedule=prompt"]))
    return dataclasses.replace(case, check=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--emulate", default="blockscale-emulate", help="the tool")
    parser.add_argument("--compile", default="blockscale-compile", help="the tool")
    parser.add_argument("--run", default="blockscale-run", help="the tool")
    parser.add_argument("--filter", default="", help="only kernels whose name has it")
    parser.add_argument("--every", type=int, default=1, help="only every Nth mutant")
    parser.add_argument("--seeds", type=int, default=2, help="runs of the other schedules")
    parser.add_argument("--report", help="also write the report here")
    parser.add_argument("--write-cases", help="compile the kernels, write them here, and end")
    parser.add_argument("--cases", help="read the kernels from here")
    parser.add_argument("--commit", help="of the kernels and the emulator, for the report's head")
    options = parser.parse_args()

    if options.cases:
        every_case = pickle.loads(Path(options.cases).read_bytes())
    else:
        every_case = [*kernels(options.compile), *product_cases(options.compile, options.run)]
    if options.write_cases:
        # Functions are not written: whether the results are numpy's is looked at here.
        written = [replace_check(options.emulate, case) for case in every_case]
        Path(options.write_cases).write_bytes(pickle.dumps(written))
        return 0
    head = make_head(options.commit or describe_commit(ROOT), describe_machine(),
                     f"test/Emulator/Mutations/run.py --filter '{options.filter}' "
                     f"--every {options.every} --seeds {options.seeds}")
    report, totals, faults = [str(head)], collections.Counter(), 0
    for case in every_case:
        if options.filter not in case.name:
            continue
        counts = collections.defaultdict(collections.Counter)
        notes = collections.defaultdict(list)
        for mutation, line, verdict, said in judge_case(options.emulate, case, options):
            if verdict not in ("reported", "wrong"):
                code = " ".join(line.split())[:100]
                notes[f"{verdict}: {said}"].append(f"line {mutation.line + 1}: {code} "
                                                   f"[{mutation.what}]")
            counts[mutation.kind][verdict] += 1
            totals[verdict] += 1
        lines = [case.name]
        for kind, of_kind in sorted(counts.items()):
            lines.append(f"  {kind:11} " + ", ".join(
                f"{of_kind[v]} {v}" for v in VERDICTS if of_kind[v]))
        for reason, places in notes.items():
            lines += [f"  {reason}", *(f"    {place}" for place in places)]
        print("\n".join(lines), flush=True)
        report += lines
    caught = totals["reported"] + totals["wrong"]
    faulty = caught + totals["unexplained"] + totals["crashed"]
    share = caught / faulty if faulty else 0.0
    report.append(f"{sum(totals.values())} mutants: "
                  + ", ".join(f"{totals[v]} {v}" for v in VERDICTS if totals[v])
                  + f"; {100 * share:.1f} % of those that are not benign are caught")
    print(report[-1])
    faults = totals["unexplained"] + totals["crashed"] + (caught == 0)
    if options.report:
        Path(options.report).write_text("\n".join(report) + "\n")
    print(f"{caught + totals['benign']} passed, {faults} failed")
    return 1 if faults else 0


VERDICTS = ("reported", "wrong", "benign", "unexplained", "crashed")

if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases of a folder through blockscale-run and compares every array.

A case is an .npz with inputs (in_*), expected arrays (out_*) and meta. Each
recipe of a case becomes a module, is executed, and each expected array is
reported as equal or mismatching, with the first mismatch. Arrays that nothing
computes are listed: unsupported, superseded (another array of the case states
the contract) or reference (an ingredient of the comparison, not a result).
Where the folder has a totals.txt, each array has the category that stands there.

On a GPU (--on cuda), modules are compiled and run by blockscale-run; or, where a
machine has a driver and this folder but no compiler, they come as bundles:

  run.py --cases DIR --target sm_90a --compile-to BUNDLES         # here
  run.py --cases DIR --on cuda --bundles BUNDLES --runtime SO     # there

Exit status: 0 no mismatch, 1 some array mismatches or its run failed, 2 usage.
"""

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import totals
from bundles import BundleRunner, compile_bundle
from cases import case_names, load_case, selected
from contract import failure
from gpu import reduce_job
from plan import Aside, plan
from roofline import RooflineJob
from runner import RunError, execute

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", os.path.join(ROOT, "build"))
SCHEDULES = ("prompt", "adversarial")


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", required=True, metavar="DIR", help="folder of .npz")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--on",
        choices=["cpu", "emulator", "cuda"],
        help="where to run; GPUs run what has kernels, the emulator in both schedules",
    )
    where.add_argument(
        "--compile-to", metavar="DIR", help="run nothing: write bundles for --bundles"
    )
    parser.add_argument(
        "--target", metavar="CHIP", help="of the kernels (default: blockscale-run's)"
    )
    parser.add_argument(
        "--bundles", metavar="DIR", help="of --on cuda: run these, without compiling"
    )
    parser.add_argument(
        "--runtime", metavar="PATH", help="libBlockScaleRuntime.so, to run --bundles"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the adversarial schedule"
    )
    parser.add_argument(
        "--only", default="*", metavar="GLOB", help="cases, or case.array with a dot"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write computed arrays as DIR/<case>/<array>.npy"
    )
    parser.add_argument(
        "--tool",
        metavar="PATH",
        help="blockscale-run, or blockscale-compile for --compile-to (default: that "
        "of BLOCKSCALE_BUILD_DIR or build)",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="processes at a time"
    )
    arguments = parser.parse_args(argv)
    if not os.path.isdir(arguments.cases):
        parser.error(f"--cases: no such folder: {arguments.cases}")
    if arguments.bundles:
        if arguments.on != "cuda" or arguments.target:
            parser.error("--bundles: only with --on cuda, and without --target")
        return arguments
    if arguments.compile_to and not arguments.target:
        parser.error("--compile-to: needs --target")
    tool = "blockscale-compile" if arguments.compile_to else "blockscale-run"
    arguments.tool = arguments.tool or os.path.join(BUILD, "bin", tool)
    if not os.access(arguments.tool, os.X_OK):
        parser.error(f"--tool: not an executable: {arguments.tool}")
    return arguments


def judge(job, stored):
    """(check, computed array or None, verdict) of each check of an executed job.

    `stored` is the list of results or the RunError that took their place.
    """
    results = iter(() if isinstance(stored, RunError) else stored)
    for count, checks in job.outputs:
        values = [value for _, value in zip(range(count), results)]
        for check in checks:
            if isinstance(stored, RunError):
                yield check, None, failure(0, str(stored))
            else:
                computed = check.form(*values)
                yield check, computed, check.judge(computed)


class Report:
    """Prints a line for each array and counts them by category."""

    def __init__(self):
        self.categories = {}  # of arrays by their names
        self.mismatches = []

    @property
    def counts(self):
        return Counter(self.categories.values())

    def judged(self, case, array, outcomes):
        """`outcomes` are the (route, verdict) of one array."""
        bad = [(route, v) for route, v in outcomes if not v.equal]
        self.categories[f"{case}.{array}"] = "mismatching" if bad else "equal"
        if not bad:
            route, verdict = outcomes[0]
            ways = f", {len(outcomes)} ways" if len(outcomes) > 1 else ""
            notes = "".join(f"; {note}" for note in verdict.notes)
            print(f"equal {case}.{array}: {verdict.total} elements{ways}{notes}")
        for route, verdict in bad:
            way = f" [{route}]" if route else ""
            size = f"{verdict.mismatches} of {verdict.total}, first " * bool(verdict.total)
            self.mismatches.append(f"{case}.{array}{way}: {size}{verdict.first}")
            print("MISMATCH", self.mismatches[-1])

    def aside(self, case, array, aside):
        self.categories[f"{case}.{array}"] = aside.category
        print(f"{aside.category} {case}.{array}: {aside.reason}")

    def pinned(self, lines, place):
        """Counts an array whose category is not the pinned one as a mismatch."""
        for number, problem in enumerate(totals.problems(lines, place, self.categories)):
            self.categories[f"totals.txt {number}"] = "mismatching"
            self.mismatches.append(f"totals.txt: {problem}")
            print("MISMATCH", self.mismatches[-1])

    def summary(self):
        """The mismatches again, together, and the counts."""
        counts = self.counts
        if self.mismatches:
            print("mismatching:", *self.mismatches, sep="\n  ")
        print(
            f"not counted: superseded {counts['superseded']}, "
            f"reference {counts['reference']}"
        )
        print(
            f"arrays equal {counts['equal']}, mismatching {counts['mismatching']}, "
            f"unsupported {counts['unsupported']}"
        )


def write(folder, case, array, computed):
    """In the expected array's shape; of a map, its other upper bound's."""
    want = case.expected[array]
    if computed.shape != want.shape:
        fitted = np.full(want.size, -1, want.dtype)
        size = min(computed.size, want.size)
        fitted[:size] = computed[:size]
        computed = fitted.reshape(want.shape)
    os.makedirs(os.path.join(folder, case.name), exist_ok=True)
    np.save(os.path.join(folder, case.name, array + ".npy"), computed)


def runs_of(jobs, arguments):
    """What to run: (job, its ways: options of the tool by their name), and reasons why
    checks cannot be run, by array."""
    if arguments.on == "cpu":
        return [(job, {"": ["--on=cpu"]}) for job in jobs], {}
    runs, reasons = [], {}
    target = [f"--target={arguments.target}"] if arguments.target else []
    # The emulator's chip; a GPU here may have no products.
    chip = arguments.target or ("sm_100a" if arguments.on == "emulator" else "")
    for job in jobs:
        if isinstance(job, RooflineJob):
            table = {check.array: "no kernel for the cost model" for check in job.checks()}
            reasons.update(table)
            continue
        job, refused = reduce_job(job, chip)
        for check, reason in refused:
            reasons.setdefault(check.array, reason)
        if not job.outputs:
            continue
        if arguments.on != "emulator":
            runs.append((job, {"": ["--on=cuda", *target]}))
            continue
        ways = {each: ["--on=emulator", *target, f"--schedule={each}"] for each in SCHEDULES}
        ways["adversarial"].append(f"--seed={arguments.seed}")
        runs.append((job, ways))
    return runs, reasons


def runner_of(arguments):
    """What gives the results of a job, or a RunError, for each of its ways."""
    if not arguments.bundles:
        return lambda job, ways: execute(arguments.tool, list(ways.values()), job)
    bundles = BundleRunner(arguments.bundles, arguments.runtime)
    print(bundles.describe())
    return lambda job, _: [bundles.execute(job)]


def runs_of_case(case, arguments):
    """What to run, and why other arrays are not computed."""
    jobs, aside = plan(case)
    jobs = [
        job
        for job in jobs
        if any(selected(arguments.only, case.name, c.array) for c in job.checks())
    ]
    runs, reasons = runs_of(jobs, arguments)
    return runs, reasons, aside


def compile_case(case, arguments, pool):
    """Writes the bundles of a case; returns what failed."""

    def compile(each):
        try:
            compile_bundle(arguments.tool, arguments.target, arguments.compile_to, each[0])
        except RunError as error:
            return f"{case.name}: {error}"

    runs, _, _ = runs_of_case(case, arguments)
    return [problem for problem in pool.map(compile, runs) if problem]


def run_case(case, arguments, runner, pool, report):
    def wanted(array):
        return selected(arguments.only, case.name, array)

    runs, reasons, aside = runs_of_case(case, arguments)

    def run(each):
        job, ways = each
        try:
            if isinstance(job, RooflineJob):
                return [job.execute(arguments.tool)]
            return runner(job, ways)
        except RunError as error:
            return [error] * len(ways)

    outcomes = {}
    for (job, ways), results in zip(runs, pool.map(run, runs)):
        for way, stored in zip(ways, results, strict=True):
            for check, computed, verdict in judge(job, stored):
                if not wanted(check.array):
                    continue
                route = ", ".join(filter(None, (check.route, way)))
                outcomes.setdefault(check.array, []).append((route, verdict))
                if arguments.out and check.written and computed is not None:
                    write(arguments.out, case, check.array, computed)
    for array in reasons.keys() - outcomes.keys():
        aside[array] = Aside("unsupported", reasons[array])
    inputs = sorted(outcomes.keys() - case.expected.keys())
    for array in [*filter(wanted, case.expected), *inputs]:
        if array in aside:
            report.aside(case.name, array, aside[array])
        else:
            report.judged(case.name, array, outcomes[array])


def usage_error(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def main(argv=None):
    arguments = parse_arguments(argv)
    names = [n for n in case_names(arguments.cases) if selected(arguments.only, n)]
    if not names:
        return usage_error(f"no case in {arguments.cases} matches {arguments.only}")
    report, problems = Report(), []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        try:
            runner = runner_of(arguments)
        except RunError as error:
            return usage_error(error)
        for name in names:
            try:
                case = load_case(os.path.join(arguments.cases, name + ".npz"))
            except ValueError as error:
                return usage_error(f"{name}: unreadable case: {error}")
            if arguments.compile_to:
                problems += compile_case(case, arguments, pool)
            else:
                run_case(case, arguments, runner, pool, report)
    if arguments.compile_to:
        print(*problems, f"{len(os.listdir(arguments.compile_to))} bundles", sep="\n")
        return 1 if problems else 0
    pinned = totals.load(arguments.cases)
    if pinned and arguments.only == "*" and arguments.on != "cuda" and not arguments.target:
        report.pinned(pinned, arguments.on)
    report.summary()
    return 1 if report.counts["mismatching"] else 0


if __name__ == "__main__":
    sys.exit(main())

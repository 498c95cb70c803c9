# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with one fault: valid calls of every op, of which one thing is broken, on the CPU and in
the emulator as kernels of five chips, through C and Python. A call is refused, with what is
expected and what was found and the same text on every target, or gives what the CPU's definition
says; all else is a silent fault, and so is a crash.

Usage: silence.py [--calls N] [--subjects N] [--seed SEED] [--kinds KIND,..] [--only CALL]

A call is a fault on a target. The seed is printed; it decides everything. Faults are drawn so that
all kinds and operands have as many, and the counts are printed. silent_calls.py has the valid
calls and says which sizes fit, silent_faults.py has the faults.
"""

import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from expect import first_difference  # noqa: E402
from ops import with_one_nan  # noqa: E402
from silent_calls import MAKERS, make_subject  # noqa: E402
from silent_faults import CPU, REFUSED, SAME, make_faults  # noqa: E402

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
TARGETS = ("cpu", *CHIPS)
DOORS = ("python", "c")
REFUSAL = re.compile(r"expected .+, but got .+", re.DOTALL)
MOST_SECONDS = 900  # of all calls of a subject
MOST_SHARE = 0.2  # of a kind


def draw_faults(seed, subjects, count, kinds=None):
    """For each subject the numbers of its faults: each time of the op, operand and kind that have
    had the fewest, and of these of the kind that has."""
    random = np.random.default_rng((seed, 1 << 20))
    left = collections.defaultdict(list)  # kind, then op and operand
    for number, subject in enumerate(subjects):
        for i, fault in enumerate(make_faults(subject)):
            cell = (subject.op, subject.operands[fault.number].name)
            if kinds is None or fault.kind in kinds:
                left[fault.kind, cell].append((number, i))
    for options in left.values():
        random.shuffle(options)
    of_kind, of_cell = collections.Counter(), collections.Counter()
    drawn = collections.defaultdict(list)
    for _ in range(min(count, sum(map(len, left.values())))):
        cell = min((cell for cell, options in left.items() if options),
                   key=lambda cell: (of_cell[cell], of_kind[cell[0]], random.random()))
        number, i = left[cell].pop()
        drawn[number].append(i)
        of_kind[cell[0]] += 1
        of_cell[cell] += 1
    return drawn


def run_subject(seed, number, faults):
    """Prints, for each call of a subject, a line of JSON: before it what it is, then what came of
    it."""
    import silent_door  # loads the library

    subject = make_subject(seed, number)
    all_faults = make_faults(subject)
    arrays = [operand.array for operand in subject.operands]
    functions = {}
    for target in TARGETS:
        say(begin=f"compilation for {target}")
        try:
            functions[target] = silent_door.compile(subject.text, target)
        except silent_door.REFUSALS as error:
            say(target=target, refused=str(error).splitlines()[0])
    if "cpu" not in functions:
        return
    valid = {}
    for target, function in list(functions.items()):
        say(begin=f"the valid call on {target}")
        valid[target] = function.call("python", arrays)
        if isinstance(valid[target], str) and target != "cpu" and REFUSAL.search(valid[target]):
            # What kernels of a chip do not take, such as where groups begin.
            say(target=target, refused=valid[target])
            del functions[target]
        elif problem := differs(subject, valid["cpu"], valid[target]):
            say(target=target, invalid=problem)
    for i in faults:
        fault = all_faults[i]
        given = list(arrays)
        given[fault.number] = fault.array
        door = DOORS[np.random.default_rng((seed, number, i)).integers(len(DOORS))]
        outcomes = {}
        for target, function in functions.items():
            say(begin=f"{fault.kind} on {target}", fault=i)
            outcomes[target] = function.call(door, given, fault.accept)
            say(fault=i, target=target, door=door,
                problem=judge(subject, fault, outcomes[target], valid, outcomes["cpu"]))


def say(**fields):
    print(json.dumps(fields), flush=True)


def differs(subject, wanted, got):
    """How two outcomes differ: texts of refusals, or lists of results. A launch plan names the
    function before the rule, and says the size that it expected, which the CPU does not."""
    if isinstance(wanted, str) or isinstance(got, str):
        texts = [re.sub(r"^@\w+: | \(== -?\d+\)", "", each) if isinstance(each, str) else ""
                 for each in (wanted, got)]
        if texts[0] == texts[1]:
            return None
        show = [each if isinstance(each, str) else "results" for each in (wanted, got)]
        return f"'{show[0]}', then '{show[1]}'"
    return first_difference(*([comparable(subject, array, type) for array, type
                               in zip(each, subject.results)] for each in (wanted, got)))


def comparable(subject, array, type):
    """An array with one NaN, and of a product with one zero: the sign of a sum that is 0 is that
    of its order."""
    array = with_one_nan(array, type)
    if not subject.op.startswith("scaled"):
        return array
    return array + array.dtype.type(0) if array.dtype.kind == "f" else \
        np.where(array == 0x8000, np.uint16(0), array)


def judge(subject, fault, outcome, valid, on_cpu):
    """What is wrong with a call's outcome, or None."""
    if isinstance(outcome, str) and not REFUSAL.search(outcome):
        return f"expected a text with the expected and the found, but got '{outcome}'"
    if fault.expected == REFUSED and not isinstance(outcome, str):
        return "expected an error, but got results"
    if isinstance(outcome, str) and isinstance(on_cpu, str):
        # A size that no array has is found where its array is made, or before.
        is_size = subject.operands[fault.number].role == "size"
        return None if is_size else differs(subject, on_cpu, outcome)
    if fault.expected == SAME and not isinstance(outcome, str):
        return differs(subject, valid["cpu"], outcome)
    if fault.expected == CPU and not isinstance(outcome, str) and differs(
            subject, on_cpu, outcome):
        return f"the CPU, then the target: {differs(subject, on_cpu, outcome)}"
    return None


def run_in_process(seed, number, faults):
    """The lines that a process for a subject prints, and what it died of, or None."""
    command = [sys.executable, __file__, f"--seed={seed}", f"--subject={number}",
               "--faults", ",".join(map(str, faults))]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace",
                             timeout=MOST_SECONDS,
                             env={**os.environ, "BLOCKSCALE_NUM_THREADS": "1"})
    except subprocess.TimeoutExpired as error:
        printed = (error.stdout or b"").decode(errors="replace")
        return read_lines(printed), f"expected an end within {MOST_SECONDS} s"
    died = None
    if run.returncode < 0:
        died = f"killed by {signal.Signals(-run.returncode).name}"
    elif run.returncode:
        died = run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "no reason given"
    return read_lines(run.stdout), died


def read_lines(printed):
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")
            and line.endswith("}")]


class Report:
    def __init__(self, seed, subjects):
        self.seed, self.subjects = seed, subjects
        self.cells, self.kinds = collections.Counter(), collections.Counter()
        self.doors, self.silent = collections.Counter(), 0
        self.not_compiled = collections.defaultdict(set)  # targets by op and reason

    def fail(self, number, fault, what):
        self.silent += 1
        subject = self.subjects[number]
        of = ""
        if fault is not None:
            one = make_faults(subject)[fault]
            of = f" {subject.operands[one.number].name} {one.kind}: {one.what};"
        print(f"SILENT {subject.op} {subject.format} (--seed {self.seed} --only {number}"
              f"{'' if fault is None else f'.{fault}'}){of} {what}", flush=True)

    def add(self, number, lines, died):
        subject = self.subjects[number]
        faults = make_faults(subject)
        begun = {}
        for line in lines:
            if "begin" in line:
                begun = line
            elif "refused" in line:
                self.not_compiled[subject.op, line["refused"]].add(line["target"])
            elif "invalid" in line:
                self.fail(number, None, f"the valid call on {line['target']}: {line['invalid']}")
            else:
                fault = faults[line["fault"]]
                name = subject.operands[fault.number].name
                self.cells[subject.op, name, fault.kind, line["target"]] += 1
                self.kinds[fault.kind] += 1
                self.doors[line["door"]] += 1
                if line["problem"]:
                    self.fail(number, line["fault"], f"{line['target']} through {line['door']}: "
                                                     f"{line['problem']}")
        if died:
            self.fail(number, begun.get("fault"), f"{begun.get('begin')}: {died}")

    def finish(self, least, most_share):
        """Prints the counts; the exit status. `most_share` is that of a kind."""
        calls = sum(self.kinds.values())
        print("calls by op, operand, kind of fault, for each target that compiles the op:")
        rows = collections.defaultdict(dict)
        for (op, operand, kind, target), count in self.cells.items():
            rows[op, operand].setdefault(kind, {})[target] = count
        for (op, operand), kinds in sorted(rows.items()):
            text = ", ".join(f"{kind} {min(each.values())}" for kind, each in sorted(kinds.items()))
            print(f"  {op} {operand}: {text}")
        for (op, reason), targets in sorted(self.not_compiled.items()):
            print(f"  {op} is not compiled for {', '.join(sorted(targets))}: {reason}")
        failed = self.silent
        for kind, count in sorted(self.kinds.items()):
            share = count / max(1, calls)
            print(f"{kind}: {count} calls, {100 * share:.0f} %")
            if share > most_share:
                print(f"FAIL expected at most {100 * most_share:.0f} % of a kind")
                failed += 1
        few = [cell for cell, count in self.cells.items() if count < least]
        if few:
            print(f"FAIL expected at least {least} calls of each cell, but got fewer of "
                  f"{len(few)}: {few[:5]}")
            failed += 1
        print(f"{calls} calls, {self.doors['python']} through Python and {self.doors['c']} through "
              f"C; {len(self.cells)} cells of op, operand, kind and target; {self.silent} silent")
        print(f"{max(0, calls - self.silent)} passed, {failed} failed")
        return 1 if failed or not calls else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=204)
    parser.add_argument("--subjects", type=int, default=len(MAKERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=0, help="calls of each cell")
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="of all faults")
    parser.add_argument("--only", metavar="SUBJECT[.FAULT]", help="what a line says")
    parser.add_argument("--subject", type=int, help="of a process of its own")
    parser.add_argument("--faults")
    options = parser.parse_args()
    if options.subject is not None:
        return run_subject(options.seed, options.subject,
                           [int(each) for each in options.faults.split(",") if each])
    print(f"seed {options.seed}", flush=True)
    count = options.subjects
    if options.only:
        number, _, fault = options.only.partition(".")
        count = max(count, int(number) + 1)
    subjects = [make_subject(options.seed, number) for number in range(count)]
    if options.only:
        print(subjects[int(number)].text)
        drawn = {int(number): [int(fault)] if fault else []}
    else:
        drawn = draw_faults(options.seed, subjects, -(-options.calls // len(TARGETS)),
                            options.kinds)
    report = Report(options.seed, subjects)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {number: pool.submit(run_in_process, options.seed, number, sorted(faults))
                for number, faults in sorted(drawn.items())}
        for number, run in runs.items():
            report.add(number, *run.result())
    # Kinds that were asked for may be few.
    is_asked = options.only or (options.kinds and len(options.kinds) < 6)
    return report.finish(options.least, 1 if is_asked else MOST_SHARE)


if __name__ == "__main__":
    sys.exit(main())

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with one fault: valid calls of every op, of which one thing is broken, on the CPU and in
the emulator as kernels of five chips, through C and Python. A call is refused, with what is
expected and what was found and the same text on every target, or gives what the CPU's definition
says; all else is a silent fault, and so is a crash.

Usage: silence.py [--calls N] [--subjects N] [--reserve N] [--seed SEED] [--kinds KIND,..]
                  [--only CALL]

A call is a fault on a target; where the target is not the CPU, the fault runs on the CPU as well,
as what it is compared with; what that gives is judged, too, and not counted. The seed is printed;
it decides everything. Calls are drawn so that all operands and kinds have as many, in turn on all
targets, and the counts are printed. silent_calls.py has the valid calls and says which sizes fit,
silent_faults.py has the faults.
"""

import argparse
import collections
import itertools
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

from expect import first_difference
from ops import with_one_nan
from silent_calls import MAKERS, make_subject
from silent_faults import CPU, REFUSED, SAME, make_faults

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
TARGETS = ("cpu", *CHIPS)
DOORS = ("python", "c")
REFUSAL = re.compile(r"expected .+, but got .+", re.DOTALL)
MOST_SECONDS = 900  # of all calls of a subject
MOST_SHARE = 0.2  # of a kind


def part_of(subject, fault):
    """What of an operand a fault breaks that rules tell apart: the dimension, and whether a global
    scale is one, or one of each matrix, group or row."""
    operand = subject.operands[fault.number]
    return fault.part, operand.sizes if operand.role == "global" else ()


class Draw:
    """Calls of subjects: one of each kind of faults in turn, and after each of these one of the
    kind, op, operand and part of it that has had the fewest, if its kind has had no fifth of all.
    Those of a part are each time on the next of the targets, and every other one is the least
    change there is. Subjects beyond the first `few` are used where these have no such fault."""

    def __init__(self, seed, subjects, few, kinds=None):
        self.random = np.random.default_rng((seed, 1 << 20))
        self.few = few
        found = collections.defaultdict(list)  # numbers of subjects and of their faults
        least = set()
        for number, subject in enumerate(subjects):
            for i, fault in enumerate(make_faults(subject)):
                if kinds is None or fault.kind in kinds:
                    found[fault.kind, subject.op, subject.operands[fault.number].name,
                          part_of(subject, fault)].append((number, i))
                    if fault.is_least:
                        least.add((number, i))
        #: What is left by kind, op, operand, part and target; the next one stands last.
        self.left = {(*cell, target): self.order(options, least)
                     for cell, options in found.items() for target in TARGETS}
        #: The targets of each kind, op, operand and part, in the order in which it takes them.
        self.targets = {cell: [TARGETS[i] for i in self.random.permutation(len(TARGETS))]
                        for cell in (list(found)[i]
                                     for i in self.random.permutation(len(found)))}
        self.taken = dict.fromkeys(self.targets, 0)

    def order(self, options, least):
        """The faults of a cell in the order in which they are taken, from the last."""
        mixed = [options[i] for i in self.random.permutation(len(options))]
        order = []
        for is_reserve in (False, True):
            of_these = [each for each in mixed if (each[0] >= self.few) == is_reserve]
            turns = [[each for each in of_these if (each in least) == is_least]
                     for is_least in (True, False)]
            order += [each for pair in itertools.zip_longest(*turns) for each in pair if each]
        return order[::-1]

    def take(self, count):
        """As many calls as are asked for, if there are: by subject, its faults with a target
        each."""
        drawn = collections.defaultdict(list)
        kinds = itertools.cycle(dict.fromkeys(kind for kind, *_ in self.targets))
        of_kind = collections.Counter()
        for number in range(min(count, sum(map(len, self.left.values())))):
            cells = [cell for cell in self.targets if self.find_target(cell)]
            if number % 2 == 0:
                there = {kind for kind, *_ in cells}
                kind = next(kind for kind in kinds if kind in there)
                cells = [cell for cell in cells if cell[0] == kind]
            else:
                # With room for the next turn of the kind.
                cells = [cell for cell in cells
                         if of_kind[cell[0]] + 2 < MOST_SHARE * number] or cells
            cell = min(cells, key=self.taken.get)
            self.take_one((*cell, self.find_target(cell)), drawn)
            self.taken[cell] += 1
            of_kind[cell[0]] += 1
        return drawn

    def find_target(self, cell):
        """The next target of a kind, op and operand that has calls left, or None."""
        targets = self.targets[cell]
        turns = (targets[(self.taken[cell] + i) % len(targets)] for i in range(len(targets)))
        return next((target for target in turns if self.left[(*cell, target)]), None)

    def take_few(self, counts, least, refused):
        """The calls that cells with fewer than `least` lack, by the counts of all cells so far;
        `refused` has the subjects and targets that do not go together."""
        drawn = collections.defaultdict(list)
        parts = collections.defaultdict(list)
        for (kind, op, operand, part, target), options in self.left.items():
            options[:] = [each for each in options if (each[0], target) not in refused]
            parts[op, operand, kind, target].append((kind, op, operand, part, target))
        for counted, cells in parts.items():
            for _ in range(least - counts[counted]):
                self.take_one(max(cells, key=lambda cell: len(self.left[cell])), drawn)
        return drawn

    def take_one(self, cell, drawn):
        if self.left[cell]:
            number, fault = self.left[cell].pop()
            drawn[number].append((fault, cell[-1]))


def run_subject(seed, number, calls):
    """Prints, for each call of a subject (a fault and a target), a line of JSON: before it what it
    is, then what came of it."""
    import silent_door  # loads the library

    subject = make_subject(seed, number)
    all_faults = make_faults(subject)
    arrays = [operand.array for operand in subject.operands]
    functions = {}
    for target in [each for each in TARGETS if each == "cpu" or each in {of for _, of in calls}]:
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
    outcomes = {}  # on the CPU, by the fault
    # What a chip does not take is called on the CPU.
    for i, target in sorted({(i, target if target in functions else "cpu") for i, target in calls}):
        fault = all_faults[i]
        given = list(arrays)
        given[fault.number] = fault.array
        door = DOORS[np.random.default_rng((seed, number, i)).integers(len(DOORS))]
        for each in ("cpu", target):
            if each != "cpu" or i not in outcomes:
                say(begin=f"{fault.kind} on {each}", fault=i)
                outcome = functions[each].call(door, given, fault.accept)
                outcomes.setdefault(i, outcome)
        if target == "cpu":
            outcome = outcomes[i]
        problem = judge(subject, fault, outcome, valid, outcomes[i])
        on_cpu = target != "cpu" and judge(subject, fault, outcomes[i], valid, outcomes[i])
        say(fault=i, target=target, door=door,
            problem=problem or (f"on the CPU: {on_cpu}" if on_cpu else None))


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


def run_in_process(seed, number, calls):
    """The lines that a process for a subject prints, and what it died of, or None."""
    command = [sys.executable, __file__, f"--seed={seed}", f"--subject={number}",
               "--calls-of", ",".join(f"{fault}:{target}" for fault, target in calls)]
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
        self.refused = set()  # numbers of subjects with the targets that do not take them

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
                self.refused.add((number, line["target"]))
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
    parser.add_argument("--reserve", type=int, default=0,
                        help="subjects beyond these, for what these do not have")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=0, help="calls of each cell")
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="of all faults")
    parser.add_argument("--only", metavar="SUBJECT[.FAULT]", help="what a line says")
    parser.add_argument("--subject", type=int, help="of a process of its own")
    parser.add_argument("--calls-of", metavar="FAULT:TARGET,..", help="of that process")
    options = parser.parse_args()
    if options.subject is not None:
        calls = [call.split(":") for call in options.calls_of.split(",") if call]
        return run_subject(options.seed, options.subject,
                           [(int(fault), target) for fault, target in calls])
    print(f"seed {options.seed}", flush=True)
    count = options.subjects
    if options.only:
        number, _, fault = options.only.partition(".")
        count = max(count, int(number) + 1)
    subjects = [make_subject(options.seed, number) for number in range(count + options.reserve)]
    report = Report(options.seed, subjects)

    def run(drawn):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = {number: pool.submit(run_in_process, options.seed, number, sorted(calls))
                    for number, calls in sorted(drawn.items())}
            for number, each in runs.items():
                report.add(number, *each.result())

    if options.only:
        print(subjects[int(number)].text)
        run({int(number): [(int(fault), target) for target in TARGETS] if fault else []})
    else:
        draw = Draw(options.seed, subjects, options.subjects, options.kinds)
        run(draw.take(options.calls))
        while drawn := draw.take_few(report.cells, options.least, report.refused):
            run(drawn)
    # Kinds that were asked for may be few.
    is_asked = options.only or (options.kinds and len(options.kinds) < 6)
    return report.finish(options.least, 1 if is_asked else MOST_SHARE)


if __name__ == "__main__":
    sys.exit(main())

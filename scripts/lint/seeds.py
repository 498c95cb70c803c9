# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds: nothing that `check` runs draws from a clock or from the system.

Programs of scripts/long and the folders `long` of tests may: they print their seed and keep what
they find as fixed cases.
"""

import re

from common import files, lines

FOLDERS = ("benchmarks", "emulator", "examples", "scripts", "test", "tools", "unittests")
# What `check` does not run, and this list itself.
LEFT = re.compile(r"^(benchmarks|scripts/gpu|scripts/long|scripts/lint/seeds\.py$|.*/long/)")
# What reads the time for another end.
ALLOWED = {
    "scripts/log_head.py": "the date of a log",
    "test/Python/test_lint.py": "examples for this lint",
}
SUFFIXES = (".cpp", ".h", ".py", ".sh", ".test", ".mlir", ".in")
CLOCKS = {
    ".py": (r"\btime\.time(?:_ns)?\(", r"\b(?:datetime|date)\.(?:now|today|utcnow)\(",
            r"\bdefault_rng\(\)", r"\bRandomState\(\)", r"\brandom\.Random\(\)",
            r"\brandom\.seed\(\)", r"\btorch\.seed\(\)",
            r"\bSystemRandom\b", r"\bos\.urandom\(", r"\bsecrets\.", r"\buuid\.uuid[14]\(",
            r"\bnp\.random\.(?:rand\w*|normal|uniform|choice|shuffle|permutation)\(",
            r"\bnp\.random\.standard_normal\("),
    ".cpp": (r"\brandom_device\b", r"\btime\((?:nullptr|NULL|0)\)", r"\bsystem_clock\b",
             r"\bs?rand\("),
    ".sh": (r"\$RANDOM\b", r"\$\{RANDOM\b", r"\bdate \+", r"\bshuf\b(?!.*--random-source)",
            r"/dev/u?random\b"),
}
KINDS = {".h": ".cpp", ".test": ".sh", ".mlir": ".sh", ".in": ".py"}
# A function of the same name with another meaning.
OWN = re.compile(r"EXPECT_EQ\(time\(nullptr\)")


def check(root):
    for path in files(root, *SUFFIXES):
        name = path.as_posix()
        if path.parts[0] not in FOLDERS or LEFT.match(name) or name in ALLOWED:
            continue
        kind = KINDS.get(path.suffix, path.suffix)
        pattern = re.compile("|".join(CLOCKS[kind]))
        for number, line in lines(root, path):
            found = pattern.search(line)
            if found and not OWN.search(line):
                yield (f"{name}:{number}: '{found.group()}' differs from run to run; seed what is "
                       "drawn, or draw it in scripts/long")

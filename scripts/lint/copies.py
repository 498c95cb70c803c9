# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of scales and data and the rules of recipes are written in Numerics alone.

Elsewhere in include/, lib/ and tools/, those of emulator/ among them, no constant of
Numerics/ScaleLayout.h and Numerics/DataLayout.h has a second definition, no code spells out the
numbers of a tile, and neither a `switch` nor a comparison tells recipes apart: what differs
between them is a function or a column of the table in Numerics. emulator/lib/Emulator is a copy
on purpose, since it checks what is generated.
"""

import re
from pathlib import Path

from common import files, lines

HOME = Path("include/blockscale/Numerics")
EMULATOR = Path("emulator")
ON_PURPOSE = [HOME, EMULATOR / "include/blockscale/Emulator", EMULATOR / "lib/Emulator"]
LAYOUT = HOME / "ScaleLayout.h"
LAYOUTS = [LAYOUT, HOME / "DataLayout.h"]
CONSTANT = re.compile(r"\bconstexpr\b[^;={]*?\b(k[A-Z]\w*)(?:\[\])?\s*[={]")
# Names that a constant of the layout would have beside those of the layout itself.
ALIKE = re.compile(r"\bconstexpr\b[^;={]*?\b(k\w*(?:RowGroup|Atom(?:Rows|Cols|Bytes|Scales)"
                   r"|ScaleTile(?:Rows|Cols|Bytes)))(?:\[\])?\s*[={]\s*\{?\d")
NUMBERS = re.compile(r"\{\s*(?:32,\s*4,\s*4|128,\s*4)\s*\}"
                     r"|(?:[cC]eilDiv|[fF]loorDiv|divideCeil|[rR]oundUp|alignTo)\w*"
                     r"\([^;]*\b128\)")
RECIPE = r"(?:\w+::)*\bRecipe::(\w+)"
CASE = re.compile(rf"\bcase\s+{RECIPE}")
COMPARISON = re.compile(rf"[=!]=\s*{RECIPE}|{RECIPE}\s*[=!]=")


def check(root):
    homes = {match.group(1): layout for layout in LAYOUTS if (root / layout).exists()
             for _, line in lines(root, layout) for match in CONSTANT.finditer(line)}
    for path in files(root, ".h", ".cpp", ".td"):
        inside = path.relative_to(EMULATOR) if path.is_relative_to(EMULATOR) else path
        if inside.parts[0] not in ("include", "lib", "tools"):
            continue
        if any(path.is_relative_to(folder) for folder in ON_PURPOSE):
            continue
        for number, line in lines(root, path):
            code = line.split("//")[0]
            for match in [*CONSTANT.finditer(code), *ALIKE.finditer(code)]:
                name = match.group(1)
                if name in homes or match.re is ALIKE:
                    yield (f"{path}:{number}: expected the constants of "
                           f"{homes.get(name, LAYOUT)}, but it defines {name}")
            if match := NUMBERS.search(code):
                yield (f"{path}:{number}: expected a tile to be spelled with the constants "
                       f"of {LAYOUT}, but got {match.group(0)}")
            if match := CASE.search(code):
                yield (f"{path}:{number}: expected what differs between recipes to stand in "
                       f"{HOME}, but it has a case for {match.group(1)}")
            if match := COMPARISON.search(code):
                yield (f"{path}:{number}: expected what differs between recipes to stand in "
                       f"{HOME}, but it compares with {match.group(1) or match.group(2)}")

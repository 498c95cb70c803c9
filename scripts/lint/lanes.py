# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which thread has what is a map of Numerics: no kernel takes numbers of threads apart by hand.

The number of a thread, that of its warp, that of its lane, and the member of a thread that is its
place among others (`thread.number`, `thread.loader`, `thread.member`) are divided, masked, shifted
and exchanged by functions of HOME alone: getWarp, getLane and split of Warp.h, a BitLayout where
the PTX ISA draws a fragment, the rows of SharedSwizzle.h. A product or a sum with such a number is
an address. Lanes of FOLDER/ToCPU are those of vectors.
"""

import re
from pathlib import Path

from common import files

HOME = Path("include/blockscale/Numerics")
FOLDER = Path("lib/Conversion")
# A name of such a number: it may be a member or a call, and may have words before its last one.
# Plurals are counts, names of constants and types begin otherwise, and so do those of conditions.
NUMBER = (r"(?:\b\w+(?:\.|->))*"
          r"(?:\b(?!k[A-Z]|is[A-Z]|has[A-Z])[a-z]\w*(?:Lane|Thread|Warp)(?!\w|\()"
          r"|\b(?:lane|thread|warp)(?!\w|\()|\bget(?:Lane|Warp)\(\)"
          r"|\b\w*[tT]hread(?:\.|->)(?:number|loader|member)(?!\w|\())(?!\.|->)")
# Ways to take it apart: a C++ operator behind or before it, or a function or op of emission.
OPERATOR = r"(?:/|%|\^|>>|<<|\|(?!\|)|&(?!&))=?"
FUNCTION = (r"\b(?:(?:emit::)?(?:div|rem|divide)"
            r"|arith::(?:DivUI|DivSI|RemUI|RemSI|AndI|OrI|XOrI|ShRUI|ShRSI|ShLI)Op::create)"
            r"\((?:b,\s*)?")
# What is divided by the threads of a warp is the number of a thread, but for plurals.
WARPS = (r"(?:\b(?:emit::)?Lanes\(b,[^()]*\)|\b(?!k[A-Z])[a-z]\w*(?<!s)(?!\w))\s*"
         r"(?:[/%]\s*(?=kWarp(?:group)?Threads)|&\s*\((?=kWarp(?:group)?Threads)"
         r"|>>\s*llvm::Log2_64\((?=kWarp(?:group)?Threads))")
NO_CODE = re.compile(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"")


def check(root):
    for path in files(root / FOLDER, ".h", ".cpp"):
        if path.parts[0] == "ToCPU":
            continue
        text = (root / FOLDER / path).read_text(encoding="utf-8")
        text = NO_CODE.sub(lambda match: " " * len(match.group()), text)
        # Variables that hold such a number under another name.
        aliases = re.findall(rf"\b(?:Lanes|Value|auto)\s+(\w+)(?:\(b,\s*|\s*=\s*(?:Lanes\(b,\s*)?)"
                             rf"{NUMBER}\)?;", text)
        number = "|".join([NUMBER, *(rf"(?<![\w.>]){name}(?!\w|\(|\.|->)"
                                     for name in sorted(set(aliases)))])
        number = rf"(?:\b(?:emit::)?Lanes\(b,\s*(?:{number})\)|(?:{number}))"
        apart = re.compile(rf"{number}\s*{OPERATOR}\s|(?<=\s){OPERATOR}\s+{number}"
                           rf"|{FUNCTION}{number}|{WARPS}")
        for match in apart.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            got = " ".join(match.group().split())
            yield (f"{FOLDER / path}:{line}: expected a map or a function of {HOME} to take the "
                   f"number of a thread apart, but got '{got}'")

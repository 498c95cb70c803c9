# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of every array of a folder of cases, pinned in FOLDER/totals.txt.

The first lines say how many arrays are equal at a place, cpu or emulator:

  equal cpu 1169

Each of the others names an array that is not compared there, and its category:

  unsupported cpu emulator edge__casts_f32.mld_e8m0

So an array that no job computes any more is noticed, though nothing mismatches.
"""

import os
from collections import Counter


def load(folder):
    """The lines of the folder's list, or None where it has none."""
    path = os.path.join(folder, "totals.txt")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and line[0] != "#"]


def problems(lines, place, categories):
    """How arrays, by name their categories, differ from what is pinned for a place."""
    pinned = {words[-1]: words[0] for words in lines if words[0] != "equal" and place in words}
    equal = sum(int(words[2]) for words in lines if words[:2] == ["equal", place])
    wrong = []
    for array, category in sorted(categories.items()):
        # A mismatch is told for itself.
        expected = pinned.pop(array, "equal")
        if category != expected and category != "mismatching":
            wrong.append(f"{array}: expected {expected}, but got {category}")
    wrong += [f"{array}: expected {category}, but there is no such array"
              for array, category in pinned.items()]
    got = sum(Counter(categories.values())[each] for each in ("equal", "mismatching"))
    if equal != got:
        wrong.append(f"expected {equal} arrays that are compared, but got {got}")
    return wrong

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clauses, which have names like `raise_c2`, in headers, in code and in pages.

A header states a clause in a comment that begins with its name. Code names it where it decides by
it, in a message or a comment. Pages name it, list those of a family in a table, or in a range whose
last name is the family's last clause.
"""

import re
from collections import defaultdict

NAME = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)*)_c(\d+)\b")
# In a comment of C++, or an item of a description in TableGen; some clauses of attributes are
# stated beside their verifier.
STATED = re.compile(r"^\s*(?://+\s+(?:- )?|- `)(\w+_c\d+)(?:`?: |  | \(of )", re.M)
ROW = re.compile(r"^\| `(\w+)_c(\d+)` \|", re.M)
RANGE = re.compile(r"`(\w+)_c1`\s+(?:to|\.\.)\s+`\1_c(\d+)`"
                   r"(?:\s+(?:are in|of)\s+\[[^]]*\]\(([^)]*\.h)\))?")
CONVERSION = "lib/Conversion"
# Kernels find these where they run, and write them to the error record.
IN_KERNELS = {7}
# A plain operand, which another family of kernels multiplies on chips with `warp_mm`.
ELSEWHERE = {("warp_mm", 6)}


def read(root, *globs):
    """(path, text) of files."""
    for glob in globs:
        for path in sorted(root.glob(glob)):
            yield path.relative_to(root), path.read_text(encoding="utf-8")


def stated_clauses(root):
    """The files that state each clause, by family and number."""
    found = defaultdict(lambda: defaultdict(list))
    for path, text in read(root, "include/**/*.h", "include/**/*.td", "lib/**/*.h",
                           "lib/IR/*Attr.cpp"):
        for name in STATED.findall(text):
            family, number = name.rsplit("_c", 1)
            found[family][int(number)].append(path)
    return found


def product_clauses(root, header):
    """The numbers of the clauses by which code refuses the products of a family: that in the
    folder of its header, and that of `Products` which it includes."""
    folder = (root / header).parent
    waiting = [*folder.glob("*.h"), *folder.glob("*.cpp")]
    numbers, seen = set(), set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        text = path.read_text(encoding="utf-8")
        numbers |= {int(number) for number in re.findall(r'"c(\d+)"', text)}
        for name in re.findall(r'#include "(?:Products/)?(\w*Clauses|RingStages)\.h"', text):
            waiting += (root / CONVERSION / "Products").glob(f"{name}.*")
    return numbers


def product_families(root):
    """The beginnings of the names of clauses of kernels of products."""
    for _, text in read(root, f"{CONVERSION}/Products/ProductClauses.cpp"):
        for names in re.findall(r"prefixes\[\] = \{(.*?)\}", text, re.S):
            yield from re.findall(r'"(\w+)_"', names)


def problems(root):
    """What does not agree, a line each."""
    stated = stated_clauses(root)
    products = [*product_families(root)]
    shared = {number for family in products for number in stated[family]}
    # Families of products number their clauses together.
    for family, clauses in [*sorted(stated.items()), ("products", shared)]:
        numbers = sorted(clauses)
        if family not in products and numbers != [*range(1, len(numbers) + 1)]:
            yield f"expected clauses of {family} from 1 on without gaps, but got {numbers}"
    named = check_code(root, stated, products)
    for family, clauses in sorted(stated.items()):
        for number, paths in sorted(clauses.items()):
            if family not in products and (family, number) not in named:
                yield f"{paths[0]}: states {family}_c{number}, which no code names"
    yield from dict.fromkeys(named.unknown)
    yield from check_products(root, stated, products)
    yield from check_pages(root, stated)


class Named(set):
    """(family, number) of clauses that code names, and lines about those that nothing states."""

    def __init__(self):
        super().__init__()
        self.unknown = []


def check_code(root, stated, products):
    named = Named()
    for path, text in read(root, "lib/**/*.cpp", "lib/**/*.h", "python/**/*.py"):
        for name, number in NAME.findall(text):
            # The second and later ones of a list in lib/IR, as `_c4`, follow a whole name.
            if name in stated and int(number) not in stated[name]:
                named.unknown.append(f"{path}: names {name}_c{number}, which no header states")
            elif name not in stated and name not in products:
                named.unknown.append(f"{path}: names {name}_c{number}, of which no header knows")
            if path.suffix != ".h":
                named.add((name, int(number)))
        for name, rest in re.findall(r"\b([a-z]\w*)_c\d+((?:, (?:and )?_c\d+)+)", text):
            named |= {(name, int(number)) for number in re.findall(r"_c(\d+)", rest)}
    return named


def check_products(root, stated, products):
    for family in products:
        if not stated[family]:
            yield f"{CONVERSION}/Products/ProductClauses.cpp: no header states clauses of {family}"
            continue
        header = stated[family][min(stated[family])][0]
        raised = {number for number in product_clauses(root, header)
                  if (family, number) not in ELSEWHERE}
        for number in sorted(raised - {*stated[family]}):
            yield f"{header}: expected {family}_c{number}, by which code refuses products"
        for number in sorted({*stated[family]} - raised - IN_KERNELS):
            yield f"{header}: states {family}_c{number}, by which no code refuses a product"


def check_pages(root, stated):
    for path, text in read(root, "README.md", "docs/*.md"):
        for name, number in NAME.findall(text):
            if int(number) not in stated.get(name, ()):
                yield f"{path}: names {name}_c{number}, which no header states"
        tables = defaultdict(list)
        for name, number in ROW.findall(text):
            tables[name].append(int(number))
        for name, numbers in tables.items():
            if numbers != sorted(stated.get(name, ())):
                yield (f"{path}: expected a row for each of {sorted(stated.get(name, ()))} of "
                       f"{name}, but got {numbers}")
        for name, last, link in RANGE.findall(text):
            known = stated.get(name, {})
            if int(last) != max(known, default=0):
                yield f"{path}: expected {name}_c1 to _c{max(known, default=0)}, but got _c{last}"
            header = (root / path).parent / link if link else None
            for number, paths in sorted(known.items()):
                if header and not any((root / each).samefile(header) for each in paths):
                    yield f"{path}: expected {name}_c{number} in {link}, but {paths[0]} states it"

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clauses, which have names like `raise_c2`, in headers, in code and in pages.

A header states a clause in a comment that begins with its name. Code names it where it decides by
it, in a message or a comment. Pages name it, or a range whose last name is the last clause.

Families of kernels of products number their clauses together. An enum states them, with the
families that have each, and a page has a table of them with a column for each family.
"""

import re
from collections import defaultdict
from pathlib import Path

NAME = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)*)_c(\d+)\b")
# In a comment of C++, or an item of a description in TableGen; some clauses of attributes are
# stated beside their verifier.
STATED = re.compile(r"^\s*(?://+\s+(?:- )?|- `)(\w+_c\d+)(?:`?: |  | \(of )", re.M)
RANGE = re.compile(r"`(\w+)_c1`\s+(?:to|\.\.)\s+`\1_c(\d+)`"
                   r"(?:\s+(?:are in|of)\s+\[[^]]*\]\(([^)]*\.h)\))?")
CONVERSION = "lib/Conversion"
PRODUCTS = f"{CONVERSION}/Products/ProductClauses"
PAGE = "docs/Products.md"
# A clause of products: its number, the families that have it, and what code calls it.
PRODUCT = re.compile(r"^  /// c(\d+) \(([\w, ]+)\): .*?^  (\w+)(?: = \d+)?,$", re.M | re.S)
# The table of a page: a column of each family, and a row of each clause.
HEAD = re.compile(r"^\| clause \|((?: `\w+_mm` \|)+)", re.M)
ROW = re.compile(r"^\| `c(\d+)` \|(.*)\|$", re.M)
# A function or class of C++, with its name.
DEFINED = re.compile(r"^(?:[^\s{}/#][^{}#]*?\b(\w+)\([^{}]*|struct (\w+)[^{};]*)\{\n(.*?)^\}",
                     re.M | re.S)
WORD = re.compile(r"\b(?:ProductClause::)?\w+")
# Kernels find these where they run, and write them to the error record.
IN_KERNELS = {"GroupBegins"}


def read(root, *globs):
    """(path, text) of files."""
    for glob in globs:
        for path in sorted(root.glob(glob)):
            yield path.relative_to(root), path.read_text(encoding="utf-8")


def product_families(root):
    """The `ProductKernel` of each family, by what the names of its clauses begin with."""
    text = "".join(text for _, text in read(root, f"{PRODUCTS}.h", f"{PRODUCTS}.cpp"))
    kernels = re.search(r"enum class ProductKernel \{(.*?)\}", text, re.S)
    prefixes = re.search(r"prefixes\[\] = \{(.*?)\}", text, re.S)
    return dict(zip(re.findall(r'"(\w+)_"', prefixes[1]), re.findall(r"\w+", kernels[1])))


def product_clauses(root):
    """(number, families, name in code) of each clause of products."""
    for _, text in read(root, f"{PRODUCTS}.h"):
        for number, families, name in PRODUCT.findall(text):
            yield (int(number), [*product_families(root)] if families == "all"
                   else families.split(", "), name)


def stated_clauses(root):
    """The files that state each clause, by family and number."""
    found = defaultdict(lambda: defaultdict(list))
    for path, text in read(root, "include/**/*.h", "include/**/*.td", "lib/**/*.h",
                           "lib/IR/*Attr.cpp"):
        for name in STATED.findall(text):
            family, number = name.rsplit("_c", 1)
            found[family][int(number)].append(path)
    for number, families, _ in product_clauses(root):
        for family in families:
            found[family][number].append(Path(f"{PRODUCTS}.h"))
    return found


def refusing_clauses(root, kernel):
    """The clauses by which products are refused that a family of kernels multiplies: those of its
    folder, of what all families run, and of the code of `Products` that either calls."""
    bodies = defaultdict(set)
    for _, text in read(root, f"{CONVERSION}/Products/*.h", f"{CONVERSION}/Products/*.cpp"):
        for function, struct, body in DEFINED.findall(text):
            bodies[function or struct] |= {*WORD.findall(body)}
    reached = {"lowerProducts"}
    for path in root.glob(f"{CONVERSION}/*/*Family.cpp"):
        if f"ProductKernel::{kernel};" in path.read_text(encoding="utf-8"):
            for _, text in read(path.parent, "*.h", "*.cpp"):
                reached |= {*WORD.findall(text)}
    waiting = [*reached]
    while waiting:
        new = bodies[waiting.pop()] - reached
        reached |= new
        waiting += new
    return {word.split("::")[1] for word in reached if "::" in word}


def problems(root):
    """What does not agree, a line each."""
    stated = stated_clauses(root)
    products = product_families(root)
    shared = {number for number, _, _ in product_clauses(root)}
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
    yield from check_products(root, products)
    yield from check_table(root, products)
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


def check_products(root, products):
    """The families that an enum gives each clause are those that refuse products by it."""
    for family, kernel in products.items():
        stated = {name: number for number, families, name in product_clauses(root)
                  if family in families}
        refusing = refusing_clauses(root, kernel)
        for name in sorted(refusing - {*stated}):
            yield f"{PRODUCTS}.h: expected {name} of {family}, by which code refuses products"
        for name in sorted({*stated} - refusing - IN_KERNELS):
            yield (f"{PRODUCTS}.h: states {family}_c{stated[name]}, by which no code refuses a "
                   "product")


def check_table(root, products):
    """The page's table has the same clauses as the enum, and says "yes" for the same families."""
    for _, text in read(root, PAGE):
        head = HEAD.search(text)
        columns = re.findall(r"`(\w+)`", head[1]) if head else []
        if columns != [*products]:
            yield f"{PAGE}: expected a column of each of {[*products]}, but got {columns}"
            return
        rows = {int(number): [cell.strip() for cell in cells.split("|")][:len(columns)]
                for number, cells in ROW.findall(text)}
        for number, families, _ in product_clauses(root):
            expected = ["yes" if family in families else "" for family in columns]
            if rows.pop(number, None) != expected:
                yield f"{PAGE}: expected a row of c{number} for {', '.join(families)}"
        for number in rows:
            yield f"{PAGE}: has a row of c{number}, which {PRODUCTS}.h does not state"


def check_pages(root, stated):
    for path, text in read(root, "README.md", "docs/*.md"):
        for name, number in NAME.findall(text):
            if int(number) not in stated.get(name, ()):
                yield f"{path}: names {name}_c{number}, which no header states"
        for name, last, link in RANGE.findall(text):
            known = stated.get(name, {})
            if int(last) != max(known, default=0):
                yield f"{path}: expected {name}_c1 to _c{max(known, default=0)}, but got _c{last}"
            header = (root / path).parent / link if link else None
            for number, paths in sorted(known.items()):
                if header and not any((root / each).samefile(header) for each in paths):
                    yield f"{path}: expected {name}_c{number} in {link}, but {paths[0]} states it"

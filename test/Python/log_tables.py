# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables in the logs of docs/logs, from which figures of the pages are computed."""

import functools
import re

from docs_pages import ROOT


@functools.cache
def read_log(name):
    return (ROOT / "docs/logs" / name).read_text(encoding="utf-8")


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def find_tables(name):
    """The texts of the tables of a log, in their order."""
    return re.findall(r"(?m)(?:^\|.*\n)+", read_log(name))


def read_tables(name):
    """The tables of a log, in their order: a header and rows each, of cells."""
    for text in find_tables(name):
        header, _, *rows = map(cells_of, text.splitlines())
        yield header, rows


def rows_by_name(header, rows):
    """Rows by their first cell, each as a dictionary by the names of its columns."""
    return {row[0]: dict(zip(header, row)) for row in rows}


def read_rows(name, number=0):
    """The rows of a table of a log, by their first cells."""
    return rows_by_name(*list(read_tables(name))[number])

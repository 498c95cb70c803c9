# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command blockscale-vectors."""

import argparse
import sys

import numpy as np

from . import forms, given, products, tables, vectors
from .check import check_file


def main(arguments=None):
    """Exit status: 0, or 1 where a check differs, 2 where an argument or a file is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except forms.KitError as error:
        print(f"blockscale-vectors: {error}", file=sys.stderr)
    except OSError as error:
        print(f"blockscale-vectors: {error.filename}: {error.strerror}", file=sys.stderr)
    return 2


def _parser():
    parser = argparse.ArgumentParser(
        prog="blockscale-vectors",
        description="Conformance vectors of block-scaled formats, and a check of quantizers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check", help="say which rules the bytes of a quantizer or a product broke")
    check.add_argument("file", metavar="FILE", help="a file .npz (docs/Conformance.md)")
    what = check.add_mutually_exclusive_group(required=True)
    what.add_argument("--recipe", help="the recipe that the quantizer should follow")
    what.add_argument("--product", help="the sums that the product should have")
    check.add_argument("--element", help="the data of an MX recipe (default: e4m3)")
    check.set_defaults(run=_check)

    listed = commands.add_parser("list", help="print the names of recipes, products and tables")
    listed.set_defaults(run=_list)

    write = commands.add_parser("write", help="write the files of vectors")
    write.add_argument("folder", metavar="FOLDER")
    write.set_defaults(run=_write)

    table = commands.add_parser("table", help="write the table of a whole format or rule")
    table.add_argument("name", metavar="NAME", help="as `list` prints it")
    table.add_argument("out", metavar="OUT", help="a file .npz, or .h for C")
    table.set_defaults(run=_table)

    header = commands.add_parser("header", help="write the arrays of a file .npz as a header of C")
    header.add_argument("file", metavar="FILE")
    header.add_argument("out", metavar="OUT")
    header.set_defaults(run=_header)
    return parser


def _check(options):
    if options.product:
        report = products.check_file(options.file, options.product)
    else:
        report = check_file(options.file, options.recipe, options.element)
    print(report)
    return 0 if report.conforms else 1


def _list(_):
    for title, names in (("recipes", forms.names()), ("elements of MX", forms.ELEMENTS),
                         ("products", products.names()), ("tables", tables.names())):
        print(f"{title}:")
        for name in names:
            print(f"  {name}")
    return 0


def _write(options):
    print(f"{vectors.write(options.folder)} files in {options.folder}")
    return 0


def _table(options):
    arrays = tables.table(options.name)
    if options.out.endswith(".npz"):
        np.savez_compressed(options.out, **arrays)
    elif options.out.endswith(".h"):
        _write_text(options.out, vectors.header(options.name, arrays))
    else:
        raise forms.KitError(f"expected OUT to end in .npz or .h, but got {options.out}")
    return 0


def _header(options):
    _write_text(options.out, vectors.header(options.file, given.load(options.file)))
    return 0


def _write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)

#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of blockscale-fuzz that it found and that no test has: test/Fuzz/corpus.zip, an
archive since they are many small files.

  scripts/fuzz_corpus.py unpack FOLDER   writes each input into a file; FOLDER is emptied first
  scripts/fuzz_corpus.py add FILE..      adds inputs, each named after its content

Nothing in it is compressed, which git does, so that an archive of the same inputs has the same
bytes on every machine.
"""

import argparse
import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parents[1] / "test/Fuzz/corpus.zip"
#: The least that an archive can hold.
_DATE = (1980, 1, 1, 0, 0, 0)


def read_corpus(archive=ARCHIVE):
    """The inputs by name."""
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def unpack(folder, archive=ARCHIVE):
    """Fills `folder`; returns the number of inputs."""
    inputs = read_corpus(archive)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in inputs.items():
        (folder / name).write_bytes(data)
    return len(inputs)


def add(paths, archive=ARCHIVE):
    """Returns how many of the inputs of files were not there."""
    inputs = read_corpus(archive) if archive.exists() else {}
    before = len(inputs)
    for path in paths:
        data = path.read_bytes()
        inputs[hashlib.sha1(data).hexdigest()] = data
    new = archive.with_suffix(".new")
    with zipfile.ZipFile(new, "w") as file:
        for name, data in sorted(inputs.items()):
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3  # Unix, on every system
            file.writestr(info, data)
    new.replace(archive)
    return len(inputs) - before


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("unpack").add_argument("folder", type=Path)
    commands.add_parser("add").add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    if options.command == "unpack":
        print(f"{unpack(options.folder)} inputs in {options.folder}")
    else:
        print(f"{add(options.files)} inputs added to {ARCHIVE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the commit at hand may become a release, and of which version.

A release is a commit; no file differs from it and none is new. CMakeLists.txt has its version, the
changelog has a section of that version with a date, `## [1.2.3] - 2026-01-31`, and nothing left
under `## [Unreleased]`. No page links to a stale log (scripts/logs.py --release).

Prints the version, or an error for each rule that is broken; the exit status is 1 then.
"""

import argparse
import re
import sys
from pathlib import Path

import logs

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"^project\(BlockScale VERSION (\d+\.\d+\.\d+)\b", re.M)
SECTION = re.compile(r"^## \[([^\]]+)\](?: - (\S+))?[^\n]*\n(.*?)(?=^## \[|\Z)", re.M | re.S)
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def read_version(root):
    """The version that CMakeLists.txt has. ValueError if it has none."""
    found = VERSION.search((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("CMakeLists.txt: expected a line project(BlockScale VERSION 1.2.3 ..)")
    return found[1]


def find_changelog_faults(text, version):
    """What keeps a changelog from being that of a release of this version."""
    sections = {name: (date, body) for name, date, body in SECTION.findall(text)}
    if version not in sections:
        first = next((name for name in sections if name != "Unreleased"), "none")
        return [(f"CHANGELOG.md: expected a section [{version}], as CMakeLists.txt has this "
                 f"version, but the first one is {first}")]
    faults = []
    date, body = sections[version]
    if not DATE.fullmatch(date):
        faults.append(f"CHANGELOG.md: expected a date as 2026-01-31 behind [{version}], but got "
                      f"{date or 'none'}")
    if not body.strip():
        faults.append(f"CHANGELOG.md: expected changes in the section [{version}]")
    if sections.get("Unreleased", ("", ""))[1].strip():
        faults.append("CHANGELOG.md: expected nothing in the section [Unreleased]")
    return faults


def find_faults(root):
    """The rules that the commit at hand breaks: an error for each."""
    if reason := logs.why_no_history(root):
        return [reason]
    faults = []
    if changed := logs.find_changes(root, "HEAD", ["**"]):
        faults.append("expected the files of a commit, but these differ from it: "
                      f"{', '.join(changed)}")
    faults += find_changelog_faults((root / "CHANGELOG.md").read_text(encoding="utf-8"),
                                    read_version(root))
    for page, stale in logs.find_stale_pages(root).items():
        if stale:
            faults.append(f"{page}: expected figures of this commit, but these logs are stale: "
                          f"{', '.join(stale)}")
    return faults


def main(arguments=None, root=ROOT):
    argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(arguments)
    if faults := find_faults(root):
        for fault in faults:
            print(f"error: {fault}", file=sys.stderr)
        return 1
    print(read_version(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commits of logs on the pages. Behind each link to a log stands the commit at which the
log was written, as in `[log](logs/races-h200.txt) (commit 0123abc)`, so that a reader knows of
which code a figure is, whether or not that code changed since. With --write, fills them in;
else lists the pages where one is wrong.
"""

import sys

from docs_pages import PAGES, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from log_head import LOGS, UNKNOWN, read_heads
from logs import LINK


def describe_commits(name):
    """What stands behind a link to a log."""
    heads = read_heads((ROOT / LOGS / name).read_text(encoding="utf-8"))
    commits = list(dict.fromkeys(head.commit for head in heads))
    return f"(commit{'s' * (len(commits) > 1)} {', '.join(commits) or UNKNOWN})"


def fill(page):
    """`page` with the commit behind each link to a log."""
    return LINK.sub(lambda m: f"{m[1]}{m[3] or ' '}{describe_commits(m[2])}", page)


def main():
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        filled = fill(page)
        if filled != page:
            print(path.relative_to(ROOT))
            if sys.argv[1:] == ["--write"]:
                path.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()

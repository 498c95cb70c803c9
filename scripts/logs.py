#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which logs of docs/logs still speak of the code at hand.

A log is stale where a run in it has no commit, has a commit that ends in `-dirty` or is no
ancestor of this one, or where code that the log speaks of changed after that commit, in
another commit or in a file that is not committed. Comments and docstrings are no code.
docs/logs/manifest.toml says which code that is, and which command writes the log. A log that has
failures, and one that is missing, is listed too.

Prints a line for each log, with the command that writes a stale one anew; the last line is
`N passed, N failed`. Fails without git or without the history of commits, because nothing can
be said then.

  scripts/logs.py            each log
  scripts/logs.py --release  each page with a link to a log, which is to have the figures of the
                             code at hand, and the stale logs that it has instead
  scripts/logs.py --list     the names of stale logs alone, without a verdict
"""

import argparse
import ast
import contextlib
import itertools
import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from log_head import DIRTY, LOGS, UNKNOWN, ask_git, is_checkout, read_heads

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = "manifest.toml"
BRACES = re.compile(r"\{([^{}]*)\}")
# A link of a page to a log, and the commit behind it, after a blank or the end of a line.
LINK = re.compile(r"(\]\((?:(?:\.\./)*docs/)?logs/([\w./-]+\.txt)\))(?:(\s+)\(commits?\s[^)]*\))?")
RESULT = re.compile(r"^result +\d+ passed, (\d+) failed", re.M)
MOST_SHOWN = 3
# A comment of C++, or what is kept: a string or a character, in which no comment begins.
CPP = re.compile(r"""//[^\n]*|/\*.*?\*/|(R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])')""",
                 re.S)
WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Log:
    name: str  # its path in docs/logs
    command: str
    paths: tuple  # globs of git; those to leave out begin with !


def expand_braces(path):
    """The paths for which one with {a,b} stands."""
    parts = BRACES.split(path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(words) for words in itertools.product(*choices)]


def expand_paths(paths, sets):
    """Paths without braces and names of sets. ValueError for a name that no set has."""
    expanded = []
    for path in paths:
        if not path.startswith("@"):
            expanded += expand_braces(path)
        elif path[1:] in sets:
            expanded += expand_paths(sets[path[1:]], sets)
        else:
            raise ValueError(f"expected one of the sets {', '.join(sets)}, but got {path}")
    return tuple(expanded)


def read_manifest(root):
    """The logs that the manifest lists, by name."""
    text = (root / LOGS / MANIFEST).read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    sets = entries.pop("sets", {})
    return {name: Log(name, entry["command"], expand_paths(entry["paths"], sets))
            for name, entry in entries.items()}


def find_logs(root):
    """The names of the logs that there are."""
    return sorted(str(path.relative_to(root / LOGS)) for path in (root / LOGS).rglob("*.txt"))


def why_no_history(root):
    """Why nothing can be said about commits here, or None."""
    if not is_checkout(root):
        return "expected a checkout of git, and the program git"
    if ask_git(root, "rev-parse", "--is-shallow-repository") != "false":
        return "expected all commits, but the checkout is shallow: git fetch --unshallow"
    return None


def find_changes(root, commit, paths):
    """The files among `paths` that differ from those of a commit, and new ones."""
    specs = [f":(exclude,glob){path[1:]}" if path.startswith("!") else f":(glob){path}"
             for path in paths]
    changed = ask_git(root, "diff", "--name-only", commit, "--", *specs)
    new = ask_git(root, "ls-files", "--others", "--exclude-standard", "--", *specs)
    if changed is None or new is None:
        raise ValueError(f"expected git to compare the files with {commit}")
    return sorted({*changed.splitlines(), *new.splitlines()})


def drop_comments(path, text):
    """What a C++ or Python file tells its compiler: without comments, docstrings and layout. The
    whole text of others, and of what is no program."""
    if path.endswith((".cpp", ".h")):
        return " ".join(CPP.sub(lambda part: part[1] or " ", text).split())
    if path.endswith(".py"):
        with contextlib.suppress(SyntaxError):
            tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(node, WITH_DOCSTRINGS) and ast.get_docstring(node) is not None:
                    del node.body[0]
            return ast.dump(tree)
    return text


def changes_code(root, commit, path):
    """Whether a file that changed since a commit has other code than comments and docstrings."""
    file = root / path
    before = ask_git(root, "show", f"{commit}:{path}")
    if before is None or not file.exists():
        return True
    return drop_comments(path, before) != drop_comments(path, file.read_text(encoding="utf-8",
                                                                            errors="replace"))


def why_run_is_stale(root, commit, paths):
    """Why a run of a commit does not speak of the code at hand, or None. The history must be
    there."""
    if commit == UNKNOWN:
        return "its commit is unknown"
    if commit.endswith(DIRTY):
        return f"{commit} had changes that no commit has"
    if ask_git(root, "merge-base", "--is-ancestor", commit, "HEAD") is None:
        return f"{commit} is no ancestor of this commit"
    changes = iter(find_changes(root, commit, paths))
    found = list(itertools.islice((path for path in changes if changes_code(root, commit, path)),
                                  MOST_SHOWN))
    if not found:
        return None
    rest = len(list(changes))
    more = f" and up to {rest} more" if rest else ""
    return f"changed since {commit}: {', '.join(found)}{more}"


def find_faults(root, log):
    """Why a log does not hold for the code at hand: a list without the same reason twice. The
    history must be there."""
    path = root / LOGS / log.name
    if not path.exists():
        return ["it is missing"]
    text = path.read_text(encoding="utf-8")
    heads = read_heads(text)
    if not heads:
        return ["it has no head"]
    reasons = [why_run_is_stale(root, head.commit, log.paths) for head in heads]
    reasons += [f"it has {count} failures" for count in RESULT.findall(text) if int(count)]
    return list(dict.fromkeys(filter(None, reasons)))


def find_pages(root):
    """Every page of the project."""
    return [page for folder in (".", "docs", "emulator", "emulator/docs")
            for page in sorted((root / folder).glob("*.md"))]


def find_all_faults(root, logs):
    """Why `logs` and those that no manifest lists do not hold for the code at hand, by name. The
    history must be there."""
    return {name: find_faults(root, logs[name]) if name in logs
            else [f"it is not in {LOGS}/{MANIFEST}"]
            for name in sorted({*logs, *find_logs(root)})}


def find_stale_pages(root):
    """The names of stale logs by page, for each page that links to a log. The history must be
    there."""
    faults, pages = find_all_faults(root, read_manifest(root)), {}
    for page in find_pages(root):
        cited = sorted({link[2] for link in LINK.finditer(page.read_text(encoding="utf-8"))})
        if cited:
            pages[str(page.relative_to(root))] = [
                name for name in cited if faults.get(name, ["it is missing"])]
    return pages


def print_verdicts(verdicts):
    """A line for each name, with what is wrong below it, and the sum; the exit status."""
    for name, lines in verdicts.items():
        print(f"{'FAIL' if lines else 'pass'} {name}")
        for line in lines:
            print(f"     {line}")
    failed = sum(map(bool, verdicts.values()))
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(arguments=None, root=ROOT):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--release", action="store_true")
    forms.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    if reason := why_no_history(root):
        if options.list:
            print(f"   not known: {reason}")
            return 0
        print(f"error: {reason}\n0 passed, 1 failed")
        return 1
    if options.release:
        return print_verdicts({
            page: [f"{name} is stale" for name in names]
            for page, names in find_stale_pages(root).items()})
    logs = read_manifest(root)
    found = find_all_faults(root, logs)
    if options.list:
        names = ", ".join(filter(found.get, found)) or "none"
        print(textwrap.fill(names, 100, initial_indent="   ", subsequent_indent="   ",
                            break_on_hyphens=False))
        return 0
    for name, faults in found.items():
        if faults and name in logs:
            faults.append(f"to write it anew: {logs[name].command}")
    return print_verdicts(found)


if __name__ == "__main__":
    sys.exit(main())

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what the pages show.

What a fenced block is depends on its language:

* `mlir`: a complete module; blockscale-opt takes it, prints and parses it again.
* `console`: commands, `$ ...` with more lines behind `> `, run in the project's
  folder, and what each prints. A line `...` stands for any lines, `...` in a line for
  any text; blanks and tabs count as one blank. `/tmp` is a folder of the page's own.
* one with a title, ```cpp title="FILE": an excerpt of a file that other tests build
  or run; `...` as above.
* `sh`: commands that change the machine, or need another one. They are not run: their
  programs exist and know the options.
* `python`: a `test_docs.py` of test/ runs those of the page. `json`: it parses. `text`
  is no example.

Prints a line for each block; the exit status is 1 if one is wrong.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FENCE = re.compile(r'^```(\w*)(?: title="([^"\n]*)")?\n(.*?)^```$', re.S | re.M)
PYTHON = ("python3", ".venv/bin/python")
# A program of a Python package, and the module that it is of.
SCRIPT = re.compile(r'^([\w-]+) = "([\w.]+):main"$', re.M)
PROJECTS = ("pyproject.toml", "python/vectors/pyproject.toml")
# What starts the programs of a build, which the package has, too.
PROGRAMS = "blockscale._programs"
ELSEWHERE = ("export", "pip", "/tmp/", "FOLDER/", "vllm")


def run(command, text=None):
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    return subprocess.run(command, shell=isinstance(command, str), cwd=ROOT, input=text,
                          env=dict(os.environ, PATH=path), capture_output=True, text=True)


def check_module(text):
    """What is wrong with a module, or nothing."""
    process = run(["blockscale-opt", "-", "-verify-roundtrip"], text)
    return process.stderr if process.returncode else ""


def commands_of(text):
    """(command, lines that it prints) of a transcript."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif found:
            found[-1][1].append(line)
        else:
            return []
    return found


def check_console(text, folder="/tmp"):
    commands = commands_of(text)
    if not commands:
        return "expected the first line to be `$ COMMAND`"
    for command, wanted in commands:
        process = run(command.replace("/tmp/", f"{folder}/"))
        printed = (process.stdout + process.stderr).replace(f"{folder}/", "/tmp/")
        found = printed.splitlines()
        at = differs(wanted, found)
        if at is not None:
            line = wanted[at] if at < len(wanted) else "the end"
            return f"not in its place: {line}\nthe command prints:\n{printed}"
    return ""


def check_excerpt(text, name):
    path = ROOT / name
    if not path.is_file():
        return f"no {name}"
    at = differs(["...", *text.splitlines(), "..."], path.read_text().splitlines())
    return "" if at is None else f"not in {name}: {text.splitlines()[at - 1]}"


def check_json(text):
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def check_commands(text):
    for line in text.splitlines():
        words = shlex.split(line.translate(str.maketrans("", "", "[]")), comments=True)
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        if words and words[0] in PYTHON:
            words.pop(0)
        if not words or words[0].startswith(("-", *ELSEWHERE)):
            continue
        name = Path(words[0]).name
        scripts = dict(found for project in PROJECTS
                       for found in SCRIPT.findall((ROOT / project).read_text(encoding="utf-8")))
        module = scripts.get(name, PROGRAMS)
        if module != PROGRAMS:
            known = (ROOT / "python" / f"{module.replace('.', '/')}.py").read_text()
        elif name.startswith("blockscale-"):
            known = run(f"{name} --help").stdout
        elif Path(words[0]).is_absolute():
            known = run(f"{words[0]} --help").stdout
        elif (ROOT / words[0]).is_file():
            known = (ROOT / words[0]).read_text(encoding="utf-8")
        else:
            return f"no {words[0]}"
        for word in words[1:]:
            option = re.match(r"--?[a-z][\w-]*", word)
            if option and not re.search(re.escape(option[0]) + r"(?![\w-])", known):
                return f"{name} knows no {option[0]}"
    return ""


def check_python(page):
    name = page if page == "README.md" else f"docs/{page}"
    if any(name in each.read_text() for each in (ROOT / "test").glob("*/test_docs.py")):
        return ""
    return f"expected a test/*/test_docs.py that runs {name}"


def check(language, title, text, folder, page=""):
    """What is wrong with a block; None where it is no example."""
    if title:
        return check_excerpt(text, title)
    if language == "mlir":
        return check_module(text)
    if language == "console":
        return check_console(text, folder)
    if language == "python":
        return check_python(page)
    if language == "json":
        return check_json(text)
    if language == "sh":
        return check_commands(text)
    if language == "text":
        return None
    return f"expected a language that is tested, or a title, but got '{language}'"


def matches(wanted, found):
    """Whether a line is as wanted."""
    wanted, found = (" ".join(line.split()) for line in (wanted, found))
    return re.fullmatch(".*".join(map(re.escape, wanted.split("..."))), found) is not None


def differs(wanted, found):
    """Index of the first wanted line that is not there, or None."""
    position = index = 0
    while index < len(wanted):
        # The lines up to the next gap stand together.
        end = wanted.index("...", index) if "..." in wanted[index:] else len(wanted)
        block = wanted[index:end]
        starts = range(position, len(found) - len(block) + 1)
        if index == 0:
            starts = starts[:1]
        if end == len(wanted):
            # Nothing follows, so the output ends here too.
            starts = [start for start in starts if start + len(block) == len(found)]
        start = next((start for start in starts
                      if all(map(matches, block, found[start:]))), None)
        if start is None:
            return index
        position, index = start + len(block), end + 1
    return None


def main(pages):
    status = 0
    for page in pages:
        text = Path(page).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            for block in FENCE.finditer(text):
                wrong = check(*block.groups(), folder, Path(page).name)
                if wrong is None:
                    continue
                line = text.count("\n", 0, block.start()) + 1
                print(f"{'FAIL' if wrong else 'pass'} {Path(page).name}:{line} {block[1]}")
                if wrong:
                    print(wrong)
                    # Also where a test reads the lines of the output alone.
                    print(f"{Path(page).name}:{line}: {wrong}", file=sys.stderr)
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

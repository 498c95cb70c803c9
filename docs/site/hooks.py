# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the site has besides the pages of docs/, for mkdocs (mkdocs.yml).

* The reference that mlir-tblgen generated: BLOCKSCALE_BUILD_DIR/docs/reference.
* The project's own pages outside docs/, the emulator's among them.
* A page for each file that a page links to, so that no link leaves the site.
"""

import os
import re
import sys
from pathlib import Path, PurePosixPath

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from pygments.lexers import LEXERS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))

# The titles of pages that mlir-tblgen gives none.
REFERENCE = {
    "Dialect.md": "",
    "Transforms.md": "# Passes on tensors\n\n",
    "Conversion.md": "# Passes that lower\n\n",
}
# The files of pages outside docs/, by their names on the site.
OUTSIDE = {"CONTRIBUTING.md": ROOT / "CONTRIBUTING.md", "CHANGELOG.md": ROOT / "CHANGELOG.md",
           "Emulator.md": ROOT / "emulator/docs/Emulator.md"}
NAMES = {path: name for name, path in OUTSIDE.items()}
LANGUAGES = {".c": "c", ".cpp": "cpp", ".h": "cpp", ".mlir": "mlir", ".py": "python",
             ".sh": "bash", ".td": "tablegen", ".json": "json"}

# What mlir-tblgen puts behind the name of an op in its heading.
CLASS = re.compile(r"(?<=`) \(::[\w:]+\)$", re.M)
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=(?:#[^)\s]*)?\))")
FENCE = re.compile(r"^([ ]*)(```+|~~~+).*?^\1\2[ ]*$", re.S | re.M)
# A list behind a paragraph, which Markdown takes only behind a blank line.
LIST = re.compile(r"^((?![-*] |\d+\. |\s|\||#|<).+\n)(?=[-*] |1\. )", re.M)


def on_config(config):
    sys.path.insert(0, str(HERE))
    LEXERS["MlirLexer"] = ("mlir_lexer", "MLIR", ("mlir",), ("*.mlir",), ())


def on_files(files, config):
    def add(uri, content):
        files.append(File.generated(config, uri, content=content))

    for name, title in REFERENCE.items():
        path = BUILD / "docs/reference" / name
        if not path.exists():
            raise PluginError(f"no {path}: build the target blockscale-doc first")
        text = path.read_text(encoding="utf-8")
        add(f"reference/{name}", title + CLASS.sub("", text).replace("\n[TOC]\n", ""))
    for name, path in OUTSIDE.items():
        add(name, path.read_text(encoding="utf-8"))
    waiting = [target for file in files.documentation_pages()
               for target in linked_sources(file.src_uri, file.content_string)]
    seen = set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            add(source_uri(path), source_page(path))
            if path.is_dir():
                waiting += listing(path)
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri.startswith("source/"):
        return markdown
    return outside_fences(markdown, lambda text: LIST.sub(r"\1\n", LINK.sub(
        lambda m: site_link(uri, m[1]), text)))


def outside_fences(markdown, change):
    """`markdown` with what is not in a fence changed."""
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [change(markdown[end:fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def target_of(uri, link):
    """The file of the project that a page links to, or None."""
    if "://" in link or link.startswith("mailto:"):
        return None
    page = OUTSIDE.get(uri, ROOT / "docs" / uri)
    path = Path(os.path.normpath(page.parent / link))
    return path if path.is_relative_to(ROOT) and path.exists() else None


def is_source(path):
    return not path.is_relative_to(ROOT / "docs") and path not in NAMES


def linked_sources(uri, markdown):
    targets = (target_of(uri, link) for link in LINK.findall(markdown))
    return [path for path in targets if path and is_source(path)]


def source_uri(path):
    name = path.relative_to(ROOT).as_posix()
    return f"source/{name}/index.md" if path.is_dir() else f"source/{name}.md"


def site_link(uri, link):
    """What stands for a link of `uri` on the site; broken ones are left, and reported."""
    path = target_of(uri, link)
    if path is None:
        return link
    if path in NAMES:
        to = NAMES[path]
    elif is_source(path):
        to = source_uri(path)
    else:
        to = path.relative_to(ROOT / "docs").as_posix()
    return os.path.relpath(to, PurePosixPath(uri).parent)


def listing(folder):
    return sorted(path for path in folder.iterdir()
                  if path.is_file() and path.suffix in LANGUAGES)


def source_page(path):
    name = path.relative_to(ROOT).as_posix()
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path.name}\n\n`{name}`\n\n"
    if path.is_dir():
        return head + "".join(f"* [{file.name}]({file.name}.md)\n" for file in listing(path))
    text = path.read_text(encoding="utf-8")
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    return f"{head}{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text}{fence}\n"

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Tosa.md, docs/Checkpoints.md, docs/CheckpointFaults.md and docs/Conformance.md show of
Python runs as written, and prints what is shown; tables of checkpoints are those of the package."""

import contextlib
import io
import os
import re
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

import test_checkpoint_check
from blockscale import checkpoint
from blockscale.checkpoint._check import _loaders
from blockscale.checkpoint._check._claims import LOADERS, SOURCES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Tosa.md"
TOOL = ROOT / ".cache/tosa/bin/tosa-opt"


class TosaPageTest(unittest.TestCase):
    @unittest.skipUnless(TOOL.exists(), "tosa-tools are not installed (scripts/peers.sh tosa)")
    def test_the_example(self):
        block, = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)
        output = io.StringIO()
        with (mock.patch.dict(os.environ, {"BLOCKSCALE_TOSA_OPT": str(TOOL)}),
              contextlib.redirect_stdout(output)):
            exec(compile(block, str(PAGE), "exec"), {})
        self.assertIn("tosa.matmul_t_block_scaled", output.getvalue())


#: A block of Python, and the text behind it where there is some.
BLOCKS = re.compile(r"(?ms)^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?")


def make_layouts():
    """The table of layouts."""
    rows = ["| layout | codes | block scales | global scale, F32 | input scale, F32 |",
            "| --- | --- | --- | --- | --- |"]
    for layout in checkpoint.LAYOUTS:
        if layout.is_plain:
            continue

        def tell(ending, *dtypes):
            said = " or ".join(filter(None, (", ".join(dtypes[:-1]), *dtypes[-1:])))
            return f"`{ending}` {said}".strip() if ending else ""
        inside = "in the codes" if layout.holds_scales else ""
        name = layout.name.replace("compressed-tensors ", "")
        rows.append("| " + " | ".join((
            name, tell(*layout.data) or f"the name {layout.data[1]}",
            tell(*layout.scales, *layout.scale_types) or inside,
            tell(layout.global_scale, ""), tell(layout.input_scale, ""))) + " |")
    return "\n".join(rows)


def make_rules():
    """The list of rules."""
    items = []
    for rule in checkpoint.RULES:
        by_text = {}
        for loader, claim in rule.loaders.items():
            by_text.setdefault(claim.text, []).append(f"{loader} (`{claim.source}`)")
        loaders = "; ".join(f"{', '.join(names)} {text}" for text, names in by_text.items())
        kind = rule.severity + ", silent" * rule.silent
        text = f"* `{rule.label}`, {kind}: {rule.text}." + f" {loaders}." * bool(loaders)
        items.append(textwrap.fill(text, 140, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(items)


def make_reads():
    """The list of what loaders read."""
    items = []
    for loader in LOADERS:
        texts = []
        for row in _loaders.ROWS:
            if row.loader != loader:
                continue
            which = {None: "", True: " with quantized activations", False: " of weights alone"}
            formats = f"{row.family} {', '.join(row.formats)}".strip() + which[row.activations]
            verb = "reads" if row.is_read else "does not read"
            texts.append(f"{verb} {formats} (`{row.claim.source}`)")
        items.append(textwrap.fill(f"* **{loader}** {'; '.join(texts)}.", 140,
                                   subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(items)


def make_sources():
    """The table of places in the code of loaders."""
    return "\n".join(["| name | place |", "| --- | --- |", *(
        f"| `{name}` | {place} |" for name, place in SOURCES.items())])


def make_faults():
    """The list of faults that tests plant."""
    return "\n".join(f"* {name}: `{rule}`" for name, rule, _ in test_checkpoint_check.FAULTS)


class PageTest(unittest.TestCase):
    def run_page(self, name):
        """Runs the blocks of a page in their order, in a folder of their own."""
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.enterContext(tempfile.TemporaryDirectory()))
        scope = {}
        for block, wanted in BLOCKS.findall(text):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, name, "exec"), scope)
            with self.subTest(block):
                self.assertEqual(output.getvalue(), wanted)


class ConformancePageTest(PageTest):
    def test_the_example(self):
        # Behind the installed package.
        sys.path.append(str(ROOT / "python"))
        self.addCleanup(sys.path.remove, str(ROOT / "python"))
        self.run_page("Conformance.md")


class CheckpointPagesTest(PageTest):
    def test_layouts(self):
        self.run_page("Checkpoints.md")

    def test_faults(self):
        self.run_page("CheckpointFaults.md")

    def test_tables(self):
        for name, make in (("Checkpoints.md", make_layouts), ("CheckpointFaults.md", make_rules),
                           ("CheckpointFaults.md", make_faults),
                           ("CheckpointFaults.md", make_reads),
                           ("CheckpointFaults.md", make_sources)):
            text = (ROOT / "docs" / name).read_text(encoding="utf-8")
            self.assertIn(f"\n{make()}\n", text)


if __name__ == "__main__":
    unittest.main()

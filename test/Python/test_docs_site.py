# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/site adds to the documentation site. The site suite builds it all."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs/site"))

try:
    import pygments.lexers
    from mkdocs.exceptions import PluginError
    from pygments.token import Error, Keyword, Name

    import hooks
    import mlir_lexer
except ImportError as error:
    raise unittest.SkipTest(f"{error}: install docs/requirements.txt") from error


class LinksTest(unittest.TestCase):
    def test_links_stay_on_the_site(self):
        for uri, link, wanted in (
            ("Spec.md", "Numerics.md", "Numerics.md"),
            ("Spec.md", "../CONTRIBUTING.md", "CONTRIBUTING.md"),
            ("CONTRIBUTING.md", "docs/Spec.md", "Spec.md"),
            ("Spec.md", "../mkdocs.yml", "source/mkdocs.yml.md"),
            ("Spec.md", "../include/blockscale/Numerics",
             "source/include/blockscale/Numerics/index.md"),
            ("reference/Dialect.md", "../Spec.md", "../Spec.md"),
            # A page outside docs/, and from there.
            ("Lowering.md", "../emulator/docs/Emulator.md", "Emulator.md"),
            ("Emulator.md", "../../docs/Spec.md", "Spec.md"),
            ("Emulator.md", "../README.md", "source/emulator/README.md.md"),
            # mkdocs reports these.
            ("Spec.md", "../absent.h", "../absent.h"),
            ("Spec.md", "https://example.com/a", "https://example.com/a"),
        ):
            with self.subTest(link):
                self.assertEqual(hooks.site_link(uri, link), wanted)

    def test_pages_of_sources(self):
        text = hooks.source_page(ROOT / "docs/site/hooks.py")
        self.assertIn("\n````python\n# Part of the BlockScale project", text)
        listed = hooks.source_page(ROOT / "include/blockscale/Numerics")
        self.assertIn("* [Codec.h](Codec.h.md)\n", listed)
        self.assertNotIn("CMakeLists", listed)

    def test_no_reference(self):
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.object(hooks, "BUILD", Path(folder)):
                with self.assertRaisesRegex(PluginError, "build the target blockscale-doc"):
                    hooks.on_files([], None)


class TextTest(unittest.TestCase):
    def changed(self, text):
        page = mock.Mock()
        page.file.src_uri = "Spec.md"
        return hooks.on_page_markdown(text, page, None, None)

    def test_lists_behind_paragraphs(self):
        self.assertEqual(self.changed("These:\n- a\n- b\n  c\n- d\n"),
                         "These:\n\n- a\n- b\n  c\n- d\n")
        for same in ("a\n\n- b\n- c\n", "- a\n  b\n- c\n", "a\nb - c\n", "a\n-1\n"):
            self.assertEqual(self.changed(same), same)

    def test_fences_stay(self):
        fence = "```text\na:\n- b [c](../mkdocs.yml)\n```\n"
        self.assertEqual(self.changed(f"a:\n- b\n\n{fence}c:\n- d\n"),
                         f"a:\n\n- b\n\n{fence}c:\n\n- d\n")


class LexerTest(unittest.TestCase):
    def test_is_found(self):
        hooks.on_config(None)
        self.assertIs(pygments.lexers.get_lexer_by_name("mlir").__class__, mlir_lexer.MlirLexer)

    def test_kinds(self):
        text = "%q = blockscale.amax %x block [1, 16] : tensor<?x64xf4E2M1FN, #swizzled>"
        kinds = {value: kind for kind, value in mlir_lexer.MlirLexer().get_tokens(text)}
        self.assertEqual(kinds["%q"], Name.Variable)
        self.assertEqual(kinds["blockscale.amax"], Name.Builtin)
        self.assertEqual(kinds["block"], Keyword)
        self.assertEqual(kinds["f4E2M1FN"], Keyword.Type)
        self.assertEqual(kinds["#swizzled"], Name.Attribute)

    def test_keeps_all_text(self):
        text = (ROOT / "examples/quantize.mlir").read_text()
        tokens = list(mlir_lexer.MlirLexer().get_tokens(text))
        self.assertEqual("".join(value for _, value in tokens), text)
        self.assertNotIn(Error, {kind for kind, _ in tokens})


if __name__ == "__main__":
    unittest.main()

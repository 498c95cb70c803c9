# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/release.py and release.sh: which commits may become a release, and its files; and this
project has what they read."""

import contextlib
import hashlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from checkouts import CheckoutTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import log_head
import release

CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.0] - 2026-01-31

- A change.

## [1.1.0] - 2026-01-01

- An older one.
"""
MANIFEST = """
["a.txt"]
command = "write it"
paths = ["lib/**"]
["b.txt"]
command = "write it"
paths = ["lib/**"]
"""


class ReleaseTest(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\n"
                                     "project(BlockScale VERSION 1.2.0 LANGUAGES C)\n")
        self.write("CHANGELOG.md", CHANGELOG)
        self.write("docs/logs/manifest.toml", MANIFEST)
        self.write("lib/file", "1")
        self.write_log(self.commit())
        self.write("docs/Page.md", "See the [log](logs/a.txt).\n")
        self.write("docs/Other.md", "See [lines](Page.md).\n")
        self.commit()

    def write_log(self, commit):
        self.write("docs/logs/a.txt", f"{log_head.make_head(commit, 'a machine', 'a command')}\n")

    def find_faults(self):
        return release.find_faults(self.root)

    def test_a_release(self):
        self.assertEqual(self.find_faults(), [])
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(release.main([], self.root), 0)
        self.assertEqual(text.getvalue(), "1.2.0\n")

    def test_changes_beside_the_commit(self):
        for name in ("lib/file", "docs/logs/a.txt", "new"):
            with self.subTest(name):
                path = self.root / name
                before = path.read_text() if path.exists() else None
                self.write(name, (before or "") + "\n")
                self.assertIn("expected the files of a commit, but these differ from it: "
                              f"{name}", self.find_faults())
                if before is None:
                    path.unlink()
                else:
                    self.write(name, before)
        self.assertEqual(self.find_faults(), [])

    # A log that no page links to may be stale, as b.txt is, which is missing.
    def test_a_page_with_figures_of_a_stale_log(self):
        self.write("lib/file", "2")
        commit = self.commit()
        self.assertEqual(self.find_faults(), [
            "docs/Page.md: expected figures of this commit, but these logs are stale: a.txt"])
        self.write_log(commit)
        self.commit()
        self.assertEqual(self.find_faults(), [])
        self.write("docs/Other.md", "See the [log](logs/b.txt) (commit 0123abc).\n")
        self.commit()
        with contextlib.redirect_stderr(io.StringIO()) as text:
            self.assertEqual(release.main([], self.root), 1)
        self.assertEqual(text.getvalue(), "error: docs/Other.md: expected figures of this commit, "
                                          "but these logs are stale: b.txt\n")

    def test_changelogs(self):
        for old, new, fault in (
                ("[1.2.0]", "[1.3.0]", ("expected a section [1.2.0], as CMakeLists.txt has this "
                                        "version, but the first one is 1.3.0")),
                (" - 2026-01-31", "", "expected a date as 2026-01-31 behind [1.2.0], but got none"),
                ("2026-01-31", "soon",
                 "expected a date as 2026-01-31 behind [1.2.0], but got soon"),
                ("- A change.\n", "", "expected changes in the section [1.2.0]"),
                ("[Unreleased]\n", "[Unreleased]\n\n- Another.\n",
                 "expected nothing in the section [Unreleased]")):
            with self.subTest(fault):
                self.assertIn(old, CHANGELOG)
                self.assertEqual(
                    release.find_changelog_faults(CHANGELOG.replace(old, new), "1.2.0"),
                    [f"CHANGELOG.md: {fault}"])
        # Nothing is unreleased where the section is not there.
        self.assertEqual(release.find_changelog_faults(
            CHANGELOG.replace("## [Unreleased]\n", ""), "1.2.0"), [])

    def test_without_a_version(self):
        self.write("CMakeLists.txt", "project(Other VERSION 1.2.0)\n")
        self.commit()
        with self.assertRaisesRegex(ValueError, r"^CMakeLists.txt: expected a line project\(Blo"):
            self.find_faults()


class FilesTest(unittest.TestCase):
    """scripts/release.sh, with programs that write one file each in the place of builds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("release.sh", "common.sh"):
            self.write(f"scripts/{name}", (ROOT / "scripts" / name).read_text(encoding="utf-8"))
        self.write("scripts/release.py", "print('1.2.0')")
        self.write("scripts/setup.sh", "#!/bin/sh\n")
        self.write("scripts/wheel.sh", "#!/bin/sh\n"
                   'if [ "$1" = --arch ]; then echo b >"$3/b.whl"; else echo a >"$1/a.whl"; fi\n')
        self.write("scripts/vectors.sh", '#!/bin/sh\necho c >"$1/c.whl"\n')
        # What packs the sources.
        self.write(".venv/bin/python", '#!/bin/sh\necho d >"$3/d.tar.gz"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_script(self):
        return subprocess.run([self.root / "scripts/release.sh"], capture_output=True, text=True)

    def find_files(self):
        return sorted(path.name for path in (self.root / "dist").rglob("*"))

    def test_are_there_with_their_sums(self):
        run = self.run_script()
        self.assertEqual(run.returncode, 0, run.stderr)
        files = ["a.whl", "b.whl", "c.whl", "d.tar.gz"]
        self.assertEqual(self.find_files(), ["1.2.0", "SHA256SUMS", *files])
        sums = (self.root / "dist/1.2.0/SHA256SUMS").read_text(encoding="utf-8").splitlines()
        for line in sums:
            name = line.split()[1]
            data = (self.root / "dist/1.2.0" / name).read_bytes()
            self.assertEqual(line.split()[0], hashlib.sha256(data).hexdigest())
        self.assertEqual(sorted(line.split()[1] for line in sums), files)
        again = self.run_script()
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, "expected no .*/dist/1.2.0\n +a release is made once")

    def test_are_not_there_if_a_build_fails(self):
        self.write("scripts/vectors.sh", "#!/bin/sh\nexit 1\n")
        self.assertEqual(self.run_script().returncode, 1)
        self.assertEqual(self.find_files(), [])

    # Nothing is set up or built.
    def test_are_not_there_if_a_rule_is_broken(self):
        self.write("scripts/release.py", "import sys\nsys.exit('a rule')")
        self.write("scripts/setup.sh", "#!/bin/sh\ntouch $0.ran\n")
        run = self.run_script()
        self.assertEqual((run.returncode, run.stderr), (1, "a rule\n"))
        self.assertFalse((self.root / "dist").exists())
        self.assertFalse((self.root / "scripts/setup.sh.ran").exists())


class ProjectTest(unittest.TestCase):
    def test_has_what_is_read(self):
        version = release.read_version(ROOT)
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        self.assertIn(f"## [{version}] - ", text)


if __name__ == "__main__":
    unittest.main()

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions without compilation: those of the cache, and those that were compiled ahead."""

import io
import json
import os
import platform
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np

import blockscale as bs

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build")
FAKE_CUDA = Path(BUILD) / "lib/fake-cuda/libcuda.so.1"
PTXAS = subprocess.run([ROOT / "scripts/find-ptxas.sh"], capture_output=True,
                       text=True).stdout.strip()
SOURCE = """
func.func @scale(%x: tensor<?x64xf32>, %s: f32) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %t = tensor.empty(%n) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%t : tensor<?x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %s : f32
    linalg.yield %m : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}"""
X = np.arange(128, dtype=np.float32).reshape(2, 64)


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class CacheTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.enterContext(mock.patch.dict(os.environ, BLOCKSCALE_CACHE_DIR=str(self.cache)))

    def compile(self, source=SOURCE, **options):
        """A function that computes, and the steps that made it."""
        steps = []
        compiled = bs.compile(source, progress=lambda *step: steps.append(step), **options)
        np.testing.assert_array_equal(compiled(X, 2.0), 2 * X)
        self.assertEqual(compiled.is_loaded, not steps)
        return compiled, steps

    def test_a_first_call_compiles_nothing(self):
        for options in ({}, {"target": "sm_90a"}):
            self.assertTrue(self.compile(**options)[1])
            self.assertFalse(self.compile(**options)[1])
        self.assertTrue(self.compile(target="sm_80")[1])
        # What is compiled of it later is as without a cache.
        compiled, _ = self.compile(target="sm_90a")
        self.assertIn(".target sm_90a", compiled.ptx)
        self.assertEqual({remark.severity for remark in compiled.remarks}, {"remark"})

    def test_another_process_finds_it(self):
        self.compile()
        program = ("import blockscale as bs, pathlib\n"
                   "steps = []\n"
                   f"found = bs.compile({SOURCE!r}, progress=lambda *step: steps.append(step))\n"
                   "print(found.is_loaded, steps)\n")
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(found.stdout, "True []\n", found.stderr)

    def test_damaged_files_are_compiled_again(self):
        self.compile()
        file, = self.cache.glob("*/*.bsf")
        whole = file.read_bytes()
        for damaged in (b"", whole[:-1], whole[:200] + b"?" + whole[201:]):
            file.write_bytes(damaged)
            self.assertTrue(self.compile()[1])
            self.assertFalse(self.compile()[1])

    def find_in_another_process(self, **variables):
        """Whether a process finds the function, and what it says beside."""
        program = ("import blockscale as bs\n"
                   f"print([bs.compile({SOURCE!r}, target=target).is_loaded\n"
                   "       for target in ('cpu', 'cpu', 'sm_90a')])\n")
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                               env={**os.environ, **variables}, check=True)
        return found.stdout.strip(), found.stderr

    def test_a_cache_that_others_can_write_to(self):
        self.compile()
        self.compile(target="sm_90a")
        self.assertEqual(self.find_in_another_process(), ("[True, True, True]", ""))
        self.cache.chmod(0o777)
        found, said = self.find_in_another_process()
        self.assertEqual(found, "[False, False, False]")
        self.assertEqual(said, f"blockscale: warning: the cache in '{self.cache}' is not used: "
                               f"expected '{self.cache}' to be writable by its owner alone, but "
                               "its mode is 0777; BLOCKSCALE_CACHE_OWNERS names other users to "
                               "trust\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files to another user")
    def test_a_cache_of_another_user(self):
        self.compile()
        self.compile(target="sm_90a")
        for path in (*self.cache.rglob("*"), self.cache):
            os.chown(path, 12345, 12345)
        found, said = self.find_in_another_process()
        self.assertEqual(found, "[False, False, False]")
        self.assertRegex(said, f"^blockscale: warning: .*'{self.cache}' to belong to user 0, root "
                               "or another trusted user, but it belongs to user 12345.*\n$")
        self.assertEqual(self.find_in_another_process(BLOCKSCALE_CACHE_OWNERS="12345"),
                         ("[True, True, True]", ""))
        self.addCleanup(bs.set_cache_owners, None)
        bs.set_cache_owners([17, 12345])
        self.assertFalse(self.compile()[1])
        bs.set_cache_owners([])
        self.assertTrue(self.compile()[1])

    def test_owners_are_users(self):
        self.addCleanup(bs.set_cache_owners, None)
        bs.set_cache_owners(["root", 12345])
        with self.assertRaisesRegex(bs.ArgumentError, "expected names or numbers of users, "
                                                      "separated by commas, but got 'x y'"):
            bs.set_cache_owners(["root", "x y"])

    def test_a_file_says_what_it_is(self):
        self.compile()
        file, = self.cache.glob("*/*.json")
        about = json.loads(file.read_text())
        self.assertEqual((about["function"], about["target"], about["version"]),
                         ("scale", "cpu", bs.__version__))

    def test_a_policy_is_part_of_the_key(self):
        policy = self.folder / "policy.json"
        policy.write_text('{"version": 1, "rules": []}')
        self.compile()
        self.assertTrue(self.compile(policy=policy)[1])
        self.assertFalse(self.compile(policy=policy)[1])
        policy.write_text('{"version": 1, "rules": [{"format": "mxfp8"}]}')
        self.assertTrue(self.compile(policy=policy)[1])

    def test_many_threads(self):
        failures = []

        def work():
            try:
                for factor in range(4):
                    source = SOURCE.replace("@scale", f"@scale{factor}")
                    np.testing.assert_array_equal(bs.compile(source)(X, 3.0), 3 * X)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(list(self.cache.glob("*/*.bsf"))), 4)
        self.assertEqual(len(list(self.cache.glob("*/*"))), 8)

    # The driver gets machine code, which ptxas made for the first process; it is a script here.
    @unittest.skipUnless(FAKE_CUDA.exists(), "no driver without a GPU was built")
    def test_on_a_gpu(self):
        log, ptxas = self.folder / "log", self.folder / "ptxas"
        ptxas.write_text("""#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
echo >> "$0.calls"
{ printf '\\177ELF'; cat "$3"; } > "$5"
""")
        ptxas.chmod(0o755)
        variables = {"BLOCKSCALE_LIBCUDA": str(FAKE_CUDA), "FAKE_CUDA_LOG": str(log),
                     "BLOCKSCALE_PTXAS": str(ptxas)}
        with unittest.mock.patch.dict(os.environ, variables):
            for expected in (False, True):
                compiled = bs.compile(SOURCE, target="sm_90a", on="cuda")
                self.assertEqual(compiled.is_loaded, expected)
        loads = [line for line in log.read_text().splitlines() if line.startswith("load ")]
        self.assertEqual([line.endswith(" a cubin") for line in loads], [True, True])
        self.assertEqual((self.folder / "ptxas.calls").read_text(), "\n")

    # Without a cache, the driver compiles.
    @unittest.skipUnless(FAKE_CUDA.exists(), "no driver without a GPU was built")
    def test_on_a_gpu_without_a_cache(self):
        log = self.folder / "log"
        variables = {"BLOCKSCALE_LIBCUDA": str(FAKE_CUDA), "FAKE_CUDA_LOG": str(log),
                     "BLOCKSCALE_CACHE_DIR": ""}
        with unittest.mock.patch.dict(os.environ, variables):
            self.assertFalse(bs.compile(SOURCE, target="sm_90a", on="cuda").is_loaded)
        self.assertRegex(log.read_text(), r"load \d+ bytes of PTX")


class AheadTest(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.steps = []
        cls.data = bs.compile_ahead(SOURCE, targets=["cpu", "sm_90a", "sm_80"],
                                    progress=lambda *step: cls.steps.append(step))

    def check(self, loaded):
        np.testing.assert_array_equal(loaded(X, 2.0), 2 * X)
        self.assertTrue(loaded.is_loaded)
        return loaded

    def assert_refuses(self, kind, message, file, **options):
        with self.assertRaisesRegex(kind, message) as caught:
            bs.load(file, **options)
        return caught.exception

    def edit(self, **changes):
        """The file with other parts."""
        edited = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self.data)) as old, zipfile.ZipFile(edited, "w") as new:
            for name in old.namelist():
                part = old.read(name)
                change = changes.get(name.split(".")[0], lambda part: part)
                part = change(part)
                if part is not None:
                    new.writestr(name, part)
        return edited.getvalue()

    def edit_manifest(self, **members):
        return self.edit(manifest=lambda part: json.dumps({**json.loads(part), **members}))

    def test_targets(self):
        self.assertTrue(self.steps)
        for options, target in (({}, "cpu"), ({"target": "sm_80"}, "sm_80"),
                                ({"on": "emulator"}, "sm_90a"), ({"on": "cpu"}, "cpu"),
                                ({"target": "sm_80", "on": "emulator"}, "sm_80")):
            self.assertEqual(self.check(bs.load(self.data, **options)).target, target)

    def test_files(self):
        path = self.folder / "scale.bsz"
        data = bs.compile_ahead(SOURCE, path)
        self.assertEqual(path.read_bytes(), data)
        self.check(bs.load(path))
        self.check(bs.load(str(path)))
        # The same module gives the same bytes.
        self.assertEqual(bs.compile_ahead(SOURCE), data)
        self.assert_refuses(bs.FileError, "cannot read '/nowhere/f'", "/nowhere/f")
        with self.assertRaisesRegex(bs.FileError, "cannot write '/nowhere/f'"):
            bs.compile_ahead(SOURCE, "/nowhere/f")

    def test_a_process_without_a_compiler(self):
        """Nothing is called but what loads and calls."""
        path = self.folder / "scale.bsz"
        path.write_bytes(self.data)
        program = ("import numpy as np, blockscale as bs\n"
                   "from blockscale._native._library import LIBRARY\n"
                   "for name in ('compile', 'verify', 'executable_create'):\n"
                   "    delattr(LIBRARY, 'blockscale_' + name)\n"
                   "    LIBRARY.__dict__['blockscale_' + name] = None\n"
                   f"print(bs.load({str(path)!r})(np.ones((1, 64), np.float32), 3.0).sum())\n")
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(found.stdout, "192.0\n", found.stderr)

    def test_names_and_errors_of_arguments(self):
        @bs.jit
        def half(x: bs.Spec((None, 32), "f32")):
            return bs.dequantize(*bs.quantize(x, format="mxfp8"))

        loaded = bs.load(bs.compile_ahead(half.trace()))
        np.testing.assert_array_equal(loaded(X.reshape(4, 32)), half(X.reshape(4, 32)))
        with self.assertRaisesRegex(bs.ArgumentError, r"argument 0 \(x\): expected dtype"):
            loaded(X.reshape(4, 32).astype(np.float64))
        self.assertEqual(loaded.remarks, ())
        for name in ("stages", "mlir"):
            with self.assertRaisesRegex(bs.ArgumentError, "has a compiled function alone"):
                getattr(loaded, name)
        with self.assertRaisesRegex(bs.ArgumentError, "has a compiled function alone"):
            _ = bs.load(self.data, target="sm_90a").ptx

    def test_targets_that_are_not_there(self):
        self.assert_refuses(bs.ArgumentError, "expected target to be one of cpu, sm_90a, sm_80, "
                            "which <bytes> has, but got sm_100a", self.data, target="sm_100a")
        self.assert_refuses(bs.ArgumentError, "expected on to be cpu, emulator or cuda, but got "
                            "'gpu'", self.data, on="gpu")
        only = bs.compile_ahead(SOURCE)
        self.assert_refuses(bs.ArgumentError, "expected a file with a target for emulator, but "
                            "<bytes> has cpu", only, on="emulator")
        error = self.assert_refuses(bs.DeviceError, "<bytes>: cpu: expected a function for a GPU, "
                                    "but got one for cpu", only, target="cpu", on="emulator")
        self.assertEqual(error.status, "BLOCKSCALE_WRONG_CHIP")

    def test_damage(self):
        half = len(self.data) // 2
        for data in (b"", b"text", self.data[:-1], self.data[:half],
                     self.data[:half] + bytes([self.data[half] ^ 1]) + self.data[half + 1:]):
            self.assert_refuses(bs.FileError, "<bytes>: expected a file that compile_ahead wrote, "
                                "but it is none or damaged: ", data)
        self.assert_refuses(bs.FileError, "There is no item named 'cpu.bsf'",
                            self.edit(cpu=lambda part: None))
        self.assert_refuses(bs.FileError, "<bytes>: cpu: .*they are damaged",
                            self.edit(cpu=lambda part: part[:-1] + bytes([part[-1] ^ 1])))
        self.assert_refuses(bs.FileError, "expected manifest.json to be JSON",
                            self.edit(manifest=lambda part: b"{"))
        for members, part in (({"version": 2}, ("expected version 1 of files of compile_ahead, but "
                                                "got 2")),
                              ({"targets": "cpu"}, ("expected 'targets' of manifest.json to be of "
                                                    "type list, but got 'cpu'")),
                              ({"targets": ["gpu"]}, "There is no item named 'gpu.bsf'"),
                              ({"arguments": None}, "expected 'arguments' of manifest.json")):
            self.assert_refuses(bs.FileError, part, self.edit_manifest(**members))

    def test_other_versions(self):
        self.assert_refuses(bs.FileError, "expected version 1 of saved functions, but got 9",
                            self.edit(cpu=lambda part: part[:8] + b"\x09" + part[9:]))

    def test_options(self):
        for options, part in (({"targets": []}, "expected targets to be a list of different "),
                              ({"targets": "cpu"}, "expected targets to be a list"),
                              ({"targets": ["cpu", "cpu"]}, "expected targets to be a list"),
                              ({"targets": ["sm_1"]}, "but got 'sm_1'"),
                              ({"targets": ["sm_90a"], "cpu": "x86-64"}, "expected cpu among"),
                              ({"cpu": "quantum"}, "but got 'quantum'"),
                              ({"targets": ["sm_90a"], "ptxas": "/nowhere/ptxas"}, "/nowhere/pt"),
                              ({"entry": "other"}, "but got 'other'")):
            with self.assertRaisesRegex(bs.ArgumentError, part):
                bs.compile_ahead(SOURCE, **options)
        with self.assertRaises(bs.CompileError):
            bs.compile_ahead("func.func @f(")
        oldest = "x86-64" if platform.machine() == "x86_64" else "generic"
        self.check(bs.load(bs.compile_ahead(SOURCE, cpu=oldest)))

    @unittest.skipUnless(PTXAS, "there is no ptxas")
    def test_machine_code_of_kernels(self):
        with zipfile.ZipFile(io.BytesIO(bs.compile_ahead(SOURCE, targets=["cpu", "sm_90a"],
                                                         ptxas=PTXAS))) as archive:
            saved = archive.read("sm_90a.bsf")
        bundle = saved[saved.index(b"\x89BSB"):]
        # Kind, CRC-32, offset and bytes of each section: a plan, PTX and a cubin.
        kinds = {kind: bundle[offset:offset + size] for kind, _, offset, size in
                 struct.iter_unpack("<IIQQ", bundle[32:32 + 3 * 24])}
        self.assertEqual(list(kinds), [1, 2, 4])
        self.assertEqual(kinds[4][:4], b"\x7fELF")
        self.assertIn(b".target sm_90a", kinds[2])

    @unittest.skipUnless(FAKE_CUDA.exists(), "no driver without a GPU was built")
    def test_a_gpu_gets_the_newest_target_that_it_runs(self):
        os.environ["BLOCKSCALE_LIBCUDA"] = str(FAKE_CUDA)
        self.addCleanup(os.environ.pop, "BLOCKSCALE_LIBCUDA")
        data = bs.compile_ahead(SOURCE, targets=["sm_80", "sm_90a", "sm_100a"])
        self.assertEqual(bs.load(data, on="cuda").target, "sm_90a")
        error = self.assert_refuses(bs.DeviceError, "<bytes>: sm_100a: expected a bundle with "
                                    "kernels that", data, target="sm_100a", on="cuda")
        self.assertEqual(error.status, "BLOCKSCALE_WRONG_CHIP")


if __name__ == "__main__":
    unittest.main()

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each lint finds what it is for, and passes what it must."""

import importlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINTS = Path(__file__).resolve().parents[2] / "scripts/lint"
sys.path.insert(0, str(LINTS))

LICENCE = (
    "// Part of the BlockScale project, under the Apache License v2.0 with LLVM\n"
    "// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
)


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    def findings(self, lint):
        return list(importlib.import_module(lint).check(self.root))

    def assert_finds(self, lint, *parts):
        """Exactly one finding, which holds all the parts."""
        findings = self.findings(lint)
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])


class ReleasesTest(LintTest):
    HEADER = "include/blockscale/IR/Upstream.h"

    def test_one_header_asks(self):
        for line in ("#if LLVM_VERSION_MAJOR >= 23", "#if __clang_major__ > 22"):
            with self.subTest(line):
                self.write("lib/A/A.cpp", f"\n{line}\n#endif\n")
                self.assert_finds("releases", "lib/A/A.cpp:2: ", f"expected {self.HEADER} to ask")

    def test_what_passes(self):
        self.write("lib/A/A.cpp", "os << LLVM_VERSION_STRING << upstream::kRelease;\n")
        self.write(self.HEADER, "#if LLVM_VERSION_MAJOR >= 23\n#endif\n" * 20)
        self.assertEqual(self.findings("releases"), [])

    def test_places_are_few(self):
        self.write(self.HEADER, "#if LLVM_VERSION_MAJOR >= 23\n#endif\n" * 21)
        self.assert_finds("releases", f"{self.HEADER}: expected at most 20 places", "but got 21")


class ImportedNamesTest(LintTest):
    def test_names_that_are_gone(self):
        self.write("test/A/helpers.py", "def kept(): pass\n")
        self.write("test/A/test_a.py", "if 1:\n    from helpers import kept, gone\n")
        self.assert_finds("imported_names", "test/A/test_a.py:2: ",
                          "expected test/A/helpers.py to have the name 'gone'")

    def test_relative_names_that_are_gone(self):
        self.write("test/A/__init__.py")
        self.write("test/A/one.py", "x = 1\n")
        self.write("test/A/two.py", "from .one import x, y\nfrom . import one, three\n")
        self.assertEqual(len(self.findings("imported_names")), 2)

    def test_what_passes(self):
        # Bound in a branch, imported there, of another file of the name, a module of a package,
        # anything at all, and names of a module that only a package has.
        self.write("test/A/helpers.py", "try:\n    import x\nexcept E:\n    y, z = 1, 2\n")
        self.write("test/B/helpers.py", "class W: pass\n")
        self.write("test/A/folder/__init__.py")
        self.write("test/A/folder/onnx.py")
        self.write("test/A/open.py", "def __getattr__(name): pass\n")
        self.write("test/A/test_a.py", "from helpers import W, x, y, z\nfrom folder import onnx\n"
                                       "from open import gone\nfrom onnx import helper\n")
        self.assertEqual(self.findings("imported_names"), [])


class LanesTest(LintTest):
    FILE = "lib/Conversion/ToX/X.cpp"
    FINDS = (
        "row = lane >> 2;",
        "col = (lane & 3) * 2;",
        "x = Lanes(b, thread.lane) & (parts - 1);",
        "x = thread.member << 1;",
        "x = position.lane % 4;",
        "x = getLane() % 4;",
        "x = 15 & inWarp;",
        "x = row ^ ownLane;",
        "x = emit::div(b, thread, 2);",
        "x = arith::RemUIOp::create(b, lane, four);",
        "warp = index / kWarpThreads;",
        "x = Lanes(b, inBlock) & (kWarpThreads - 1);",
        "x = all >> llvm::Log2_64(kWarpgroupThreads);",
        "Lanes number(b, thread.loader);\nx = number & (pieces - 1);",
        "Lanes number = thread;\nx = 1 | number;",
    )
    PASSES = (
        "auto [warp, lane] = numerics::split(thread, kWarpThreads);",
        "row = numerics::kMmaAccumulator.getElement({lane, i}).row;",
        "byte = first + lane * threadBytes;",
        "X(const WarpThread &thread, Lanes &lane);",
        "both = isFirst & isInWarp;",
        "if (lane && other) f(thread || x);",
        "x = lanes / 2 + kStepWarp % 4 + getCodesPerLane() / 2 + thread.team % 2;",
        "x = threads / kWarpThreads + getThreads(spec) / kWarpThreads;",
        "// Lane l has row l / 4: lane / 4.",
        'os << "lane / 4";',
    )

    def test_lanes_taken_apart(self):
        for line in self.FINDS:
            with self.subTest(line):
                self.write(self.FILE, f"\n{line}\n")
                self.assert_finds("lanes", f"{self.FILE}:{line.count(chr(10)) + 2}: ",
                                  "to take the number of a thread apart, but got '")

    def test_what_passes(self):
        for line in self.PASSES:
            with self.subTest(line):
                self.write(self.FILE, f"{line}\n")
                self.assertEqual(self.findings("lanes"), [])

    def test_vectors_and_maps_have_lanes_of_their_own(self):
        self.write("lib/Conversion/ToCPU/X.cpp", "x = lane % blocks;\n")
        self.write("include/blockscale/Numerics/X.h", "return lane % 32;\n")
        self.assertEqual(self.findings("lanes"), [])


class SeedsTest(LintTest):
    def test_clocks_and_the_system(self):
        for name, line in (
                ("test/A/test_a.py", "seed = int(time.time())"),
                ("test/A/Inputs/a.py", "today = datetime.datetime.now(zone)"),
                ("scripts/a.py", "seed = date.today().toordinal()"),
                ("test/A/test_a.py", "random = np.random.default_rng()"),
                ("examples/a.py", "x = np.random.randn(3)"),
                ("test/A/test_a.py", "random = random.Random()"),
                ("test/A/test_a.py", "data = os.urandom(3)"),
                ("unittests/A/ATest.cpp", "std::mt19937 random(std::random_device{}());"),
                ("tools/A/A.cpp", "srand(time(nullptr));"),
                ("test/A/a.test", "RUN: a --seed $RANDOM"),
                ("scripts/a.sh", "seed=$(date +%s)")):
            with self.subTest(line):
                self.write(name, f"\n{line}\n")
                self.assert_finds("seeds", f"{name}:2: ", "differs from run to run")
                (self.root / name).unlink()

    def test_what_passes(self):
        for name, line in (
                ("test/A/test_a.py", "random = np.random.default_rng(3)"),
                ("test/A/test_a.py", "random = random.Random(seed)"),
                ("test/A/test_a.py", "start = time.monotonic()"),
                ("unittests/A/ATest.cpp", "std::mt19937 random(7);"),
                ("scripts/a.sh", "# The date of the log."),
                # These print their seed.
                ("scripts/long/a.sh", "seed=$(date +%Y%m%d)"),
                ("test/A/long/test_a.py", "seed = int(time.time())"),
                ("lib/A/A.cpp", "static unsigned salt = std::random_device()();")):
            with self.subTest(line):
                self.write(name, f"{line}\n")
                self.assertEqual(self.findings("seeds"), [])


class LayersTest(LintTest):
    def test_leftward_include_passes(self):
        self.write("lib/Transforms/A.cpp", '#include "blockscale/IR/Dialect.h"\n'
                   "#include <mlir/IR/Value.h>\n")
        self.assertEqual(self.findings("layers"), [])

    def test_rightward_include(self):
        self.write("lib/IR/A.cpp", '\n#include "blockscale/Transforms/Passes.h"\n')
        self.assert_finds("layers", "lib/IR/A.cpp:2:", "includes Transforms")

    def test_rightward_include_in_tablegen(self):
        self.write("include/blockscale/IR/A.td", 'include "blockscale/Emit/B.td"\n')
        self.assert_finds("layers", "include/blockscale/IR/A.td:1:", "includes Emit")

    def test_peers_stay_apart(self):
        self.write("include/blockscale/Target/A.h", '#include "blockscale/Numerics/B.h"\n')
        self.assert_finds("layers", "includes Numerics")

    def test_what_stands_alone_is_reached_from_a_layer_on(self):
        for alone, below, above in (("Runtime", "Analysis",
                                     ("Transforms", "Conversion", "Emit", "CAPI")),
                                    ("Emulator", "Pipelines", ("Driver", "CAPI"))):
            with self.subTest(alone):
                for layer in above:
                    self.write(f"lib/{layer}/A.cpp", f'#include "blockscale/{alone}/B.h"\n')
                self.assertEqual(self.findings("layers"), [])
                self.write(f"lib/{below}/A.cpp", f'#include "blockscale/{alone}/B.h"\n')
                self.assert_finds("layers", f"lib/{below}/A.cpp:1:", f"includes {alone}")
                (self.root / f"lib/{below}/A.cpp").unlink()

    def test_what_stands_alone_reaches_nothing(self):
        for folder, other in (("lib/Runtime", "Emulator"), ("emulator/lib/Emulator/Ptx", "Runtime"),
                              ("lib/Runtime", "IR")):
            with self.subTest(folder):
                self.write(f"{folder}/A.cpp", f'#include "blockscale/{other}/B.h"\n')
                # In the emulator the form of the include is another finding.
                found = [each for each in self.findings("layers") if each.endswith(
                    f"includes {other}") and each.startswith(f"{folder}/A.cpp:1:")]
                self.assertEqual(len(found), 1)
                (self.root / f"{folder}/A.cpp").unlink()

    def test_checkpoints_are_beside_the_layers(self):
        self.write("lib/Checkpoint/A.cpp", '#include "blockscale/Numerics/B.h"\n'
                   '#include "blockscale/Runtime/B.h"\n')
        self.write("lib/CAPI/A.cpp", '#include "blockscale/Checkpoint/B.h"\n')
        self.assertEqual(self.findings("layers"), [])
        self.write("lib/Checkpoint/A.cpp", '#include "blockscale/IR/B.h"\n')
        self.assert_finds("layers", "lib/Checkpoint/A.cpp:1:", "includes IR")
        self.write("lib/Checkpoint/A.cpp", '#include "mlir/IR/Value.h"\n')
        self.assert_finds("layers", "lib/Checkpoint/A.cpp:1:", "no mlir header")
        self.write("lib/Checkpoint/A.cpp")
        self.write("lib/Driver/A.cpp", '#include "blockscale/Checkpoint/B.h"\n')
        self.assert_finds("layers", "lib/Driver/A.cpp:1:", "includes Checkpoint")

    def test_the_c_interface_is_above_the_driver(self):
        self.write("lib/Pipelines/A.cpp", '#include "blockscale/Driver/B.h"\n')
        self.assert_finds("layers", "lib/Pipelines/A.cpp:1:", "includes Driver")

    def test_headers_for_c_include_c(self):
        self.write("include/blockscale-c/A.h",
                   '#include "mlir-c/IR.h"\n#include "blockscale-c/B.h"\n')
        self.assertEqual(self.findings("layers"), [])
        self.write("include/blockscale-c/A.h", '#include "blockscale/IR/B.h"\n')
        self.assert_finds("layers", "include/blockscale-c/A.h:1:", "C only")

    def test_no_mlir_in_the_free_layers(self):
        for layer in ("Numerics", "Target", "Runtime"):
            with self.subTest(layer):
                path = f"include/blockscale/{layer}/A.h"
                self.write(path, "#  include <mlir/IR/Value.h>\n")
                self.assert_finds("layers", f"{path}:1:", "no mlir header")
                (self.root / path).unlink()

    def test_llvm_is_for_target_but_not_for_numerics(self):
        self.write("include/blockscale/Target/A.h", '#include "llvm/ADT/StringRef.h"\n')
        self.write("include/blockscale/Numerics/A.h", '#include "llvm/ADT/APInt.h"\n')
        self.assert_finds("layers", "Numerics/A.h:1:", "no llvm header")

    def test_unknown_folder(self):
        self.write("lib/Elsewhere/A.cpp")
        self.assert_finds("layers", "Elsewhere is in no layer")


    def write_room_headers(self):
        for room in ("Emission", "DeviceEmission", "ToCPU", "ToGPU", "ToGPU/Rows", "ToGPU/Ops",
                     "Products", "ToWgmma", "ToTcgen05"):
            self.write(f"lib/Conversion/{room}/B.h")

    def test_rooms_include_what_is_below_them(self):
        self.write_room_headers()
        self.write("lib/Conversion/ToTcgen05/A.cpp", '#include "Emission/B.h"\n'
                   '#include "DeviceEmission/B.h"\n#include "Products/B.h"\n'
                   '#include "B.h"\n')
        self.write("lib/Conversion/ToGPU/Strips/A.cpp", '#include "ToGPU/Rows/B.h"\n')
        self.write("lib/Conversion/A.cpp", '#include "ToTcgen05/B.h"\n')
        self.assertEqual(self.findings("layers"), [])

    def test_rooms_do_not_include_their_neighbours(self):
        pairs = [("ToGPU/Rows", "ToTcgen05"), ("ToTcgen05", "ToGPU"), ("ToGPU/Ops", "ToCPU"),
                 ("ToCPU", "ToGPU/Rows"), ("ToTcgen05", "ToCPU"), ("ToCPU", "ToTcgen05"),
                 ("Emission", "DeviceEmission"), ("ToGPU/Rows", "ToGPU/Ops"),
                 ("ToGPU/Rows", "ToGPU"), ("Products", "ToTcgen05"), ("ToGPU", "Products")]
        for room, included in pairs:
            with self.subTest(room=room, included=included):
                self.write_room_headers()
                self.write(f"lib/Conversion/{room}/A.cpp", f'#include "{included}/B.h"\n')
                self.assert_finds("layers", f"lib/Conversion/{room}/A.cpp:1:",
                                  f"{room} may include from", f"includes {included}")
                (self.root / f"lib/Conversion/{room}/A.cpp").unlink()

    def test_rooms_are_named_from_their_folder_on(self):
        self.write("lib/Conversion/ToGPU/Rows/A.cpp", '#include "../../ToTcgen05/B.h"\n')
        self.assert_finds("layers", "lib/Conversion/ToGPU/Rows/A.cpp:1:",
                          "expected the path of a header from lib/Conversion on")

    # A room of the emulator includes from those before it, by the path from lib/ on.
    def test_rooms_of_transforms(self):
        self.write("lib/Transforms/Kernels/A.cpp", '#include "Storage/B.h"\n#include "C.h"\n'
                   '#include "blockscale/Transforms/D.h"\n')
        self.write("lib/Transforms/Top.cpp", '#include "Kernels/A.h"\n')
        self.assertEqual(self.findings("layers"), [])
        for name in ("Kernels/A.h", "../Kernels/A.h"):
            with self.subTest(name):
                self.write("lib/Transforms/Storage/A.cpp", f'#include "{name}"\n')
                self.assert_finds("layers", "lib/Transforms/Storage/A.cpp:1:",
                                  f"Storage may include from no other room, but includes {name}")
        (self.root / "lib/Transforms/Storage/A.cpp").unlink()
        self.write("lib/Transforms/Other/A.cpp", "\n")
        self.assert_finds("layers", "lib/Transforms/Other/A.cpp:", "but got Other")

    def test_rooms_of_the_emulator_include_earlier_ones(self):
        self.write("emulator/lib/Emulator/Machine/A.cpp", '#include "Emulator/Machine/A.h"\n'
                   '#include "Emulator/Hazards/B.h"\n#include "blockscale/Emulator/Report.h"\n'
                   '#include "llvm/ADT/STLExtras.h"\n')
        self.write("emulator/include/blockscale/Emulator/Op.h",
                   '#include "blockscale/Emulator/Ast.h"\n')
        self.assertEqual(self.findings("layers"), [])

    # A public header counts as one of its room, and may not need a private one.
    def test_rooms_of_the_emulator_include_no_later_ones(self):
        cases = {"emulator/lib/Emulator/Hazards/A.cpp":
                     ("Emulator/Machine/B.h", "includes Machine"),
                 "emulator/lib/Emulator/Ptx/A.h":
                     ("blockscale/Emulator/Launch.h", "includes Machine"),
                 "emulator/lib/Emulator/Memory/A.h": ("B.h", "expected Emulator/ROOM/NAME.h"),
                 "emulator/include/blockscale/Emulator/Type.h":
                     ("blockscale/Emulator/Program.h", "includes Program"),
                 "emulator/include/blockscale/Emulator/Launch.h":
                     ("Emulator/Memory/B.h", "a public header includes only public ones")}
        for path, (included, message) in cases.items():
            with self.subTest(path):
                self.write(path, f'#include "{included}"\n')
                self.assert_finds("layers", f"{path}:1:", message)
                (self.root / path).unlink()

    def test_files_of_the_emulator_are_in_rooms(self):
        self.write("emulator/lib/Emulator/Elsewhere/A.cpp")
        self.assert_finds("layers", "expected a room of emulator/lib/Emulator", "got Elsewhere")

    def test_public_headers_of_the_emulator_are_listed(self):
        self.write("emulator/include/blockscale/Emulator/A.h")
        self.assert_finds("layers", "Emulator/A.h: expected a public header")

    # It builds without MLIR: its tests and tools, too, need nothing but the support library.
    def test_the_emulator_needs_the_support_library_alone(self):
        for path in ("emulator/lib/CudaRuntime/A.cpp", "emulator/tools/a/A.cpp",
                     "emulator/unittests/Ptx/ATest.cpp"):
            self.write(path, '#include "llvm/ADT/Twine.h"\n#include "llvm/Support/Path.h"\n'
                       '#include "blockscale/Emulator/Report.h"\n')
        self.assertEqual(self.findings("layers"), [])
        for header in ("mlir/IR/Value.h", "llvm/IR/Module.h", "llvm-c/Core.h"):
            for path in ("emulator/lib/CudaRuntime/A.cpp", "emulator/unittests/Ptx/ATest.cpp"):
                with self.subTest(header, path=path):
                    self.write(path, f'#include "{header}"\n')
                    self.assert_finds("layers", f"{path}:1:",
                                      f"includes {'/'.join(header.split('/')[:2])}")
                    self.write(path)

    # Of the project it sees what is beside the layers, and nothing there sees its CUDA.
    def test_the_emulator_is_beside_the_layers(self):
        self.write("emulator/lib/CudaRuntime/A.cpp", '#include "blockscale/Target/Chip.h"\n')
        self.write("emulator/tools/a/A.cpp", '#include "blockscale/Runtime/Npy.h"\n')
        self.assertEqual(self.findings("layers"), [])
        for path, folder in (("emulator/lib/CudaRuntime/A.cpp", "Numerics"),
                             ("emulator/tools/a/A.cpp", "Driver"),
                             ("lib/CAPI/A.cpp", "CudaRuntime")):
            with self.subTest(path):
                self.write(path, f'#include "blockscale/{folder}/B.h"\n')
                self.assert_finds("layers", f"{path}:1:", f"includes {folder}")
                self.write(path)


class LicenceTest(LintTest):
    HEADER = "//===- A.h - A thing -*- C++ -*-===//\n//\n"

    def test_wrapped_licence_passes(self):
        self.write("lib/A.h", self.HEADER + LICENCE)
        self.write("scripts/a.sh", "#!/bin/sh\n" + LICENCE.replace("//", "#"))
        self.assertEqual(self.findings("licence"), [])

    def test_no_licence(self):
        self.write("lib/A.h", self.HEADER)
        self.assert_finds("licence", "lib/A.h", "SPDX")

    def test_header_names_another_file(self):
        self.write("lib/B.h", self.HEADER + LICENCE)
        self.assert_finds("licence", "lib/B.h:1:", "//===- B.h - ")

    def test_python_without_licence(self):
        self.write("a.py", '"""A thing."""\n')
        self.assert_finds("licence", "a.py")


class MirrorTest(LintTest):
    def test_either_kind_of_test_passes(self):
        for path in ("lib/IR/A.cpp", "include/blockscale/IR/A.h", "unittests/IR/A.cpp"):
            self.write(path)
        self.assertEqual(self.findings("mirror"), [])

    def test_no_tests(self):
        self.write("lib/IR/A.cpp")
        self.write("include/blockscale/IR/A.h")
        self.assert_finds("mirror", "test/IR or unittests/IR")

    def test_no_headers(self):
        self.write("lib/IR/A.cpp")
        self.write("test/IR/a.mlir")
        self.assert_finds("mirror", "include/blockscale/IR")


    # A folder of the emulator needs its folder of unit tests, and the other way round.
    def test_rooms_of_the_emulator(self):
        self.write("emulator/include/blockscale/Emulator/A.h")
        self.write("emulator/lib/Emulator/Ptx/A.cpp")
        self.write("emulator/unittests/Ptx/ATest.cpp")
        self.assertEqual(self.findings("mirror"), [])
        self.write("emulator/lib/Emulator/Memory/A.cpp")
        self.assert_finds("mirror", "expected a folder emulator/unittests/Memory")
        (self.root / "emulator/lib/Emulator/Memory/A.cpp").unlink()
        (self.root / "emulator/lib/Emulator/Memory").rmdir()
        self.write("emulator/unittests/Memory/ATest.cpp")
        self.assert_finds("mirror", "expected a folder emulator/lib/Emulator/Memory")

    # Its other folders need headers and tests in emulator/, not beside.
    def test_folders_of_the_emulator(self):
        self.write("emulator/lib/CudaRuntime/A.cpp")
        self.write("include/blockscale/CudaRuntime/A.h")
        self.write("emulator/test/CudaRuntime/a.test")
        self.assert_finds("mirror", "emulator/lib/CudaRuntime: expected a folder "
                          "emulator/include/blockscale/CudaRuntime")
        self.write("emulator/include/blockscale/CudaRuntime/A.h")
        self.assertEqual(self.findings("mirror"), [])


class TextTest(LintTest):
    def test_clean_text_passes(self):
        self.write("a.md", "one\n\ntwo\n")
        self.assertEqual(self.findings("text"), [])

    def test_each_blemish(self):
        blemishes = {"a \n": "trailing", "a\r\n": "carriage return", "\ta\n": "tab",
                     "a": "newline", "a\n\n": "newline",
                     "// TO" + "DO: more\n": "write an issue"}
        for text, message in blemishes.items():
            with self.subTest(text):
                self.write("a.txt", text)
                self.assert_finds("text", "a.txt", message)

    def test_build_trees_and_data_are_not_ours(self):
        for path in ("build-asan/a.txt", "build/a.txt", "test/Data/a.txt", ".venv/a.txt"):
            self.write(path, "a ")
        self.assertEqual(self.findings("text"), [])


class CopiesTest(LintTest):
    def setUp(self):
        super().setUp()
        self.write("include/blockscale/Numerics/ScaleLayout.h",
                   "inline constexpr int64_t kTileRows = 128;\n"
                   "inline constexpr int64_t kTileShape[] = {32, 4, 4};\n")
        self.write("include/blockscale/Numerics/DataLayout.h",
                   "inline constexpr int64_t kFragmentRows = 64;\n")

    def test_use_passes(self):
        self.write("lib/IR/A.cpp", "using numerics::kTileRows;\n"
                   "auto x = ceilDivide(rows, kTileRows); // as ceilDiv(rows, 128)\n"
                   "constexpr int64_t kThreads = 128;\n"
                   "areSame(Recipe::Te, numerics::Recipe::Te); // recipe == Recipe::Te\n"
                   "attr = RecipeAttr::get(context, Recipe::Te);\n")
        self.assertEqual(self.findings("copies"), [])

    # A constant of the layout, by its name or by one like it, and its numbers.
    def test_second_layout(self):
        copies = {"static constexpr int64_t kTileRows = 4 * 32;\n": "defines kTileRows",
                  "inline constexpr int64_t kTileShape[] = {r, 4};\n": "defines kTileShape",
                  "static constexpr int64_t kRowGroup = 32;\n": "defines kRowGroup",
                  "static constexpr int64_t kFragmentRows = 64;\n":
                      "DataLayout.h, but it defines kFragmentRows",
                  "inline constexpr int64_t kAtomRows = 128;\n": "defines kAtomRows",
                  "shape.append({32, 4, 4});\n": "but got {32, 4, 4}",
                  "auto tiles = rows.ceilDiv(128);\n": "but got ceilDiv(128)",
                  "auto x = llvm::divideCeil(rows, 128);\n": "divideCeil(rows, 128)"}
        for text, message in copies.items():
            for path in ("lib/IR/A.cpp", "include/blockscale/IR/A.h", "tools/t/A.cpp"):
                with self.subTest(text, path=path):
                    self.write(path, text)
                    self.assert_finds("copies", f"{path}:1:", message)
                    (self.root / path).unlink()

    def test_switch_over_recipes(self):
        for name in ("Recipe::Te", "numerics::Recipe::Te", "blockscale::Recipe::Te"):
            with self.subTest(name):
                self.write("lib/Conversion/A.cpp", f"switch (r) {{\ncase {name}:\n}}\n")
                self.assert_finds("copies", "lib/Conversion/A.cpp:2:", "a case for Te")

    def test_comparison_of_recipes(self):
        for code in ("recipe == Recipe::Te", "*form.recipe != numerics::Recipe::Te",
                     "Recipe::Te == recipe", "numerics::Recipe::Te != recipe"):
            with self.subTest(code):
                self.write("lib/Conversion/A.cpp", f"if ({code})\n  return;\n")
                self.assert_finds("copies", "lib/Conversion/A.cpp:1:", "compares with Te")

    # The emulator and the tests check the product, and Numerics is the one home.
    def test_copies_on_purpose(self):
        for path in ("emulator/lib/Emulator/A.cpp", "emulator/include/blockscale/Emulator/A.h",
                     "include/blockscale/Numerics/B.h", "unittests/A.cpp"):
            self.write(path, "constexpr int kTileRows = 128;\ncase Recipe::Te:\n"
                       "if (recipe == Recipe::Te) {}\n")
        self.assertEqual(self.findings("copies"), [])


class NearCopiesTest(LintTest):
    """Lines of one family in the folder of another, with its names."""

    OWN = tuple(f"int mine{i} = {i};" for i in range(60))
    COMMON = tuple(f"auto x{i} = getLarge({i});" for i in range(60))

    def write_pair(self, common, own):
        for folder, name in (("ToBig", "Big"), ("ToSmall", "Small")):
            self.write(f"lib/Conversion/{folder}/{name}Family.cpp")
            # One line of each in turn, so that none are in a row.
            text = [line.replace("Large", name) for pair in zip(self.COMMON[:common],
                    [f"{name[0]}{line}" for line in self.OWN]) for line in pair]
            text += [f"{name[0]}{line}" for line in self.OWN[common:own]]
            self.write(f"lib/Conversion/{folder}/{name}Kernel.cpp", "\n".join(text) + "\n")

    def test_what_is_alike_by_chance(self):
        self.write_pair(20, 60)
        self.assertEqual(self.findings("near_copies"), [])

    def test_share(self):
        self.write_pair(40, 40)
        self.assert_finds("near_copies", "ToBig/BigKernel.cpp: has 40 of 80 lines in common with "
                          "lib/Conversion/ToSmall/SmallKernel.cpp, 1 of them in a row")

    def test_row(self):
        for rows in (9, 10):
            with self.subTest(rows=rows):
                for folder, name in (("ToBig", "Big"), ("ToSmall", "Small")):
                    own = [f"{name[0]}{line}" for line in self.OWN]
                    copied = [line.replace("Large", name) for line in self.COMMON[:rows]]
                    # Comments, includes and brackets are nobody's.
                    text = ["// " + name, f'#include "{name}.h"', *own, "", *copied, "}"]
                    self.write(f"lib/Conversion/{folder}/{name}Family.cpp", "\n".join(text))
                if rows < 10:
                    self.assertEqual(self.findings("near_copies"), [])
                else:
                    self.assert_finds("near_copies", "10 of them in a row from "
                                      "'auto x0 = getX(0);' on")

    # Short files, such as headers of a few declarations, and what one family has twice.
    def test_what_is_no_copy(self):
        for folder, name in (("ToBig", "Big"), ("ToSmall", "Small")):
            self.write(f"lib/Conversion/{folder}/{name}Family.cpp")
            self.write(f"lib/Conversion/{folder}/{name}.h",
                       "\n".join(line.replace("Large", name) for line in self.COMMON[:9]))
        text = "\n".join(self.COMMON)
        self.write("lib/Conversion/ToBig/A.cpp", text)
        self.write("lib/Conversion/ToBig/B.cpp", text)
        self.write("lib/Conversion/Products/A.cpp", text)
        self.assertEqual(self.findings("near_copies"), [])


class FormatTest(LintTest):
    def setUp(self):
        super().setUp()
        self.write(".clang-format", "BasedOnStyle: LLVM\n")

    def test_laid_out_passes(self):
        self.write("a.cpp", "int f() { return 1; }\n")
        self.assertEqual(self.findings("format"), [])

    def test_not_laid_out(self):
        self.write("a.cpp", "int  f(){return 1;}\n")
        self.assert_finds("format", "a.cpp", "places differ")


class PythonRulesTest(LintTest):
    def setUp(self):
        super().setUp()
        self.write("pyproject.toml", (LINTS.parents[1] / "pyproject.toml").read_text())

    def test_each_rule(self):
        for path, fault, rule in (
                ("python/blockscale/_a.py", "import os\n", "F401"),
                ("python/blockscale/_a.py", "from typing import Union\n\nA = Union[int, str]\n",
                 "UP007"),
                ("scripts/a.py", "print(x)\n", "F821"),
                ("test/Torch/a.py", "import torch\nimport os\n\nprint(os, torch)\n", "I001"),
                ("test/Data/a.py", f"A = {'1' * 100}\n", "E501"),
                ("benchmarks/gpu/a.py", "def f(a=[]):\n    return a\n", "B006"),
                ("docs/images/a.py", "print(f'a')\n", "F541"),
                ("emulator/test/a.py", "def f(a):\n    return type(a) == int\n", "E721"),
                ("examples/a.py", "def f(a):\n    if a:\n        return 1\n", "RET503")):
            with self.subTest(rule):
                self.write(path, fault)
                self.assert_finds("python_rules", f"{path}:", f" {rule} ")
                (self.root / path).unlink()

    def test_what_passes(self):
        self.write("python/blockscale/_a.py", "import os\n\nA = os.sep\n")
        # Imports behind a change of the search path, of folders and of the environment.
        self.write("scripts/a.py", "import sys\n\nsys.path.append(sys.prefix)\nfolder = 'a'\n\n"
                   "import common\n\nprint(common, folder)\n")
        # What no program of ours is.
        self.write("build/a.py", "import os\n")
        self.assertEqual(self.findings("python_rules"), [])

    def test_rules_that_are_wrong(self):
        self.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['NONE1']\n")
        self.write("python/a.py")
        self.assert_finds("python_rules", "ruff, which scripts/setup.sh installs: exit status 2",
                          "NONE1")


class PythonTypesTest(LintTest):
    """Each run of mypy takes seconds, so that all faults are planted at once."""

    def setUp(self):
        super().setUp()
        self.write("pyproject.toml", (LINTS.parents[1] / "pyproject.toml").read_text())

    def test_each_kind_of_fault(self):
        for name, fault in (("untyped", "def f(a):\n    return a\n"),
                            ("wrong", "A: int = 'a'\n"),
                            ("none", "def f(a: str | None) -> str:\n    return a.strip()\n"),
                            ("any", ("from typing import Any\n\n\n"
                                     "def f(a: Any) -> int:\n    return a.b\n")),
                            ("ignored", "A: int = 1  # type: ignore[assignment]\n"),
                            ("absent", "import blockscale._nothing\n"),
                            ("unknown", "import a_package_without_an_entry\n")):
            self.write(f"python/blockscale/_{name}.py", fault)
        self.write("python/blockscale/__init__.py")
        found = sorted(finding.split(" error: ")[0] + finding[finding.rindex("["):]
                       for finding in self.findings("python_types") if " error: " in finding)
        self.assertEqual(found, [
            "python/blockscale/_absent.py:1:[import-not-found]",
            "python/blockscale/_any.py:5:[no-any-return]",
            "python/blockscale/_ignored.py:1:[unused-ignore]",
            "python/blockscale/_none.py:2:[union-attr]",
            "python/blockscale/_unknown.py:1:[import-not-found]",
            "python/blockscale/_untyped.py:1:[no-untyped-def]",
            "python/blockscale/_wrong.py:1:[assignment]"])

    def test_what_passes(self):
        # Packages with an entry have no types, installed or not.
        self.write("python/blockscale/_a.py",
                   "import onnx\nimport torch\nfrom torch import nn\n\n\n"
                   "def f(a: torch.Tensor, b: onnx.ModelProto) -> str:\n"
                   "    return f'{a.size()} {b.graph} {nn}'\n")
        self.write("test/Python/a.py", "def f(a):\n    return a\n")
        self.assertEqual(self.findings("python_types"), [])

    def test_a_tool_that_is_not_there(self):
        from common import run_python_tool
        finding, = run_python_tool("no_such_tool", self.root, [])
        self.assertIn("no_such_tool, which scripts/setup.sh installs: exit status 1: ", finding)
        self.assertIn("No module named no_such_tool", finding)


class RunnerTest(LintTest):
    def run_lints(self, *lints):
        return subprocess.run([sys.executable, LINTS / "run.py", "--root", self.root, *lints],
                              capture_output=True, text=True)

    def test_counts_and_exit_status(self):
        self.write("a.md", "a \n")
        run = self.run_lints("text", "licence")
        self.assertEqual(run.returncode, 1)
        self.assertIn("FAIL text", run.stdout)
        self.assertIn("     a.md:1: trailing whitespace", run.stdout)
        self.assertEqual(run.stdout.splitlines()[-1], "1 passed, 1 failed")

    def test_all_pass(self):
        run = self.run_lints("licence")
        self.assertEqual((run.returncode, run.stdout.splitlines()[-1]),
                         (0, "1 passed, 0 failed"))

    def test_unknown_lint(self):
        run = self.run_lints("spelling")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no lint named spelling", run.stderr)


if __name__ == "__main__":
    unittest.main()

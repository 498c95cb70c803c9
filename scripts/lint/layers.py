# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder includes only from the layers before it.

    Numerics, Target -> IR -> Analysis -> Transforms -> Conversion -> Emit
    -> Pipelines -> Driver -> CAPI -> tools

Headers of blockscale-c include C only. Runtime and Emulator stand alone; layers from
Transforms on may include Runtime, those from Driver on Emulator too. Checkpoint, which CAPI
includes, is beside the layers and includes Numerics and Runtime. Numerics, Target, Runtime
and Checkpoint include no MLIR header, Numerics no LLVM header either.

The emulator is a project of its own in emulator/, which builds without MLIR: its files
include no MLIR header, and of LLVM those of the support library alone. CudaRuntime and the
tools there include Emulator and a few of the project's folders beside the layers.

Folders of lib/Conversion are rooms, of which each includes only from those in ROOMS:

    Emission -> ToCPU, DeviceEmission;  DeviceEmission -> ToGPU, Products;
    Products -> ToPlainMma, ToWgmma, ToPlainTcgen05, ToTcgen05, ToScaledMma;
    all of them -> the passes that choose among them

Folders of lib/Transforms are rooms in the order of TRANSFORMS_ROOMS: each includes the private
headers of those before it.

Folders of emulator/lib/Emulator are rooms too, and each includes only from those before it
in EMULATOR_ROOMS. EMULATOR_HEADERS lists the public headers and the room that each is of.
"""

import re
from pathlib import Path

from common import files, lines

LAYERS = [["Numerics", "Target"], ["IR"], ["Analysis"], ["Transforms"],
          ["Conversion"], ["Emit"], ["Pipelines"], ["Driver"], ["CAPI"]]
# Folders beside the layers: the first layer that may include each, if one may, and the
# others that it may include itself.
BESIDE = {"Runtime": ("Transforms", set()), "Emulator": ("Driver", set()),
          "Checkpoint": ("CAPI", {"Numerics", "Runtime"}),
          "CudaRuntime": (None, {"Emulator", "Runtime", "Target"}),
          "emulator/tools": (None, {"CudaRuntime", "Emulator", "Runtime"})}
FOREIGN = {"Numerics": ("mlir", "mlir-c", "llvm", "llvm-c"),
           "Target": ("mlir", "mlir-c"), "Runtime": ("mlir", "mlir-c"),
           "Checkpoint": ("mlir", "mlir-c"), "blockscale-c": ("mlir", "llvm")}
# The folders of LLVM's headers that its support library needs.
SUPPORT = {"ADT", "Config", "Support"}
DEVICE = ["Emission", "DeviceEmission"]
ROWS = [*DEVICE, "ToGPU/Rows"]
# The rooms of lib/Conversion, and the rooms that each may include from beside itself. The
# files that are in none of them may include from all.
ROOMS = {"Emission": [], "DeviceEmission": ["Emission"],
         "ToCPU": ["Emission"],
         "ToGPU/Rows": DEVICE, "ToGPU/Strips": ROWS,
         "ToGPU/RowPrograms": [*ROWS, "ToGPU/Strips"],
         "ToGPU/Ops": DEVICE,
         "ToGPU": [*ROWS, "ToGPU/RowPrograms", "ToGPU/Strips", "ToGPU/Ops"],
         "Products": DEVICE,
         "ToWgmma": [*DEVICE, "Products"], "ToTcgen05": [*DEVICE, "Products"],
         "ToPlainTcgen05": [*DEVICE, "Products"],
         "ToPlainMma": [*DEVICE, "Products"], "ToScaledMma": [*DEVICE, "Products"]}
# The rooms of lib/Transforms: each includes from itself and from those before it.
TRANSFORMS_ROOMS = ["Storage", "Checks", "Verification", "Constants", "Elementwise", "Raising",
                    "Products", "Policy", "Tosa", "Kernels"]
# The rooms of emulator/lib/Emulator: each includes from itself and from those before it.
EMULATOR_ROOMS = ["Diagnostics", "Ptx", "InstructionSet", "Arithmetic", "Memory", "Program",
                  "Hazards", "Matrix", "Async", "Machine", "Instructions"]
# The headers of emulator/include/blockscale/Emulator by room; all others are private to
# emulator/lib/Emulator.
EMULATOR_HEADERS = {
    "Diagnostic": "Diagnostics", "Report": "Diagnostics",
    "Ast": "Ptx", "Parser": "Ptx", "StateSpace": "Ptx", "Type": "Ptx", "Validation": "Ptx",
    "InstructionSet": "InstructionSet",
    "Stream": "Hazards",
    "Device": "Memory", "Memory": "Memory", "Swizzle": "Memory",
    "Op": "Program", "Program": "Program",
    "SumDevice": "Matrix",
    "TensorMap": "Async",
    "Launch": "Machine"}
EMULATOR_INCLUDE = re.compile(r'(?:Emulator/(\w+)|blockscale/Emulator)/(\w+)\.h')
LOCAL_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
INCLUDE = re.compile(r'\s*#?\s*include\s*[<"]([^/">]+)/([^/">]+)')  # C++, TableGen


def allowed(layer):
    """The layers that `layer` may include from, itself among them."""
    if layer in BESIDE:
        return {layer} | BESIDE[layer][1]
    if layer == "blockscale-c":
        return set()
    before = set()
    for peers in LAYERS:
        before.update(beside for beside, (first, _) in BESIDE.items() if first in peers)
        if layer in peers:
            return before | {layer}
        before.update(peers)
    return None


def find_room(path):
    """The room of a file of lib/Conversion, given by its path from there."""
    for folder in path.parents:
        if str(folder) in ROOMS:
            return str(folder)
    return None


def check_rooms(root):
    base = Path("lib/Conversion")
    for path in files(root, ".h", ".cpp"):
        if not path.is_relative_to(base):
            continue
        room = find_room(path.relative_to(base))
        if room is None:
            continue
        for number, line in lines(root, path):
            match = LOCAL_INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            if ".." in name:
                yield (f"{path}:{number}: expected the path of a header from lib/Conversion "
                       f"on, but it includes {name}")
                continue
            if not (root / base / name).exists():
                continue
            included = find_room(Path(name))
            if included != room and included not in ROOMS[room]:
                yield (f"{path}:{number}: {room} may include from "
                       f"{', '.join(ROOMS[room]) or 'no other room'}, "
                       f"but includes {included or name}")


def check_transforms_rooms(root):
    base = Path("lib/Transforms")
    for path in files(root, ".h", ".cpp"):
        if not path.is_relative_to(base) or path.parent == base:
            continue
        room = path.relative_to(base).parts[0]
        if room not in TRANSFORMS_ROOMS:
            yield (f"{path}: expected a room of {base}, which are "
                   f"{', '.join(TRANSFORMS_ROOMS)}, but got {room}")
            continue
        before = TRANSFORMS_ROOMS[:TRANSFORMS_ROOMS.index(room)]
        for number, line in lines(root, path):
            match = LOCAL_INCLUDE.match(line)
            included = match.group(1).partition("/")[0] if match else room
            if included == ".." or (included in TRANSFORMS_ROOMS and included != room
                                    and included not in before):
                yield (f"{path}:{number}: {room} may include from "
                       f"{', '.join(before) or 'no other room'}, "
                       f"but includes {match.group(1)}")


def check_emulator_file(root, path, room, is_public):
    for number, line in lines(root, path):
        match = LOCAL_INCLUDE.match(line)
        if not match or match.group(1).startswith("llvm/"):
            continue
        include = EMULATOR_INCLUDE.fullmatch(match.group(1))
        if not include:
            yield (f"{path}:{number}: expected Emulator/ROOM/NAME.h or "
                   f"blockscale/Emulator/NAME.h, but it includes {match.group(1)}")
            continue
        included = include.group(1) or EMULATOR_HEADERS.get(include.group(2))
        if is_public and include.group(1):
            yield (f"{path}:{number}: a public header includes only public ones, but it "
                   f"includes {match.group(1)}")
        elif included not in EMULATOR_ROOMS[:EMULATOR_ROOMS.index(room) + 1]:
            before = ", ".join(EMULATOR_ROOMS[:EMULATOR_ROOMS.index(room)])
            yield (f"{path}:{number}: {room} may include from {before or 'no other room'}, "
                   f"but includes {included or match.group(1)}")


def check_emulator_rooms(root):
    for path in files(root, ".h", ".cpp"):
        if path.parts[:3] == ("emulator", "lib", "Emulator"):
            room, is_public = path.parts[3], False
            if room not in EMULATOR_ROOMS:
                yield (f"{path}: expected a room of emulator/lib/Emulator, which are "
                       f"{', '.join(EMULATOR_ROOMS)}, but got {room}")
                continue
        elif path.parts[:4] == ("emulator", "include", "blockscale", "Emulator"):
            room, is_public = EMULATOR_HEADERS.get(path.stem), True
            if room is None:
                yield (f"{path}: expected a public header of EMULATOR_HEADERS; a header that "
                       "only the emulator includes is in its room of "
                       "emulator/lib/Emulator")
                continue
        else:
            continue
        yield from check_emulator_file(root, path, room, is_public)


def check_support(root):
    """The emulator needs nothing of LLVM but the support library."""
    for path in files(root, ".h", ".cpp"):
        if path.parts[0] != "emulator":
            continue
        for number, line in lines(root, path):
            match = INCLUDE.match(line)
            if not match:
                continue
            project, folder = match.groups()
            if project in ("mlir", "mlir-c", "llvm-c") or (
                    project == "llvm" and folder not in SUPPORT):
                yield (f"{path}:{number}: the emulator may include from llvm/ "
                       f"{', '.join(sorted(SUPPORT))}, but includes {project}/{folder}")


def find_layer(path):
    """The layer of a file, or nothing where it may include what it likes."""
    is_emulator = path.parts[0] == "emulator"
    parts = path.parts[is_emulator:]
    if is_emulator and parts[0] == "tools":
        return "emulator/tools"
    if parts[0] == "lib":
        return parts[1]
    if parts[:2] == ("include", "blockscale") and len(parts) > 3:
        return parts[2]
    return "blockscale-c" if parts[:2] == ("include", "blockscale-c") else None


def check(root):
    yield from check_rooms(root)
    yield from check_transforms_rooms(root)
    yield from check_emulator_rooms(root)
    yield from check_support(root)
    for path in files(root, ".h", ".cpp", ".td", ".inc"):
        layer = find_layer(path)
        if layer is None:
            continue
        reachable = allowed(layer)
        if reachable is None:
            yield f"{path}: folder {layer} is in no layer; known are {LAYERS + [list(BESIDE)]}"
            continue
        for number, line in lines(root, path):
            match = INCLUDE.match(line)
            if not match:
                continue
            project, folder = match.groups()
            if project == "blockscale" and folder not in reachable:
                yield (f"{path}:{number}: {layer} may include from "
                       f"{', '.join(sorted(reachable)) or 'C only'}, "
                       f"but includes {folder}")
            if project in FOREIGN.get(layer, ()):
                yield f"{path}:{number}: {layer} includes no {project} header"

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder includes only from the layers before it.

    Numerics, Target -> IR -> Analysis -> Transforms -> Conversion -> Emit
    -> Pipelines -> Driver -> CAPI, CudaRuntime -> tools

Headers of blockscale-c include C only. Runtime and Emulator stand alone; layers from
Transforms on may include Runtime, those from Driver on Emulator too. Checkpoint, which CAPI
includes, is beside the layers and includes Numerics and Runtime. Numerics, Target, Runtime,
Checkpoint and Emulator include no MLIR header, Numerics no LLVM header either.

Folders of lib/Conversion are rooms, of which each includes only from those in ROOMS:

    Emission -> ToCPU, DeviceEmission;  DeviceEmission -> ToGPU, Products;
    Products -> ToMma, ToSM90, ToSM100, ToWarp;
    all of them -> the passes that choose among them

Folders of lib/Emulator are rooms too, and each includes only from those before it in
EMULATOR_ROOMS. EMULATOR_HEADERS lists the public headers and the room that each is of.
"""

import re
from pathlib import Path

from common import files, lines

LAYERS = [["Numerics", "Target"], ["IR"], ["Analysis"], ["Transforms"],
          ["Conversion"], ["Emit"], ["Pipelines"], ["Driver"], ["CAPI", "CudaRuntime"]]
# Folders beside the layers: the first layer that may include each, and the others that it
# may include itself.
BESIDE = {"Runtime": ("Transforms", set()), "Emulator": ("Driver", set()),
          "Checkpoint": ("CAPI", {"Numerics", "Runtime"})}
FOREIGN = {"Numerics": ("mlir", "mlir-c", "llvm", "llvm-c"),
           "Target": ("mlir", "mlir-c"), "Runtime": ("mlir", "mlir-c"),
           "Checkpoint": ("mlir", "mlir-c"), "Emulator": ("mlir", "mlir-c"),
           "blockscale-c": ("mlir", "llvm")}
DEVICE = ["Emission", "DeviceEmission"]
ROWS = [*DEVICE, "ToGPU/Rows"]
# The rooms of lib/Conversion, and the rooms that each may include from beside itself. The
# files that are in none of them may include from all.
ROOMS = {"Emission": [], "DeviceEmission": ["Emission"],
         "ToCPU": ["Emission"],
         "ToGPU/Rows": DEVICE, "ToGPU/RowPrograms": ROWS, "ToGPU/Strips": ROWS,
         "ToGPU/Ops": DEVICE,
         "ToGPU": [*ROWS, "ToGPU/RowPrograms", "ToGPU/Strips", "ToGPU/Ops"],
         "Products": DEVICE,
         "ToSM90": [*DEVICE, "Products"], "ToSM100": [*DEVICE, "Products"],
         "ToMma": [*DEVICE, "Products"], "ToWarp": [*DEVICE, "Products"]}
# The rooms of lib/Emulator: each includes from itself and from those before it.
EMULATOR_ROOMS = ["Diagnostics", "Ptx", "InstructionSet", "Arithmetic", "Memory", "Program",
                  "Hazards", "Matrix", "Async", "Machine", "Instructions"]
# The headers of include/blockscale/Emulator by room; all others are private to lib/Emulator.
EMULATOR_HEADERS = {
    "Diagnostic": "Diagnostics", "Report": "Diagnostics",
    "Ast": "Ptx", "Parser": "Ptx", "StateSpace": "Ptx", "Type": "Ptx", "Validation": "Ptx",
    "InstructionSet": "InstructionSet",
    "Device": "Memory", "Memory": "Memory", "Swizzle": "Memory",
    "Op": "Program", "Program": "Program",
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
        if path.parts[:2] == ("lib", "Emulator"):
            room, is_public = path.parts[2], False
            if room not in EMULATOR_ROOMS:
                yield (f"{path}: expected a room of lib/Emulator, which are "
                       f"{', '.join(EMULATOR_ROOMS)}, but got {room}")
                continue
        elif path.parts[:3] == ("include", "blockscale", "Emulator"):
            room, is_public = EMULATOR_HEADERS.get(path.stem), True
            if room is None:
                yield (f"{path}: expected a public header of EMULATOR_HEADERS; a header that "
                       "only the emulator includes is in its room of lib/Emulator")
                continue
        else:
            continue
        yield from check_emulator_file(root, path, room, is_public)


def check(root):
    yield from check_rooms(root)
    yield from check_emulator_rooms(root)
    for path in files(root, ".h", ".cpp", ".td", ".inc"):
        if path.parts[0] == "lib":
            layer = path.parts[1]
        elif path.parts[:2] == ("include", "blockscale") and len(path.parts) > 3:
            layer = path.parts[2]
        elif path.parts[:2] == ("include", "blockscale-c"):
            layer = "blockscale-c"
        else:
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

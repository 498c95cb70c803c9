# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of lib/ has its twin in include/blockscale/ and in test/ or unittests/.

The twin of lib/CAPI is include/blockscale-c. A folder within lib/Emulator has its twin in
unittests/Emulator."""


def check(root):
    for folder in sorted(p for p in (root / "lib").iterdir() if p.is_dir()):
        name = folder.name
        headers = "include/blockscale-c" if name == "CAPI" else f"include/blockscale/{name}"
        if not (root / headers).is_dir():
            yield f"lib/{name}: expected a folder {headers}"
        if not any((root / tests / name).is_dir() for tests in ("test", "unittests")):
            yield f"lib/{name}: expected a folder test/{name} or unittests/{name}"
    emulator = root / "lib/Emulator"
    rooms = {p.name for p in emulator.iterdir() if p.is_dir()} if emulator.is_dir() else set()
    for room in sorted(rooms):
        if not (root / "unittests/Emulator" / room).is_dir():
            yield f"lib/Emulator/{room}: expected a folder unittests/Emulator/{room}"
    tests = root / "unittests/Emulator"
    for folder in sorted(p for p in tests.iterdir() if p.is_dir()) if tests.is_dir() else ():
        if folder.name not in rooms:
            yield f"unittests/Emulator/{folder.name}: expected a folder lib/Emulator/{folder.name}"

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of lib/ has its twin in include/blockscale/ and in test/ or unittests/.

The twin of lib/CAPI is include/blockscale-c. The emulator has the same
folders in emulator/, and a folder within emulator/lib/Emulator has its twin in
emulator/unittests."""


# Folders whose tests have no folder of their own: the unit tests of the emulator are of
# its rooms.
BY_ROOM = {"Emulator"}


def folders(path):
    """The names of the folders in one, which need not be there."""
    return sorted(each.name for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


def check_project(root, prefix):
    for name in folders(root / prefix / "lib"):
        headers = "include/blockscale-c" if name == "CAPI" else f"include/blockscale/{name}"
        if not (root / prefix / headers).is_dir():
            yield f"{prefix}lib/{name}: expected a folder {prefix}{headers}"
        if name not in BY_ROOM and not any(
                (root / prefix / tests / name).is_dir() for tests in ("test", "unittests")):
            yield (f"{prefix}lib/{name}: expected a folder {prefix}test/{name} or "
                   f"{prefix}unittests/{name}")


def check(root):
    yield from check_project(root, "")
    yield from check_project(root, "emulator/")
    rooms = folders(root / "emulator/lib/Emulator")
    tests = folders(root / "emulator/unittests")
    for room in rooms:
        if room not in tests:
            yield (f"emulator/lib/Emulator/{room}: expected a folder "
                   f"emulator/unittests/{room}")
    for folder in tests:
        if folder not in rooms:
            yield (f"emulator/unittests/{folder}: expected a folder "
                   f"emulator/lib/Emulator/{folder}")

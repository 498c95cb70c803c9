# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of lib/ has its twin in include/blockscale/ and in test/ or unittests/."""


def check(root):
    for folder in sorted(p for p in (root / "lib").iterdir() if p.is_dir()):
        name = folder.name
        if not (root / "include/blockscale" / name).is_dir():
            yield f"lib/{name}: expected a folder include/blockscale/{name}"
        if not any((root / tests / name).is_dir() for tests in ("test", "unittests")):
            yield f"lib/{name}: expected a folder test/{name} or unittests/{name}"

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of lib/ has its twin in include/blockscale/ and in test/ or unittests/.

That of lib/CAPI is include/blockscale-c."""


def check(root):
    for folder in sorted(p for p in (root / "lib").iterdir() if p.is_dir()):
        name = folder.name
        headers = "include/blockscale-c" if name == "CAPI" else f"include/blockscale/{name}"
        if not (root / headers).is_dir():
            yield f"lib/{name}: expected a folder {headers}"
        if not any((root / tests / name).is_dir() for tests in ("test", "unittests")):
            yield f"lib/{name}: expected a folder test/{name} or unittests/{name}"

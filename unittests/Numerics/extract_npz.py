# ===- extract_npz.py - The arrays of .npz archives as .npy files ---------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""extract_npz.py OUT ARCHIVE..: writes OUT/<archive>/<array>.npy."""

import os
import sys
import zipfile


def main(out, archives):
    for archive in archives:
        name = os.path.splitext(os.path.basename(archive))[0]
        with zipfile.ZipFile(archive) as members:
            members.extractall(os.path.join(out, name))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

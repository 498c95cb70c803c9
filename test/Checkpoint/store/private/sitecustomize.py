# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives a process that begins a temporary folder that no other process sees: a file system of its
own in the folder that BLOCKSCALE_PRIVATE names. Python imports this module where its folder is in
PYTHONPATH, before there are threads, which would stay with the files of all."""

import ctypes
import os

_NEW_MOUNTS, _PRIVATE, _RECURSIVE = 0x00020000, 1 << 18, 1 << 14

folder = os.environ.get("BLOCKSCALE_PRIVATE")
if folder and os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(_NEW_MOUNTS) or libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None)
            or libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, None)):
        raise OSError(ctypes.get_errno(), "cannot make a file system of its own", folder)
    os.environ["TMPDIR"] = folder

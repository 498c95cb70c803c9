# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles (docs/LaunchPlan.md) in Python: to pack kernels that something else than
blockscale-compile made, and to look into bundles.

    write([(plan, ptx), ...], constants) -> bytes
    read(data) -> ([(plan, ptx), ...], constants)

Plans and PTX are text, plans JSON; `ptx` is "" where a plan has no kernels. Machine code
beside PTX is neither written nor read. The runtime checks what this reader does not.
"""

import struct
import zlib

MAGIC = b"\x89BSB\r\n\x1a\n"
VERSION = 1
PLAN, PTX, CONSTANT = 1, 2, 3
HEADER = struct.Struct("<8sIIQII")
ENTRY = struct.Struct("<IIQQ")


def _next_section(end):
    return (end // 64 + 1) * 64


def write(targets, constants=()):
    sections = []
    for plan, ptx in targets:
        sections.append((PLAN, plan.encode()))
        if ptx:
            sections.append((PTX, ptx.encode()))
    sections += [(CONSTANT, bytes(constant)) for constant in constants]
    end = HEADER.size + ENTRY.size * len(sections)
    table, body = b"", b""
    offset = start = _next_section(end)
    for kind, content in sections:
        table += ENTRY.pack(kind, zlib.crc32(content), offset, len(content))
        following = _next_section(offset + len(content))
        body += content.ljust(following - offset, b"\0")
        offset = following
    head = HEADER.pack(MAGIC, VERSION, len(sections), offset, 0, 0)[:24]
    crc = zlib.crc32(head + table)
    return (head + struct.pack("<II", crc, 0) + table).ljust(start, b"\0") + body


def read(data):
    magic, version, count, size, _, _ = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or size != len(data):
        raise ValueError(f"expected a bundle of version {VERSION} with {len(data)} bytes, "
                         f"but got {magic}, version {version} and {size} bytes")
    targets, constants = [], []
    for i in range(count):
        kind, crc, offset, length = ENTRY.unpack_from(data, HEADER.size + i * ENTRY.size)
        content = data[offset:offset + length]
        if zlib.crc32(content) != crc:
            raise ValueError(f"expected section {i} to have the CRC-32 {crc:#x}, but got "
                             f"{zlib.crc32(content):#x}")
        if kind == PLAN:
            targets.append((content.decode(), ""))
        elif kind == PTX:
            targets[-1] = (targets[-1][0], content.decode())
        elif kind == CONSTANT:
            constants.append(content)
    return targets, constants

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of files: a good one with one to three changes, of bytes or of values of JSON. The same
seed makes the same ones."""

import json
import random
import struct

#: Text of JSON that stands for what no reader expects. Some are no JSON, some are nested.
VALUES = (
    "null", "true", "false", "0", "-1", "1", "1.5", "1e9", "1e400", "-1e400", "NaN", "Infinity",
    "-Infinity", "2147483648", "9223372036854775807", "18446744073709551616", "9" * 400, "9" * 5000,
    '""', '"x"', '"\\u0000"', '"\\u001b[2J"', '"\\u202e"', '"\\ud800"', '"a\\nb"', '"../x"',
    '"/etc/passwd"', '"re:("', '"re:(a+)+$"', '"re:(?!x)(.|..)+$"', '"*[*[*"',
    '"' + "x" * 3000 + '"',
    "[]", "{}", "[[]]", "[null]", '[{"a": 1}]', '{"a": {"a": []}}', "[" * 2000 + "]" * 2000,
    "[1, 2, 3]", '{"": 1}', "[" * 3, "1,", "tru", "0x10", "'x'",
)
#: Numbers that headers have in eight bytes.
NUMBERS = (0, 1, 7, 2**16, 2**31, 2**32 - 1, 2**40, 2**60, 2**63, 2**64 - 32, 2**64 - 1)
#: Lists and objects grow by so much.
_REPEATS = 40


def change_bytes(data, choose):
    """Bytes with one change."""
    found = bytearray(data)
    at = choose.randrange(len(found) + 1)
    size = choose.choice((1, 1, 2, 4, 8, 16, 64))
    kind = choose.randrange(8)
    if kind == 0 and found:
        found[min(at, len(found) - 1)] ^= 1 << choose.randrange(8)
    elif kind == 1:
        found[at:at + size] = bytes(choose.randrange(256) for _ in range(size))
    elif kind == 2:
        del found[at:at + size]
    elif kind == 3:
        found[at:at] = found[at:at + size] * choose.choice((1, 2, 50))
    elif kind == 4:
        del found[at:]
    elif kind == 5:
        found[at:at + 8] = struct.pack("<Q", choose.choice(NUMBERS))
    elif kind == 6:
        found[at:at + 4] = struct.pack("<I", choose.choice(NUMBERS) & 0xFFFFFFFF)
    else:
        found[at:at] = choose.choice((b"\x1b[31m", b"\xff\xfe", b"\0" * 8, b"{", b'"', b"[" * 999))
    return bytes(found)


def _list_places(value, path=()):
    """The paths of all values in a value."""
    yield path
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    for key, each in items:
        yield from _list_places(each, (*path, key))


def change_json(data, choose):
    """Text of JSON in which one value, or the name of a member, is another one."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return change_bytes(data, choose)
    path = choose.choice(list(_list_places(value)))
    mark = "blockscale-mutant"
    text = choose.choice(VALUES)
    if not path:
        return text.encode()
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    kind, last = choose.randrange(6), path[-1]
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder[last:last] = [holder[last]] * _REPEATS
    elif kind == 1:
        holder.update({f"{last}{number}": holder[last] for number in range(_REPEATS)})
    elif kind == 2 and isinstance(holder, dict):
        holder[mark] = holder.pop(last)
        text = text if text.startswith('"') else json.dumps(str(choose.choice(list(holder))))
    else:
        holder[last] = mark
    return json.dumps(value).replace(f'"{mark}"', text).encode()


def change_header(data, choose):
    """A file of safetensors with another header, whose length is told rightly."""
    size = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else 0
    if len(data) < 8 + size or choose.randrange(4) == 0:
        return change_bytes(data[:8 + size], choose) + data[8 + size:]
    change = choose.choice((change_json, change_json, change_json, change_bytes))
    text = change(data[8:8 + size], choose)
    return struct.pack("<Q", len(text)) + text + data[8 + size:]


def change_metadata(data, choose):
    """The same for text of JSON that metadata of the header have."""
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    key = choose.choice(list(header["__metadata__"]))
    change = choose.choice((change_json, change_json, change_bytes))
    header["__metadata__"][key] = change(header["__metadata__"][key].encode(), choose).decode(
        "utf-8", "replace")
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size:]


def change_start(data, choose):
    """Bytes at the begin of a large file, which are its header."""
    return change_bytes(data[:1 << 12], choose) + data[1 << 12:]


def change_text(data, choose):
    """Text of JSON, by its values or by its bytes."""
    return choose.choice((change_json, change_json, change_bytes))(data, choose)


def list_mutants(data, change, seed, count):
    """Mutants of the bytes of a file."""
    for number in range(count):
        choose = random.Random(f"{seed} {number}")
        found = data
        for _ in range(choose.choice((1, 1, 1, 2, 3))):
            try:
                found = change(found, choose)
            except (ValueError, KeyError, IndexError, TypeError, struct.error):
                # What was changed before is no file of the kind any more.
                found = change_bytes(found, choose)
        yield found

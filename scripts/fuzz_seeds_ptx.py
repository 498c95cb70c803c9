#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes PTX of the tests, and of our compiler, as inputs of blockscale-fuzz-ptx.

  scripts/fuzz_seeds_ptx.py FOLDER [BLOCKSCALE_COMPILE]

Whole kernels where they are small; of large ones also stretches of their code
without branches, each a kernel with the same declarations. A file is named after
its content; FOLDER is emptied first.
"""

import gzip
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_BYTES = 32768
STRETCH = 60
HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"
# What the bodies in the unit tests have around them.
FRAME = """.visible .entry kernel(.param .b64 from, .param .b64 to) {
.reg .b64 %a, %d, %from, %to, %q<16>;
.reg .b32 %t, %r<160>;
.reg .b16 %h<16>;
.reg .b128 %w<2>;
.reg .pred %p<16>;
.shared .align 128 .b8 a[4096];
.shared .align 128 .b8 b[512];
.shared .align 8 .b8 bar[8];
.shared .align 128 .b8 data[4096];
.shared .align 4 .b8 slot[4];
mov.u32 %t, %tid.x;
ld.param.b64 %from, [from];
ld.param.b64 %to, [to];
BODY
ret;
}
"""
MODULES = ("examples/quantize.mlir", "test/Emulator/Inputs/mxfp8.mlir")


def code_lines(text):
    """Without comments, debug sections and blank lines."""
    text = re.sub(r"\.section\s*\S*\s*\{.*?\}", "", text, flags=re.S)
    lines = (re.sub(r"\s*//.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines
            if line and not line.startswith((".file", ".loc", "$L__tmp", "$L__func"))]


def kernels(text):
    """Each kernel with what the module declares before the first one."""
    lines = code_lines(text)
    starts = [i for i, line in enumerate(lines) if ".entry" in line]
    for start, end in zip(starts, starts[1:] + [len(lines)]):
        yield lines[:starts[0]], lines[start:end]


def stretches(prelude, kernel):
    """Straight code between the kernel's labels and branches."""
    opening = kernel.index("{") + 1
    body = kernel[opening:]
    declarations = [line for line in body if line.startswith((".reg", ".shared", ".local"))]
    code = [line for line in body if not line.startswith(".")]
    run = []
    for line in [*code, "}"]:
        if re.match(r"[$\w]+:|}|(@!?%\w+ )?(bra|ret|exit)\b", line) or len(run) == STRETCH:
            if len(run) > 4:
                yield [*prelude, *kernel[:opening], *declarations, *run, "ret;", "}"]
            run = []
        else:
            run.append(line)


def modules_of(text):
    for prelude, kernel in kernels(text):
        whole = "\n".join([*prelude, *kernel]) + "\n"
        if len(whole) <= MAX_BYTES:
            yield whole
        else:
            for lines in stretches(prelude, kernel):
                yield "\n".join(lines) + "\n"


def unit_test_texts():
    for path in sorted((ROOT / "emulator/unittests").rglob("*.cpp")):
        for text in re.findall(r'R"\((.*?)\)"', path.read_text(encoding="utf-8"), re.S):
            if ".version" in text:
                yield text
            elif ".entry" in text or ".func" in text:
                yield HEADER + text
            else:
                yield HEADER + FRAME.replace("BODY", text)


def write_seeds(folder, compiler=None):
    """Fills `folder`; returns the number of inputs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = list(unit_test_texts())
    for path in sorted((ROOT / "test/Data/compilers").glob("*.ptx.gz")):
        texts += modules_of(gzip.decompress(path.read_bytes()).decode())
    for module in MODULES if compiler else ():
        texts += modules_of(subprocess.run(
            [compiler, ROOT / module, "--target=sm_100a", "--emit=ptx", "-o", "-"],
            check=True, capture_output=True, text=True).stdout)
    for text in texts:
        data = text.encode()
        if len(data) <= MAX_BYTES:
            (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)
    return sum(1 for _ in folder.iterdir())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: {sys.argv[0]} FOLDER [BLOCKSCALE_COMPILE]")
    print(f"{write_seeds(Path(sys.argv[1]), *sys.argv[2:])} inputs")

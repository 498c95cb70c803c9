# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the machine code of a kernel says of its speed, from nvdisasm's text."""

import heapq
import re
from dataclasses import dataclass, field

SECTION = re.compile(r"^\s*\.section\s+(\.\S+?),|^//-+ (\.\S+)")
LABEL = re.compile(r"^(\.L_\S+|\$\S+):")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z]\S*)\s*(.*?)\s*;")
TARGET = re.compile(r"`\((\.L_[^)]+)\)")
WIDTHS = {".256": 32, ".128": 16, ".64": 8, ".U16": 2, ".S16": 2, ".16": 2, ".U8": 1, ".S8": 1}


@dataclass
class Instruction:
    guard: str
    opcode: str
    operands: str

    def starts(self, *names):
        return self.opcode.split(".")[0] in names

    @property
    def target(self):
        match = TARGET.search(self.operands)
        return match and match[1]

    @property
    def is_conditional(self):
        return self.guard is not None or bool(re.match(r"!?U?P\d", self.operands))

    @property
    def bytes(self):
        """Of a memory access."""
        return next((width for text, width in WIDTHS.items() if text in self.opcode), 4)

    @property
    def loaded_registers(self):
        """Of a load: each operand before the address begins as many as are left of the
        access."""
        names = [int(name) for name in re.findall(r"\bR(\d+)", self.operands.split("desc")[0]
                                                  .split("[")[0])]
        words = max(1, self.bytes // 4 // max(1, len(names)))
        return {name + i for name in names for i in range(words)}

    def uses(self, registers):
        return any(int(name) in registers for name in re.findall(r"\bR(\d+)", self.operands))


@dataclass
class Kernel:
    instructions: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)

    def trim(self):
        """Without the padding behind the code and the endless loop that it begins with."""
        while self.instructions and (self.instructions[-1].starts("NOP") or self.is_trap()):
            self.instructions.pop()
        return self

    def is_trap(self):
        last = self.instructions[-1]
        return last.starts("BRA") and self.labels.get(last.target) == len(self.instructions) - 1

    def find_main_path(self):
        """The instructions of the way from the entry to an exit, outside of loops, that moves
        the most bytes of global memory, and the shortest of these; [] where none loads and
        stores."""
        blocks, after = self.find_blocks()
        looping = {start for start in blocks if is_reachable(after, start, start)}
        for start in looping:
            del after[start]

        # Of each block from which an exit is reached: bytes, minus the length, the way.
        best, todo = {}, [0] if 0 in after else []
        while todo:
            start = todo[-1]
            open_blocks = [each for each in after[start] if each in after and each not in best]
            if open_blocks:
                todo += open_blocks
                continue
            todo.pop()
            block = blocks[start]
            ends = block[-1].starts("EXIT") and not block[-1].is_conditional
            rest = max((best[each] for each in after[start] if best.get(each)),
                       default=(0, 0, ()) if ends else None)
            moved = sum(each.bytes for each in block if each.starts("LDG", "LDGSTS", "STG"))
            best[start] = rest and (rest[0] + moved, rest[1] - len(block), (start, *rest[2]))
        way = best.get(0)
        path = [each for at in way[2] for each in blocks[at]] if way else []
        does_all = all(any(each.starts(*opcodes) for each in path)
                       for opcodes in (("LDG", "LDGSTS"), ("STG",)))
        return path if does_all else []

    def find_blocks(self):
        """The instructions of each basic block, and where those begin that may follow it, by where
        it begins."""
        count = len(self.instructions)
        starts = sorted({0, *(at for at in self.labels.values() if at < count),
                         *(i + 1 for i, each in enumerate(self.instructions[:-1])
                           if each.starts("BRA", "EXIT", "RET"))})
        blocks = {start: self.instructions[start:end]
                  for start, end in zip(starts, [*starts[1:], count])}
        return blocks, {start: self.find_successors(start, blocks) for start in starts}

    def find_shortest_turn(self, begin, end):
        """The instructions of the shortest way through a loop, from the first one at `begin` to
        the branch back at `end`."""
        blocks, after = self.find_blocks()
        found, todo = {}, [(0, begin, ())]
        while todo:
            length, start, before = heapq.heappop(todo)
            if start in found:
                continue
            found[start] = way = (*before, start)
            length += len(blocks[start])
            if start <= end < start + len(blocks[start]):
                return [each for at in way for each in blocks[at]]
            for following in after[start]:
                heapq.heappush(todo, (length, following, way))
        return []

    def find_successors(self, start, blocks):
        block = blocks[start]
        last, following = block[-1], start + len(block)
        successors = []
        if last.starts("BRA") and last.target in self.labels:
            successors.append(self.labels[last.target])
        ends = last.starts("BRA", "EXIT", "RET") and not last.is_conditional
        if not ends and following in blocks:
            successors.append(following)
        return successors


def is_reachable(after, start, goal):
    """By one step at least."""
    seen, todo = set(), list(after[start])
    while todo:
        at = todo.pop()
        if at == goal:
            return True
        if at not in seen:
            seen.add(at)
            todo += after[at]
    return False


def parse(text):
    """The kernels in what `nvdisasm -c` prints, by name."""
    kernels, current = {}, None
    for line in text.splitlines():
        if match := SECTION.match(line):
            section = match[1] or match[2]
            current = None
            if section.startswith(".text."):
                current = kernels.setdefault(section[len(".text."):], Kernel())
        elif current and (match := LABEL.match(line)):
            current.labels[match[1]] = len(current.instructions)
        elif current and (match := INSTRUCTION.match(line)):
            current.instructions.append(Instruction(*match.groups()))
    return {name: kernel.trim() for name, kernel in kernels.items()}


def bytes_before_first_use(path):
    """Of global memory, that are loaded before an instruction waits for any of them."""
    total, registers = 0, set()
    for each in path:
        if each.uses(registers) or each.starts("DEPBAR", "LDGDEPBAR"):
            break
        if each.starts("LDG"):
            registers |= each.loaded_registers
            total += each.bytes
        elif each.starts("LDGSTS"):
            total += each.bytes
    return total


def count_threads_per_sm(chip, threads, registers, shared_bytes):
    """That fit, from the limits of NVIDIA's occupancy tables."""
    shared = (164 if chip.startswith("sm_80") else 228) << 10
    warps = threads // 32
    warp_registers = -(-registers * 32 // 256) * 256
    blocks = min(2048 // threads, 32, 65536 // (warp_registers * warps),
                 shared // (shared_bytes + 1024))
    return blocks * threads

# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of a PTX kernel where one small change makes a faulty program: waits,
fences, announced bytes, commits, arrivals, barriers and their counts, masks of
CTAs, coordinates of tiles, cells of tensor memory, constants of descriptors, and
the terms that swizzle an address. Where products take an operand from registers, also
the products, what decodes their operand, the bytes of scales that are loaded, and the
comparisons by which tails are left out. Of block-scaled products of a warp, also the addresses
of fragments, and which scales they take; of plain ones, which pieces are copied, too. Knows PTX
as text, nothing of any kernel.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Mutation:
    """`line` (from 0) replaced by `text`; `what` says how, `kind` which class."""
    line: int
    text: str
    kind: str
    what: str


# What is deleted as it stands.
_DELETED = [
    ("wait", (r"(bar|barrier)\.(sync|cta|cluster)|bar\.warp\.sync|cp\.async\.bulk\.wait_group"
              r"|cp\.async\.wait_(group|all)|tcgen05\.wait::(ld|st)|wgmma\.wait_group")),
    ("fence", r"fence\.|membar|tcgen05\.fence|wgmma\.fence"),
    ("commit", (r"tcgen05\.commit|cp\.async\.(bulk\.)?commit_group|wgmma\.commit_group"
                r"|cp\.async\.mbarrier\.arrive")),
    ("copy", r"tcgen05\.cp"),
    ("arrival", r"mbarrier\.arrive(?!.*expect_tx)"),
]
_INSTRUCTION = re.compile(r"^(\s*)(@!?%?\w+\s+)?([a-z][\w.:]*)(\s*)(.*?);(.*)$")
_REGISTER = re.compile(r"%[a-z]+\d+|%\w+")
_INTEGER = re.compile(r"(?<![\w%$.])-?\d+(?![\w.])")
# Instructions through which a constant reaches a descriptor or an address.
_ARITHMETIC = re.compile(
    r"(mov|or|and|xor|add|sub|shl|shr|mad|mul|bfi|bfe|lop3|shf|prmt|selp|cvt)\b")
_SHARED = re.compile(
    r"(ld|st)\.shared|stmatrix|ldmatrix|st\.global\.b8|st\.global\.v?\d?\.?b(8|16|32)")


class Kernel:
    """The lines of one kernel and who defines its registers."""

    def __init__(self, lines, name):
        self.lines = lines
        first = next(i for i, line in enumerate(lines)
                     if ".entry" in line and re.search(rf"\b{re.escape(name)}\b", line))
        first = next(i for i in range(first, len(lines)) if lines[i].strip() == "{")
        # Blocks of inline assembly have braces of their own.
        depth, last = 0, first
        for last in range(first, len(lines)):
            code = lines[last].split("//")[0]
            depth += code.count("{") - code.count("}")
            if depth == 0:
                break
        self.instructions = {}
        self.definitions = {}
        for i in range(first, last):
            if match := _INSTRUCTION.match(lines[i]):
                if match[3] in ("ret", "exit"):
                    continue
                self.instructions[i] = match
                target = _REGISTER.match(match[5].lstrip("{ "))
                if target and not match[3].startswith(("st", "bra", "tcgen05.mma", "mbarrier")):
                    self.definitions.setdefault(target[0], []).append(i)

    def reaching(self, registers, depth, arithmetic=_ARITHMETIC):
        """Lines of arithmetic whose results reach these registers, nearest first."""
        seen, frontier = {}, list(registers)
        for _ in range(depth):
            following = []
            for register in frontier:
                for line in self.definitions.get(register, []):
                    match = self.instructions[line]
                    if line in seen or not arithmetic.match(match[3]):
                        continue
                    seen[line] = None
                    following += _REGISTER.findall(match[5])[1:]
            frontier = following
        return list(seen)


def _replace(match, instruction, operands):
    return f"{match[1]}{match[2] or ''}{instruction}{match[4]}{operands};{match[6]}"


def _constants(kernel, line, kind, changes):
    """The integers of a line, each altered in each way."""
    match = kernel.instructions[line]
    for number in list(_INTEGER.finditer(match[5])):
        value = int(number[0])
        for change in changes:
            altered = change(value)
            if altered == value:
                continue
            operands = match[5][:number.start()] + str(altered) + match[5][number.end():]
            yield Mutation(line, _replace(match, match[3], operands), kind, f"{value} -> {altered}")


def _flip(bit):
    return lambda value: value ^ (1 << bit)


def _waits_and_fences(kernel):
    for line, match in kernel.instructions.items():
        opcode = match[3]
        for kind, pattern in _DELETED:
            if re.match(pattern, opcode):
                yield Mutation(line, f"// {kernel.lines[line].strip()}", kind, "deleted")
        if re.match(r"mbarrier\.(try|test)_wait", opcode):
            predicate = match[5].split(",")[0]
            yield Mutation(line, f"{match[1]}mov.pred {predicate}, -1;", "wait", "always true")
            if "parity" in opcode and (parity := re.search(r", (%\w+)$", match[5])):
                flipped = (f"{match[1]}{{ .reg .b32 %flipped; xor.b32 %flipped, {parity[1]}, 1; "
                           + _replace(match, opcode, match[5].replace(parity[0], ", %flipped"))
                           .strip() + " }")
                yield Mutation(line, flipped, "wait", "other parity")
        if "expect_tx" in opcode:
            yield from _constants(kernel, line, "expect_tx",
                                  [lambda v: v + 16, lambda v: v - 16, lambda v: 0])
            yield Mutation(line, f"// {kernel.lines[line].strip()}", "expect_tx", "deleted")


def _descriptors(kernel):
    """Constants that reach the descriptors of products and of copies to tensor
    memory: single bits of each."""
    registers = set()
    for match in kernel.instructions.values():
        if re.match(r"(tcgen05\.(mma|cp)|wgmma\.mma_async)", match[3]):
            outside = re.sub(r"\{.*?\}|\[.*?\]", "", match[5])
            registers.update(_REGISTER.findall(outside))
    lines = [line for line in kernel.reaching(sorted(registers), 3)
             if re.match(r"(mov|or|selp|and)\.b(32|64)|add\.s64", kernel.instructions[line][3])]
    for line in lines:
        wide = kernel.instructions[line][3].endswith(("64",))
        bits = (0, 6, 16, 20, 32, 36, 46, 62) if wide else (4, 7, 10, 13, 17, 23, 24, 29)
        yield from _constants(kernel, line, "descriptor", [_flip(bit) for bit in bits])


def _swizzles(kernel):
    """Masks, shifts and exclusive ors in the addresses of shared memory, and of
    narrow stores (scales) to global memory."""
    registers = set()
    for match in kernel.instructions.values():
        if _SHARED.match(match[3]) and (address := re.search(r"\[(.*?)\]", match[5])):
            registers.update(_REGISTER.findall(address[1]))
    for line in kernel.reaching(sorted(registers), 4):
        if re.match(r"(xor|and|shl|shr|bfi|bfe|lop3)", kernel.instructions[line][3]):
            yield from _constants(kernel, line, "swizzle", [_flip(0), _flip(4), _flip(6)])


# Products of an operand in registers: its registers are the second list.
_REGISTER_PRODUCT = re.compile(r"\{[^{}]*\}, \{([^{}]*)\}, %rd")
# How a constant that decodes changes, by the instruction: a mask loses its lowest bit, and a
# shift, which may be a multiplication, is one more.
_DECODES = (
    (re.compile(r"and\.b"), lambda value: value & (value - 1)),
    (re.compile(r"mul\.lo"), lambda value: 2 * value),
    (re.compile(r"(shl|shr)\."), lambda value: value + 1),
    (re.compile(r"(or|xor|add|sub|mov|bfe|bfi|prmt|lop3)\."), _flip(0)),
)
_OTHER_COMPARISON = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}


def _register_products(kernel):
    """Each product is left out, and waits for one group less; constants that decode change;
    bytes of scales are the next ones; comparisons hold for one number more or less."""
    registers = set()
    for line, match in kernel.instructions.items():
        if match[3].startswith("wgmma.mma_async") and (
                operand := _REGISTER_PRODUCT.match(match[5])):
            registers.update(_REGISTER.findall(operand[1]))
            yield Mutation(line, f"// {kernel.lines[line].strip()}", "product", "deleted")
    if not registers:
        return
    for line in kernel.reaching(sorted(registers), 12):
        for pattern, change in _DECODES:
            if pattern.match(kernel.instructions[line][3]):
                yield from _constants(kernel, line, "decode", [change])
    for line, match in kernel.instructions.items():
        opcode = match[3]
        if opcode.startswith("wgmma.wait_group"):
            yield from _constants(kernel, line, "wait", [lambda v: v + 1])
        if re.match(r"ld\.(shared|global)\.b8", opcode):
            yield Mutation(line, _moved(match, _OFFSET.search(match[5]), 1), "byte", "the next one")
    yield from _tails(kernel)


def _tails(kernel):
    """Comparisons hold for one number more or less."""
    for line, match in kernel.instructions.items():
        opcode = match[3]
        if comparison := re.match(r"setp\.(lt|le|gt|ge)\.[su]", opcode):
            other = opcode.replace(comparison[1], _OTHER_COMPARISON[comparison[1]], 1)
            yield Mutation(line, _replace(match, other, match[5]), "tail", f"{opcode} -> {other}")


# Block-scaled products of a warp: the results, the addends, and for each operand the scales and
# the numbers of their byte and of the thread that has them. Which thread does not matter where
# all those that may be named have loaded the same scales.
_WARP_PRODUCT = re.compile(r"\{([^{}]*)\}, \{[^{}]*\}, \{[^{}]*\}, \{([^{}]*)\}, "
                           r"(%\w+), \{(%\w+), %\w+\}, (%\w+), \{(%\w+), %\w+\}")


def _warp_products(kernel):
    """Each product is left out, and takes the scales of the other operand and of another byte;
    fragments begin 16 bytes behind their place; constants that bring scales to
    their place change; comparisons hold for one number more or less."""
    scales = set()
    for line, match in kernel.instructions.items():
        if not match[3].startswith("mma.sync") or not (
                parts := _WARP_PRODUCT.fullmatch(match[5])):
            continue
        pairs = zip(parts[1].split(","), parts[2].split(","))
        yield Mutation(line, " ".join(f"mov.b32 {to.strip()}, {of.strip()};" for to, of in pairs),
                       "product", "deleted")
        scales |= {parts[3], parts[5]}
        for side, scale, other in (("a", 3, 5), ("b", 5, 3)):
            operands = match[5][:parts.start(scale)] + parts[other] + match[5][parts.end(scale):]
            yield Mutation(line, _replace(match, match[3], operands), "scale",
                           f"of the other operand for {side}")
            byte = scale + 1
            operands = match[5][:parts.start(byte)] + "%other" + match[5][parts.end(byte):]
            text = (f"{{ .reg .b16 %other; xor.b16 %other, {parts[byte]}, 1; "
                    f"{_replace(match, match[3], operands).strip()} }}")
            yield Mutation(line, text, "scale", f"of another byte for {side}")
    if not scales:
        return
    for line in kernel.reaching(sorted(scales), 3):
        for pattern, change in _DECODES:
            if pattern.match(kernel.instructions[line][3]):
                yield from _constants(kernel, line, "decode", [change])
    for line, match in kernel.instructions.items():
        if match[3].startswith("ldmatrix"):
            yield Mutation(line, _moved(match, _OFFSET.search(match[5]), 16), "fragment",
                           "16 bytes behind it")
    yield from _tails(kernel)


# Plain products of a warp: the results, an operand each, and the addends.
_PLAIN_PRODUCT = re.compile(r"\{([^{}]*)\}, \{([^{}]*)\}, \{([^{}]*)\}, \{([^{}]*)\}")
# Through which its operands are decoded.
_DECODING = re.compile(rf"{_ARITHMETIC.pattern}|fma\b")
_COPY = re.compile(r"(\[.*?\], \[.*?\]), (\d+), (%\w+)")


def _plain_products(kernel):
    """Each product is left out; constants that decode change; scales are those of the next byte,
    and words of operands and sums those 16 bytes behind them; pieces are copied 16 bytes behind
    their place, and whole where they end before; waits are for one group less; comparisons hold
    for one number more or less."""
    operands = set()
    for line, match in kernel.instructions.items():
        parts = match[3].startswith("mma.sync") and _PLAIN_PRODUCT.fullmatch(match[5])
        if not parts:
            continue
        pairs = zip(parts[1].split(","), parts[4].split(","))
        yield Mutation(line, " ".join(f"mov.b32 {to.strip()}, {of.strip()};" for to, of in pairs),
                       "product", "deleted")
        operands.update(_REGISTER.findall(parts[2] + parts[3]))
    if not operands:
        return
    for line in kernel.reaching(sorted(operands), 12, _DECODING):
        for pattern, change in _DECODES:
            if pattern.match(kernel.instructions[line][3]):
                yield from _constants(kernel, line, "decode", [change])
    for line, match in kernel.instructions.items():
        opcode = match[3]
        if opcode.startswith("cp.async.wait_group"):
            yield from _constants(kernel, line, "wait", [lambda v: v + 1])
        elif piece := opcode.startswith("cp.async.c") and _COPY.fullmatch(match[5]):
            yield Mutation(line, _moved(match, _OFFSET.search(match[5]), 16), "piece",
                           "16 bytes behind it")
            yield Mutation(line, _replace(match, opcode, f"{piece[1]}, {piece[2]}, {piece[2]}"),
                           "piece", "all of it")
        elif re.match(r"ld\.(shared|global)\.b8", opcode):
            yield Mutation(line, _moved(match, _OFFSET.search(match[5]), 1), "byte", "the next one")
        elif re.match(r"ld\.shared\.(v\d\.)?b32", opcode):
            yield Mutation(line, _moved(match, _OFFSET.search(match[5]), 16), "fragment",
                           "16 bytes behind it")
    yield from _tails(kernel)


def split_statements(text):
    """The text with one statement on each line, and each on one."""
    text = re.sub(r"(?m)^\s*mma\.sync[^;]*;", lambda match: "\t" + " ".join(match[0].split()), text)
    lines = []
    for line in text.splitlines():
        code = line.split("//")[0]
        if code.count(";") < 2:
            lines.append(line)
            continue
        body = code.strip()
        is_block = body.startswith("{ ") and body.endswith("}")
        statements = (body[1:-1] if is_block else body).split(";")[:-1]
        lines += [*["{"] * is_block, *(f"\t{each.strip()};" for each in statements),
                  *["}"] * is_block]
    return "\n".join(lines) + "\n"


def probe_value(lines, mutation):
    """The kernel as it is, with a trap where the mutant's result differs; none for
    what has no result."""
    before, after = (_INSTRUCTION.match(text) for text in (lines[mutation.line], mutation.text))
    if (mutation.kind == "piece" and "all" in mutation.what
            and (piece := _COPY.fullmatch(before[5]))):
        text = (f"{{ .reg .pred %differs; setp.ne.b32 %differs, {piece[3]}, {piece[2]}; "
                f"@%differs trap; {lines[mutation.line].strip()} }}")
        return apply(lines, dataclasses.replace(mutation, text=text))
    if mutation.kind not in ("descriptor", "swizzle", "decode", "tail") or not before or not after:
        return None
    if mutation.kind == "tail":
        return _probe_comparison(lines, mutation, before, after)
    width = re.search(r"(16|32|64)$", before[3])
    target = _REGISTER.match(before[5])
    if not width or not target:
        return None
    guard = before[2] or ""

    def into(match, register):
        return f"{guard}{match[3]} {register}{match[5][target.end():]};"
    text = (f"{{ .reg .pred %differs; .reg .b{width[1]} %asis, %mutant; "
            f"mov.b{width[1]} %asis, 0; mov.b{width[1]} %mutant, 0; "
            f"{into(before, '%asis')} {into(after, '%mutant')} "
            f"setp.ne.b{width[1]} %differs, %asis, %mutant; @%differs trap; "
            f"{guard}mov.b{width[1]} {target[0]}, %asis; }}")
    return apply(lines, dataclasses.replace(mutation, text=text))


def _probe_comparison(lines, mutation, before, after):
    target = _REGISTER.match(before[5])
    asis, mutant = (f"{before[2] or ''}{match[3]} {name}{match[5][target.end():]};"
                    for match, name in ((before, "%asis"), (after, "%mutant")))
    text = (f"{{ .reg .pred %differs, %asis, %mutant; mov.pred %asis, 0; mov.pred %mutant, 0; "
            f"{asis} {mutant} xor.pred %differs, %asis, %mutant; @%differs trap; "
            f"{before[2] or ''}mov.pred {target[0]}, %asis; }}")
    return apply(lines, dataclasses.replace(mutation, text=text))


def probe_execution(lines, mutation):
    """The kernel as it is, with a trap in the place of the instruction."""
    match = _INSTRUCTION.match(lines[mutation.line])
    return apply(lines, dataclasses.replace(mutation, text=f"{match[2] or ''}trap;"))


_BARRIER_USE = re.compile(
    r"tcgen05\.commit|mbarrier\.(arrive|try_wait|test_wait)|cp\.async\.bulk.*mbarrier")
_CELL_USE = re.compile(r"tcgen05\.(mma|cp|ld|st)")
_COORDINATES = re.compile(r"\{([^{}]*)\}\]")
_OFFSET = re.compile(r"\[([^\[\],{}]*)\]")
# How far the parts of an address of tensor memory move: a column of scales and four, and
# the lanes of another warp.
_CELLS = (1, 4, 32 << 16)


def _moved(match, place, by):
    """The instruction with the bytes `by` added to the address between brackets."""
    operands = match[5]
    address = f"[{place[1]}+{by}]" if "+" not in place[1] else (
        "[{}+{}]".format(*(part if i == 0 else int(part) + by
                           for i, part in enumerate(place[1].rsplit("+", 1)))))
    return _replace(match, match[3], operands[:place.start()] + address + operands[place.end():])


def _barriers(kernel):
    """The barrier of each use is the next one, and that of another CTA; each is
    initialised to another count; masks of CTAs lack one or have one more."""
    registers, counts, masks = set(), set(), set()
    for line, match in kernel.instructions.items():
        if match[3].startswith("mbarrier.init"):
            counts.update(_REGISTER.findall(match[5].rsplit(",", 1)[1]))
            yield from (each for each in _constants(kernel, line, "count", [lambda v: v + 1])
                        if each.text.rsplit(",", 1)[0] == kernel.lines[line].rsplit(",", 1)[0])
        if not _BARRIER_USE.match(match[3]):
            continue
        places = list(_OFFSET.finditer(match[5]))
        if places:
            # The barrier of a copy is its last address, else there is one.
            place = places[-1]
            yield Mutation(line, _moved(match, place, 8), "barrier", "the next one")
            registers.update(_REGISTER.findall(place[1]))
        if "multicast" in match[3]:
            masks.update(_REGISTER.findall(match[5].rsplit(",", 1)[1]))
    for line in kernel.reaching(sorted(counts), 1):
        yield from _constants(kernel, line, "count", [lambda v: v + 1, lambda v: max(1, v - 1)])
    for line in kernel.reaching(sorted(masks), 3):
        yield from _constants(kernel, line, "mask", [_flip(0), _flip(1)])
    for line in kernel.reaching(sorted(registers), 3):
        if re.match(r"(and|or|xor)\.b(32|64)", kernel.instructions[line][3]):
            yield from _constants(kernel, line, "barrier", [_flip(24)])


def _displaced_commits(kernel):
    """A commit in front of the tensor core's instruction before it."""
    order = sorted(kernel.instructions)
    for line in order:
        if not kernel.instructions[line][3].startswith("tcgen05.commit"):
            continue
        before = [each for each in order if each < line
                  and re.match(r"tcgen05\.(mma|cp)", kernel.instructions[each][3])]
        if before:
            commit = kernel.lines[line].strip()
            yield Mutation(before[-1], f"{commit} {kernel.lines[before[-1]].strip()}", "commit",
                           f"that of line {line + 1} stands before it")


def _tiles(kernel):
    """Each coordinate of a tile moves: by 16 elements of a row, which keeps rows aligned,
    and by one of the others."""
    for line, match in kernel.instructions.items():
        if not match[3].startswith("cp.async.bulk.tensor"):
            continue
        found = _COORDINATES.search(match[5])
        names = [name.strip() for name in found[1].split(",")]
        for i, name in enumerate(names):
            moved = ", ".join("%moved" if i == j else each for j, each in enumerate(names))
            operands = match[5][:found.start(1)] + moved + match[5][found.end(1):]
            text = (f"{{ .reg .b32 %moved; add.s32 %moved, {name}, {16 if i == 0 else 1}; "
                    f"{_replace(match, match[3], operands).strip()} }}")
            yield Mutation(line, text, "tile", f"coordinate {i}")


def _cells(kernel):
    """Each address of tensor memory moves."""
    for line, match in kernel.instructions.items():
        if not _CELL_USE.match(match[3]):
            continue
        for i, place in enumerate(_OFFSET.finditer(match[5])):
            for by in _CELLS:
                yield Mutation(line, _moved(match, place, by), "cell", f"address {i} + {by:#x}")


def find_mutations(text, name):
    """All of them, in the order of the text; and the lines they refer to."""
    lines = text.splitlines()
    kernel = Kernel(lines, name)
    found = {}
    for source in (_waits_and_fences, _barriers, _displaced_commits, _tiles, _cells,
                   _descriptors, _swizzles, _register_products, _warp_products,
                   _plain_products):
        for mutation in source(kernel):
            found.setdefault((mutation.line, mutation.text), mutation)
    return lines, sorted(found.values(), key=lambda m: (m.line, m.what))


def apply(lines, mutation):
    return "\n".join(lines[:mutation.line] + [mutation.text] + lines[mutation.line + 1:]) + "\n"

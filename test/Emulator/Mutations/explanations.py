# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a mutant is not caught.

In kernels of others a barrier that is deleted without a report was not needed in this
launch: the log of races knows of every access who has waited for whom. What stands around
the barrier says why; the rest is said by rules, of which the first match counts.

In the project's own products no reason is the silence of the emulator: there are rules only,
each for one line with what stands around it, whose reason is in the PTX ISA or the kernel.
"""

import re

_BARRIER = re.compile(r"(bar|barrier)\.(sync|cta)|barrier\.cluster\.(arrive|wait)")
_ACCESS = re.compile(r"(ld|st|red|atom)\.(\w+\.)*shared|[ls][td]matrix|mbarrier|cp\.|st\.async"
                     r"|red\.async|tcgen05\.(?!wait|fence)|wgmma\.(?!fence)|fence\.mbarrier_init")
# What one thread or warp does; an mbarrier tells others that it is done.
_OF_ONE = re.compile(r"@!?%\w+ "
                     r"(mbarrier\.(init|inval|arrive)|cp\.async\.bulk\.|tcgen05\.(mma|cp|commit))"
                     r"|(@!?%\w+ )?tcgen05\.(alloc|relinquish|dealloc)"
                     r"|cp\.async\.bulk\.(commit|wait)_group|fence\.mbarrier_init")
_ALONE = "one thread or warp works alone, and mbarriers tell others when it is done"
_WAIT_LOOP = re.compile(r"mbarrier\.(try|test)_wait")
_LOCAL_LABEL = re.compile(r"(waitLoop|skipWait|WAIT)\b")


def _code(line):
    return re.sub(r"\s+", " ", line.split("//")[0]).strip()


def _unguarded(code):
    return re.sub(r"^@!?%?\w+ ", "", code)


def _forwards(lines, index):
    """Accesses behind a line, and what ends them: 'barrier', 'ret' or 'branch'."""
    accesses = []
    for line in lines[index + 1:]:
        code = _code(line)
        bare = _unguarded(code)
        if _BARRIER.match(bare):
            return accesses, "barrier"
        if bare.startswith(("ret", "exit")):
            return accesses, "ret"
        if re.match(r"brx?\b|bra\b", bare) and not _LOCAL_LABEL.search(bare):
            return accesses, "branch"
        if _ACCESS.match(bare):
            accesses.append(code)
    return accesses, "ret"


def _backwards(lines, index, seen=()):
    """The same before a line, from the nearest on, for each way that leads there."""
    accesses = []
    for i in range(index - 1, -1, -1):
        code = _code(lines[i])
        bare = _unguarded(code)
        if _BARRIER.match(bare):
            return [(accesses, "barrier")]
        if bare.startswith(("ret", "exit", ".entry", ".visible")) or (
                code.startswith(("bra.uni", "bra ")) and not _LOCAL_LABEL.search(code)):
            return [(accesses, "start")] if "entry" in code else []
        if code.startswith("$") and code.endswith(":"):
            if i in seen:
                return []
            name = code[:-1]
            ways = [way for j, line in enumerate(lines)
                    if re.search(rf"\bbra(\.uni)? {re.escape(name)};", _code(line))
                    for way in _backwards(lines, j, (*seen, i))]
            return [(accesses + more, end) for more, end in ways + _backwards(lines, i, (*seen, i))]
        if _ACCESS.match(bare):
            accesses.append(code)
    return [(accesses, "start")]


def _explain_barrier(lines, index):
    """Why nobody misses a barrier, by what stands before and behind it."""
    ways = _backwards(lines, index)
    behind, end = _forwards(lines, index)
    nearest = [accesses[0] for accesses, _ in ways if accesses]
    if end == "barrier" and not behind:
        return "another barrier stands behind it, with no access between"
    if all(end == "barrier" and not accesses for accesses, end in ways):
        return "another barrier stands before it, with no access between"
    if end == "ret" and not behind:
        return "nothing is accessed behind it"
    if (behind and _WAIT_LOOP.search(behind[0])) or all(map(_WAIT_LOOP.search, nearest)):
        return "every thread waits for the mbarrier itself"
    if all(access.startswith("wgmma.wait_group") for access in nearest):
        return "wgmma.wait_group has waited for the products of all warps of the one warpgroup"
    if end == "barrier" and all(map(_OF_ONE.match, behind)):
        return f"up to the barrier behind it {_ALONE}"
    if all(end == "barrier" and all(map(_OF_ONE.match, accesses)) for accesses, end in ways):
        return f"since the barrier before it {_ALONE}"
    return None


# Kernel; kind; line as it was, a bar, and the next access; what was changed; why.
_RULES = [
    ("", "descriptor", r"or\.b64 .*, 4611686293305294848;",
     r"-> 4611686293305360384|-> 4611686293306343424",
     "bits of the leading byte offset, which swizzled matrices of major K do not use"),
    ("", "wait", r"tcgen05\.wait::st", "deleted",
     "in this launch another tcgen05.wait::st of the warp comes before its cells are used"),
    ("", "wait", r"bar\.sync 0; \| @%p\d+ tcgen05\.relinquish", "deleted",
     ("the slot of the address of tensor memory, loaded before it, is written again behind later "
      "barriers")),
    ("triton_nvfp4_sm_100", "wait", r"bar\.sync 0; \| stmatrix", "deleted",
     ("what is stored before and behind it lies apart; the loop's other barriers stand before it "
      "is loaded")),
    ("triton_nvfp4_sm_100", "wait", r"bar\.sync 0; \| tcgen05\.ld", "deleted",
     "the loop ends with a barrier, since when one thread alone has done mbarrier.inval"),
    ("triton_nvfp4_sm_100", "wait", r"barrier\.sync 0; \| @%p\d+ tcgen05\.dealloc", "deleted",
     "a barrier stands behind the last access to tensor memory already"),
    ("triton_(nvfp4|mxfp8)(_tma)?_sm_100", "cell", r"@%p\d+ tcgen05\.st\.", r"address 0",
     "the zeros of the accumulator are not read: the predicate of the first product is false"),
    ("nvcc_copies", "fence", r"fence\.mbarrier_init", "deleted",
     "the threads of its CTA alone use the mbarrier, behind bar.sync"),
]


# Bits 16 to 29 of a descriptor of a matrix in shared memory.
_LEADING_OFFSET = 0x3FFF << 16
_CHANGED = re.compile(r"(-?\d+) -> (-?\d+)")

# Of the project's products: kernel; kind; the line before it, the line as it was and the two
# behind it; what was changed; why.
_ALLOCATED = ("tcgen05.alloc does not access the cells that it allocates; their address reaches "
              "the other warps through shared memory, behind the barrier")
_LEADING = ("it becomes bits of the leading byte offset of a descriptor, which means nothing where "
            "rows are swizzled")
_PRODUCT_RULES = [
    ("", "fence", (r"^(?!bar\.warp\.sync).* \| tcgen05\.fence::before_thread_sync; "
                   r"\| (bar\.sync|barrier\.cluster\.arrive)"), "deleted", _ALLOCATED),
    ("", "fence", (r"\| tcgen05\.fence::after_thread_sync; "
                   r"\| ld\.shared\.b32 %r\d+, \[blockscale_shared_memory\+\d+\];"), "deleted",
     _ALLOCATED),
    ("", "wait", r"\| bar\.warp\.sync -1; \|", "deleted",
     "what all threads of the warp execute behind it is .sync, and waits for all of them itself"),
    ("gemm_swiglu", "wait",
     r"\| tcgen05\.wait::ld\.sync\.aligned; \| add\.s32 .* \| tcgen05\.ld", "deleted",
     "the wait behind the next load is for this one, too, and its registers are read later"),
    # The step of a stage, times 16 plain rows of 8 units, or 64 of them.
    ("gemm_plain_splits", "descriptor", r"\| mov\.b32 %r\d+, [123]; \| ",
     r"[123] -> (102[567]|819[345]|13107[345])", _LEADING),
    ("gemm_plain_rows", "descriptor", r"\| mov\.b32 %r\d+, 1; \| ",
     r"1 -> (129|1025|8193|131073)", _LEADING),
    ("gemm_hopper", "fence", r"\| wgmma\.fence\.sync\.aligned; \| wgmma\.mma_async", "deleted",
     "since the fence before it only products of the same shape have accessed its registers"),
    ("gemm_hopper", "commit", r"\| wgmma\.commit_group", "deleted",
     "another group is closed before the next wait, which is for both"),
    # Between the products of the last elements of K.
    ("gemm_hopper", "wait", r"\| wgmma\.wait_group\.sync\.aligned 0; \| \$\w+: \| setp\.lt\.s32",
     r"deleted|0 -> 1",
     "in this launch another product and its wait come before the sums are read"),
    ("gemm_hopper_rows", "wait", r"^\$\w+: \| bar\.sync %r\d+, 128; \| add\.s32", "deleted",
     ("all warps of the warpgroup multiply behind what they read here, and their wgmma.wait_group, "
      "which is for the products of all, stands before the next store")),
    ("gemm_(hopper|warp)_rows", "tail",
     r"^add\.s32 (%r\d+), %r\d+, 8; \| setp\.le\.u32 %p\d+, \1, %r2;",
     "setp.le.u32 -> setp.lt.u32", "eight elements of a row may be stored one by one, too"),
    ("gemm_(hopper|mma)_rows", "tail", (r"^add\.s32 (%r\d+), \1, %r\d+; \| setp\.lt\.u32 %p\d+, "
                                        r"\1, %r\d+; \| @%p\d+ bra"), "setp.lt.u32 -> setp.le.u32",
     "the tile behind the last one has no rows"),
    # The first tile of a CTA behind the last group.
    ("gemm_warp_rows", "tail",
     (r"^mul\.lo\.s32 (%r\d+), .* \| setp\.ge\.u32 %p\d+, %r\d+, \1; "
      r"\| @%p\d+ bra"), "setp.ge.u32 -> setp.gt.u32", "the tile behind the last one has no rows"),
    ("gemm_(hopper_rows|mma_splits|plain_splits)", "swizzle",
     r"^setp\.ge\.u32 (%p\d+), .* \| shl\.b64 .* \| add\.s64 .* \| @\1 bra", r"[12] -> \d+",
     "in this launch whoever computes the address stores nothing there"),
    # The factor that finds NaN among codes of E4M3 (PlainPairs.cpp): of scales, which have another
    # one by then, and of elements.
    ("gemm_mma_splits", "decode",
     r"\| mov\.b32 (%r\d+), 1074806800; \| fma\.rn\.bf16x2 [^|]*, \1, ", "1074806800 -> 1074806801",
     ("times 2.265625, as times 2.25, what NaN has become, 480, overflows, and the largest scale, "
      "448, does not")),
    ("gemm_mma_rows", "decode",
     r"\| mov\.b32 (%r\d+), 2064677648; \| fma\.rn\.bf16x2 [^|]*, \1, ", "2064677648 -> 2064677649",
     "times 1.1328125 x 2^119, as times 1.125 x 2^119, 480 overflows, and 448 does not"),
    ("gemm_mma_splits", "tail",
     r"^add\.s32 (%r\d+), \1, 1; \| setp\.lt\.u32 (%p\d+), \1, %r\d+; \| mov\.b32 [^|]* \| @\2 bra",
     "setp.lt.u32 -> setp.le.u32",
     "nothing is copied of the stage behind the last one, which is zeros in shared memory"),
    # The comparison before it is that of a tile of scales with their number.
    ("gemm_mma_splits", "tail",
     (r"^setp\.lt\.u32 %p\d+, %r\d+, \d+; \| setp\.lt\.u32 (%p\d+), %r\d+, %r\d+; "
      r"\| selp\.b32 (%r\d+), 16, 0, %p\d+; \| selp\.b32 %r\d+, \2, 0, \1;"),
     "setp.lt.u32 -> setp.le.u32", "the scales of the stage behind the last one are not used"),
    ("gemm_mma_rows", "tail", (r"\| setp\.ge\.u32 (%p\d+), [^|]* \| @\1 bra [^|]* \| "
                               r"st\.global\.b16 \[[^|]*\], 0x0000;"), "setp.ge.u32 -> setp.gt.u32",
     "behind a row of no group is another one, whose first element is 0 as well"),
    ("gemm_mma_splits", "tail", r"^add\.s32 (%r\d+), %r\d+, 4; \| setp\.le\.u32 %p\d+, \1, %r\d+;",
     "setp.le.u32 -> setp.lt.u32", "four elements of a row may be stored one by one, too"),
]


def _around(lines, index):
    """A line of code and its neighbours: one before it, two behind it."""
    code = [(i, _code(line)) for i, line in enumerate(lines) if _code(line)]
    at = next(k for k, (i, _) in enumerate(code) if i == index)
    return " | ".join(text for _, text in code[max(0, at - 1):at + 3])


def _is_of_row(lines, mutation):
    """Whether a mutant of a product by cp.async copies pieces of rows that are not there: their
    size, 16 or 0, goes by one predicate alone, which is that of the row (MmaLoads.cpp: that of K
    stands beside it, or is true)."""
    code = _code(lines[mutation.line])
    text = "\n".join(map(_code, lines))
    if mutation.kind == "piece" and mutation.what == "all of it":
        size = code[:-1].rsplit(", ", 1)[1]
        return re.search(rf"^selp\.b32 {size}, 16, 0, %p\d+;$", text, re.M) is not None
    predicate = re.match(r"setp\.lt\.u32 (%p\d+),", code)
    if mutation.kind != "tail" or not predicate:
        return False
    sizes = re.findall(rf"^selp\.b32 (%r\d+), 16, 0, {predicate[1]};$", text, re.M)
    return any(re.search(rf"^cp\.async\.cg.*, 16, {size};$", text, re.M) for size in sizes)


def explain_product(kernel, mutation, lines):
    """`explain` of the project's own products."""
    around = _around(lines, mutation.line)
    if mutation.kind == "descriptor" and (changed := _CHANGED.fullmatch(mutation.what)):
        bits = int(changed[1]) ^ int(changed[2])
        if bits & ~_LEADING_OFFSET == 0 and re.match(r"(or|add|and)\.[bs]64",
                                                     _code(lines[mutation.line])):
            return "benign", ("the leading byte offset of a descriptor means nothing where rows "
                              "are swizzled, nor in copies of 32 rows of 16 bytes, which have no "
                              "second column")
    if kernel.startswith("gemm_mma_") and _is_of_row(lines, mutation):
        return "benign", "the rows are not stored"
    for pattern, kind, text, what, reason in _PRODUCT_RULES:
        if (re.search(pattern, kernel) and kind == mutation.kind and re.search(text, around)
                and re.fullmatch(what, mutation.what)):
            return "benign", reason
    return "unexplained", "no rule of explanations.py speaks of it"


def explain(kernel, mutation, lines):
    """'benign' and why; 'unexplained' where no rule speaks of it."""
    if kernel.startswith("gemm_"):
        return explain_product(kernel, mutation, lines)
    line = _code(lines[mutation.line])
    if (mutation.what == "deleted" and _BARRIER.match(line)
            and (reason := _explain_barrier(lines, mutation.line))):
        return "benign", reason
    accesses, _ = _forwards(lines, mutation.line)
    context = f"{line} | {accesses[0] if accesses else ''}"
    for pattern, kind, text, what, reason in _RULES:
        if (re.search(pattern, kernel) and kind == mutation.kind and re.search(text, context)
                and re.search(what, mutation.what)):
            return "benign", reason
    return "unexplained", "no rule of explanations.py speaks of it"

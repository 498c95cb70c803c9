# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns a matrix product for sm_100a into a kernel for SM90 that dumps its stages.

The text of the kernel stays as the compiler emitted it but for the instructions that SM90
lacks, each of which becomes what is written here. A text that has them in another form is
refused with StageDumpError.

    tcgen05.alloc      fills the stages with 0xEE, and gives 0 as the address
    tcgen05.commit     of a stage: copies the stage to the dump, then arrives at the same
                       barriers, those of the CTAs in the mask; of a sum: arrives alone
    tcgen05.ld         gives each register the address that it would come from
    tcgen05.cp, .mma, .fence, .wait, .dealloc, .relinquish_alloc_permit    nothing
    ld.shared, st.shared of scales behind K    nothing: the dump has what copies brought
    ld.global.v4.b64, st.global.v4.b64, add.rn.f32x2    two instructions of half the size

A pair of CTAs needs more: a copy for SM90 completes a barrier of the CTA that it writes to, not
of the pair's leader. So each CTA expects its own bytes. The warp that would be idle in the other
CTA dumps the stages there, and tells the leader, which waits for it before it commits. For this
there are barriers behind the kernel's shared memory.
"""

import json
import re
from dataclasses import dataclass

CHIPS = ("sm_90a", "sm_100a")  # of GPUs at hand, and of the emulator
FILL = 0xEEEEEEEE  # of shared memory that no copy has reached
SHARED = "blockscale_shared_memory"
STAGE_ROWS, ROW_BYTES, TILE_BYTES, BARRIER_BYTES = 128, 128, 512, 8
LEADER_BIT = 1 << 24
PLACE = rf"\[(%rd\d+|{SHARED})\+(\d+)\]"
NOTHING = re.compile(r"tcgen05\.(cp|mma|fence|wait|dealloc|relinquish_alloc_permit)\b.*;$")
ALLOC = re.compile(rf"tcgen05\.alloc\.cta_group::[12]\.\S+\s+\[{SHARED}\+(\d+)\], %r\d+;$")
COMMIT = re.compile(r"tcgen05\.commit\.cta_group::[12]\.mbarrier::arrive::one\.shared::cluster"
                    rf"(?:\.multicast::cluster)?\.b64\s+{PLACE}(?:, (%rs\d+))?;$")
LOAD = re.compile(r"tcgen05\.ld\.sync\.aligned\.32x32b\.x\d+\.b32 \{([^}]*)\}, \[(%r\d+)\]; "
                  r"tcgen05\.wait::ld\.sync\.aligned;$")
FOUR = r"\{(%rd\d+), (%rd\d+), (%rd\d+), (%rd\d+)\}"
WIDE_STORE = re.compile(rf"st\.global\.v4\.b64\s+\[(%rd\d+)(?:\+(\d+))?\], {FOUR};$")
WIDE_LOAD = re.compile(rf"ld\.global\.v4\.b64\s+{FOUR}, \[(%rd\d+)(?:\+(\d+))?\];$")
PACKED_ADD = re.compile(r"add\.rn\.f32x2\s+(%rd\d+), (%rd\d+), (%rd\d+);$")
ADD = re.compile(r"add\.s64\s+(%rd\d+), (%rd\d+|blockscale_shared_memory), (\d+);$")
COMMIT_AT = re.compile(r"(tcgen05\.commit\S+\s+\[)(%rd\d+)(\])")
MASK_OF_BARRIER = re.compile(r"and\.b64\s+(%rd\d+), (%rd\d+), (\d+);$")
COPY_OF_PAIR = re.compile(r"cp\.async\.bulk\.tensor\S+\.cta_group::2 .*\], \[(%rd\d+)\]"
                          r"(, %rs\d+)?;$")
EXPECT_OF_LEADER = re.compile(r"(\t@%p\d+ bra \t\$L\w+;\n)(\tmov\.b32 \t(%r\d+), )(\d+)"
                              r"(;\n\tmbarrier\.arrive\.expect_tx\.shared\.b64 %rd\d+, \[\S+\], "
                              r"(%r\d+);)")
GUARD_OF_LEADER = re.compile(r"\tsetp\.ne\.b32 \t(%p\d+), %r\d+, 0;\n"
                             r"(?=\t@\1 bra \t(\$L\w+);\n\telect\.sync)")


class StageDumpError(ValueError):
    """A text that is not the one that is known here."""


@dataclass(frozen=True)
class Stages:
    """The stages in the shared memory of a CTA. `parts` are their arrays: names, and the bytes
    of a stage. An array has its stages one after the other."""
    parts: tuple
    count: int
    is_pair: bool

    @staticmethod
    def of(rows, cols, count, scale_tiles):
        members = rows // STAGE_ROWS
        return Stages((("A", STAGE_ROWS * ROW_BYTES), ("B", cols // members * ROW_BYTES),
                       ("scales of A", scale_tiles * TILE_BYTES),
                       ("scales of B", cols // STAGE_ROWS * scale_tiles * TILE_BYTES)),
                      count, members > 1)

    @property
    def bytes(self):
        """Of one stage."""
        return sum(size for _, size in self.parts)

    @property
    def full(self):
        """Offset of the barriers of full stages; those of empty ones follow."""
        return self.bytes * self.count

    @property
    def empty(self):
        return self.full + BARRIER_BYTES * self.count


def expect(condition, what):
    if not condition:
        raise StageDumpError(f"expected {what}")


def write_fill(stages, place, extra):
    """What a warp does in place of the allocation."""
    lines = [".reg .pred %in, %one;", ".reg .b32 %at, %word;",
             "mov.u32 %at, %tid.x;", "and.b32 %at, %at, 31;", "setp.eq.u32 %one, %at, 0;",
             "shl.b32 %at, %at, 2;", f"mov.b32 %word, {SHARED};", "add.u32 %at, %at, %word;",
             f"add.u32 %word, %word, {stages.full};", "STAGE_FILL:",
             f"st.shared.b32 [%at], {FILL};", "add.u32 %at, %at, 128;",
             "setp.lt.u32 %in, %at, %word;", "@%in bra STAGE_FILL;",
             f"@%one st.shared.b32 [{SHARED}+{place}], 0;"]
    if stages.is_pair:
        lines += [f"@%one mbarrier.init.shared.b64 [{SHARED}+{extra + BARRIER_BYTES * i}], 1;"
                  for i in range(stages.count + 1)] + ["fence.mbarrier_init.release.cluster;"]
    return ["{", *lines, "fence.proxy.async.shared::cta;", "bar.warp.sync -1;", "}"]


def write_dump(stages, parameter, capacity, slot):
    """Copies stage `slot`, a register, to the next place of the CTA's dump."""
    lines = [".reg .pred %many;", ".reg .b32 %from, %place;", ".reg .b64 %to, %offset;",
             f"setp.ge.u32 %many, %dumped, {capacity};", "@%many trap;",
             f"ld.param.b64 %to, [{parameter}];", "mov.u32 %place, %ctaid.x;",
             f"mad.lo.u32 %place, %place, {capacity}, %dumped;",
             f"mul.wide.u32 %offset, %place, {stages.bytes};", "add.u64 %to, %to, %offset;"]
    first = 0
    for _, size in stages.parts:
        lines += [f"mov.b32 %from, {SHARED};", f"add.u32 %from, %from, {first};",
                  f"mad.lo.u32 %from, {slot}, {size}, %from;",
                  f"cp.async.bulk.global.shared::cta.bulk_group [%to], [%from], {size};",
                  f"add.u64 %to, %to, {size};"]
        first += size * stages.count
    return ["{", *lines, "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;",
            "add.u32 %dumped, %dumped, 1;", "}"]


def write_arrivals(base, offset, mask, cluster):
    """Arrives at a barrier, of the CTAs in `mask` where there is one."""
    if mask is None:
        return [f"mbarrier.arrive.shared.b64 _, [{base}+{offset}];"]
    lines = [".reg .pred %is;", ".reg .b32 %own, %other, %mask;", ".reg .b64 %wide;",
             f"mov.b64 %wide, {base};", "cvt.u32.u64 %own, %wide;",
             f"add.u32 %own, %own, {offset};", f"cvt.u32.u16 %mask, {mask};"]
    for rank in range(cluster):
        lines += [f"and.b32 %other, %mask, {1 << rank};", "setp.ne.u32 %is, %other, 0;",
                  f"mapa.shared::cluster.u32 %other, %own, {rank};",
                  "@%is mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%other];"]
    return ["{", *lines, "}"]


def write_commit(stages, match, dump, cluster, extra, number):
    base, offset, mask = match[1], int(match[2]), match[3]
    expect((mask is not None) == stages.is_pair, "a mask of CTAs where they are in pairs")
    if offset > stages.empty:
        expect(base != SHARED or offset >= stages.empty + BARRIER_BYTES * stages.count,
               f"a barrier of an empty stage or of a sum, but got offset {offset}")
        return write_arrivals(base, offset, mask, cluster)
    expect(offset == stages.empty,
           f"the barriers of empty stages at {stages.empty}, but got {offset}")
    # The stage by its barrier and by its number must be the same.
    lines = [".reg .b32 %slot, %round;", ".reg .b64 %distance, %first;", ".reg .pred %wrong;",
             f"mov.b64 %first, {SHARED};", f"mov.b64 %distance, {base};",
             "sub.u64 %distance, %distance, %first;", "cvt.u32.u64 %slot, %distance;",
             "shr.u32 %slot, %slot, 3;", f"rem.u32 %round, %dumped, {stages.count};",
             "setp.ne.u32 %wrong, %slot, %round;", "@%wrong trap;",
             f"div.u32 %round, %dumped, {stages.count};", "and.b32 %round, %round, 1;",
             *dump("%slot")]
    if stages.is_pair:
        lines += ["{", ".reg .pred %is_done;", ".reg .b32 %done;", f"mov.b32 %done, {SHARED};",
                  f"add.u32 %done, %done, {extra};",
                  f"mad.lo.u32 %done, %slot, {BARRIER_BYTES}, %done;", f"STAGE_DONE_{number}:",
                  ("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %is_done, [%done], "
                   "%round;"), f"@!%is_done bra STAGE_DONE_{number};", "}"]
    return ["{", *lines, *write_arrivals(base, offset, mask, cluster), "}"]


def keep_scales(body):
    """Without the loads and stores by which a warp clears the scales behind K of a full stage: a
    dump has what the copies brought. They end with a fence before the copies to tensor memory, and
    begin behind a barrier of the warp."""
    lines, first = body.splitlines(keepends=True), 0
    for i, line in enumerate(lines):
        if "bar.warp.sync" in line:
            first = i
        elif line.strip().startswith("fence.proxy.async.shared"):
            for j in range(first, i):
                code = lines[j].strip()
                if code.startswith("st.shared"):
                    lines[j] = f"\t// {code}\n"
                elif code.startswith("ld.shared"):
                    lines[j] = indent(f"mov.b32 {word}, 0;" for word in
                                      re.search(r"\{(.*)\}", code)[1].split(", "))
    return "".join(lines)


def write_peer(stages, dump, extra, guard, end):
    """The loop of the CTA that does not lead: dumps a stage when it is full, until as many are
    dumped as the loads have counted."""
    finish = extra + BARRIER_BYTES * stages.count
    lines = [".reg .pred %is, %elected;", ".reg .b32 %slot, %round, %at, %leader;",
             "elect.sync _|%elected, -1;", "@!%elected bra PEER_END;", "PEER_NEXT:",
             f"rem.u32 %slot, %dumped, {stages.count};",
             f"div.u32 %round, %dumped, {stages.count};", "and.b32 %round, %round, 1;",
             f"mov.b32 %at, {SHARED};", f"add.u32 %at, %at, {stages.full};",
             f"mad.lo.u32 %at, %slot, {BARRIER_BYTES}, %at;", "PEER_WAIT:",
             "mbarrier.try_wait.parity.shared.b64 %is, [%at], %round;", "@%is bra PEER_DUMP;",
             f"mbarrier.try_wait.parity.shared.b64 %is, [{SHARED}+{finish}], 0;",
             "@!%is bra PEER_WAIT;", f"ld.shared.b32 %leader, [{SHARED}+{finish + BARRIER_BYTES}];",
             "setp.eq.u32 %is, %leader, %dumped;", "@%is bra PEER_END;", "bra.uni PEER_WAIT;",
             "PEER_DUMP:", *dump("%slot"), "mov.u32 %leader, %cluster_ctarank;",
             "and.b32 %leader, %leader, 0xFFFFFFFE;", f"mov.b32 %at, {SHARED};",
             f"add.u32 %at, %at, {extra};", f"mad.lo.u32 %at, %slot, {BARRIER_BYTES}, %at;",
             "mapa.shared::cluster.u32 %at, %at, %leader;",
             "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%at];",
             "bra.uni PEER_NEXT;", "PEER_END:", "bar.warp.sync -1;", f"bra.uni {end};"]
    return [f"@!{guard} bra LEADER;", "{", *lines, "}", "LEADER:"]


def indent(lines):
    return "".join(f"\t{line}\n" for line in lines)


def change_one(pattern, change, text, what):
    changed, count = pattern.subn(change, text)
    expect(count == 1, f"{what} once, but got it {count} times")
    return changed


def change_pair(text, stages, dump, extra):
    """What only a pair has. Whatever a copy completes is of its own CTA."""
    barriers = {match[1] for line in text.splitlines()
                if (match := COPY_OF_PAIR.match(line.strip()))}
    expect(barriers, "copies of a pair")
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        match = MASK_OF_BARRIER.match(line.strip())
        if match and match[1] in barriers:
            expect(not int(match[3]) & LEADER_BIT, "the barrier of the leader")
            barriers.remove(match[1])
            lines[i] = f"\tand.b64 \t{match[1]}, {match[2]}, {int(match[3]) | LEADER_BIT};\n"
        lines[i] = lines[i].replace(".cta_group::2 [", " [") if "cp.async" in line else lines[i]
    expect(not barriers, "each barrier of a copy to be masked once")
    text = "".join(lines)

    def expect_own(match):
        expect(match[3] == match[6] and int(match[4]) == 2 * stages.bytes,
               f"the {2 * stages.bytes} bytes of a pair's stage, but got {match[4]}")
        return f"{match[2]}{stages.bytes}{match[5]}\n\tadd.u32 %loaded, %loaded, 1;"

    text = change_one(EXPECT_OF_LEADER, expect_own, text, "the leader's announcement of bytes")
    text = change_one(
        GUARD_OF_LEADER,
        lambda match: match[0] + indent(write_peer(stages, dump, extra, match[1], match[2])),
        text, "the guard of the products")
    # Behind its tiles, the role that loads goes to where it waits until all stages are empty.
    at = text.rindex("prefetch.tensormap")
    label = re.compile(r"@%p\d+ bra \t(\$L\w+);").search(text, at)[1]
    head = f"{label}:\n"
    expect(text.count(head) == 1 and "mbarrier.try_wait" in text.split(head)[1][:800],
           "the wait for empty stages behind the loads")
    finish = extra + BARRIER_BYTES * stages.count
    # The label may be that of the loop that waits: only the first time counts.
    return text.replace(head, head + indent([
        f"@!%is_told st.shared.b32 [{SHARED}+{finish + BARRIER_BYTES}], %loaded;",
        f"@!%is_told mbarrier.arrive.shared.b64 _, [{SHARED}+{finish}];",
        "mov.pred %is_told, -1;"]))


def change_kernel(text, name, stages, capacity, cluster, extra):
    """The text of one kernel, from its .entry on. `extra` is the offset of shared memory that
    it does not use."""
    parameter = f"{name}_param_dump"
    head, brace, body = text.partition("\n)\n")
    expect(brace, "a kernel with parameters")
    head += f",\n\t.param .u64 .ptr .global .align 16 {parameter}"
    body = change_one(re.compile(r"(\t\.reg \.b64 \t%rd<\d+>;\n)"),
                      lambda match: match[1] + indent([
                          ".reg .b32 %dumped, %loaded;", ".reg .pred %is_told;",
                          "mov.b32 %dumped, 0;", "mov.b32 %loaded, 0;",
                          "mov.pred %is_told, 0;"]), body, "registers of 64 bits")

    def dump(slot):
        return write_dump(stages, parameter, capacity, slot)

    expect(f"mbarrier.init.shared.b64 \t[{SHARED}+{stages.full}]" in body,
           f"the barriers of full stages at {stages.full}")
    if stages.is_pair:
        body = change_pair(body, stages, dump, extra)
    body = keep_scales(body)
    lines, counts, sums = [], {"alloc": 0, "commit": 0, "ld": 0}, {}
    for line in body.splitlines(keepends=True):
        code = line.strip()
        if match := ADD.match(code):
            sums[match[1]] = f"{match[2]}+{match[3]}"
        # An address that several commits share is a sum of its own.
        code = COMMIT_AT.sub(lambda at: at[1] + sums.get(at[2], at[2]) + at[3], code)
        if match := ALLOC.match(code):
            counts["alloc"] += 1
            line = indent(write_fill(stages, int(match[1]), extra))
        elif match := COMMIT.match(code):
            counts["commit"] += 1
            line = indent(write_commit(stages, match, dump, cluster, extra, counts["commit"]))
        elif match := LOAD.match(code):
            counts["ld"] += 1
            line = indent(f"add.u32 {register.strip()}, {match[2]}, {i};"
                          for i, register in enumerate(match[1].split(",")))
        elif NOTHING.match(code):
            line = f"\t// {code}\n"
        lines.append(line)
    expect(all(counts.values()) and counts["alloc"] == 1,
           f"one allocation, commits and loads of tensor memory, but got {counts}")
    return head + brace + "".join(lines)


def split_wide(line):
    """A load or store of 32 bytes as two of 16, a sum of two pairs of floats as two sums."""
    code = line.strip()
    if match := PACKED_ADD.match(code):
        to, a, b = match.groups()
        return indent(["{", ".reg .b32 %a<2>, %b<2>;", f"mov.b64 {{%a0, %a1}}, {a};",
                       f"mov.b64 {{%b0, %b1}}, {b};", "add.rn.f32 %a0, %a0, %b0;",
                       "add.rn.f32 %a1, %a1, %b1;", f"mov.b64 {to}, {{%a0, %a1}};", "}"]).rstrip()
    if match := WIDE_STORE.match(code):
        address, offset, *values = match.groups()
        form = "st.global.v2.b64 [{0}+{1}], {{{2}, {3}}};"
    elif match := WIDE_LOAD.match(code):
        *values, address, offset = match.groups()
        expect(address not in values[:2], "an address that the first half leaves")
        form = "ld.global.v2.b64 {{{2}, {3}}}, [{0}+{1}];"
    else:
        return line
    at = int(offset or 0)
    return indent([form.format(address, at, *values[:2]),
                   form.format(address, at + 16, *values[2:])]).rstrip("\n")


def make_dump(plan, ptx, stages, capacity):
    """The plan and the PTX of a product, for each of CHIPS: they differ in its name alone. The
    plan has one more result, `dump`: as many stages of each CTA as `capacity`."""
    plan = json.loads(plan)
    expect(plan["chip"] == "sm_100a" and len(plan["functions"]) == 1, "one function for sm_100a")
    function = plan["functions"][0]
    launches = [step["launch"] for step in function["steps"] if "launch" in step]
    entries = re.split(r"(?=^\.visible \.entry )", ptx, flags=re.M)
    changed = 0
    for i, entry in enumerate(entries):
        if "tcgen05." not in entry:
            continue
        name = re.match(r"\.visible \.entry (\w+)", entry)[1]
        [launch] = [launch for launch in launches if launch["kernel"] == name]
        extra = -(-launch["shared"] // BARRIER_BYTES) * BARRIER_BYTES
        entries[i] = change_kernel(entry, name, stages, capacity, launch["cluster"][0], extra)
        if stages.is_pair:
            launch["shared"] = extra + BARRIER_BYTES * (stages.count + 2)
        launch["parameters"].append({"buffer": "dump"})
        [kernel] = [kernel for kernel in plan["kernels"] if kernel["name"] == name]
        kernel["parameters"].append("pointer")
        shape = [launch["grid"][0], capacity, stages.bytes]
        expect(all(isinstance(size, int) for size in shape), "a grid that the plan knows")
        function["results"].append({
            "name": "dump", "type": "the stages", "element": "i8", "layout": "row_major",
            "dtype": "uint8", "shape": shape, "bytes": shape[0] * shape[1] * shape[2],
            "alignment": 16})
        changed += 1
    expect(changed == 1, f"one product, but got {changed}")
    lines = map(split_wide, "".join(entries).split("\n"))
    text = "\n".join(lines)
    left = sorted({word for line in text.split("\n") if not line.strip().startswith("//")
                   for word in re.findall(r"tcgen05\.\w+|cta_group::\d", line)})
    expect(not left, f"nothing of SM100 to be left, but got {', '.join(left)}")
    expect(text.count(".target sm_100a\n") == 1, "one target")
    return [(json.dumps({**plan, "chip": chip}),
             text.replace(".target sm_100a\n", f".target {chip}\n")) for chip in CHIPS]

//===- InstructionSetAsync.cpp - Barriers in memory, copies and TMA -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "mbarrier", "Asynchronous Copy" (bulk and tensor too),
/// "tensormap" and "clusterlaunchcontrol".
static constexpr InstructionEntry kAsyncInstructions[] = {
    {"mbarrier.init", "{.$cta}.b64", "a s:u32"},
    {"mbarrier.inval", "{.$cta}.b64", "a"},
    {"mbarrier.expect_tx", "{.relaxed.cta|cluster}{.$shared}.b64", "a s:u32"},
    {"mbarrier.complete_tx", "{.relaxed.cta|cluster}{.$shared}.b64", "a s:u32"},
    {"mbarrier.arrive", "{.release|relaxed.cta|cluster}{.$cta}.b64",
     "d:b64 a s:u32?"},
    {"mbarrier.arrive", "{.release|relaxed.cta|cluster}.shared::cluster.b64",
     "o a s:u32?"},
    {"mbarrier.arrive.expect_tx", "{.release|relaxed.cta|cluster}{.$cta}.b64",
     "d:b64 a s:u32"},
    {"mbarrier.arrive.expect_tx",
     "{.release|relaxed.cta|cluster}.shared::cluster.b64", "o a s:u32"},
    {"mbarrier.arrive.noComplete", "{.release.cta}{.$cta}.b64",
     "d:b64 a s:u32"},
    {"mbarrier.arrive_drop", "{.release|relaxed.cta|cluster}{.$cta}.b64",
     "d:b64 a s:u32?"},
    {"mbarrier.arrive_drop",
     "{.release|relaxed.cta|cluster}.shared::cluster.b64", "o a s:u32?"},
    {"mbarrier.arrive_drop.expect_tx",
     "{.release|relaxed.cta|cluster}{.$cta}.b64", "d:b64 a s:u32"},
    {"mbarrier.arrive_drop.expect_tx",
     "{.release|relaxed.cta|cluster}.shared::cluster.b64", "o a s:u32"},
    {"mbarrier.arrive_drop.noComplete", "{.release.cta}{.$cta}.b64",
     "d:b64 a s:u32"},
    {"mbarrier.pending_count", ".b64", "d:u32 s:b64"},
    {"mbarrier.test_wait", "{.acquire|relaxed.cta|cluster}{.$cta}.b64",
     "d:pred a s:b64"},
    {"mbarrier.test_wait.parity", "{.acquire|relaxed.cta|cluster}{.$cta}.b64",
     "d:pred a s:u32"},
    {"mbarrier.try_wait", "{.acquire|relaxed.cta|cluster}{.$cta}.b64",
     "d:pred a s:b64 s:u32?"},
    {"mbarrier.try_wait.parity", "{.acquire|relaxed.cta|cluster}{.$cta}.b64",
     "d:pred a s:u32 s:u32?"},

    {"cp.async", ".ca|cg.$cta.global{.L2::cache_hint}{.$prefetch}",
     "a a i s:u32? h:b64"},
    {"cp.async", ".ca|cg.$cta.global{.L2::cache_hint}{.$prefetch}",
     "a a i b:pred h:b64"},
    {"cp.async.commit_group", "", ""},
    {"cp.async.wait_group", "", "i"},
    {"cp.async.wait_all", "", ""},
    {"cp.async.mbarrier.arrive", "{.noinc}{.$cta}.b64", "a"},

    {"cp.async.bulk",
     ".shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}",
     "a a s:u32 a h:b64"},
    {"cp.async.bulk",
     ".shared::cluster.global.mbarrier::complete_tx::bytes"
     "{.multicast::cluster}{.L2::cache_hint}",
     "a a s:u32 a M:b16 h:b64"},
    {"cp.async.bulk",
     ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     "a a s:u32 a"},
    {"cp.async.bulk", ".global.shared::cta.bulk_group{.L2::cache_hint}",
     "a a s:u32 h:b64"},
    {"cp.async.bulk", ".global.shared::cta.bulk_group{.L2::cache_hint}.cp_mask",
     "a a s:u32 h:b64 s:b16"},
    {"cp.async.bulk.commit_group", "", ""},
    {"cp.async.bulk.wait_group", "{.read}", "i"},
    {"cp.async.bulk.prefetch", ".L2.global{.L2::cache_hint}", "a s:u32 h:b64"},
    {"cp.async.bulk.prefetch.tensor", ".$dim.L2.global{.tile}{.L2::cache_hint}",
     "t h:b64"},
    {"cp.async.bulk.prefetch.tensor",
     ".2d.L2.global.tile::gather4{.L2::cache_hint}", "t h:b64"},
    {"cp.async.bulk.prefetch.tensor",
     ".3d|4d|5d.L2.global.im2col|im2col::w|im2col::w::128{.L2::cache_hint}",
     "t v h:b64"},
    {"cp.async.bulk.tensor",
     ".$dim.shared::cta.global{.tile}.mbarrier::complete_tx::bytes"
     "{.$group}{.L2::cache_hint}",
     "a t a h:b64"},
    {"cp.async.bulk.tensor",
     ".$dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes"
     "{.multicast::cluster}{.$group}{.L2::cache_hint}",
     "a t a M:b16 h:b64"},
    {"cp.async.bulk.tensor",
     ".2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
     "{.$group}{.L2::cache_hint}",
     "a t a h:b64"},
    {"cp.async.bulk.tensor",
     ".2d.shared::cluster.global.tile::gather4"
     ".mbarrier::complete_tx::bytes{.multicast::cluster}{.$group}"
     "{.L2::cache_hint}",
     "a t a M:b16 h:b64"},
    {"cp.async.bulk.tensor",
     ".3d|4d|5d.shared::cta.global.im2col|im2col::w|im2col::w::128"
     ".mbarrier::complete_tx::bytes{.$group}{.L2::cache_hint}",
     "a t a v h:b64"},
    {"cp.async.bulk.tensor",
     ".3d|4d|5d.shared::cluster.global.im2col|im2col::w|im2col::w::128"
     ".mbarrier::complete_tx::bytes{.multicast::cluster}{.$group}"
     "{.L2::cache_hint}",
     "a t a v M:b16 h:b64"},
    {"cp.async.bulk.tensor",
     ".$dim.global.shared::cta{.tile}.bulk_group{.L2::cache_hint}",
     "t a h:b64"},
    {"cp.async.bulk.tensor",
     ".2d.global.shared::cta.tile::scatter4.bulk_group{.L2::cache_hint}",
     "t a h:b64"},
    {"cp.async.bulk.tensor",
     ".3d|4d|5d.global.shared::cta.im2col_no_offs.bulk_group"
     "{.L2::cache_hint}",
     "t a h:b64"},
    {"cp.reduce.async.bulk.tensor",
     ".$dim.global.shared::cta.add|min|max|inc|dec|and|or|xor{.tile}"
     ".bulk_group{.L2::cache_hint}",
     "t a h:b64"},
    {"cp.reduce.async.bulk.tensor",
     ".3d|4d|5d.global.shared::cta.add|min|max|inc|dec|and|or|xor"
     ".im2col_no_offs.bulk_group{.L2::cache_hint}",
     "t a h:b64"},
    {"cp.reduce.async.bulk",
     ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add"
     ".u32|s32|u64",
     "a a s:u32 a"},
    {"cp.reduce.async.bulk",
     ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min|max"
     ".u32|s32",
     "a a s:u32 a"},
    {"cp.reduce.async.bulk",
     ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc|dec"
     ".u32",
     "a a s:u32 a"},
    {"cp.reduce.async.bulk",
     ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes.$bool.b32",
     "a a s:u32 a"},
    {"cp.reduce.async.bulk",
     ".global.shared::cta.bulk_group{.L2::cache_hint}.add"
     ".u32|s32|u64|f32|f64",
     "a a s:u32 h:b64"},
    {"cp.reduce.async.bulk",
     ".global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz.f16|bf16",
     "a a s:u32 h:b64"},
    {"cp.reduce.async.bulk",
     ".global.shared::cta.bulk_group{.L2::cache_hint}.min|max"
     ".u32|s32|u64|s64|f16|bf16",
     "a a s:u32 h:b64"},
    {"cp.reduce.async.bulk",
     ".global.shared::cta.bulk_group{.L2::cache_hint}.inc|dec.u32",
     "a a s:u32 h:b64"},
    {"cp.reduce.async.bulk",
     ".global.shared::cta.bulk_group{.L2::cache_hint}.$bool.b32|b64",
     "a a s:u32 h:b64"},

    {"tensormap.replace.tile", ".global_address{.global|shared::cta}.b1024.b64",
     "a s:b64"},
    {"tensormap.replace.tile", ".rank{.global|shared::cta}.b1024.b32",
     "a s:b32"},
    {"tensormap.replace.tile",
     ".box_dim|global_dim|element_stride{.global|shared::cta}.b1024.b32",
     "a i s:b32"},
    {"tensormap.replace.tile", ".global_stride{.global|shared::cta}.b1024.b64",
     "a i s:b64"},
    {"tensormap.replace.tile",
     ".elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode"
     "{.global|shared::cta}.b1024.b32",
     "a i"},
    {"tensormap.cp_fenceproxy",
     ".global.shared::cta.tensormap::generic.release.$scope.sync.aligned",
     "a a i"},

    {"clusterlaunchcontrol.try_cancel.async",
     "{.shared::cta}.mbarrier::complete_tx::bytes"
     "{.multicast::cluster::all}.b128",
     "a a"},
    {"clusterlaunchcontrol.query_cancel.is_canceled", ".pred.b128",
     "d:pred s:b128"},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid", ".v4.b32.b128",
     "v4:b32 s:b128"},
    {"clusterlaunchcontrol.query_cancel",
     ".get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z.b32.b128",
     "d:b32 s:b128"},
};

llvm::ArrayRef<InstructionEntry> getAsyncInstructions() {
  return kAsyncInstructions;
}

} // namespace blockscale::emulator

//===- InstructionSetControl.cpp - Control flow, warps and barriers -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "Control Flow", "Parallel Synchronization" up to fences,
/// "Miscellaneous", and the shuffles.
static constexpr InstructionEntry kControlInstructions[] = {
    {"bra", "{.uni}", "l"},
    {"brx.idx", "{.uni}", "s:u32 n"},
    {"call", "{.uni}", "c"},
    {"ret", "{.uni}", ""},
    {"exit", "", ""},
    {"trap", "", ""},
    {"brkpt", "", ""},
    {"pmevent", "{.mask}", "i"},
    {"nanosleep", ".u32", "s:u32"},
    {"setmaxnreg", ".inc|dec.sync.aligned.u32", "i"},
    {"griddepcontrol", ".launch_dependents|wait", ""},

    {"shfl.sync", ".up|down|bfly|idx.b32",
     "d:b32|pred s:b32 s:b32 s:b32 s:b32"},
    {"vote.sync", ".all|any|uni.pred", "d:pred b:pred s:b32"},
    {"vote.sync", ".ballot.b32", "d:b32 b:pred s:b32"},
    {"match.any.sync", ".b32|b64", "d:b32 s:0 s:b32"},
    {"match.all.sync", ".b32|b64", "d:b32|pred s:0 s:b32"},
    {"redux.sync", ".add|min|max.u32|s32", "d:0 s:0 s:b32"},
    {"redux.sync", ".and|or|xor.b32", "d:0 s:0 s:b32"},
    {"redux.sync", ".min|max{.abs}{.NaN}.f32", "d:0 s:0 s:b32"},
    {"elect.sync", "", "d:b32||pred s:b32"},
    {"activemask", ".b32", "d:b32"},

    {"bar.warp.sync", "", "s:b32"},
    {"bar", "{.cta}.sync", "s:u32 s:u32?"},
    {"bar", "{.cta}.arrive", "s:u32 s:u32"},
    {"bar", "{.cta}.red.popc.u32", "d:u32 s:u32 b:pred"},
    {"bar", "{.cta}.red.popc.u32", "d:u32 s:u32 s:u32 b:pred"},
    {"bar", "{.cta}.red.and|or.pred", "d:pred s:u32 b:pred"},
    {"bar", "{.cta}.red.and|or.pred", "d:pred s:u32 s:u32 b:pred"},
    {"barrier", "{.cta}.sync{.aligned}", "s:u32 s:u32?"},
    {"barrier", "{.cta}.arrive{.aligned}", "s:u32 s:u32"},
    {"barrier", "{.cta}.red.popc{.aligned}.u32", "d:u32 s:u32 b:pred"},
    {"barrier", "{.cta}.red.popc{.aligned}.u32", "d:u32 s:u32 s:u32 b:pred"},
    {"barrier", "{.cta}.red.and|or{.aligned}.pred", "d:pred s:u32 b:pred"},
    {"barrier", "{.cta}.red.and|or{.aligned}.pred",
     "d:pred s:u32 s:u32 b:pred"},
    {"barrier.cluster.arrive", "{.release|relaxed}{.aligned}", ""},
    {"barrier.cluster.wait", "{.acquire}{.aligned}", ""},

    {"membar", ".cta|gl|sys", ""},
    {"fence", "{.sc|acq_rel|acquire|release}.$scope", ""},
    {"fence", ".mbarrier_init.release.cluster", ""},
    {"fence", ".acquire.sync_restrict::shared::cluster.cluster", ""},
    {"fence", ".release.sync_restrict::shared::cta.cluster", ""},
    {"fence.proxy", ".alias", ""},
    {"fence.proxy", ".async{.global|shared::cta|shared::cluster}", ""},
    {"fence.proxy", ".tensormap::generic.release.$scope", ""},
    {"fence.proxy", ".tensormap::generic.acquire.$scope", "a i"},
    {"fence.proxy",
     ".async::generic.acquire.sync_restrict::shared::cluster.cluster", ""},
    {"fence.proxy",
     ".async::generic.release.sync_restrict::shared::cta.cluster", ""},
    {"membar.proxy", ".alias", ""},
};

llvm::ArrayRef<InstructionEntry> getControlInstructions() {
  return kControlInstructions;
}

} // namespace blockscale::emulator

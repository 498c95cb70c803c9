//===- InstructionSetMemory.cpp - Loads, stores and atomics ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "Data Movement: ld, st, prefetch, createpolicy" and
/// "Parallel Synchronization: atom, red".
static constexpr InstructionEntry kMemoryInstructions[] = {
    {"ld",
     "{.weak}{.const|global|local|param|param::entry|param::func|$shared}"
     "{.ca|cg|cs|lu|cv|$L1}{.$L2}{.L2::cache_hint}{.$prefetch}{.$vec}.$memory",
     "x:0w a h:b64"},
    {"ld", ".volatile{.global|$shared}{.$prefetch}{.$vec}.$memory", "x:0w a"},
    {"ld",
     ".relaxed|acquire.$scope{.global|$shared}{.$L1}{.$L2}{.L2::cache_hint}"
     "{.$prefetch}{.$vec}.$memory",
     "x:0w a h:b64"},
    {"ld", ".mmio.relaxed.sys{.global}.$memory", "x:0w a"},
    {"ld",
     ".global.nc{.ca|cg|cs|$L1}{.$L2}{.L2::cache_hint}{.$prefetch}{.$vec}"
     ".$memory",
     "x:0w a h:b64"},
    {"ldu", "{.global}{.v2|v4}.$memory", "x:0w a"},
    {"st",
     "{.weak}{.global|local|param|param::func|$shared}{.wb|cg|cs|wt|$L1}{.$L2}"
     "{.L2::cache_hint}{.$vec}.$memory",
     "a x:0w h:b64"},
    {"st", ".volatile{.global|$shared}{.$vec}.$memory", "a x:0w"},
    {"st",
     ".relaxed|release.$scope{.global|$shared}{.$L1}{.$L2}{.L2::cache_hint}"
     "{.$vec}.$memory",
     "a x:0w h:b64"},
    {"st", ".mmio.relaxed.sys{.global}.$memory", "a x:0w"},
    {"st.async",
     "{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2|v4}"
     ".b32|b64|u32|u64|s32|s64|f32|f64",
     "a x:0 a"},
    {"st.bulk", "{.weak}{.shared::cta}", "a s:u64 i"},

    {"prefetch", "{.global|local}.L1|L2", "a"},
    {"prefetch", ".global.L2::evict_last|L2::evict_normal", "a"},
    {"prefetch", "{.const|param}.tensormap", "a"},
    {"prefetchu", ".L1", "a"},
    {"applypriority", "{.global}.L2::evict_normal", "a i"},
    {"discard", "{.global}.L2", "a i"},
    {"createpolicy.fractional",
     ".L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"
     "{.L2::evict_first|L2::evict_unchanged}.b64",
     "d:b64 s:f32?"},
    {"createpolicy.range",
     "{.global}"
     ".L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"
     "{.L2::evict_first|L2::evict_unchanged}.b64",
     "d:b64 a s:u32 s:u32"},
    {"createpolicy.cvt", ".L2.b64", "d:b64 s:b64"},

    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".$bool{.L2::cache_hint}.b32|b64",
     "d:0 a s:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".exch{.L2::cache_hint}.b32|b64|b128",
     "d:0 a s:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".add{.L2::cache_hint}.u32|u64|s32|f32|f64",
     "d:0 a s:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".inc|dec{.L2::cache_hint}.u32",
     "d:0 a s:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".min|max{.L2::cache_hint}.u32|u64|s32|s64",
     "d:0 a s:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global|$shared}"
     ".add.noftz{.L2::cache_hint}.f16|f16x2|bf16|bf16x2",
     "d:0 a s:0 h:b64"},
    {"atom", "{.$sem}{.$scope}{.global|$shared}.cas.b16|b32|b64|b128",
     "d:0 a s:0 s:0"},
    {"atom",
     "{.$sem}{.$scope}{.global}"
     ".add{.L2::cache_hint}.v2|v4.f32",
     "x:0 a x:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global}"
     ".add|min|max.noftz{.L2::cache_hint}.$vec.f16|bf16",
     "x:0 a x:0 h:b64"},
    {"atom",
     "{.$sem}{.$scope}{.global}"
     ".add|min|max.noftz{.L2::cache_hint}.v2|v4.f16x2|bf16x2",
     "x:0 a x:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global|$shared}"
     ".$bool{.L2::cache_hint}.b32|b64",
     "a s:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global|$shared}"
     ".add{.L2::cache_hint}.u32|u64|s32|f32|f64",
     "a s:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global|$shared}"
     ".inc|dec{.L2::cache_hint}.u32",
     "a s:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global|$shared}"
     ".min|max{.L2::cache_hint}.u32|u64|s32|s64",
     "a s:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global|$shared}"
     ".add.noftz{.L2::cache_hint}.f16|f16x2|bf16|bf16x2",
     "a s:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global}"
     ".add{.L2::cache_hint}.v2|v4.f32",
     "a x:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global}"
     ".add|min|max.noftz{.L2::cache_hint}.$vec.f16|bf16",
     "a x:0 h:b64"},
    {"red",
     "{.relaxed|release}{.$scope}{.global}"
     ".add|min|max.noftz{.L2::cache_hint}.v2|v4.f16x2|bf16x2",
     "a x:0 h:b64"},
    {"red.async",
     ".relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"
     ".inc|dec.u32",
     "a s:0 a"},
    {"red.async",
     ".relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"
     ".min|max.u32|s32",
     "a s:0 a"},
    {"red.async",
     ".relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"
     ".and|or|xor.b32",
     "a s:0 a"},
    {"red.async",
     ".relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"
     ".add.u32|s32|u64",
     "a s:0 a"},
};

llvm::ArrayRef<InstructionEntry> getMemoryInstructions() {
  return kMemoryInstructions;
}

} // namespace blockscale::emulator

//===- InstructionSetConversion.cpp - Moves and conversions ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "Data Movement and Conversion: mov, cvt, cvta, mapa".
static constexpr InstructionEntry kConversionInstructions[] = {
    {"mov", ".$plain|pred|b128", "d:0 S:0"},
    {"mov", ".b16|b32|b64|b128", "d:0 k:0"},
    {"mov", ".b16|b32|b64|b128", "k:0 S:0"},

    // Integers, floats to integers and back, narrower, wider and equal floats.
    {"cvt", "{.sat}.$any.$any", "d:0w S:1w"},
    {"cvt", ".rni|rzi|rmi|rpi{.ftz}{.sat}.$any.f32", "d:0w S:1w"},
    {"cvt", ".rni|rzi|rmi|rpi{.sat}.$any.f16|f64", "d:0w S:1w"},
    {"cvt", ".rni|rzi|rmi|rpi.$any.bf16", "d:0w S:1w"},
    {"cvt", ".$rnd{.sat}.f16|f32|f64.$any", "d:0w S:1w"},
    {"cvt", ".$rnd.bf16.$any", "d:0w S:1w"},
    {"cvt", ".$rnd{.ftz}{.sat}.f32.f64", "d:0w S:1w"},
    {"cvt", ".$rnd{.ftz}{.sat}.f16.f32", "d:0w S:1w"},
    {"cvt", ".$rnd{.sat}.f16.f64", "d:0w S:1w"},
    {"cvt", ".$rnd{.ftz}.bf16.f32", "d:0w S:1w"},
    {"cvt", ".$rnd.bf16.f16|f64", "d:0w S:1w"},
    {"cvt", ".$rnd.f16.bf16", "d:0w S:1w"},
    {"cvt", "{.ftz}{.sat}.f32.f16", "d:0w S:1w"},
    {"cvt", "{.ftz}.f32.bf16", "d:0w S:1w"},
    {"cvt", "{.ftz}{.sat}.f64.f32", "d:0w S:1w"},
    {"cvt", "{.sat}.f64.f16", "d:0w S:1w"},
    {"cvt", ".f64.bf16", "d:0w S:1w"},
    {"cvt", "{.rni|rzi|rmi|rpi}{.ftz}{.sat}.f32.f32", "d:0w S:1w"},
    {"cvt", "{.rni|rzi|rmi|rpi}{.sat}.f16.f16", "d:0w S:1w"},
    {"cvt", "{.rni|rzi|rmi|rpi}.bf16.bf16", "d:0w S:1w"},
    {"cvt", "{.rni|rzi|rmi|rpi}{.sat}.f64.f64", "d:0w S:1w"},
    {"cvt", ".rn|rz{.relu}{.satfinite}.f16|bf16.f32", "d:0 s:1"},
    {"cvt", ".rn|rz{.relu}{.satfinite}.f16x2|bf16x2.f32", "d:0 s:1 s:1"},
    {"cvt", ".rs{.relu}{.satfinite}.f16x2|bf16x2.f32", "d:0 s:1 s:1 s:b32"},
    {"cvt", ".rna{.satfinite}.tf32.f32", "d:0 s:1"},
    {"cvt", ".rn|rz{.satfinite}{.relu}.tf32.f32", "d:0 s:1"},
    {"cvt", ".rn.satfinite{.relu}.e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2.f32",
     "d:0 s:1 s:1"},
    {"cvt",
     ".rn.satfinite{.relu}.e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2.f16x2|bf16x2",
     "d:0 s:1"},
    {"cvt", ".rn{.relu}.f16x2.e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2", "d:0 s:1"},
    {"cvt", ".rs{.relu}.satfinite.e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4.f32",
     "d:0 v4:f32 s:b32"},
    {"cvt", ".rz|rp{.satfinite}.ue8m0x2.f32", "d:0 s:1 s:1"},
    {"cvt", ".rz|rp{.satfinite}.ue8m0x2.bf16x2", "d:0 s:1"},
    {"cvt", ".rn.bf16x2.ue8m0x2", "d:0 s:1"},
    {"cvt.pack", ".sat.u16|s16.s32", "d:b32 s:s32 s:s32"},
    {"cvt.pack", ".sat.u2|s2|u4|s4|u8|s8.s32.b32", "d:b32 s:s32 s:s32 s:b32"},

    {"cvta", "{.to}.const|global|local|$shared|param|param::entry.u32|u64",
     "d:0 S:0"},
    {"isspacep", ".const|global|local|$shared|param|param::entry", "d:pred s"},
    {"mapa", "{.shared::cluster}.u32|u64", "d:0 S:0 s:u32"},
    {"getctarank", "{.shared::cluster}.u32|u64", "d:u32 S:0"},
};

llvm::ArrayRef<InstructionEntry> getConversionInstructions() {
  return kConversionInstructions;
}

} // namespace blockscale::emulator

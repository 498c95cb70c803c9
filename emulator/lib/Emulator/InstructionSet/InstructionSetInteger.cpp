//===- InstructionSetInteger.cpp - Integer, logic and bit instructions ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "Integer Arithmetic", "Extended-Precision Integer
/// Arithmetic", "Logic and Shift" and "Data Movement: prmt".
static constexpr InstructionEntry kIntegerInstructions[] = {
    {"add", ".$int|u16x2|s16x2", "d:0 s:0 s:0"},
    {"add", ".sat.s32", "d:0 s:0 s:0"},
    {"sub", ".$int", "d:0 s:0 s:0"},
    {"sub", ".sat.s32", "d:0 s:0 s:0"},
    {"mul", ".lo|hi.$int", "d:0 s:0 s:0"},
    {"mul", ".wide.u16|u32|s16|s32", "d:0+ s:0 s:0"},
    {"mul24", ".lo|hi.u32|s32", "d:0 s:0 s:0"},
    {"mad", ".lo|hi.$int", "d:0 s:0 s:0 s:0"},
    {"mad", ".hi.sat.s32", "d:0 s:0 s:0 s:0"},
    {"mad", ".wide.u16|u32|s16|s32", "d:0+ s:0 s:0 s:0+"},
    {"mad24", ".lo|hi.u32|s32", "d:0 s:0 s:0 s:0"},
    {"mad24", ".hi.sat.s32", "d:0 s:0 s:0 s:0"},
    {"sad", ".$int", "d:0 s:0 s:0 s:0"},
    {"div", ".$int", "d:0 s:0 s:0"},
    {"rem", ".$int", "d:0 s:0 s:0"},
    {"abs", ".s16|s32|s64", "d:0 s:0"},
    {"neg", ".s16|s32|s64", "d:0 s:0"},
    {"min", ".$int|u16x2|s16x2", "d:0 s:0 s:0"},
    {"min", ".relu.s32|s16x2", "d:0 s:0 s:0"},
    {"max", ".$int|u16x2|s16x2", "d:0 s:0 s:0"},
    {"max", ".relu.s32|s16x2", "d:0 s:0 s:0"},

    {"add.cc", ".$int32", "d:0 s:0 s:0"},
    {"addc", "{.cc}.$int32", "d:0 s:0 s:0"},
    {"sub.cc", ".$int32", "d:0 s:0 s:0"},
    {"subc", "{.cc}.$int32", "d:0 s:0 s:0"},
    {"mad", ".lo|hi.cc.$int32", "d:0 s:0 s:0 s:0"},
    {"madc", ".lo|hi{.cc}.$int32", "d:0 s:0 s:0 s:0"},

    {"popc", ".b32|b64", "d:u32 s:0"},
    {"clz", ".b32|b64", "d:u32 s:0"},
    {"bfind", "{.shiftamt}.$int32", "d:u32 s:0"},
    {"fns", ".b32", "d:b32 s:b32 s:b32 s:s32"},
    {"brev", ".b32|b64", "d:0 s:0"},
    {"bfe", ".$int32", "d:0 s:0 s:u32 s:u32"},
    {"bfi", ".b32|b64", "d:0 s:0 s:0 s:u32 s:u32"},
    {"bmsk", ".clamp|wrap.b32", "d:b32 s:u32 s:u32"},
    {"szext", ".clamp|wrap.u32|s32", "d:0 s:0 s:u32"},
    {"dp4a", ".u32|s32.u32|s32", "d:b32 s:b32 s:b32 s:b32"},
    {"dp2a", ".lo|hi.u32|s32.u32|s32", "d:b32 s:b32 s:b32 s:b32"},
    {"prmt", ".b32{.f4e|b4e|rc8|ecl|ecr|rc16}", "d:b32 s:b32 s:b32 s:b32"},

    {"and", ".pred|b16|b32|b64", "d:0 s:0 s:0"},
    {"or", ".pred|b16|b32|b64", "d:0 s:0 s:0"},
    {"xor", ".pred|b16|b32|b64", "d:0 s:0 s:0"},
    {"not", ".pred|b16|b32|b64", "d:0 s:0"},
    {"cnot", ".b16|b32|b64", "d:0 s:0"},
    {"lop3", ".b32", "d:b32 s:b32 s:b32 s:b32 i"},
    {"lop3", ".and|or.b32", "d:b32||pred s:b32 s:b32 s:b32 i b:pred"},
    {"shf", ".l|r.clamp|wrap.b32", "d:b32 s:b32 s:b32 s:u32"},
    {"shl", ".b16|b32|b64", "d:0 s:0 s:u32"},
    {"shr", ".b16|b32|b64|$int", "d:0 s:0 s:u32"},
};

llvm::ArrayRef<InstructionEntry> getIntegerInstructions() {
  return kIntegerInstructions;
}

} // namespace blockscale::emulator

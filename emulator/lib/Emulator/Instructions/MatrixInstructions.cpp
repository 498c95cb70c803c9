//===- MatrixInstructions.cpp - Matrices of warps and warpgroups ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/MatrixInstructions.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

MatrixShape getMatrixShape(const Instruction &instruction) {
  MatrixShape shape;
  for (const Modifier &modifier : instruction.modifiers) {
    llvm::StringRef text = modifier.text;
    if (!text.consume_front("m") || text.consumeInteger(10, shape.m) ||
        !text.consume_front("n") || text.consumeInteger(10, shape.n))
      continue;
    if (text.consume_front("k"))
      text.consumeInteger(10, shape.k);
    break;
  }
  return shape;
}

std::optional<MmaFormat> findMmaFormat(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<MmaFormat>>(name)
      .Case("f16", MmaFormat::F16)
      .Case("bf16", MmaFormat::BF16)
      .Case("tf32", MmaFormat::TF32)
      .Case("e4m3", MmaFormat::E4M3)
      .Case("e5m2", MmaFormat::E5M2)
      .Case("e2m3", MmaFormat::E2M3)
      .Case("e3m2", MmaFormat::E3M2)
      .Case("e2m1", MmaFormat::E2M1)
      .Case("u8", MmaFormat::U8)
      .Case("s8", MmaFormat::S8)
      .Default(std::nullopt);
}

std::optional<MmaAccumulator> findAccumulator(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<MmaAccumulator>>(name)
      .Case("f16", MmaAccumulator::F16)
      .Case("f32", MmaAccumulator::F32)
      .Case("s32", MmaAccumulator::S32)
      .Default(std::nullopt);
}

llvm::SmallVector<llvm::StringRef, 5>
getElementTypes(const Instruction &instruction) {
  llvm::SmallVector<llvm::StringRef, 5> types;
  for (const Modifier &modifier : instruction.modifiers)
    if (findMmaFormat(modifier.text) || findAccumulator(modifier.text) ||
        modifier.text == "f64" || modifier.text == "ue8m0" ||
        modifier.text == "ue4m3")
      types.push_back(modifier.text);
  return types;
}

llvm::Error decodeMatrix(Decoder &decoder, Op &op) {
  llvm::StringRef opcode = op.instruction->form->words.front();
  if (opcode == "mma")
    return decodeWarpMma(decoder, op);
  if (opcode == "wgmma")
    return decodeWarpgroup(decoder, op);
  return decodeMatrixMove(decoder, op);
}

} // namespace blockscale::emulator

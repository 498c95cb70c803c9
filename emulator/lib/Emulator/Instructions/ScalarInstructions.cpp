//===- ScalarInstructions.cpp - Instructions on single values -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

static bool isFloat(Type type) {
  switch (type) {
  case Type::F16x2:
  case Type::BF16x2:
  case Type::F32x2:
    return true;
  default:
    return getInfo(type).kind == TypeKind::Float;
  }
}

llvm::Error decodeScalar(Decoder &decoder, Op &op) {
  if (llvm::Error error = decodeOperands(decoder, op))
    return error;
  const Instruction &instruction = *op.instruction;
  llvm::StringRef opcode = instruction.form->words.front();
  if (opcode == "cvt")
    return decodeConvert(op);
  if (llvm::is_contained({"setp", "set", "selp", "slct", "testp"}, opcode))
    return decodeCompare(op);
  if (instruction.has("cc") ||
      llvm::is_contained({"addc", "subc", "madc"}, opcode))
    return decodeCarry(decoder, op);
  if (instruction.has("approx") || instruction.has("full"))
    return decodeApprox(op);
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  if (!types.empty() && isFloat(types.back()))
    return decodeFloat(op);
  return decodeInteger(op);
}

} // namespace blockscale::emulator

//===- Approximation.cpp - Instructions that approximate functions --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/FloatApprox.h"
#include "Emulator/Arithmetic/FloatOps.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

using Bits = uint64_t;

static std::optional<ApproxFunction> findApproximation(llvm::StringRef opcode) {
  return llvm::StringSwitch<std::optional<ApproxFunction>>(opcode)
      .Case("rcp", ApproxFunction::Rcp)
      .Case("sqrt", ApproxFunction::Sqrt)
      .Case("rsqrt", ApproxFunction::Rsqrt)
      .Case("sin", ApproxFunction::Sin)
      .Case("cos", ApproxFunction::Cos)
      .Case("lg2", ApproxFunction::Lg2)
      .Case("ex2", ApproxFunction::Ex2)
      .Case("tanh", ApproxFunction::Tanh)
      .Default(std::nullopt);
}

static llvm::Error decodeF64(Op &op, ApproxFunction function, bool ftz) {
  if (function == ApproxFunction::Rcp)
    return setLanes(op, approxRcpFtzF64);
  return setLanes(op, ftz ? approxRsqrtFtzF64 : approxRsqrtF64);
}

llvm::Error decodeApprox(Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef opcode = instruction.form->words.front();
  bool ftz = instruction.has("ftz");
  if (opcode == "div") {
    bool isFull = instruction.has("full");
    return setLanes(op, [=](Bits a, Bits b) {
      return isFull ? fullDivF32(a, b, ftz) : approxDivF32(a, b, ftz);
    });
  }
  std::optional<ApproxFunction> found = findApproximation(opcode);
  if (!found)
    return makeNotModelled(op);
  ApproxFunction function = *found;
  switch (instruction.getTypes().back()) {
  case Type::F32:
    return setLanes(op, [=](Bits a) { return approxF32(function, a, ftz); });
  case Type::F64:
    return decodeF64(op, function, ftz);
  case Type::F16:
    return setLanes(op, [=](Bits a) { return approxF16(function, a, ftz); });
  case Type::BF16:
    return setLanes(op, [=](Bits a) { return approxBF16(function, a, ftz); });
  case Type::F16x2:
    return setLanes(op, [=](Bits a) {
      return mapPair<F16>([=](Bits x) { return approxF16(function, x, ftz); },
                          a);
    });
  case Type::BF16x2:
    return setLanes(op, [=](Bits a) {
      return mapPair<BF16>([=](Bits x) { return approxBF16(function, x, ftz); },
                           a);
    });
  default:
    return makeNotModelled(op);
  }
}

} // namespace blockscale::emulator

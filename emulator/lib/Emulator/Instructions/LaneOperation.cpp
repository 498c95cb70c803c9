//===- LaneOperation.cpp - Handlers that work lane by lane ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/LaneOperation.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

llvm::Error decodeOperands(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  for (auto [operand, spec] :
       llvm::zip(instruction.operands, instruction.form->operands)) {
    Type type = getOperandType(spec, types).value_or(Type::B64);
    for (const Operand &element : decoder.getElements(operand)) {
      if (spec.kind == 'd') {
        llvm::Expected<Result> result = decoder.getResult(element);
        if (!result)
          return result.takeError();
        op.results.push_back(*result);
        continue;
      }
      llvm::Expected<Source> source = decoder.getSource(element, type);
      if (!source)
        return source.takeError();
      op.sources.push_back(*source);
    }
  }
  return llvm::Error::success();
}

} // namespace blockscale::emulator

//===- OperandVerifier.h - Check of operands against the table --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_OPERANDVERIFIER_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_OPERANDVERIFIER_H

#include "blockscale/Emulator/InstructionSet.h"

namespace blockscale::emulator {

/// What is wrong with the operands of an instruction in one form: empty where
/// nothing is. `fitness` tells the better of two forms that both do not fit:
/// two for each operand before, one for an operand of the right kind.
struct OperandMismatch {
  Location location;
  std::string message;
  unsigned fitness = 0;
};

/// What messages call an operand, and what they call those that a form takes.
llvm::StringRef getKindName(const Operand &operand);
llvm::StringRef getKindName(const OperandSpec &spec);

OperandMismatch matchOperands(const Instruction &instruction,
                              const InstructionForm &form);

/// A call against the function, prototype or targets that it names.
OperandMismatch matchCall(const Module &module, const Function &caller,
                          const Instruction &call);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_OPERANDVERIFIER_H

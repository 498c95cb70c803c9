//===- InstructionForm.h - Parser of the table's notation -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_INSTRUCTIONFORM_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_INSTRUCTIONFORM_H

#include "blockscale/Emulator/InstructionSet.h"

namespace blockscale::emulator {

llvm::ArrayRef<InstructionEntry> getIntegerInstructions();
llvm::ArrayRef<InstructionEntry> getFloatInstructions();
llvm::ArrayRef<InstructionEntry> getConversionInstructions();
llvm::ArrayRef<InstructionEntry> getMemoryInstructions();
llvm::ArrayRef<InstructionEntry> getControlInstructions();
llvm::ArrayRef<InstructionEntry> getAsyncInstructions();
llvm::ArrayRef<InstructionEntry> getMatrixInstructions();
llvm::ArrayRef<InstructionEntry> getTensorInstructions();

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONSET_INSTRUCTIONFORM_H

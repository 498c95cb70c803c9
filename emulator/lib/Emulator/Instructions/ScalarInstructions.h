//===- ScalarInstructions.h - Instructions on single values -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoders of instructions that compute each lane from its own values.
//
// Each fills the handler of an op that has its operands.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_SCALARINSTRUCTIONS_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_SCALARINSTRUCTIONS_H

#include "Emulator/Instructions/LaneOperation.h"

namespace blockscale::emulator {

/// Integer arithmetic, logic, shifts and bit fields.
llvm::Error decodeInteger(Op &op);
/// Instructions that read or write the carry flag.
llvm::Error decodeCarry(Decoder &decoder, Op &op);
/// Floating-point arithmetic, also packed and of mixed precision.
llvm::Error decodeFloat(Op &op);
/// The `.approx` and `.full` forms of functions.
llvm::Error decodeApprox(Op &op);
/// setp, set, selp, slct, testp.
llvm::Error decodeCompare(Op &op);
/// cvt, cvt.pack.
llvm::Error decodeConvert(Op &op);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_SCALARINSTRUCTIONS_H

//===- Instructions.h - Instructions of kernels -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Choices between kernels depend on whether memory leaves time for what they
// compute. The FLOP of a roofline are too few for that: most instructions of a
// quantizer convert, compare and pack.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_INSTRUCTIONS_H
#define BLOCKSCALE_ANALYSIS_INSTRUCTIONS_H

#include "blockscale/Numerics/Recipe.h"
#include "blockscale/Target/Chip.h"

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Instructions of a thread for each element that it quantizes, as in the
/// machine code of fragments without tails (docs/Performance.md).
double estimateQuantizeInstructions(const target::Chip &chip,
                                    numerics::Recipe recipe,
                                    numerics::ElementFormat format);

/// Instructions that evaluate the body of an elementwise op once.
int64_t countInstructions(mlir::Block &body);

/// Instructions of any op that shares a kernel with others: for each element of
/// its first operand or, where it is of linalg, for each iteration.
double estimateInstructions(mlir::Operation *op, const target::Chip &chip);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_INSTRUCTIONS_H

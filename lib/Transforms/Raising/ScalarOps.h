//===- ScalarOps.h - Numbers that ops compute -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of `arith` and `math` on single numbers that have one result on every
// target: one rounding to nearest even, integers of at most 64 bits, and no
// function that a library decides. What an op means is what its documentation
// says, not what an expansion of it does.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALAROPS_H
#define BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALAROPS_H

#include "ScalarProgram.h"

namespace blockscale {

/// Whether `op` computes a number, or each element of a tensor, from its
/// operands alone.
bool isScalarOp(mlir::Operation *op);

/// The number that an attribute of a float or an integer is; nullopt of others.
std::optional<ScalarNumber> getConstantNumber(mlir::Attribute constant);

/// What `op` computes from operands of `types`; nullopt where that is not
/// defined, or not known here.
std::optional<ScalarNumber>
evaluateOp(mlir::Operation *op,
           llvm::ArrayRef<std::optional<ScalarNumber>> operands,
           llvm::ArrayRef<mlir::Type> types, mlir::Type type);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALAROPS_H

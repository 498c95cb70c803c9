//===- Bytecode.h - The dialect in MLIR's bytecode --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytecode of a release opens in every later one. Properties of ops are written
// as a dictionary, so that an op may get optional attributes, and the version
// of the dialect says how a file was written.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_BYTECODE_H
#define BLOCKSCALE_LIB_IR_BYTECODE_H

#include "mlir/IR/Dialect.h"

namespace blockscale {

/// Gives the dialect its version in bytecode.
void addBytecodeVersion(mlir::Dialect &dialect);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_BYTECODE_H

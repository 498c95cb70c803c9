//===- Net.h - A dialect of this project, and its lowering ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NET_H
#define NET_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

#include "NetDialect.h.inc"

#define GET_OP_CLASSES
#include "NetOps.h.inc"

namespace net {

/// `net-to-blockscale`: quantizes the operands of each layer and multiplies
/// them.
std::unique_ptr<mlir::Pass> createNetToBlockScale();

} // namespace net

#endif // NET_H

//===- BlockScaleDialect.h - Dialect, attributes, ops -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEDIALECT_H
#define BLOCKSCALE_IR_BLOCKSCALEDIALECT_H

#include "blockscale/IR/Upstream.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace blockscale::numerics {
struct ScaleLayout;
} // namespace blockscale::numerics

#include "blockscale/IR/BlockScaleDialect.h.inc"
#include "blockscale/IR/BlockScaleEnums.h.inc"
#include "blockscale/IR/OpOperands.h"
#include "blockscale/IR/ScaleForm.h"

#include "blockscale/IR/BlockScaleInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "blockscale/IR/BlockScaleAttributes.h.inc"

#define GET_OP_CLASSES
#include "blockscale/IR/BlockScaleOps.h.inc"

namespace blockscale {

/// Marks a kernel's parameter that is a tensor map, passed by value.
inline constexpr llvm::StringLiteral kTensorMapAttrName =
    "blockscale.tensor_map";

/// Marks a launch that may begin before the launch before it has ended: its
/// kernel waits (`nvvm.griddepcontrol wait`) before it accesses what launches
/// before it may still write or read.
inline constexpr llvm::StringLiteral kProgrammaticAttrName =
    "blockscale.programmatic";

/// Attaches the bufferization models of `blockscale.kernel` and
/// `blockscale.amax_over_ranks`.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace blockscale

#endif // BLOCKSCALE_IR_BLOCKSCALEDIALECT_H

//===- RankCalls.h - Calls that reduce over ranks ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_RANKCALLS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_RANKCALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace blockscale::cpu {

/// Replaces each `amax_over_ranks` of a bufferized module by a call of the
/// host's function:
///
///   blockscale.amax_over_ranks %m : memref<3xf32>
/// becomes
///   llvm.call @blockscale_reduce_over_ranks(%pointer, %count, %dtype, %kind)
///
/// Fails, with a diagnostic, where the module has something else of that name.
llvm::LogicalResult lowerRankReductions(mlir::ModuleOp module);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_RANKCALLS_H

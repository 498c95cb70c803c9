//===- Siblings.h - Ops of one x that share a kernel ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_SIBLINGS_H
#define BLOCKSCALE_LIB_TRANSFORMS_SIBLINGS_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace blockscale {

/// Quantizations and amaxes of one x that share a kernel, and the transforms of
/// x that some of them take.
struct Siblings {
  llvm::SmallVector<QuantizeOp> quantizes;
  llvm::SmallVector<AmaxOp> amaxes;
  llvm::SmallSetVector<mlir::Operation *, 2> transforms;
  /// That they are a member of; null if of none.
  mlir::StringAttr group;
  /// 0 of amaxes before quantizations of x, otherwise 1.
  int pass = 1;

  /// Whether there is nothing to share with each other.
  bool isAlone() const;

  /// A quantization that needs one of the amaxes; null if none does.
  QuantizeOp findSecondPass() const;

  /// The amaxes, and transforms for them, which stay here only for
  /// quantizations.
  Siblings takeAmaxes(mlir::OpBuilder &builder);

  llvm::SmallVector<mlir::Operation *> getOps() const;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_SIBLINGS_H

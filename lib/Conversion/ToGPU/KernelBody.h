//===- KernelBody.h - What a kernel consists of -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H

#include "ToGPU/Patches/PatchKernel.h"

namespace blockscale {

/// What a quantization, amax or transform of a kernel reads, through a
/// transform; null for other ops.
mlir::Value getSource(mlir::Operation *op);

/// The ops of a kernel that need code, those that make x apart.
struct KernelBody {
  explicit KernelBody(KernelOp kernel);

  /// Whether one op besides transforms needs code.
  bool hasOneResultOp() const;

  llvm::SmallVector<mlir::Operation *> producers;
  llvm::SmallVector<mlir::Operation *> others;
};

/// Whether kernels of rows compute `op`. Those divide rows of a static length;
/// what has the form of a shared kernel needs none.
bool isRowKernel(QuantizeOp op);

/// The members of a patch kernel; empty of other kernels. Obstacles of
/// transforms and of groups are left to the lowering.
llvm::SmallVector<PatchMember> findPatchMembers(KernelOp kernel);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H

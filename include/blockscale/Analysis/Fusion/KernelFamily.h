//===- KernelFamily.h - How ops become the code of a GPU --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_KERNELFAMILY_H
#define BLOCKSCALE_ANALYSIS_FUSION_KERNELFAMILY_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

/// The ops of a kernel that need code, without what gives them sizes,
/// constants and destinations.
struct KernelBody {
  explicit KernelBody(llvm::ArrayRef<mlir::Operation *> ops);
  explicit KernelBody(KernelOp kernel);

  /// Linalg ops, which make what others read or are yielded.
  llvm::SmallVector<mlir::Operation *> producers;
  llvm::SmallVector<mlir::Operation *> others;
  /// What lays tensors side by side for `others`, whose code takes each element
  /// from where it is.
  llvm::SmallVector<mlir::Operation *> joins;
  /// The first dequantization of what each of `others` quantizes, which that
  /// one's code computes along with it.
  llvm::SmallVector<DequantizeOp> decoders;
  /// What prepacks the codes of one of `others`, whose code stores them so.
  llvm::SmallVector<PrepackOp> prepacks;
  /// The chains (GlobalChain.h) of the global operands of what is quantized.
  llvm::SmallVector<mlir::Operation *> globals;
};

/// Whether a kernel of a GPU for `op` alone takes its blocks one by one,
/// without the rows that they are parts of: rows have a length that is dynamic,
/// and threads that have fragments do not take x. Scales are linear then.
bool takesBlocks(QuantizeOp op);

/// The family of the code for a kernel of `ops`. Whoever forms kernels writes
/// it down; this is asked nowhere else.
KernelFamily chooseFamily(llvm::ArrayRef<mlir::Operation *> ops);

/// The family that `kernel` has, or the one it is given if it names none.
KernelFamily getFamily(KernelOp kernel);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_KERNELFAMILY_H

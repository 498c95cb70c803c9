//===- SplitKernel.h - The kernels that the CPU can take --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_SPLITKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_SPLITKERNEL_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale::cpu {

/// Replaces a kernel of several ops on memrefs by one kernel for each, with
/// memory for transforms, padded rows, amaxes and global scales that only its
/// other ops read. Kernels with other such results are returned as they are.
///
///   kernel ins(%x) outs(%q, %s, %p, %t) { quantize; hadamard; quantize }
/// becomes
///   kernel ins(%x) outs(%q, %s) { quantize }
///   %h = memref.alloc
///   kernel ins(%x) outs(%h) { hadamard }
///   kernel ins(%h) outs(%p, %t) { quantize }
///   memref.dealloc %h
llvm::SmallVector<KernelOp> splitKernel(KernelOp kernel);

/// A kernel that the CPU lowering can take: one op, every result of which is
/// one output, on memrefs with unit innermost stride.
mlir::LogicalResult verifyKernel(KernelOp kernel);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_SPLITKERNEL_H

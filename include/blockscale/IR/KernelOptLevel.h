//===- KernelOptLevel.h - How kernels are optimized -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_KERNELOPTLEVEL_H
#define BLOCKSCALE_IR_KERNELOPTLEVEL_H

namespace blockscale {

/// The `O` of #blockscale.target that gpu.modules of the project's kernels
/// have. At this level PTX of a module with nothing but kernels is not made by
/// #nvvm.target: LLVM runs the passes that change such kernels, and no others,
/// and threads of the context compile several kernels at once.
inline constexpr int kKernelOptLevel = 2;

} // namespace blockscale

#endif // BLOCKSCALE_IR_KERNELOPTLEVEL_H

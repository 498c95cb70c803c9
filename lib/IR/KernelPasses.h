//===- KernelPasses.h - LLVM's passes over kernels --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_KERNELPASSES_H
#define BLOCKSCALE_LIB_IR_KERNELPASSES_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace blockscale {

/// Optimizes a module of one kernel, which calls no function, for a GPU.
void runKernelPasses(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_KERNELPASSES_H

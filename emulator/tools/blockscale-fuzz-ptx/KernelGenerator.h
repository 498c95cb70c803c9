//===- KernelGenerator.h - PTX kernels from bytes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of random lines of the table of instructions, which therefore every
// decoder sees. Operands fit their lines; values are such that many addresses,
// descriptors and barriers are good, and a few are not.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_KERNELGENERATOR_H
#define BLOCKSCALE_TOOLS_FUZZ_KERNELGENERATOR_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscale {

/// The text of the module that `bytes` describe.
std::string generatePtx(llvm::StringRef bytes);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_KERNELGENERATOR_H

//===- EpilogueKernels.h - Kernels of products and what follows -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_EPILOGUEKERNELS_H
#define BLOCKSCALE_LIB_TRANSFORMS_EPILOGUEKERNELS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace blockscale {

/// Wraps products of `function` with what can follow them in their kernel
/// ("blockscale/Analysis/Epilogue.h").
llvm::LogicalResult formEpilogues(mlir::FunctionOpInterface function);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_EPILOGUEKERNELS_H

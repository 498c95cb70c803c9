//===- TransformSizes.h - Which transforms a kernel computes ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_TRANSFORMSIZES_H
#define BLOCKSCALE_ANALYSIS_TRANSFORMSIZES_H

#include "llvm/Support/CommandLine.h"

namespace blockscale {

/// The sizes of tensors whose transform is computed in the kernel that
/// quantizes it.
enum class TransformSizes { Any, TE };

/// The names of these choices, for options.
inline llvm::cl::ValuesClass getTransformSizesValues() {
  return llvm::cl::values(
      clEnumValN(TransformSizes::Any, "any", "Transforms of all sizes"),
      clEnumValN(TransformSizes::TE, "te",
                 "Those that TransformerEngine's kernels take: rows of a "
                 "multiple of 64, with groups of 128, and columns of 128"));
}

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_TRANSFORMSIZES_H

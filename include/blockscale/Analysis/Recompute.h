//===- Recompute.h - When two passes compute the same -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_RECOMPUTE_H
#define BLOCKSCALE_ANALYSIS_RECOMPUTE_H

#include "llvm/Support/CommandLine.h"

namespace blockscale {

/// Whether both of two passes over x compute what makes it, or the first one
/// stores it for the second.
enum class Recompute { Model, Never, Always };

/// The names of these choices, for options.
inline llvm::cl::ValuesClass getRecomputeValues() {
  return llvm::cl::values(
      clEnumValN(Recompute::Model, "model",
                 "Where it is estimated to be faster"),
      clEnumValN(Recompute::Never, "never", "The first pass stores x"),
      clEnumValN(Recompute::Always, "always", "Wherever it can be"));
}

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_RECOMPUTE_H

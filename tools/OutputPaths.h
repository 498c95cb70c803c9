//===- OutputPaths.h - Outputs that would replace inputs --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_OUTPUTPATHS_H
#define BLOCKSCALE_TOOLS_OUTPUTPATHS_H

#include "blockscale/Runtime/Result.h"

#include <vector>

namespace blockscale {

/// Refuses a file of --out that is one of --in, the `source` that is run
/// (`what` says what it is), or another of --out.
runtime::Status checkOutputPaths(const std::vector<std::string> &outputs,
                                 const std::vector<std::string> &inputs,
                                 const std::string &source,
                                 const std::string &what);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_OUTPUTPATHS_H

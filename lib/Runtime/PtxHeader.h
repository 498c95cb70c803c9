//===- PtxHeader.h - What a PTX text is for ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_PTXHEADER_H
#define BLOCKSCALE_LIB_RUNTIME_PTXHEADER_H

#include "blockscale/Runtime/Result.h"

#include <string>
#include <string_view>

namespace blockscale::runtime {

struct PtxHeader {
  /// The version of PTX, as "8.8".
  std::string version;
  /// The chip, as "sm_100a".
  std::string chip;
};

/// Reads the directives .version and .target, with which PTX begins.
Result<PtxHeader> parsePtxHeader(std::string_view text);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_PTXHEADER_H

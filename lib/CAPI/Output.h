//===- Output.h - What compilation gives, from C ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_OUTPUT_H
#define BLOCKSCALE_LIB_CAPI_OUTPUT_H

#include "blockscale-c/Compile.h"

#include <string>
#include <vector>

// C names.
// NOLINTBEGIN(readability-identifier-naming)

struct blockscale_output {
  struct Stage {
    std::string name;
    std::string text;
  };
  std::string data;
  std::vector<Stage> stages;
};

// NOLINTEND(readability-identifier-naming)

#endif // BLOCKSCALE_LIB_CAPI_OUTPUT_H

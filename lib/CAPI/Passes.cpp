//===- Passes.cpp - Passes and pipelines, from C --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Passes.h"

#include "blockscale/Pipelines/Pipelines.h"

#include <mutex>

void mlirRegisterBlockScalePasses() {
  static std::once_flag once;
  std::call_once(once, blockscale::registerAllPasses);
}

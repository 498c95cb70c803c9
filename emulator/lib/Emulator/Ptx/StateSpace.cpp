//===- StateSpace.cpp - State spaces of PTX -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/StateSpace.h"

namespace blockscale::emulator {

llvm::StringRef getName(StateSpace space) {
  static constexpr llvm::StringLiteral kNames[] = {"global", "shared", "local",
                                                   "param", "const"};
  return kNames[static_cast<unsigned>(space)];
}

} // namespace blockscale::emulator

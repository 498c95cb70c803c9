//===- Limits.h - Ends of a program that reads anything ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_READBYTECODE_LIMITS_H
#define BLOCKSCALE_TOOLS_READBYTECODE_LIMITS_H

#include <cstddef>

namespace blockscale {

/// Limits what this process takes while it reads `bytes` of bytecode, in place
/// of the limits that its parent has, but never above what those allow. Where
/// it goes over a limit or crashes, it answers and ends.
void limitReading(size_t bytes);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_READBYTECODE_LIMITS_H

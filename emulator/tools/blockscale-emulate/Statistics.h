//===- Statistics.h - Counts of instructions --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_EMULATE_STATISTICS_H
#define BLOCKSCALE_TOOLS_EMULATE_STATISTICS_H

#include "blockscale/Emulator/Launch.h"

namespace blockscale::emulate {

/// Kernels, functions and instructions of a module, by spelling.
void printCounts(const emulator::Module &module, llvm::raw_ostream &os);

/// What a run executed: instructions by spelling, bytes by space, bank
/// conflicts and MMAs.
void printProfile(const emulator::Program &program,
                  const emulator::Profile &profile, llvm::raw_ostream &os);

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_STATISTICS_H

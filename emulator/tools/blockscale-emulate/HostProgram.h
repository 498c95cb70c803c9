//===- HostProgram.h - CUDA programs on the emulator ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_EMULATE_HOSTPROGRAM_H
#define BLOCKSCALE_TOOLS_EMULATE_HOSTPROGRAM_H

#include "blockscale/Emulator/Launch.h"

namespace blockscale::emulate {

/// A program and its arguments, and the device that it finds.
struct HostProgram {
  llvm::ArrayRef<llvm::StringRef> commandLine;
  std::string chip;
  unsigned multiprocessors = 0; ///< 0: those of the chip's GPU
  emulator::RunOptions options;
};

/// Runs the program with the emulator's CUDA runtime and prints the findings of
/// its launches. Returns the program's exit status, or 1 for findings; the
/// error is of a program that cannot be run or never asked for the runtime.
/// `self` is the path of this tool, which the library is found by.
llvm::Expected<int> runHostProgram(const HostProgram &program,
                                   const std::string &self);

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_HOSTPROGRAM_H

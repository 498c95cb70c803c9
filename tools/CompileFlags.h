//===- CompileFlags.h - Options of what compiles modules --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a module is compiled, whether its code is written to a file or run at
// once: options that tools share.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_COMPILEFLAGS_H
#define BLOCKSCALE_TOOLS_COMPILEFLAGS_H

#include "llvm/Support/CommandLine.h"

#include <string>

namespace blockscale {

/// The options, which are registered where this is constructed. Those that say
/// GPU have no effect on code for the CPU, and `optimize` has one on that
/// alone; the tools refuse them there.
struct CompileFlags {
  explicit CompileFlags(llvm::cl::OptionCategory &category);

  /// Brings the options that `CompileOptions` and `ExecutableOptions` have in
  /// common into one of them.
  template <typename Options>
  void fill(Options &options) const {
    options.fuse = fuse;
    options.overlapLaunches = overlapLaunches;
    options.checks = checks;
    options.tuned = tuned;
  }

  llvm::cl::opt<bool> optimize, fuse, overlapLaunches, checks;
  llvm::cl::opt<std::string> policy, tuned, bytecodeReader;
};

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_COMPILEFLAGS_H

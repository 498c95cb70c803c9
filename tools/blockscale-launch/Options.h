//===- Options.h - What blockscale-launch is asked for ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_LAUNCH_OPTIONS_H
#define BLOCKSCALE_TOOLS_LAUNCH_OPTIONS_H

#include "blockscale/Runtime/Result.h"

#include <vector>

namespace blockscale::launch {

struct Options {
  std::string bundle;
  std::string entry;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string driver;
  int device = 0;
  int repeat = 1;
  bool printTime = false;
  bool list = false;
  /// Whether this is the only rank.
  bool oneRank = false;
  bool help = false;
  bool version = false;
};

/// Values follow their option as `--in=x.npy` or `--in x.npy`; LLVM's parser is
/// not there.
runtime::Result<Options> parseOptions(int argc, char **argv);

/// What --help prints.
extern const char *const kHelp;

} // namespace blockscale::launch

#endif // BLOCKSCALE_TOOLS_LAUNCH_OPTIONS_H

//===- ToolMain.cpp - The main function of a program ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tools.h"

// BLOCKSCALE_TOOL is the function of the program.
int main(int argc, char **argv) {
  return blockscale::tools::BLOCKSCALE_TOOL(argc, argv);
}

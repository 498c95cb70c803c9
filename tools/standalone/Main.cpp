//===- Main.cpp - A program of the standalone library ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolNames.h"

int main(int argc, char **argv) { return blockscale_tool_main(argc, argv); }

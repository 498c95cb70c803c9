//===- ToolNames.h - Programs of the standalone library ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_STANDALONE_TOOLNAMES_H
#define BLOCKSCALE_TOOLS_STANDALONE_TOOLNAMES_H

/// Runs the program that argv[0] names, as "blockscale-read-bytecode", wherever
/// that lies; for "blockscale" it is the one that argv[1] names. Returns its
/// exit status.
extern "C" int blockscale_tool_main(int argc, char **argv);

#endif // BLOCKSCALE_TOOLS_STANDALONE_TOOLNAMES_H

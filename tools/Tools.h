//===- Tools.h - The programs, as functions ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each takes the arguments of its program and returns the exit status of that,
// or ends the process. A process calls one of them, once, since each registers
// its options with LLVM, which knows one set of options.
//
// They are functions so that the library of tools/standalone can have them all.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_TOOLS_H
#define BLOCKSCALE_TOOLS_TOOLS_H

namespace blockscale::tools {

int compile(int argc, char **argv);
int emulate(int argc, char **argv);
int launch(int argc, char **argv);
int opt(int argc, char **argv);
int readBytecode(int argc, char **argv);
int report(int argc, char **argv);
int roofline(int argc, char **argv);
int run(int argc, char **argv);

} // namespace blockscale::tools

#endif // BLOCKSCALE_TOOLS_TOOLS_H

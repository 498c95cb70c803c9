//===- Parser.h - Parser of PTX modules -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_PARSER_H
#define BLOCKSCALE_EMULATOR_PARSER_H

#include "blockscale/Emulator/Ast.h"

namespace blockscale::emulator {

/// Parses PTX as LLVM, Triton and nvcc print it: any `.version`, debug
/// sections dropped. Names are not resolved and instructions not looked up.
/// The error, a Diagnostic, is the first place that does not fit the grammar.
llvm::Expected<Module> parseModule(llvm::StringRef text);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_PARSER_H

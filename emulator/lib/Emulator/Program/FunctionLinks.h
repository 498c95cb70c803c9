//===- FunctionLinks.h - Functions that names stand for ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PROGRAM_FUNCTIONLINKS_H
#define BLOCKSCALE_LIB_EMULATOR_PROGRAM_FUNCTIONLINKS_H

#include "blockscale/Emulator/Ast.h"

namespace blockscale::emulator {

/// Makes every operand that names an alias or a declaration name the function
/// that is defined for it, where the module has one.
void linkFunctions(Module &module);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PROGRAM_FUNCTIONLINKS_H

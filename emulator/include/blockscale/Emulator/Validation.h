//===- Validation.h - Resolution of names -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_VALIDATION_H
#define BLOCKSCALE_EMULATOR_VALIDATION_H

#include "blockscale/Emulator/Ast.h"

namespace blockscale::emulator {

/// Finds what each name of a module stands for and writes it into the tree:
/// kinds, registers, types and symbols of operands, targets and initialisers.
/// The error joins one Diagnostic for each name that is declared twice, not at
/// all, or out of reach, of which the first twenty are kept.
///
/// * A name of a function body is searched from its scope outwards, then in the
///   module. Registers and variables are declared before their use.
/// * A function may be declared often and is defined once.
/// * A guard is a predicate; `%tid` and vector registers are read by component,
///   where a vector register alone stands for all of its components.
llvm::Error resolveNames(Module &module);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_VALIDATION_H

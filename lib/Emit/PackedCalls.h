//===- PackedCalls.h - Functions that take lists of pointers -- -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_PACKEDCALLS_H
#define BLOCKSCALE_LIB_EMIT_PACKEDCALLS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace blockscale {

/// The name of the packed function for a function of a module.
std::string getPackedName(llvm::StringRef function);

/// Adds a packed function for each function with a C interface: it takes a list
/// of pointers to the arguments' values, so that who calls it needs no code for
/// the signature.
void addPackedFunctions(llvm::Module &module);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_PACKEDCALLS_H

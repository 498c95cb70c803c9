//===- ObjectVerifier.h - Objects that can be linked ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_OBJECTVERIFIER_H
#define BLOCKSCALE_EMIT_OBJECTVERIFIER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace blockscale {

/// Whether bytes are an object of the shape that emitPackedObject gives it:
/// sections, symbols and relocations of the kinds that it writes, all of them
/// within the object. LLVM's linker takes that for granted: it ends the process
/// at a relocation that it does not know, and writes where one says.
///
/// What the instructions do is not looked at.
llvm::Error verifyObject(llvm::StringRef object);

/// Whether an object refers to a symbol of others; false for what is no object.
bool refersTo(llvm::StringRef object, llvm::StringRef symbol);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_OBJECTVERIFIER_H

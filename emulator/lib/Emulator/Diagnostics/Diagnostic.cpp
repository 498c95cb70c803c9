//===- Diagnostic.cpp - Errors with a place in PTX text -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Diagnostic.h"

#include "llvm/Support/raw_ostream.h"

namespace blockscale::emulator {

char Diagnostic::ID = 0;

void Diagnostic::log(llvm::raw_ostream &os) const {
  os << location.line << ":" << location.column << ": error: " << message;
}

std::error_code Diagnostic::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error makeError(Location location, const llvm::Twine &message) {
  return llvm::make_error<Diagnostic>(location, message.str());
}

} // namespace blockscale::emulator

//===- ModuleGenerator.h - Modules of the dialect from bytes ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most modules are legal, so that they reach the lowerings; a few have an
// operand, a size or an attribute that some rule refuses.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_MODULEGENERATOR_H
#define BLOCKSCALE_TOOLS_FUZZ_MODULEGENERATOR_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscale {

/// The text of the module that `bytes` describe.
std::string generateModule(llvm::StringRef bytes);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_MODULEGENERATOR_H

//===- ModuleGenerator.cpp - Modules of the dialect from bytes ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleGenerator.h"
#include "FunctionWriter.h"

namespace blockscale {

std::string generateModule(llvm::StringRef input) {
  ByteSource bytes(input);
  std::vector<FuzzFunction> functions;
  std::string text;
  bool isBasic = bytes.rarely(3);
  unsigned numFunctions = bytes.pick<unsigned>({1, 1, 1, 2, 2, 3});
  for (unsigned i = 0; i < numFunctions; ++i)
    text += FunctionWriter(bytes, functions, isBasic).write();
  return text;
}

} // namespace blockscale

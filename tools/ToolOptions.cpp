//===- ToolOptions.cpp - Help and version of the tools --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolOptions.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace blockscale {

void setToolVersion(const char *toolName) {
  cl::SetVersionPrinter([toolName](llvm::raw_ostream &os) {
    os << toolName << " " << BLOCKSCALE_VERSION << ", LLVM "
       << LLVM_VERSION_STRING << "\n";
  });
}

void hideLibraryOptions() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (name != "help" && name != "version" &&
        option->getOptionHiddenFlag() == cl::NotHidden)
      option->setHiddenFlag(cl::Hidden);
}

} // namespace blockscale

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

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// LLVM's arenas poison what they have not handed out, from code that is
/// instrumented; libMLIR's is not and takes it without unpoisoning.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
#endif
#endif

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

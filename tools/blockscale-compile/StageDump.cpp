//===- StageDump.cpp - Dump the stages of a pipeline ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageDump.h"

#include "blockscale/Runtime/FileOutput.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using blockscale::runtime::Status;

namespace blockscale {

Status StageDump::dump(ModuleOp module, size_t number,
                       const std::string &stage) {
  if (folder.empty())
    return Status::success();
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return Status::failure("cannot create the --dump-stages folder '" + folder +
                           "': " + error.message());
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path,
                          llvm::formatv("{0,0+2}-{1}.mlir", number, stage));
  return runtime::writeFileAtomically(path.str().str(), text);
}

} // namespace blockscale

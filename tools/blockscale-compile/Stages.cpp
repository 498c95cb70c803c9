//===- Stages.cpp - Run a pipeline and dump its stages --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "blockscale/Runtime/FileOutput.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::compile {

static llvm::Error dump(ModuleOp module, const std::string &directory,
                        unsigned number, StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path,
                          llvm::formatv("{0,0+2}-{1}.mlir", number, name));
  runtime::Status written =
      runtime::writeFileAtomically(path.str().str(), text);
  if (!written.ok())
    return llvm::createStringError(written.message());
  return llvm::Error::success();
}

llvm::Error runStages(ModuleOp module, const std::vector<Stage> &stages,
                      const std::string &dumpDirectory) {
  bool dumps = !dumpDirectory.empty();
  if (dumps) {
    if (std::error_code error =
            llvm::sys::fs::create_directories(dumpDirectory))
      return llvm::createStringError("cannot create the --dump-stages folder "
                                     "'" +
                                     dumpDirectory + "': " + error.message());
    if (llvm::Error error = dump(module, dumpDirectory, 0, "input"))
      return error;
  }
  for (auto [i, stage] : llvm::enumerate(stages)) {
    PassManager pm(module.getContext());
    stage.build(pm);
    if (failed(pm.run(module)))
      return llvm::createStringError("stage '" + stage.name + "' failed");
    if (!dumps)
      continue;
    if (llvm::Error error = dump(module, dumpDirectory, i + 1, stage.name))
      return error;
  }
  return llvm::Error::success();
}

} // namespace blockscale::compile

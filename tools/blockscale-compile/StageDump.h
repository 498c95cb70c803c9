//===- StageDump.h - Dump the stages of a pipeline --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_COMPILE_STAGEDUMP_H
#define BLOCKSCALE_TOOLS_COMPILE_STAGEDUMP_H

#include "blockscale/Driver/Stages.h"

namespace blockscale {

/// Writes NN-NAME.mlir after each stage, 00-input.mlir first, to a folder that
/// is created where absent; nothing where the folder is "".
class StageDump : public CompileObserver {
public:
  explicit StageDump(std::string folder) : folder(std::move(folder)) {}

  runtime::Status dump(mlir::ModuleOp module, size_t number,
                       const std::string &stage) override;

private:
  std::string folder;
};

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_COMPILE_STAGEDUMP_H

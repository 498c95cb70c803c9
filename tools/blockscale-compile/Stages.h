//===- Stages.h - Run a pipeline and dump its stages ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_COMPILE_STAGES_H
#define BLOCKSCALE_TOOLS_COMPILE_STAGES_H

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace blockscale::compile {

/// Runs the stages in order. With `dumpDirectory`, which is created where
/// absent, writes NN-NAME.mlir after each, 00-input.mlir first.
llvm::Error runStages(mlir::ModuleOp module, const std::vector<Stage> &stages,
                      const std::string &dumpDirectory);

} // namespace blockscale::compile

#endif // BLOCKSCALE_TOOLS_COMPILE_STAGES_H

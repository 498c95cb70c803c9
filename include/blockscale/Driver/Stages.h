//===- Stages.h - Run a pipeline, watched -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_STAGES_H
#define BLOCKSCALE_DRIVER_STAGES_H

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/Result.h"

#include "mlir/IR/BuiltinOps.h"

namespace blockscale {

/// Sees a compilation while it goes on. A failure that a function returns ends
/// the compilation and is its result.
class CompileObserver {
public:
  virtual ~CompileObserver() = default;

  /// Called before step `number` of `count`, from 0 on. A step is a stage, or
  /// what is emitted after the last one.
  virtual runtime::Status begin(const std::string &step, size_t number,
                                size_t count);
  /// The module before the first stage, as stage 0 named "input", and after
  /// each.
  virtual runtime::Status dump(mlir::ModuleOp module, size_t number,
                               const std::string &stage);
};

/// Runs the stages in order, as steps `first` and following of `count`.
runtime::Status runStages(mlir::ModuleOp module,
                          const std::vector<Stage> &stages,
                          CompileObserver &observer, size_t first,
                          size_t count);

/// Lowers what `module` has of TOSA, as the first stage does, for callers that
/// need the types of functions before.
runtime::Status lowerTosa(mlir::ModuleOp module);

/// Runs the stages on what function `entry` needs of `module`, which loses the
/// rest: that costs compile time, and may hold what the target cannot run.
/// `target` is for the message.
runtime::Status lowerEntry(mlir::ModuleOp module, const std::string &entry,
                           const std::vector<Stage> &stages,
                           const std::string &target,
                           CompileObserver &observer);

/// Quantizes the products of a module as the policy of a file says
/// (docs/Policy.md), before any stage; those of TOSA are lowered first. Does
/// nothing where `policyFile` is empty. The failure says what is wrong with the
/// file.
runtime::Status quantizeProducts(mlir::ModuleOp module,
                                 const std::string &policyFile);

/// Why kernels are launched as they are becomes remarks of the context's ops.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context);

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_STAGES_H

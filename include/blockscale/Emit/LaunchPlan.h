//===- LaunchPlan.h - The launch plan of a lowered module -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_EMIT_LAUNCHPLAN_H
#define BLOCKSCALE_EMIT_LAUNCHPLAN_H

#include "blockscale/Runtime/LaunchPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace blockscale {

/// The launch plan (docs/LaunchPlan.md) of a module that `blockscale-to-gpu`
/// has lowered for `chip`, before its kernels become PTX: the public functions,
/// whose bodies are evaluated symbolically. Host code that a plan does not
/// express is an error at its op.
mlir::FailureOr<runtime::LaunchPlan> emitLaunchPlan(mlir::ModuleOp module,
                                                    llvm::StringRef chip);

/// The record of the schedules that blockscale-choose-schedules chose for a
/// module's products; empty where there is none.
mlir::FailureOr<std::vector<runtime::PlanChoice>>
emitChoices(mlir::ModuleOp module);

/// NumPy's type that .npy files and plans hold elements of `type` as, in
/// storage form; none where there is no such type.
std::optional<runtime::NpyType> getStorageDType(mlir::Type type);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_LAUNCHPLAN_H

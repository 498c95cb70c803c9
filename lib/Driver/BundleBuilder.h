//===- BundleBuilder.h - Bundles of lowered modules -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_DRIVER_BUNDLEBUILDER_H
#define BLOCKSCALE_LIB_DRIVER_BUNDLEBUILDER_H

#include "blockscale/Driver/SavedFunction.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/Bundle.h"

#include "mlir/IR/BuiltinOps.h"

namespace blockscale {

/// Adds a target: the launch plan and the PTX of a module that a pipeline has
/// lowered for `chip`. The kernels of the module become PTX, and machine code,
/// too, by the program `ptxas`, unless that is empty.
runtime::Status addTarget(runtime::BundleContent &content,
                          mlir::ModuleOp module, llvm::StringRef chip,
                          llvm::StringRef ptxas);

/// Lowers what function `entry` needs of `module` for the chip of `options`: a
/// bundle of one target, which was never text. `ptxas` is as for addTarget.
runtime::Result<std::shared_ptr<const runtime::Bundle>>
buildBundle(mlir::ModuleOp module, const std::string &entry,
            const ToGPUOptions &options, llvm::StringRef ptxas,
            CompileObserver &observer);

/// A function of a bundle of one target, to be saved.
SavedFunction saveBundle(const runtime::Bundle &bundle,
                         const Signature &signature);

/// The bundle of a function that was saved, which has that function. Takes its
/// code.
runtime::Result<std::shared_ptr<const runtime::Bundle>>
loadBundle(SavedFunction &saved);

/// `signature` with what the plan says of arguments that are given away, and of
/// results in their memory.
Signature addReuse(Signature signature, const runtime::PlanFunction &function);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DRIVER_BUNDLEBUILDER_H

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
/// lowered for `chip`. The kernels of the module become PTX.
runtime::Status addTarget(runtime::BundleContent &content,
                          mlir::ModuleOp module, llvm::StringRef chip);

/// Lowers what function `entry` needs of `module` for the chip of `options`: a
/// bundle of one target, which was never text.
runtime::Result<std::shared_ptr<const runtime::Bundle>>
buildBundle(mlir::ModuleOp module, const std::string &entry,
            const ToGPUOptions &options, CompileObserver &observer);

/// A function of a bundle of one target, to be saved, with machine code of its
/// kernels where there is some.
SavedFunction saveBundle(const runtime::Bundle &bundle,
                         const Signature &signature,
                         const std::string &cubin = "");

/// The bundle of a function that was saved, which has that function. Takes its
/// code.
runtime::Result<std::shared_ptr<const runtime::Bundle>>
loadBundle(SavedFunction &saved);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DRIVER_BUNDLEBUILDER_H

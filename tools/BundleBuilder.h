//===- BundleBuilder.h - Bundles of lowered modules -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_BUNDLEBUILDER_H
#define BLOCKSCALE_TOOLS_BUNDLEBUILDER_H

#include "blockscale/Runtime/Bundle.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace blockscale {

/// Adds a target: the launch plan and the PTX of a module that a pipeline has
/// lowered for `chip`. The kernels of the module become PTX.
llvm::Error addTarget(runtime::BundleContent &content, mlir::ModuleOp module,
                      llvm::StringRef chip);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_BUNDLEBUILDER_H

//===- Passes.h - Lowerings to targets --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_PASSES_H
#define BLOCKSCALE_CONVERSION_PASSES_H

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Numerics/TensorCoreSum.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace blockscale {

#define GEN_PASS_DECL
#include "blockscale/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#define GEN_PASS_REGISTRATION_ALL
#include "blockscale/Conversion/Passes.h.inc"

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_PASSES_H

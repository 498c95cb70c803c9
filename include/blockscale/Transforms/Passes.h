//===- Passes.h - Target-independent passes ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PASSES_H
#define BLOCKSCALE_TRANSFORMS_PASSES_H

#include "blockscale/Analysis/Recompute.h"
#include "blockscale/Analysis/TransformSizes.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Transforms/FoldConstants.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace blockscale {

#define GEN_PASS_DECL
#include "blockscale/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#define GEN_PASS_REGISTRATION_ALL
#include "blockscale/Transforms/Passes.h.inc"

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_PASSES_H

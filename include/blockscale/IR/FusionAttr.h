//===- FusionAttr.h - Why a kernel has the ops it has -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of several ops has an attribute that says which of the forms it
// could have was chosen, and what each was estimated to take, all of its
// kernels together:
//
//   blockscale.fusion = {
//     form = "together",
//     together = {bytes = 23552, launches = 1, ns = 2000},
//     apart = {bytes = 72704, launches = 3, ns = 6000}}
//
// Without an estimate there is only the form.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_FUSIONATTR_H
#define BLOCKSCALE_IR_FUSIONATTR_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

inline constexpr llvm::StringLiteral kFusionAttrName = "blockscale.fusion";

namespace fusion {

inline constexpr llvm::StringLiteral kForm = "form";

/// All ops in one kernel.
inline constexpr llvm::StringLiteral kTogether = "together";
/// Two kernels, each with a pass over x: the first one computes x and stores it
/// for the second one.
inline constexpr llvm::StringLiteral kKept = "kept";
/// Two kernels, each with a pass over x: each one computes x for itself.
inline constexpr llvm::StringLiteral kRecomputed = "recomputed";
/// A kernel for each op. Such kernels have no attribute.
inline constexpr llvm::StringLiteral kApart = "apart";

// What a form takes.
inline constexpr llvm::StringLiteral kBytes = "bytes";
inline constexpr llvm::StringLiteral kLaunches = "launches";
inline constexpr llvm::StringLiteral kNanoseconds = "ns";

} // namespace fusion

/// kernel_c5: an error where the attribute of `kernel` is not as above.
llvm::LogicalResult verifyFusionAttr(KernelOp kernel);

} // namespace blockscale

#endif // BLOCKSCALE_IR_FUSIONATTR_H

//===- PatchAmax.h - Amaxes that a patch kernel takes -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHAMAX_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHAMAX_H

#include "PatchElements.h"

namespace blockscale {

/// The amax of x or of a transform of its columns.
struct PatchAmax {
  explicit PatchAmax(AmaxOp op);

  /// The part of the name of a kernel that stands for it, for example
  /// `rht55272_amax_each`.
  std::string getName() const;

  std::optional<uint64_t> signMask;
  /// Whether each matrix of a batch has its own.
  bool perMatrix;
};

/// Bits of the largest magnitude of a patch. Whether the kernel takes the
/// amaxes of its rows too, rather than of its columns, decides which of them
/// it is computed from.
mlir::Value emitPatchAmax(KernelBuilder &b, const PatchElements &elements,
                          const PatchShape &shape, bool hasRowAmaxes);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHAMAX_H

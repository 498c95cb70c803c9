//===- StripAmax.h - Amaxes that a strip kernel takes -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPAMAX_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPAMAX_H

#include "FragmentElements.h"

namespace blockscale {

/// The amax of x or of a transform of its columns.
struct StripAmax {
  explicit StripAmax(AmaxOp op);
  explicit StripAmax(AmaxPartsOp op);

  /// The part of the name of a kernel that stands for it, for example
  /// `rht55272_amax_each`.
  std::string getName() const;

  std::optional<uint64_t> signMask;
  /// Whether each matrix of a batch has its own, or each group of rows.
  bool perMatrix = false;
  bool perGroup = false;
  /// Whether its groups are those of the amax before that has groups.
  bool hasSameGroups = false;
  /// The number of parts that are stored; 0 where the amax itself is raised.
  int64_t parts = 0;
};

/// Bits of the largest magnitude of each row of a fragment.
llvm::SmallVector<mlir::Value> emitRowAmaxes(KernelBuilder &b,
                                             const FragmentElements &elements);

/// Bits of the largest magnitude of a fragment. Whether the kernel takes the
/// amaxes of its rows too, rather than of its columns, decides which of them
/// it is computed from.
mlir::Value emitStripAmax(KernelBuilder &b, const FragmentElements &elements,
                          const StripShape &shape, bool hasRowAmaxes);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPAMAX_H

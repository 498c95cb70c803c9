//===- FragmentBounds.h - Which threads have a fragment ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_FRAGMENTBOUNDS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_FRAGMENTBOUNDS_H

#include "QuantizeFragment.h"

namespace blockscale {

/// The place of a thread among those that have fragments: full ones, tails and
/// padding.
class FragmentBounds {
public:
  FragmentBounds(KernelBuilder &b, const QuantizeSpec &spec,
                 const ThreadMapping &mapping,
                 const QuantizeOperands &arguments, FragmentPosition position);

  /// ceil(rows / 128) of swizzled scales, else null.
  mlir::Value getRowTiles() const { return rowTiles; }

  /// Whether all lanes of the warp have a full fragment.
  mlir::Value isFullWarp();

  /// Quantizes the fragment and stores its scales, where the thread has one.
  void emit(FragmentEmitter &fragment);

private:
  mlir::Value isFragmentBelow(int64_t bound);
  llvm::SmallVector<mlir::Value> emitRow(FragmentEmitter &fragment);
  void emitSwizzled(FragmentEmitter &fragment);

  KernelBuilder &b;
  const QuantizeSpec &spec;
  const ThreadMapping &mapping;
  const QuantizeOperands &arguments;
  FragmentPosition position;
  mlir::Value rowTiles, matrixExists;
  /// Types of the pairs of scale bytes that `emitRow` returns.
  llvm::SmallVector<mlir::Type> pairTypes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_FRAGMENTBOUNDS_H

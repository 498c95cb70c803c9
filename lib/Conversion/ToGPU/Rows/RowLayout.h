//===- RowLayout.h - How rows fall on CTAs ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CTA of a row program has whole rows, so that what a row reduces to is known
// in it. A row set has four of them (ThreadMapping.h), or more where rows are
// so short that lanes would have no fragment.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_ROWLAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_ROWLAYOUT_H

#include "DeviceEmission/ScaleStore.h"
#include "ThreadMapping.h"

namespace blockscale {

/// Elements that a thread has of a row at a time.
inline constexpr int64_t kShortFragment = 32;
inline constexpr int64_t kLongFragment = 64;

/// Warps of a CTA that reduces rows, where one row has fewer.
inline constexpr int64_t kFewestWarps = 4;

struct RowLayout {
  int64_t rowElements;
  /// Elements of a fragment, which is what a thread has in one pass. The last
  /// fragment of a row may have fewer.
  int64_t fragmentElements;
  int64_t fragments;
  /// Rows between those of a row set.
  int64_t rowStride;
  int64_t warpsPerRowSet;
  int64_t rowSetsPerBlock;
  int64_t passes;
  /// Lanes of a warp that have fragments of one row: as many as a row set of
  /// four rows leaves, fewer where rows have fewer fragments, or all of them
  /// where a row has a CTA.
  int64_t runLanes = kRunLanes;

  /// The layout of rows that are quantized.
  RowLayout(const QuantizeSpec &spec, const ThreadMapping &mapping);
  /// The layout of rows that are not quantized. Where there are few of them and
  /// they are long, each has a CTA, so that a thread has fewer elements.
  RowLayout(int64_t rowElements, int64_t inputBytes, bool areFew = false);
  /// The layout of such rows for CTAs of so many warps, a power of two.
  RowLayout(int64_t rowElements, int64_t inputBytes, int64_t warps);

  int64_t getThreads() const {
    return rowSetsPerBlock * warpsPerRowSet * kWarpThreads;
  }
  /// Rows of a row set, all of which a warp has.
  int64_t getRowSetRows() const { return kWarpThreads / runLanes; }
  int64_t getFullFragments() const { return rowElements / fragmentElements; }
  int64_t getTailElements() const { return rowElements % fragmentElements; }
  /// Warps that reduce a part of a row, those of all passes counted.
  int64_t getParts() const { return warpsPerRowSet * passes; }
  /// Fragments of a row set that there are threads for in all passes.
  int64_t getPlaces() const { return getParts() * runLanes; }

  /// The number of passes over a row set of so many warps whose threads have
  /// `inputBytes` of inputs for each element, and whether they have fragments
  /// of 64 elements. Elements that are read in a single pass stay in registers.
  static int64_t countPasses(int64_t warps, int64_t inputBytes);
  static bool hasLongFragments(int64_t rowElements, int64_t inputBytes);
  /// Whether `rows` rows are few, which may be unknown (ShapedType::kDynamic).
  static bool areFew(int64_t rows);

  /// Lanes of a warp for each of the rows of a row set of four.
  static constexpr int64_t kRunLanes =
      kWarpThreads / ThreadMapping::kRowSetRows;
};

/// The position at which a thread works. Its row and fragment may be beyond the
/// last ones.
struct RowPosition {
  /// Numbers (i32) of the thread in its block, of the row set in that block, of
  /// the row in the row set, and of the thread's warp in the row set.
  emit::Lanes thread, rowSet, run, warp;
  /// The number (i32) of the lane among those of its row.
  emit::Lanes lane;
  /// The fragment of the thread in the first pass.
  FragmentPosition fragment;

  /// The position in row sets of CTA `block`, an index.
  static RowPosition emit(KernelBuilder &b, const RowLayout &layout,
                          bool batched, emit::Lanes block);
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_ROWLAYOUT_H

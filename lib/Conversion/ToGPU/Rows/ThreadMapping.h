//===- ThreadMapping.h - How rows fall on threads ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread quantizes one fragment: consecutive blocks of a row.
//
// A row set is what is handled together: with linear scales a row, a fragment a
// thread. Tiled scales keep rows together that are 32 apart; there a row set is
// four such rows, and a warp handles eight fragments of each, so that it does
// not scatter what it stores of a tile of scales. Threads or warps run along
// row sets, then across them. Row sets fall in groups of the fewest that fill
// whole CTAs, so that the place in a group comes from 32-bit numbers:
//
//   CTAs of the grid's x:            | group 0 ............ | group 1 ...
//   a group:      rowSetsPerGroup row sets of unitsPerRowSet threads or warps
//               = blocksPerGroup CTAs of unitsPerBlock
//
// Kernels that reduce rows have row sets of four rows in any case, those of
// linear scales neighbours, and a CTA has whole row sets. Where a row set is
// longer than the warps of a CTA, these pass over it several times.
//
// The grid's y and z count the matrices of a batch. With swizzled scales the
// rows and fragments of padding have threads too, which write the zero bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_THREADMAPPING_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_THREADMAPPING_H

#include "QuantizeSpec.h"

namespace blockscale {

struct ThreadMapping {
  /// Threads of a CTA. Kernels that reduce rows have as many as RowLayout.h
  /// says instead.
  static constexpr int64_t kThreads = 128;
  /// Rows between those of a row set of tiled scales, and row sets of a tile.
  static constexpr int64_t kRowStride = 32;
  /// Rows of a row set that warps have runs of.
  static constexpr int64_t kRowSetRows = 4;

  ThreadMapping(const QuantizeSpec &spec, const target::Chip &chip);

  /// Whether full warps load their fragments through shared memory, and whether
  /// they store codes that way as well. It costs an instruction an element,
  /// which pays where memory leaves time for it (LaunchModel.h), and caches
  /// have no wider accesses to serve. Kernels that reduce rows wait for loads
  /// anyway, and always load so where they can.
  bool hasBuffer;
  bool isStaged;
  /// CTAs on a multiprocessor that registers are kept for; 0 leaves them to the
  /// assembler.
  int64_t residentBlocks = 0;
  /// Elements and blocks of a full fragment.
  int64_t fragmentElements;
  int64_t fragmentBlocks;
  /// Full fragments of a row, and elements in the one after them.
  int64_t fullFragments;
  int64_t tailElements;
  /// Fragments of a row with threads, those of padding included.
  int64_t fragmentsPerRow;
  /// Lanes of a warp whose fragments follow each other in memory, and rows
  /// between those of a row set.
  int64_t runLanes;
  int64_t rowStride;
  /// Threads of a CTA, and times that it passes over its row sets.
  int64_t threads;
  int64_t passes;
  /// Threads or, of tiled scales, warps of a CTA and of a row set. The row sets
  /// of a group fill whole CTAs.
  int64_t unitsPerBlock;
  int64_t unitsPerRowSet;
  int64_t rowSetsPerGroup;
  int64_t blocksPerGroup;

  /// Whether warps have runs of several rows.
  static bool hasRuns(const QuantizeSpec &spec) {
    return spec.swizzled || spec.ownsRows();
  }

  /// Says at `loc` why fragments are as they are.
  void remark(mlir::Location loc, const QuantizeSpec &spec,
              const target::Chip &chip) const;

  /// Fragments that the threads of a row set have places for.
  int64_t getPlacesPerRow(const QuantizeSpec &spec) const {
    return passes * unitsPerRowSet * (hasRuns(spec) ? runLanes : 1);
  }
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_THREADMAPPING_H

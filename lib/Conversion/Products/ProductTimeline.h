//===- ProductTimeline.h - The time that a schedule takes -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One model of the time of a product, whichever instruction multiplies. A
// family gives the coefficients of a kernel with a schedule; what follows from
// them is computed here:
//
//   step    the longest of multiplying, reading shared memory, loading, and
//           decoding with the part of multiplying that it does not hide
//   tile    its steps, and the part of writing its results that nothing hides
//   wave    one tile for each CTA, or each cluster
//   total   all waves, but never less than to read both operands from memory;
//           starting; adding the sums of parts of K
//
// Times are microseconds, the unit that coefficients were measured in and that
// remarks print.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTTIMELINE_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTTIMELINE_H

#include "AssumedSizes.h"
#include "GemmSpec.h"
#include "blockscale/Target/Gpu.h"

namespace blockscale::products {

inline constexpr double kMicroseconds = 1e6;

/// What a kernel takes. What a family leaves out is 0.
struct KernelCost {
  /// Times of one step.
  double multiply = 0, decode = 0, read = 0, load = 0;
  /// The part of multiplying, 0 to 1, that decoding does not hide.
  double shownMultiply = 0;
  /// Tiles that run at a time.
  double slots = 0;
  /// The parts of writing the results of a tile that nothing hides, and that
  /// the steps of the next tile hide.
  double write = 0, hiddenWrite = 0;
  /// What each product takes besides, and what a kernel takes more that adds
  /// sums of parts of K.
  double start = 0, sumStart = 0;
  /// Reading both operands from memory.
  double memory = 0;
  /// FLOP a microsecond of the tensor cores.
  double peak = 0;

  // Of the family, whatever the kernel: elements of K of a step, and whether
  // CTAs of a cluster add the sums of parts of K, so that no other kernel does.
  int64_t stepElements = 0;
  bool addsInCluster = false;
};

/// Times of one kernel with its schedule, and counts.
struct ProductTimeline {
  ProductTimeline(const AssumedSizes &sizes, const GemmSpec &spec,
                  const target::Gpu &gpu, const KernelCost &cost);

  /// Those of a step, and the longest.
  double multiply, decode, read, load, step;
  double steps, tiles, waves;
  /// The whole time, and that of the multiprocessors, which may have to wait
  /// for memory besides.
  double total, busy;
  /// The share of the peak of the tensor cores that is reached, 0 to 1.
  double share;
};

/// Tiles of all products, and of all parts of K but those that the CTAs of a
/// cluster have.
double countTiles(const AssumedSizes &sizes, GemmScheduleAttr schedule,
                  bool addsInCluster = false);

/// A schedule and the time that it is expected to take.
struct RatedSchedule {
  GemmScheduleAttr schedule;
  ProductTimeline timeline;
};

/// The best first; of equals, as memory makes them, the one that keeps
/// multiprocessors least busy, then with the fewest rows and columns, in the
/// fewest parts, and without multicast.
void sortSchedules(llvm::MutableArrayRef<RatedSchedule> rated);

/// The tile of a schedule, the pairs of CTAs that share loads, and the parts of
/// K: "256 x 256 by 2, K in 4 parts".
std::string printTile(GemmScheduleAttr schedule);

/// Says at the op what was chosen of `rated`, by which numbers, and what was
/// next. A step has `stepElements` of K. `note` is what else there is to say:
/// "; ...", or nothing.
void remarkSchedule(const Product &product, int64_t stepElements,
                    llvm::ArrayRef<RatedSchedule> rated, llvm::StringRef note);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTTIMELINE_H

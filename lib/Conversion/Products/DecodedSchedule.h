//===- DecodedSchedule.h - Rated schedules of decoded operands --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What models of kernels have in common that decode an operand with scales and
// multiply it by a plain one.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSCHEDULE_H

#include "AssumedSizes.h"
#include "DecodedFormat.h"
#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale::gemm {

/// Times of one kernel in microseconds, and counts.
struct DecodedTimeline {
  /// What multiplying, decoding and loading take in one step.
  double multiply, decode, load;
  /// What one step takes in all.
  double step;
  double steps, tiles, waves;
  double total;
};

/// A schedule and the time that it is expected to take.
struct RatedDecodedSchedule {
  GemmScheduleAttr schedule;
  DecodedTimeline timeline;
};

/// Bytes of both operands and the scales of all matrices.
double countOperandBytes(const AssumedSizes &sizes,
                         const DecodedFormat &format);

/// The best first; of equals the one with the fewest rows, and in the fewest
/// parts.
void sortSchedules(llvm::MutableArrayRef<RatedDecodedSchedule> rated);

/// Says at the op what was chosen, by which numbers, and what was next. A step
/// has `stepElements` of K. `note` is what else there is to say: "; ...", or
/// nothing.
void remarkDecodedSchedule(const Product &product, int64_t stepElements,
                           llvm::ArrayRef<RatedDecodedSchedule> rated,
                           llvm::StringRef note);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSCHEDULE_H

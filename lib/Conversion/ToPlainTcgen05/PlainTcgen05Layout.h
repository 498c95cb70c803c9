//===- PlainTcgen05Layout.h - Tiles and memory of a CTA --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma multiplies bf16 or f16 and takes its first operand from tensor
// memory, where threads put what they decode (Products/DecodedFormat.h). A step
// is 128 bytes of a row of the plain operand: four instructions of 16 elements.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05LAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05LAYOUT_H

#include "Products/StagedLoads.h"
#include "Products/TensorMemory.h"

namespace blockscale::products {

/// Rows of the operand with scales that a tile has: the lanes of tensor memory.
inline constexpr int64_t kLaneRows = 128;
/// Elements of K of an instruction, and the instructions of a step.
inline constexpr int64_t kTcgen05Elements = 16;
inline constexpr int64_t kStepProducts = kDecodedStep / kTcgen05Elements;
/// Columns of tensor memory of a decoded step: two elements in a column.
inline constexpr int64_t kDecodedColumns = kDecodedStep / 2;
/// Plain rows of a tile whose sums go through shared memory at a time.
inline constexpr int64_t kSumPart = 32;

/// All that the code of a kernel depends on.
struct PlainTcgen05Spec : StagedSpec {
  PlainTcgen05Spec(const DecodedFormat &format, GemmScheduleAttr schedule,
                   const target::Chip &chip);

  /// Decoded stages that tensor memory has room for, and the columns of each.
  static int64_t getDecodedStages() { return 2; }
  int64_t getDecodedColumns() const {
    return getStageSteps() * kDecodedColumns;
  }
  /// Columns of them all: none without scales.
  int64_t getAllDecodedColumns() const {
    return format.hasScales ? getDecodedStages() * getDecodedColumns() : 0;
  }
  /// Accumulators: with two, one is filled while the other is emptied. Tensor
  /// memory has no room for two of the widest tiles beside decoded stages.
  int64_t getAccumulators() const {
    return 2 * getPlainRows() + getAllDecodedColumns() > kTensorColumns ? 1 : 2;
  }
  /// The first column of decoded stages, which follow the accumulators.
  int64_t getDecodedColumn() const {
    return getAccumulators() * getPlainRows();
  }
};

/// Shared memory.
struct PlainTcgen05Layout : StagedLayout {
  explicit PlainTcgen05Layout(const PlainTcgen05Spec &spec);

  /// Barriers of stages of plain rows, of decoded stages, and of accumulators.
  int64_t plainFull, plainEmpty;
  int64_t decodedFull, decodedEmpty;
  int64_t sumFull, sumEmpty;
  /// The place that the address of the tensor memory is written to.
  int64_t tensorMemory;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05LAYOUT_H

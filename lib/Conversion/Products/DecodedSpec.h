//===- DecodedSpec.h - Kernels that decode an operand -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSPEC_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSPEC_H

#include "AssumedSizes.h"
#include "DecodedFormat.h"
#include "SharedMemory.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::products {

/// Bytes of a plain row in a step.
inline constexpr int64_t kPlainStepBytes = 2 * kDecodedStep;
/// Rows of an MN-major operand of which such bytes have an element each: a step
/// of them is a tile of 64 rows of shared memory, one for each element of K.
inline constexpr int64_t kMnMajorRows = kPlainStepBytes / 2;

/// All that the code of a kernel depends on that decodes an operand. Families
/// set the elements of a stage. The stages of a schedule are those of plain
/// rows.
struct DecodedSpec : GemmSpec {
  DecodedSpec(const DecodedFormat &format, GemmScheduleAttr schedule,
              const target::Chip &chip)
      : GemmSpec{format.getName(), format.block, /*stageElements=*/0, schedule},
        chip(&chip), format(format) {
    hasScales = format.hasScales;
    hasBlocksAcross = format.isAcross();
  }

  /// Rows of the operand with scales, and plain rows, that a tile has.
  int64_t getScaledRows() const {
    return format.isScaledA ? schedule.getRows() : schedule.getCols();
  }
  int64_t getPlainRows() const {
    return format.isScaledA ? schedule.getCols() : schedule.getRows();
  }
  /// Steps of a stage.
  int64_t getStageSteps() const { return stageElements / kDecodedStep; }
  /// Steps of a stage of plain rows.
  int64_t getPlainSteps() const { return getStageSteps() / plainParts; }
  /// Stages of the other operand. With two of them, one is decoded while the
  /// other one comes.
  int64_t getCodeStages() const {
    int64_t stages = schedule.getStages();
    int64_t whole = llvm::divideCeil(stages, plainParts);
    return std::max(whole, std::min<int64_t>(stages, 2));
  }

  const target::Chip *chip;
  DecodedFormat format;
  /// The parts that plain rows of a stage come in. Each is a stage of theirs.
  int64_t plainParts = 1;
};

/// The rows of both operands that a tile has of each product.
struct DecodedTile {
  explicit DecodedTile(const DecodedSpec &spec);

  int64_t plainRows, scaledRows;
  /// Products with plain rows, or with rows with scales, of their own.
  int64_t plainOwners, scaledOwners;
  int64_t plainRowsOfEach, scaledRowsOfEach;
  /// Bands of 128 rows that scales come in, of each product.
  int64_t bandsOfEach;
};

/// Places in the shared memory of a CTA. A buffer of stages has them one after
/// the other.
struct DecodedLayout : SharedBytes {
  /// Takes the stages, each with `scaleTiles` tiles of scales, and sets the
  /// sizes of sums of `sumPart` plain rows. Where sums are says the family.
  DecodedLayout(const DecodedSpec &spec, int64_t scaleTiles, int64_t sumPart);

  int64_t plain, codes, scales;
  /// Bytes of one stage of each.
  int64_t plainBytes, codeBytes, scaleBytes;
  /// Sums on their way from registers to threads that have results of a row:
  /// `sumRows` rows of `sumCols` f32, `sumPitch` f32 apart, `sumBytes` bytes
  /// for each team.
  int64_t sums = 0;
  int64_t sumRows, sumCols, sumPitch, sumBytes;
};

/// Bytes of both operands and the scales of all matrices.
double countOperandBytes(const AssumedSizes &sizes,
                         const DecodedFormat &format);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDSPEC_H

//===- WgmmaFormat.h - Formats that wgmma multiplies ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma multiplies bf16 or f16 and takes its first operand from registers,
// where threads decode it (Products/DecodedFormat.h).
//
// A *step* is 64 elements of K, 128 bytes of a row of the plain operand: four
// instructions of 16. A stage of the ring has a few steps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMAFORMAT_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMAFORMAT_H

#include "Products/DecodedFormat.h"
#include "Products/GemmSpec.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::gemm {

/// Elements of K of a step and of an instruction, and the instructions of a
/// step.
inline constexpr int64_t kStepElements = 64;
inline constexpr int64_t kWgmmaElements = 16;
inline constexpr int64_t kStepProducts = kStepElements / kWgmmaElements;
/// Bytes of K of a row of the plain operand that a step has.
inline constexpr int64_t kPlainRowBytes = 128;

/// The formats of a product, and what steps have of them.
struct WgmmaFormat : DecodedFormat {
  /// The format of the product; none where both operands have scales, or none
  /// has.
  static std::optional<WgmmaFormat> find(const Product &product);

  /// Bytes of a row of codes of a step.
  int64_t getCodeBytes() const { return kStepElements * getBits() / 8; }
  /// Scales that a row of a step has, and steps that share a tile of scales.
  int64_t getStepScales() const { return kStepElements / block; }
  int64_t getTileSteps() const { return kTileCols / getStepScales(); }
};

/// The most CTAs of a cluster that every GPU can run (CUDA C++ Programming
/// Guide, "Thread Block Clusters").
inline constexpr int64_t kMaxParts = 8;
/// Rows of the operand with scales that a warpgroup multiplies, the most
/// warpgroups of a team, and the most rows of a tile.
inline constexpr int64_t kWarpgroupRows = 64;
inline constexpr int64_t kTeamWarpgroups = 2;
inline constexpr int64_t kMaxScaledRows = kTeamWarpgroups * kWarpgroupRows;
/// The most plain rows of a tile of four teams, whose threads have registers
/// for no more sums, and the most CTAs that such a tile has: each team adds the
/// sums of a row at least.
inline constexpr int64_t kManyTeamsRows = 16;
inline constexpr int64_t kManyTeamsParts = 4;

/// All that the code of a kernel depends on.
struct WgmmaSpec : GemmSpec {
  WgmmaSpec(const WgmmaFormat &format, GemmScheduleAttr schedule,
            const target::Chip &chip);

  /// Rows of the plain operand that a tile has.
  int64_t getPlainRows() const {
    return format.isScaledA ? schedule.getCols() : schedule.getRows();
  }
  /// CTAs of a cluster, each of which has a part of K of the same tiles. They
  /// add their sums by the memory that clusters share.
  int64_t getParts() const { return schedule.getSplits(); }
  /// Rows of the operand with scales that a tile has: 128, or 64 so that few
  /// rows of weights are enough for all multiprocessors.
  int64_t getScaledRows() const {
    return format.isScaledA ? schedule.getRows() : schedule.getCols();
  }
  /// Teams, which take turns at the stages. A tile of 128 of these rows has one
  /// of two warpgroups. One of 64 rows has several of one warpgroup: four where
  /// few plain rows need few registers, so that some decode while others
  /// wait, else two.
  int64_t getTeams() const {
    if (getScaledRows() == kMaxScaledRows)
      return 1;
    bool areMany =
        getPlainRows() <= kManyTeamsRows && getParts() <= kManyTeamsParts;
    return areMany ? 4 : 2;
  }
  /// Warpgroups that multiply.
  int64_t getWarpgroups() const {
    return getTeams() * getScaledRows() / kWarpgroupRows;
  }
  /// Steps of a stage.
  int64_t getStageSteps() const { return stageElements / kStepElements; }
  /// Tiles of scales of a stage, for each of their bands.
  int64_t getStageScaleTiles() const {
    return llvm::divideCeil(getStageSteps(), format.getTileSteps());
  }

  const target::Chip *chip;
  WgmmaFormat format;
};

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMAFORMAT_H

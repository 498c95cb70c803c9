//===- WgmmaFormat.h - Formats that wgmma multiplies ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma multiplies bf16 or f16. Of the two operands of a product one is plain
// and comes to shared memory as it is. The other one has scales: threads decode
// it into registers, to the type of the plain one, each element times its
// scale. That is exact but for the ends of E8M0's range (docs/Numerics.md, 13).
//
// A *step* is 64 elements of K, 128 bytes of a row of the plain operand: four
// instructions of 16. A stage of the ring has a few steps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMAFORMAT_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMAFORMAT_H

#include "Products/GemmSpec.h"
#include "blockscale/Numerics/Format.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::gemm {

/// Elements of K of a step and of an instruction, and the instructions of a
/// step.
inline constexpr int64_t kStepElements = 64;
inline constexpr int64_t kWgmmaElements = 16;
inline constexpr int64_t kStepProducts = kStepElements / kWgmmaElements;
/// Bytes of K of a row of the plain operand that a step has.
inline constexpr int64_t kPlainRowBytes = 128;

/// The formats of a product of a scaled and a plain operand.
struct WgmmaFormat {
  /// The format of the product; none where both operands have scales, or none
  /// has.
  static std::optional<WgmmaFormat> find(const Product &product);

  /// Whether the scaled operand is A, so that B is the plain one.
  bool isScaledA;
  numerics::ElementFormat element;
  numerics::ScaleFormat scale;
  /// bf16 or f16.
  mlir::Type plain;
  /// Elements that share a scale.
  int64_t block;
  /// Whether the scaled data are in the order of registers
  /// (`#blockscale.data_layout<fragments_64x64>`).
  bool isPacked;

  /// Bits that an element takes in memory, and bytes of a row of a step.
  int64_t getBits() const {
    return numerics::getFormatInfo(element).storageBits;
  }
  int64_t getCodeBytes() const { return kStepElements * getBits() / 8; }
  /// Scales that a row of a step has, and steps that share a tile of scales.
  int64_t getStepScales() const { return kStepElements / block; }
  int64_t getTileSteps() const { return kTileCols / getStepScales(); }

  /// Sums are smaller than results by two to this power. E2M1 in registers
  /// wants a factor of 2^126 (2^14 beside f16). Scales of E4M3, which are at
  /// most 448, can take 2^118 (2^7) of it.
  int getSumShift() const {
    bool takesFactor = element == numerics::ElementFormat::E2M1 &&
                       scale == numerics::ScaleFormat::E4M3;
    return !takesFactor ? 0 : plain.isBF16() ? 8 : 7;
  }

  /// The part of the names of kernels that stands for the formats, for example
  /// "bf16_e2m1_e4m3".
  std::string getName() const;
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

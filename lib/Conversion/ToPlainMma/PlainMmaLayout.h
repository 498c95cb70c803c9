//===- PlainMmaLayout.h - Parts of a tile and shared memory -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync.m16n8k16 multiplies 16 rows of one operand by 8 rows of the other
// one. The operand with scales is always the first, so that it is decoded for
// 16 rows at a time; where it is B, sums are those of the transposed result. A
// warp has 32 rows with scales and all plain rows of a tile, so that no row is
// decoded twice. Where nothing is decoded, warps of the widest tiles have 64
// rows of each operand, which takes the fewest bytes of shared memory for an
// instruction. Tiles of few plain rows have several *teams* of warps, each of
// which multiplies its steps of a stage and has sums of its own, which are
// added in the end.
//
// A *step* is 64 elements of K. Four threads have a row: thread m has elements
// 16 m to 16 m + 15 of a step, which are one block of NVFP4, or half of one of
// MX. So it reads them, and one scale, at once. Instructions take them four at
// a time; what a thread gives as its elements 2 m, 2 m + 1, 2 m + 8 and 2 m + 9
// of an instruction is its own choice, as long as it is the same for both
// operands: a sum has no order of K. It also reads the plain elements by 16
// bytes, as many threads of a warp in the same time as ldmatrix.
//
// Where nothing is decoded, ldmatrix loads both operands in the order of K: the
// registers of the first one, which has two rows in an instruction, are then
// those of instructions as they are, and none is moved.
//
// Sums of one chain along K (`order chain`) want each instruction to have 16
// elements that follow each other, its first eight before the others. Then a
// thread reads the codes of its rows as a whole, and takes those of its own
// elements of each instruction; ldmatrix loads the plain elements; the four
// threads of a row exchange the factors of blocks; and there is one team.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMALAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMALAYOUT_H

#include "Products/DecodedSpec.h"
#include "blockscale/Numerics/Accumulators.h"

namespace blockscale::products {

/// Elements of K of an instruction, and of a thread in a step.
inline constexpr int64_t kPlainMmaDepth = 16;
inline constexpr int64_t kThreadElements = 16;
/// Rows with scales and plain rows of an instruction, and the f32 sums of a
/// thread for it.
inline constexpr int64_t kScaledFragment = numerics::kMmaAccumulator.getRows();
inline constexpr int64_t kPlainFragment = numerics::kMmaAccumulator.getCols();
inline constexpr int64_t kFragmentSums =
    kScaledFragment * kPlainFragment / kWarpThreads;
/// Fragments of rows with scales of a warp that has all plain rows.
inline constexpr int64_t kDecodedFragments = 2;
/// Stages that a schedule has at least: one that is multiplied, one that is
/// there, and one that arrives.
inline constexpr int64_t kLeastPlainMmaStages = 3;

/// Elements of a piece of an operand that is not decoded: of K in a row; of an
/// MN-major operand of as many rows in a line, one of which a step has in
/// shared memory for each element of K. Pieces of lines are exchanged as those
/// of rows are (Numerics/SharedSwizzle.h).
inline constexpr int64_t kPieceElements = kCopyBytes / 2;

/// All that the code of a kernel depends on.
struct PlainMmaSpec : DecodedSpec {
  PlainMmaSpec(const DecodedFormat &format, GemmScheduleAttr schedule,
               const target::Chip &chip);

  /// Whether warps lie beside each other along the plain rows, too.
  bool hasSquareWarps() const;
  /// Fragments of rows with scales of a warp, and its plain rows.
  int64_t getWarpFragments() const;
  int64_t getWarpPlainRows() const;
  int64_t getWarpScaledRows() const {
    return getWarpFragments() * kScaledFragment;
  }
  /// Warps beside each other along the rows with scales, and along the plain
  /// ones, teams of them, and all threads.
  int64_t getRowWarps() const { return getScaledRows() / getWarpScaledRows(); }
  int64_t getPlainWarps() const { return getPlainRows() / getWarpPlainRows(); }
  int64_t getTeams() const;
  int64_t getThreads() const {
    return getTeams() * getRowWarps() * getPlainWarps() * kWarpThreads;
  }
  /// The most CTAs for which a multiprocessor has registers.
  int64_t getMaxResidentBlocks() const;
  /// Steps of a stage that each team has.
  int64_t getOwnSteps() const { return getStageSteps() / getTeams(); }
  /// Whether each team loads the steps that it multiplies, and waits for its
  /// own threads alone.
  bool hasTeamLoads() const;
  /// Threads that load together, and the steps of a stage that they load.
  int64_t getLoaders() const {
    return hasTeamLoads() ? getThreads() / getTeams() : getThreads();
  }
  int64_t getLoadedSteps() const {
    return hasTeamLoads() ? getOwnSteps() : getStageSteps();
  }
  /// Steps that share a tile of scales in shared memory: teams that load have
  /// tiles of their own.
  int64_t getSharedTileSteps() const {
    return std::min(format.getTileSteps(), getLoadedSteps());
  }
  /// Tiles of scales of a stage for each band.
  int64_t getStageScaleTiles() const {
    return getStageSteps() / getSharedTileSteps();
  }

  /// Makes it the spec of products whose rows have `elements` of K. What
  /// depends on it alone is then no code of the kernel.
  void setDepth(int64_t elements) {
    depth = elements;
    formats += "_k" + std::to_string(elements);
  }
  /// Whether the last copy of a row of codes is smaller than others: in NVFP4,
  /// of a K that is no multiple of 32. A K that is not known is one.
  bool hasCutPieces() const {
    return depth && *depth * format.getBits() % (8 * kCopyBytes);
  }
  /// Whether K of each product is known to be a multiple of `elements`.
  bool isMultipleOf(int64_t elements) const {
    return depth && groups != GroupDim::Columns && *depth % elements == 0;
  }

  /// The length of rows, where it is known.
  std::optional<int64_t> depth;
};

/// Shared memory, whose sums are where stages were.
struct PlainMmaLayout : DecodedLayout {
  explicit PlainMmaLayout(const PlainMmaSpec &spec);

  /// The number of ring stages that fit into shared memory where so many CTAs
  /// share that of a multiprocessor.
  static int64_t getMaxStages(const PlainMmaSpec &spec, int64_t blocks = 1);
  /// The CTAs among which the registers of a multiprocessor are divided: a CTA
  /// that needs all shared memory for its stages can have all registers, too.
  static int64_t getResidentBlocks(const PlainMmaSpec &spec);
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMALAYOUT_H

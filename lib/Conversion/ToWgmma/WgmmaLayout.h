//===- WgmmaLayout.h - Tiles and memory of a CTA ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma multiplies bf16 or f16 and takes its first operand from registers,
// where threads decode it (Products/DecodedFormat.h). A step is 128 bytes of a
// row of the plain operand: four instructions of 16 elements.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMALAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMALAYOUT_H

#include "Products/StagedLoads.h"

namespace blockscale::products {

/// Elements of K of an instruction, and the instructions of a step.
inline constexpr int64_t kWgmmaElements = 16;
inline constexpr int64_t kStepProducts = kDecodedStep / kWgmmaElements;
/// The most CTAs of a cluster that every GPU can run (CUDA C++ Programming
/// Guide, "Thread Block Clusters").
inline constexpr int64_t kMaxParts = 8;
/// Rows of the operand with scales that a warpgroup multiplies, the most
/// warpgroups of a team, and the most rows of a tile.
inline constexpr int64_t kWarpgroupRows = 64;
inline constexpr int64_t kTeamWarpgroups = 2;
inline constexpr int64_t kMaxScaledRows = kTeamWarpgroups * kWarpgroupRows;
/// Plain rows of the tiles that warps multiply by themselves, by `mma.sync`,
/// and the rows with scales of the narrowest of these: those of two warps.
inline constexpr int64_t kWarpTileRows = 8;
inline constexpr int64_t kNarrowRows = kWarpgroupRows / 2;
/// Rows with scales that a warp multiplies.
inline constexpr int64_t kWarpRows = 16;
/// The barriers in hardware by which teams hand over sums.
inline constexpr int64_t kHandOverBarriers = 8;
/// The most teams of a tile of 64 rows with scales, the fewest of those that
/// add their sums, and the most plain rows of a tile of so many teams, whose
/// threads have registers for no more sums.
inline constexpr int64_t kManyTeams = 4;
inline constexpr int64_t kFewTeams = 2;
inline constexpr int64_t kManyTeamsRows = 16;
/// The most plain rows of a tile of 64 rows with scales that keeps a chain, for
/// whose sums one warpgroup has registers.
inline constexpr int64_t kMaxChainRows = 128;

/// All that the code of a kernel depends on.
struct WgmmaSpec : StagedSpec {
  WgmmaSpec(const DecodedFormat &format, GemmScheduleAttr schedule,
            const target::Chip &chip);

  /// CTAs of a cluster, each of which has a part of K of the same tiles. They
  /// add their sums by the memory that clusters share.
  int64_t getParts() const { return schedule.getSplits(); }
  /// CTAs of a cluster whose tiles are beside each other, so that they read the
  /// same rows of A: each copies a part of these for all.
  int64_t getSharers() const { return schedule.getMulticast(); }
  /// CTAs of a cluster. They share a tile, or rows of A.
  int64_t getClusterBlocks() const { return getParts() * getSharers(); }
  /// Teams, which take turns at the stages. A tile of 128 rows with scales has
  /// one of two warpgroups, or two of them where warps multiply by themselves.
  /// One of 64, so that few rows of weights are enough for all multiprocessors,
  /// has several of one warpgroup: four where few plain rows need few
  /// registers, else two; or one, where sums of a chain would take longer to
  /// hand over than to decode. One of 32 has four of two warps.
  int64_t getTeams() const {
    if (isNarrow())
      return kManyTeams;
    if (getScaledRows() == kMaxScaledRows)
      return multipliesByWarp() && canHaveTwoTeams() ? kFewTeams : 1;
    if (format.keepsChain && multipliesByWarp())
      return 1;
    // Each team adds the sums of a row at least.
    bool areFew = getPlainRows() <= kManyTeamsRows;
    if (areFew && getParts() * kManyTeams <= getPlainRows())
      return kManyTeams;
    return format.keepsChain ? 1 : kFewTeams;
  }
  /// Whether two teams can have a tile of 128 rows with scales: those of a
  /// chain decode a stage before they multiply any of it, for which they have
  /// registers if elements take few to decode.
  bool canHaveTwoTeams() const {
    return !format.keepsChain || (format.isPacked && format.getBits() == 4 &&
                                  !format.isAcross() && !format.scalesElements);
  }
  /// Warps of a team that hand over sums together, to as many of the next one,
  /// by a barrier in hardware: a few, which wait for no others, where warps
  /// multiply by themselves.
  int64_t getHandingWarps() const {
    int64_t ofTeam = getScaledRows() / kWarpRows;
    if (!multipliesByWarp())
      return ofTeam;
    return llvm::divideCeil(ofTeam * getTeams(), kHandOverBarriers);
  }
  /// Whether a tile has 32 rows with scales, so that there are tiles for all
  /// multiprocessors though no CTAs share the K of a chain.
  bool isNarrow() const { return getScaledRows() == kNarrowRows; }
  /// Whether each warp multiplies 16 rows with scales by `mma.sync`, which
  /// holds the tensor cores for less time than `wgmma` where there are eight
  /// plain rows.
  bool multipliesByWarp() const { return getPlainRows() == kWarpTileRows; }
  /// Whether teams hand the sums of a tile on from stage to stage, so that
  /// these are those of one chain along K. Else each has sums of its own, which
  /// are added in the end.
  bool handsOverSums() const { return format.keepsChain && getTeams() > 1; }
  /// Whether teams decode a stage before its plain rows are there, which may
  /// wait for the launch before: no factor of elements, which that launch may
  /// have computed, is needed to decode.
  bool decodesEarly() const {
    return handsOverSums() && !format.scalesElements;
  }
  /// Whether the team that has the sums of a tile in the end makes its results
  /// alone, from memory of its own, and others go on to the next tile. Where
  /// there are more plain rows, sums of each team would take a stage's memory.
  bool hasOwnResults() const { return handsOverSums() && multipliesByWarp(); }
  /// Teams that make the results of a tile.
  int64_t getResultTeams() const { return hasOwnResults() ? 1 : getTeams(); }
  /// The sums of a tile that a CTA adds in the end.
  int64_t countSums() const { return handsOverSums() ? 1 : getTeams(); }
  /// Whether warps go on while others still read their sums: CTAs of a cluster
  /// read those of each other, and of few rows few warps make results.
  bool readsSumsLate() const {
    return getParts() > 1 || (multipliesByWarp() && !hasOwnResults());
  }
  /// Warpgroups that multiply.
  int64_t getWarpgroups() const {
    return getTeams() * getScaledRows() / kWarpgroupRows;
  }
};

/// Whether sums of both warpgroups make a result, those of two products.
inline bool needsBothWarpgroups(const WgmmaSpec &spec) {
  return spec.products > 1 && !spec.format.isScaledA;
}

struct WgmmaLayout : StagedLayout {
  explicit WgmmaLayout(const WgmmaSpec &spec);

  /// The sums that teams hand over.
  int64_t handedSums;
  /// Barriers of the plain rows of stages where they have their own.
  int64_t plainFull = 0;
  /// Barriers of sums of CTAs that add them, and of sums that are read late.
  int64_t sumsFull, sumsEmpty;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMALAYOUT_H

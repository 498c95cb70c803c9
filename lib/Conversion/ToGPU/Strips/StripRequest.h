//===- StripRequest.h - What a strip kernel makes of x ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPREQUEST_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPREQUEST_H

#include "StripAmax.h"
#include "StripKernel.h"
#include "StripSource.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

/// Warps of a CTA that has one piece of x.
inline constexpr int64_t kStripWarps = 4;

/// The results that a kernel makes of x, or of each of several x.
struct StripRequest {
  StripRequest(llvm::ArrayRef<StripMember> members, const target::Chip &chip);

  /// The name of the kernel, which names its results in their order.
  std::string getKernelName(const target::Chip &chip) const;
  /// Whether a thread should have more registers than the assembler aims at.
  bool wantsRegisters(const target::Chip &chip) const;
  /// Whether strips are long, as those of values of blocks of one row alone.
  bool hasLongStrips() const;
  /// Whether values that need no codes, in the order of x, are the one result,
  /// and neither scales nor a transform take much more of the registers.
  bool roundsRows() const;

  int64_t getThreads() const { return warps * kWarpThreads; }
  /// Whether strips begin where padded groups do, so that each is of one group:
  /// not where tiles of scales have rows of several groups, or are of others.
  bool followsGroups() const;

  /// The number of parts of each amax; 0 where the kernel raises amaxes.
  int64_t getParts() const { return amaxes.empty() ? 0 : amaxes.front().parts; }

  /// Changes the fragments of a warp below each other.
  void setLaneRows(int64_t laneRows);

  /// That of all specs.
  std::shared_ptr<const StripShape> shape;
  /// The source of x: memory, or elementwise ops on what memory holds.
  std::shared_ptr<const StripSource> source;
  llvm::SmallVector<StripSpec> specs;
  llvm::SmallVector<StripAmax> amaxes;
  /// What padded groups are multiples of, in rows; 0 where x has no such
  /// groups.
  int64_t padUnit = 0;
  /// Warps of a CTA.
  int64_t warps = kStripWarps;
  /// The number of tensors of which these results are made.
  int64_t members = 1;
  /// Whether the fragments of a warp were changed.
  bool hasOtherStrip = false;
};

/// Warps of a CTA, and CTAs side by side.
struct StripGrid {
  /// `columns` is the number of those of x.
  StripGrid(mlir::ImplicitLocOpBuilder &b, const StripRequest &request,
            emit::Lanes columns);

  int64_t warpColumns;
  emit::Lanes blockColumns;
  /// Rows of x that a CTA has.
  int64_t blockRows;
  /// The multiple that rows are padded to. Each result needs a power of two, so
  /// that the largest serves all.
  int64_t rowGranule = 1;
};

/// The operands of a kernel for one member: values of the host, or the
/// parameters of the kernel while its code is emitted. They are null where
/// absent.
struct StripOperands {
  /// The buffers that a result goes to, and the operands that it is made with.
  struct Result {
    mlir::Value data, scales, decoded, global, rng, offsets;
    /// What the amax and the scale of a global operand that the kernel computes
    /// are stored to, or null.
    mlir::Value storedAmax, storedScale;
    /// Numbers of groups and of their tiles.
    emit::Lanes groups, tiles;
  };

  /// The buffer of an amax, and the ends and number of the groups of rows that
  /// have one each, unless they are those of the amax before.
  struct Amax {
    mlir::Value buffer, offsets;
    emit::Lanes groups;
  };

  /// Adds a slot for each operand that is there.
  void addSlots(KernelSignature &signature, const StripRequest &request);

  /// Whether the first CTA stores what it computes of a global operand.
  bool storesGlobals() const {
    return llvm::any_of(results, [](const Result &result) {
      return result.storedAmax || result.storedScale;
    });
  }

  /// The inputs that x is computed from, or x itself, and the buffers that
  /// computed values are kept in.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<Result> results;
  llvm::SmallVector<Amax> amaxes;
  /// Where groups are padded, their ends in x, the buffer of their ends
  /// afterwards if it is wanted, and the numbers of groups and of rows of x.
  mlir::Value padOffsets, padEnds;
  emit::Lanes padGroups, sourceRows;
  /// Sizes of a matrix of x and their number. Columns may be known.
  emit::Lanes rows, columns, matrices;
  /// The number of the first CTA; absent for the first member.
  emit::Lanes firstBlock;
  /// The number of CTAs with work on x, where the first CTA may be there for
  /// what it stores of a global operand alone, and the number of pieces of x
  /// that the CTAs share where these store parts of amaxes.
  emit::Lanes workBlocks, pieces;
};

/// The rules of what is static that `op` must keep in a strip kernel; emits an
/// error where it does not.
llvm::LogicalResult verifyStripFeatures(QuantizeOp op, LaunchSite &site);
/// Adds the rules that the run-time sizes of `op`, one of the kernel at `site`,
/// must keep.
template <typename OpTy>
void requireStripOperands(OpTy op, LaunchSite &site,
                          llvm::SmallVectorImpl<emit::CallSite::Check> &checks);
/// The operands of a member on the host, but for its amaxes.
StripOperands getStripOperands(LaunchSite &site, const StripRequest &request,
                               const StripMember &member);

/// The number of CTAs that fill up the tiles of groups of one member.
emit::Lanes countFillingBlocks(mlir::ImplicitLocOpBuilder &b,
                               const StripRequest &request,
                               const StripOperands &operands);

/// Gives the inputs of x for the rows of the CTAs side by side of a number, an
/// index, as `StripOperands::inputs` has them.
using RowInputs =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(emit::Lanes rowOfBlocks)>;

/// Emits what CTA `block`, an index, does on the one member: it checks ends of
/// groups and fills up tiles of these or, behind the CTAs that do, takes all
/// columns of its rows. All threads come there.
void emitStripRows(KernelBuilder &b, const StripRequest &request,
                   const target::Chip &chip, const StripOperands &operands,
                   emit::Lanes block, RowInputs getInputs);

/// Emits the body of a kernel for CTA `block` of those of `members`.
void emitStripKernel(KernelBuilder &b, const StripRequest &request,
                     const target::Chip &chip,
                     llvm::MutableArrayRef<StripOperands> members,
                     emit::Lanes block);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPREQUEST_H

//===- PatchJob.h - What a patch kernel makes of x --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHJOB_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHJOB_H

#include "PatchAmax.h"
#include "PatchKernel.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

inline constexpr int64_t kPatchWarps = 4;
inline constexpr int64_t kPatchThreads = kPatchWarps * kWarpThreads;

/// What a kernel makes of x, or of each of several.
struct PatchJob {
  /// What x is made of is not in it yet.
  PatchJob(llvm::ArrayRef<PatchMember> members, const target::Chip &chip);

  /// What the kernel is called: its results by their order.
  std::string getKernelName(const target::Chip &chip) const;
  /// Whether a thread should have more registers than the assembler aims at.
  bool wantsRegisters(const target::Chip &chip) const;

  /// Changes the patches of a warp below each other.
  void setLaneRows(int64_t laneRows);

  PatchShape shape;
  llvm::SmallVector<PatchSpec> specs;
  llvm::SmallVector<PatchAmax> amaxes;
  /// Tensors of which the same is made.
  int64_t members = 1;
  /// Whether the patches of a warp were changed.
  bool hasOtherTile = false;
};

/// Warps of a thread block, and thread blocks side by side.
struct PatchGrid {
  /// `columns` is the number of those of x.
  PatchGrid(mlir::ImplicitLocOpBuilder &b, const PatchJob &job,
            mlir::Value columns);

  int64_t warpColumns = kPatchWarps;
  mlir::Value blockColumns;
  /// Rows of x of a thread block.
  int64_t blockRows;
  /// What rows are padded to: powers of two, of which the largest serves all.
  int64_t rowGranule = 1;
};

/// What a kernel takes for a member: values of the host, and its parameters
/// while its code is emitted. Null where absent.
struct PatchOperands {
  /// Where a result goes, and what it is made with.
  struct Result {
    mlir::Value data, scales, global, rng, offsets;
    /// Numbers of groups and of their tiles.
    mlir::Value groups, tiles;
  };

  /// Adds the slots of all that is there.
  void addSlots(KernelSignature &signature, const PatchJob &job);

  /// What x is computed from, or x itself, and where to keep it.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<Result> results;
  llvm::SmallVector<mlir::Value> amaxes;
  /// Sizes of a matrix of x and their number. Columns may be known.
  mlir::Value rows, columns, matrices;
  /// The number of the first thread block; absent for the first member.
  mlir::Value firstBlock;
};

/// The body of the kernel.
void emitPatchKernel(KernelBuilder &b, const PatchJob &job,
                     const target::Chip &chip,
                     llvm::MutableArrayRef<PatchOperands> members);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHJOB_H

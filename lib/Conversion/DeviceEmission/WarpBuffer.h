//===- WarpBuffer.h - Shared memory between lanes and memory ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each lane of a warp works on a fragment, and those of neighbours follow each
// other in global memory. If each lane accessed its own, the lanes of an access
// would be a fragment apart, and the caches, which serve a line at a time,
// would limit the kernel. So the warp accesses all fragments together,
// neighbouring lanes neighbouring parts, and each lane finds its own in shared
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPBUFFER_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPBUFFER_H

#include "KernelBuilder.h"

namespace blockscale {

class WarpBuffer {
public:
  /// Words and bytes of a part, which one instruction accesses.
  static constexpr int64_t kPartWords = 4;
  static constexpr int64_t kPartBytes = kPartWords * 4;

  /// Shared memory for the fragments of all warps of the kernel, which are of
  /// at most `fragmentBytes`. `thread` is the i32 number of the thread in its
  /// block of `threads`.
  WarpBuffer(KernelBuilder &b, emit::Lanes thread, int64_t threads,
             int64_t fragmentBytes, int64_t runLanes);

  /// The lane's fragment as vectors of 32-bit words. `pointer` is the
  /// fragment's address in global memory, and runs are `runStride` bytes apart.
  /// All lanes of the warp take part.
  llvm::SmallVector<mlir::Value> load(KernelBuilder &b, mlir::Value pointer,
                                      int64_t fragmentBytes, int64_t runStride);

  /// Stores the lane's fragment, the words of which are i32.
  void store(KernelBuilder &b, llvm::ArrayRef<mlir::Value> words,
             mlir::Value pointer, int64_t runStride);

  /// Whether fragments of `fragmentBytes` of the lanes of one run can be shared
  /// by all runs.
  bool canShare(int64_t fragmentBytes) const;
  /// Places at byte `begin` of the warp's shared memory for the fragments of
  /// the lanes of a run, which are those of all runs: of the parts that come
  /// after each other, the lane has one, and those a warp's lanes on. `release`
  /// is to come before and after they are stored to, as all lanes read
  /// fragments there.
  llvm::SmallVector<mlir::Value>
  getShared(KernelBuilder &b, int64_t fragmentBytes, int64_t begin);
  static void release(KernelBuilder &b);
  /// The lane's fragment.
  llvm::SmallVector<mlir::Value>
  readShared(KernelBuilder &b, int64_t fragmentBytes, int64_t begin);

  /// Bytes of shared memory of one warp.
  int64_t getBytes() const { return bytes; }

private:
  /// The fragment of `owner`, once its parts are there.
  llvm::SmallVector<mlir::Value> read(KernelBuilder &b, emit::Lanes owner,
                                      int64_t fragmentBytes, int64_t begin);
  /// Places of the own parts of a lane, and of those that each lane moves in so
  /// many steps.
  llvm::SmallVector<mlir::Value> getOwn(KernelBuilder &b, emit::Lanes owner,
                                        int64_t parts);
  llvm::SmallVector<mlir::Value> getMoved(KernelBuilder &b, int64_t parts,
                                          int64_t steps);
  /// Addresses in global memory of the parts that a lane moves.
  llvm::SmallVector<mlir::Value> getMovedAddresses(KernelBuilder &b,
                                                   mlir::Value pointer,
                                                   int64_t parts,
                                                   int64_t runStride);

  /// The number (i32) of the lane, and the shared memory of its warp.
  emit::Lanes lane;
  mlir::Value memory;
  int64_t bytes, runLanes;
};

/// Moves of full fragments: together through a buffer in those warps whose
/// lanes all have one, and lane by lane elsewhere.
class StagedMoves {
public:
  /// The i1 `isFullWarp` holds where all lanes of the warp have a full fragment
  /// of `fragmentBytes`.
  StagedMoves(WarpBuffer &buffer, emit::Lanes isFullWarp, int64_t fragmentBytes)
      : buffer(buffer), isFullWarp(isFullWarp), fragmentBytes(fragmentBytes) {}

  WarpBuffer &getBuffer() const { return buffer; }
  int64_t getFragmentBytes() const { return fragmentBytes; }

  /// The lane's fragment as vectors of four words: that at `getPointer`, as
  /// WarpBuffer loads it, or what `loadOwn` loads.
  llvm::SmallVector<mlir::Value>
  load(KernelBuilder &b, llvm::function_ref<mlir::Value()> getPointer,
       int64_t runStride,
       llvm::function_ref<llvm::SmallVector<mlir::Value>()> loadOwn) const;

  /// Stores the words of the lane's fragment to `pointer`, or by `storeOwn`.
  void store(KernelBuilder &b, llvm::ArrayRef<mlir::Value> words,
             mlir::Value pointer, int64_t runStride,
             llvm::function_ref<void()> storeOwn) const;

private:
  WarpBuffer &buffer;
  emit::Lanes isFullWarp;
  int64_t fragmentBytes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPBUFFER_H

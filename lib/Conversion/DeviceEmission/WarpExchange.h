//===- WarpExchange.h - Values that threads of a warp exchange --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPEXCHANGE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPEXCHANGE_H

#include "KernelBuilder.h"

namespace blockscale {

/// The word of the thread whose lane differs by `mask`.
emit::Lanes emitShuffle(KernelBuilder &b, emit::Lanes word, int64_t mask);

/// The word of thread `number` among the `threads` neighbours, a power of two,
/// that the thread is one of.
emit::Lanes emitShuffleFrom(KernelBuilder &b, emit::Lanes word, int64_t number,
                            int64_t threads);

/// The word of thread `number` (i32) of the warp.
emit::Lanes emitShuffleFrom(KernelBuilder &b, emit::Lanes word,
                            emit::Lanes number);

/// The word of the thread whose lane is `distance` less; its own in the first
/// threads.
emit::Lanes emitShuffleUp(KernelBuilder &b, emit::Lanes word, int64_t distance);

/// The NaN-propagating maximum of an f32 over both threads.
emit::Lanes emitExchangeMaximum(KernelBuilder &b, emit::Lanes amax,
                                int64_t mask);

/// Exchanges the halves of `lists` (of words) with the thread whose lane
/// differs by `mask`. One of both threads `isBehind` the other and keeps the
/// second half of the lists; the other one keeps the first half. Each list that
/// a thread keeps becomes twice as long: the words of the thread in front come
/// before those of the thread behind.
void exchangeHalves(KernelBuilder &b,
                    llvm::SmallVector<llvm::SmallVector<mlir::Value>> &lists,
                    emit::Lanes isBehind, int64_t mask);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_WARPEXCHANGE_H

//===- DeviceCode.h - Threads, addresses and loops in kernels ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODE_H

#include "Emission/LoopEmitter.h"
#include "KernelBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale {

//===----------------------------------------------------------------------===//
// Positions, as index values of 64 bits
//===----------------------------------------------------------------------===//

/// Number of the thread in its block of `threads`.
emit::Lanes emitThreadNumber(KernelBuilder &b, int64_t threads);
/// The same as i32.
emit::Lanes emitThreadNumber32(KernelBuilder &b, int64_t threads);
/// Number of the CTA along x.
emit::Lanes emitBlockNumber(KernelBuilder &b);
/// Number of the thread among those of all blocks along x.
emit::Lanes emitGlobalThreadNumber(KernelBuilder &b, int64_t threads);
/// Number of the matrix, from the CTA's y and z (Launcher::Shape).
emit::Lanes emitMatrixNumber(KernelBuilder &b);

emit::Lanes toIndex(KernelBuilder &b, mlir::Value integer);

using emit::isBelow;
using emit::isIn;

/// The results of `body` where the i1 `condition` holds, or is absent, and
/// those of `otherwise`, or zeros, elsewhere.
using LanesBody = llvm::function_ref<llvm::SmallVector<emit::Lanes>()>;
llvm::SmallVector<emit::Lanes> emitIfElse(KernelBuilder &b,
                                          mlir::Value condition, LanesBody body,
                                          LanesBody otherwise);
llvm::SmallVector<emit::Lanes>
emitIfElseZero(KernelBuilder &b, mlir::Value condition, LanesBody body);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Address of element `index` of those of `type` at `pointer`.
mlir::Value emitAddress(KernelBuilder &b, mlir::Value pointer, mlir::Type type,
                        mlir::Value index);

/// One element at `pointer`, as an integer of its width.
emit::Lanes emitLoadBits(KernelBuilder &b, mlir::Value pointer, mlir::Type type,
                         mlir::Value index);

/// Words (i32) of `bytes` bytes at `address`: the words are loaded `access`
/// bytes (4, 8 or 16) at a time, or all at once where there are fewer, and the
/// address is aligned to that.
llvm::SmallVector<emit::Lanes> emitLoadWords(KernelBuilder &b,
                                             mlir::Value address, int64_t bytes,
                                             int64_t access);
/// Stores words as `emitLoadWords` loads them.
void emitStoreWords(KernelBuilder &b, llvm::ArrayRef<emit::Lanes> words,
                    mlir::Value address, int64_t access);

/// Stores `bytes` bytes of i32 words to `address` in accesses of at most
/// `access` bytes, to which it is aligned.
void emitStoreBytes(KernelBuilder &b, llvm::ArrayRef<mlir::Value> words,
                    mlir::Value address, int64_t bytes, int64_t access);

/// An array of the CTA in shared memory. `name` tells it from others of the
/// kernel; in the module, the kernel's name comes before it.
mlir::Value createSharedArray(KernelBuilder &b, llvm::StringRef name,
                              mlir::Type element, int64_t count,
                              int64_t alignment = 16);

/// The same, but one array for all code of the kernel that asks for this name
/// and size, one after the other or in CTAs of its own.
mlir::Value getSharedArray(KernelBuilder &b, llvm::StringRef name,
                           mlir::Type element, int64_t count,
                           int64_t alignment);

/// The shared memory whose size the launch says.
mlir::Value getDynamicSharedMemory(KernelBuilder &b);

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Emits `while (condition(values)) values = body(values)` and returns the last
/// values.
llvm::SmallVector<mlir::Value> emitWhile(
    KernelBuilder &b, mlir::ValueRange inits,
    llvm::function_ref<mlir::Value(mlir::ValueRange)> condition,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);

/// Runs `body` `rounds` times on lists of values whose lengths are multiples of
/// that. As registers have no numbers, each round is given the first part of
/// each list, and what it leaves there goes behind the others: in the end all
/// are in order again.
llvm::SmallVector<llvm::SmallVector<mlir::Value>>
emitRounds(KernelBuilder &b, int64_t rounds,
           llvm::ArrayRef<llvm::SmallVector<mlir::Value>> lists,
           llvm::function_ref<
               void(llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>>)>
               body);

/// The results of `body` where the i1 `condition` holds, and those of
/// `otherwise` elsewhere.
llvm::SmallVector<mlir::Value>
emitIfElse(KernelBuilder &b, mlir::Value condition, mlir::TypeRange types,
           llvm::function_ref<llvm::SmallVector<mlir::Value>()> body,
           llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);
llvm::SmallVector<mlir::Value>
emitIfElseZero(KernelBuilder &b, mlir::Value condition, mlir::TypeRange types,
               llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODE_H

//===- SumRegisters.h - Registers of a thread's sums ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of a thread are registers that inline PTX declares and names, and no
// values of MLIR. wgmma writes them after it has been issued: a copy of a sum
// that is carried from one block to the next would read it too early, and
// values would leave it to LLVM that there is none. And values are many: each
// instruction would have 64 or 128 of them as operands and as results, and each
// loop and branch would hand them on, which took half of the time from a
// product to its PTX.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWGMMA_SUMREGISTERS_H
#define BLOCKSCALE_LIB_CONVERSION_TOWGMMA_SUMREGISTERS_H

#include "DeviceEmission/KernelBuilder.h"

namespace blockscale::products {

/// Emits inline PTX without results. `constraints` are those of the operands,
/// with a comma behind each.
void emitInlinePtx(KernelBuilder &b, mlir::ValueRange operands,
                   llvm::StringRef text, llvm::StringRef constraints);

/// Registers of f32, which each thread of the kernel has.
class SumRegisters {
public:
  /// Declares the registers. That stands before what uses them, as text: `b` is
  /// in the first block of the kernel.
  SumRegisters(KernelBuilder &b, int64_t count);

  /// Their names, with commas between them.
  std::string getNames() const;

  /// Makes all of them zero.
  void emitClear(KernelBuilder &b) const;
  /// Makes them `values` (f32).
  void emitSet(KernelBuilder &b, mlir::ValueRange values) const;
  /// What they are now.
  llvm::SmallVector<mlir::Value> emitGet(KernelBuilder &b) const;

  const int64_t count;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOWGMMA_SUMREGISTERS_H

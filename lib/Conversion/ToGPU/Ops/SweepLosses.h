//===- SweepLosses.h - Losses of a block under candidates -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The losses of Numerics/ScaleSweep.h, which a thread of scale_sweep computes
// for its block. The magnitudes of the block are in registers; the table of
// candidates is computed once for each CTA, in shared memory.
//
// Quotients w / s are products with the reciprocal r of s and what r lacks:
//
//   r = 1 / s, rounded down      e = (1 - r * s) / s      q = w * r + w * e
//
// where the last sum is fused. Nothing is negative, so that what overflows is
// infinity or NaN, both of which become 6. q becomes the same E2M1 value as w /
// s (unittests/Numerics/SweepQuotientTest.cpp), as long as scales are moderate.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_SWEEPLOSSES_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_SWEEPLOSSES_H

#include "DeviceEmission/DeviceCode.h"
#include "blockscale/Numerics/ScaleSweep.h"

namespace blockscale {

/// A candidate of the sweep. Scale, reciprocal and rest are s, r and e above;
/// `amax` is the result where the candidate wins.
struct SweepCandidate {
  emit::Lanes scale, reciprocal, rest, amax;
};

class SweepLosses {
public:
  /// Threads of a CTA: one for each candidate, and two more, whose scales are
  /// NaN.
  static constexpr int64_t kThreads = 128;

  SweepLosses(KernelBuilder &b, mlir::Type element, bool isWeighed);

  /// Fills the tables. All threads must come here, before any does more. The
  /// Hessian is that of `column`.
  void emitTables(emit::Lanes globalAmax, mlir::Value hessians,
                  emit::Lanes column);

  void emitLoadBlock(mlir::Value x, emit::Lanes block);

  /// Loads candidate number `index + after`, which may be one of the two beyond
  /// all candidates, whose scales are NaN.
  SweepCandidate emitLoadCandidate(emit::Lanes index, int32_t after = 0);

  /// The terms of numerics::getSweepLoss, for moderate scales of which no
  /// magnitude of the block is more than 7 times.
  llvm::SmallVector<emit::Lanes>
  emitTermsBelow7(const SweepCandidate &candidate);
  /// The terms of numerics::getSweepLoss, for any moderate scale.
  llvm::SmallVector<emit::Lanes> emitTerms(const SweepCandidate &candidate);
  /// The terms of numerics::getSweepLoss, for any scale. They are weighed where
  /// there is a Hessian.
  llvm::SmallVector<emit::Lanes> emitAnyTerms(const SweepCandidate &candidate);

  /// The terms of numerics::getSweepLossFrom, chosen from `terms`, which are
  /// those of the whole loss.
  llvm::SmallVector<emit::Lanes>
  emitTermsFrom(const SweepCandidate &candidate,
                llvm::ArrayRef<emit::Lanes> terms);

  /// The sum of `terms` in the order of numerics::sumOfHalves.
  static emit::Lanes sumOfHalves(llvm::SmallVector<emit::Lanes> terms);

  emit::Lanes getThread() const { return thread; }
  bool isWeighed() const { return hessian != nullptr; }
  /// Whether all scales are in order and moderate: from 2^-60 to 2^60.
  emit::Lanes isModerate() const { return moderate; }
  emit::Lanes getGlobalAmax() const { return globalAmax; }
  /// The largest magnitude of the block.
  emit::Lanes getLargest() const { return largest; }

private:
  llvm::SmallVector<emit::Lanes> emitQuotients(const SweepCandidate &candidate);
  emit::Lanes emitClampAndRound(emit::Lanes quotient);
  /// The terms of rounded quotients.
  llvm::SmallVector<emit::Lanes>
  emitTermsOf(llvm::ArrayRef<emit::Lanes> rounded, emit::Lanes scale);
  llvm::SmallVector<emit::Lanes>
  emitWeighedTerms(llvm::ArrayRef<emit::Lanes> errors);
  mlir::Value emitOpaqueHessian();

  KernelBuilder &b;
  mlir::Type element;
  mlir::Value candidates, hessian;
  emit::Lanes thread, globalAmax, moderate, largest;
  llvm::SmallVector<emit::Lanes> elements, magnitudes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_SWEEPLOSSES_H

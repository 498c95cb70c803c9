//===- SoftwareCvt.h - Conversions without cvt ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SOFTWARECVT_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SOFTWARECVT_H

#include "CvtEmitter.h"

namespace blockscale {

/// Conversions by f32 and integer arithmetic, without branches. Emitters of
/// chips with some `cvt` derive from it.
class SoftwareCvtEmitter : public CvtEmitter {
public:
  emit::Lanes encodeWord(KernelBuilder &b, numerics::ElementFormat format,
                         mlir::ValueRange elements) override;
  emit::Lanes encodeStochasticWord(KernelBuilder &b, mlir::ValueRange elements,
                                   mlir::ValueRange randomWords) override;
  emit::Lanes encodeE4M3Pair(KernelBuilder &b, emit::Lanes low,
                             emit::Lanes high) override;
  std::pair<emit::Lanes, emit::Lanes>
  decodeE4M3Pair(KernelBuilder &b, emit::Lanes codes) override;
  RoundedPair roundE4M3Pair(KernelBuilder &b, emit::Lanes low,
                            emit::Lanes high) override;
  emit::Lanes reduceMagnitudes(KernelBuilder &b,
                               mlir::ValueRange pairs) override;
  emit::Lanes encodeE8M0RoundUpPair(KernelBuilder &b, emit::Lanes low,
                                    emit::Lanes high,
                                    numerics::Overflow overflow) override;

protected:
  std::pair<emit::Lanes, emit::Lanes> widenBF16Pair(KernelBuilder &b,
                                                    emit::Lanes word) override;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SOFTWARECVT_H

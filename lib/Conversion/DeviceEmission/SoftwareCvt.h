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
  mlir::Value encodeWord(KernelBuilder &b, numerics::ElementFormat format,
                         mlir::ValueRange elements) override;
  mlir::Value encodeStochasticWord(KernelBuilder &b, mlir::ValueRange elements,
                                   mlir::ValueRange randomWords) override;
  mlir::Value encodeE4M3Pair(KernelBuilder &b, mlir::Value low,
                             mlir::Value high) override;
  std::pair<mlir::Value, mlir::Value>
  decodeE4M3Pair(KernelBuilder &b, mlir::Value codes) override;
  RoundedPair roundE4M3Pair(KernelBuilder &b, mlir::Value low,
                            mlir::Value high) override;
  mlir::Value reduceMagnitudes(KernelBuilder &b,
                               mlir::ValueRange pairs) override;
  mlir::Value encodeE8M0RoundUpPair(KernelBuilder &b, mlir::Value low,
                                    mlir::Value high,
                                    numerics::Overflow overflow) override;

protected:
  std::pair<mlir::Value, mlir::Value> widenBF16Pair(KernelBuilder &b,
                                                    mlir::Value word) override;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SOFTWARECVT_H

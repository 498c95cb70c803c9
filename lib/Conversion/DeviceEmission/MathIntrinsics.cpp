//===- MathIntrinsics.cpp - Math that is an instruction -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathIntrinsics.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

StringRef getMathIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::CtPopOp) { return "llvm.ctpop"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::RoundOp) { return "llvm.round"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Case([](math::TruncOp) { return "llvm.trunc"; })
      .Default([](Operation *) { return ""; });
}

} // namespace blockscale

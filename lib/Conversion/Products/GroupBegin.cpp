//===- GroupBegin.cpp - Where groups of K may begin -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupBegin.h"
#include "DeviceEmission/DeviceCode.h"
#include "GemmSpec.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;

void emitCheckGroupBegin(KernelBuilder &b, Lanes firstByte, Value count) {
  Value isInside =
      compare(arith::CmpIPredicate::ne, firstByte & (kCopyBytes - 1), 0);
  Value hasSteps = compare(arith::CmpIPredicate::ne, Lanes(b, count), 0);
  emit::emitIf(b, arith::AndIOp::create(b, isInside, hasSteps),
               [&] { LLVM::Trap::create(b); });
}

} // namespace blockscale::gemm

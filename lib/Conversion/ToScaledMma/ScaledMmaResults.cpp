//===- ScaledMmaResults.cpp - Sums into results ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "ScaledMmaRoles.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// The number of the barrier of the threads that multiply.
static constexpr int64_t kResultBarrier = 1;

ScaledMmaResults::ScaledMmaResults(KernelBuilder &b,
                                   const ScaledMmaContext &context,
                                   const ScaledMmaThread &thread)
    : RegisterResults(b, context.spec, context.arguments, thread.number,
                      kMultiplyThreads),
      context(context), thread(thread) {
  parts.count = kRowRepeats;
  parts.rows = parts.sharedRows = kRepeatRows;
  parts.cols = context.spec.getResultCols() * context.spec.products;
  parts.pitch = context.shared.sumPitch;
  parts.threads = kMultiplyThreads;
  parts.fragments = context.spec.getResultCols() / width;
  parts.number = thread.number;
}

void ScaledMmaResults::emitStored(ValueRange) {
  upstream::createBarrier<NVVM::BarrierOp>(b, b.i32(kResultBarrier),
                                           b.i32(kMultiplyThreads));
}

Value ScaledMmaResults::getSumAddress(int64_t, Value place) {
  return b.offset(context.getShared(b, context.shared.sums), b.getF32Type(),
                  place);
}

/// Stores the sums of one instruction along rows and of all along columns. Two
/// sums of a thread are beside each other, and the others are eight rows behind
/// (PTX ISA, "Matrix Fragments for mma.m16n8k64").
void ScaledMmaResults::emitStoreSums(ValueRange sums) {
  constexpr int64_t pair = 2;
  constexpr int64_t distance = kMmaRows / 2;
  Lanes lane(b, thread.lane);
  Lanes row = Lanes(b, thread.row) + (lane >> 2);
  Lanes col = Lanes(b, thread.col) + (lane & 3) * pair;
  Value base = b.offset(context.getShared(b, context.shared.sums),
                        b.getF32Type(), row * context.shared.sumPitch + col);
  for (int64_t j = 0; j < kColRepeats; ++j)
    for (int64_t i = 0; i < kMmaSums / pair; ++i) {
      int64_t place = j * kRepeatRows + i * distance * context.shared.sumPitch;
      b.store(b.pack(sums.slice(j * kMmaSums + i * pair, pair)),
              b.offset(base, b.getF32Type(), b.i32(place)), pair * kWordBytes);
    }
}

} // namespace blockscale::products

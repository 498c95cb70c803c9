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
#include "blockscale/Numerics/Accumulators.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

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

/// Stores the sums of one instruction along rows and of all along columns.
void ScaledMmaResults::emitStoreSums(ValueRange sums) {
  auto [row, col] =
      numerics::kMmaAccumulator.getElementOf(numerics::kSumThread, thread.lane);
  row = thread.row + row;
  col = thread.col + col;
  int64_t pitch = context.shared.sumPitch;
  Value base = b.offset(context.getShared(b, context.shared.sums),
                        b.getF32Type(), row * pitch + col);
  storeFragments(numerics::kMmaAccumulator, sums, base, pitch, /*colPitch=*/1,
                 [](int64_t fragment) -> numerics::ElementIndex<int64_t> {
                   return {0, fragment * kRepeatRows};
                 });
}

} // namespace blockscale::products

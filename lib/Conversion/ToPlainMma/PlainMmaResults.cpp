//===- PlainMmaResults.cpp - Sums into results ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainMmaRoles.h"
#include "Products/Arithmetic.h"
#include "blockscale/Numerics/Accumulators.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

PlainMmaResults::PlainMmaResults(KernelBuilder &b,
                                 const PlainMmaContext &context,
                                 const PlainMmaThread &thread)
    : RegisterResults(b, context.spec, context.arguments, thread.number,
                      context.spec.getThreads()),
      context(context), thread(thread) {
  const PlainMmaSpec &spec = context.spec;
  const PlainMmaLayout &shared = context.shared;
  parts.areColumns = spec.format.isScaledA;
  parts.count = context.tile.plainRows /
                (parts.areColumns ? shared.sumCols : shared.sumRows);
  parts.rows = parts.sharedRows = shared.sumRows;
  parts.cols = shared.sumCols;
  parts.pitch = shared.sumPitch;
  parts.threads = spec.getThreads();
  parts.fragments = shared.sumCols / spec.products / width;
  parts.number = thread.number;
  parts.copies = spec.getTeams();
  parts.shift = spec.format.getSumShift();
}

Value PlainMmaResults::getSumAddress(int64_t copy, Value place) {
  const PlainMmaLayout &shared = context.shared;
  return b.offset(context.getShared(b, shared.sums + copy * shared.sumBytes),
                  b.getF32Type(), place);
}

void PlainMmaResults::emitStored(ValueRange) { gpu::BarrierOp::create(b); }

void PlainMmaResults::emitStoreSums(ValueRange sums) {
  const PlainMmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  int64_t fragments = context.spec.getWarpFragments();
  // Rows of fragments are scaled rows, and columns plain ones.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Lanes scaled = thread.warpRow + thread.row;
  Lanes plain = thread.warpPlain + thread.member * 2;
  Value base =
      b.offset(context.getShared(b, shared.sums, thread.team, shared.sumBytes),
               b.getF32Type(), scaled * scaledPitch + plain * plainPitch);
  storeFragments(numerics::kMmaAccumulator, sums, base, scaledPitch, plainPitch,
                 [&](int64_t fragment) -> numerics::ElementIndex<int64_t> {
                   return {fragment % fragments * kScaledFragment,
                           fragment / fragments * kPlainFragment};
                 });
}

} // namespace blockscale::products

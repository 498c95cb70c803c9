//===- PlainMmaResults.cpp - Sums into results ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainMmaRoles.h"
#include "Products/Arithmetic.h"

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

/// Stores the sums of a part of a tile (PTX ISA, "Matrix Fragments for
/// mma.m16n8k16", "Accumulators"): two are of plain rows beside each other, and
/// the next two of the row with scales that is eight rows behind.
void PlainMmaResults::emitStoreSums(ValueRange sums) {
  const PlainMmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  constexpr int64_t distance = kScaledFragment / 2;
  Lanes scaled = Lanes(b, thread.warpRow) + Lanes(b, thread.row);
  Lanes plain = Lanes(b, thread.member) * 2;
  // Distances, in f32, of sums of neighbouring scaled and plain rows.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Value base =
      b.offset(context.getShared(b, shared.sums, thread.team, shared.sumBytes),
               b.getF32Type(), scaled * scaledPitch + plain * plainPitch);
  auto store = [&](ValueRange values, int64_t plain, int64_t scaled) {
    int64_t place = plain * plainPitch + scaled * scaledPitch;
    b.store(values.size() > 1 ? b.pack(values) : values.front(),
            b.offset(base, b.getF32Type(), b.i32(place)),
            static_cast<unsigned>(values.size()) * kWordBytes);
  };
  for (size_t i = 0; i < sums.size(); i += 2) {
    auto fragment = static_cast<int64_t>(i) / kFragmentSums;
    int64_t plain = fragment / kWarpFragments * kPlainFragment;
    int64_t scaled = fragment % kWarpFragments * kScaledFragment +
                     static_cast<int64_t>(i) % kFragmentSums / 2 * distance;
    if (isScaledA) {
      store(sums.slice(i, 2), plain, scaled);
      continue;
    }
    store(sums.slice(i, 1), plain, scaled);
    store(sums.slice(i + 1, 1), plain + 1, scaled);
  }
}

} // namespace blockscale::products

//===- WgmmaResults.cpp - Sums into results -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads have sums of two scaled rows, two plain ones apart. By shared memory,
// 64 plain rows at a time, they become fragments of rows of the result, which
// are written as on every chip. A warpgroup writes the results of its own sums,
// so that the other one can multiply meanwhile. Teams, and the CTAs of a
// cluster, have sums of the same results: each team adds those of some rows,
// from the memory of all.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/EpilogueWriter.h"
#include "Products/TilePadding.h"
#include "WgmmaRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// The barrier of the first warpgroup. Barrier 0 is that of all threads.
static constexpr int64_t kResultBarrier = 1;

WgmmaResults::WgmmaResults(KernelBuilder &b, const WgmmaContext &context,
                           const WgmmaThread &thread)
    : b(b), context(context), thread(thread) {
  const WgmmaSpec &spec = context.spec;
  const WgmmaLayout &shared = context.shared;
  bool isScaledA = spec.format.isScaledA;
  sharesAll = needsBothWarpgroups(spec);
  threads = sharesAll ? getTeamThreads(context.spec) : kWarpgroupThreads;
  teamOfAll =
      Lanes(b, context.cluster.part) * spec.getTeams() + Lanes(b, thread.team);
  // What a sink takes has all columns of a fragment. Other results are stored
  // by 16 bytes, so that threads beside each other store whole lines.
  width = spec.epilogue ? kFragment : kCopyBytes / getByteSize(spec.result);
  rows = (isScaledA ? kWarpgroupRows : shared.sumRows) /
         (spec.getParts() * spec.getTeams());
  int64_t cols =
      isScaledA || sharesAll ? shared.sumCols / spec.products : kWarpgroupRows;
  fragments = cols / width;
  Lanes warpgroup(b, thread.warpgroup);
  Lanes none(b, b.i32(0));
  number = sharesAll ? Lanes(b, thread.number)
                     : Lanes(b, thread.number) & (kWarpgroupThreads - 1);
  firstRow = Lanes(b, teamOfAll) * rows +
             (isScaledA ? warpgroup * kWarpgroupRows : none);
  firstCol = isScaledA || sharesAll ? none : warpgroup * kWarpgroupRows;
  ring = sharesAll ? none : warpgroup;
}

int64_t WgmmaResults::getParts() const {
  const WgmmaLayout &shared = context.shared;
  int64_t part =
      context.spec.format.isScaledA ? shared.sumCols : shared.sumRows;
  return context.tile.plainRows / part;
}

void WgmmaResults::emitArrive(const BarrierRing &barriers,
                              NVVM::MemScopeKind scope) {
  // Each CTA has a thread that arrives there for all of a warp, whose accesses
  // come before, so that the warp waits for these once.
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  int64_t parts = context.cluster.parts;
  Value place = context.cluster.getPlace(b, barriers.get(b, ring),
                                         Lanes(b, thread.lane) & (parts - 1));
  emit::emitIf(b, isBelow(b, thread.lane, b.i32(parts)), [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(), place, /*count=*/Value(),
                                   scope);
  });
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

void WgmmaResults::emitStored(Value parity) {
  if (context.cluster.parts > 1) {
    emitArrive(context.sumsFull, NVVM::MemScopeKind::CLUSTER);
    context.sumsFull.emitWaitFull(b, {ring, parity},
                                  NVVM::MemScopeKind::CLUSTER);
    return;
  }
  NVVM::BarrierOp::create(b, /*res=*/Type(), Lanes(b, ring) + kResultBarrier,
                          b.i32(context.spec.getTeams() * threads),
                          /*reductionOp=*/NVVM::BarrierReductionAttr(),
                          /*reductionPredicate=*/Value());
}

void WgmmaResults::emitPart(
    const TileCoord &tile, Value part,
    function_ref<void(const ResultRow &row, Value inPart, Value fragment,
                      Value col)>
        write) {
  const WgmmaLayout &shared = context.shared;
  const GemmScheduleAttr schedule = context.spec.schedule;
  bool isScaledA = context.spec.format.isScaledA;
  int64_t count = rows * fragments;
  Lanes number(b, this->number);
  emitCount(
      b, b.i32(llvm::divideCeil(count, threads)), {}, [&](Value i, ValueRange) {
        Lanes item = Lanes(b, i) * threads + number;
        auto emitItem = [&] {
          Lanes inPart =
              (item >> llvm::Log2_64(fragments)) + Lanes(b, firstRow);
          Lanes fragment =
              (item & (fragments - 1)) * width + Lanes(b, firstCol);
          Lanes row = Lanes(b, tile.row) * schedule.getRows() + inPart;
          Lanes col =
              Lanes(b, tile.col) * context.spec.getResultCols() + fragment;
          if (isScaledA)
            col = col + Lanes(b, part) * shared.sumCols;
          else
            row = row + Lanes(b, part) * shared.sumRows;
          const ProductRange &product = tile.product;
          write({product.number, Lanes(b, tile.firstResult) + toI64(b, row),
                 isBelow(b, row, product.rows), row, product.rows,
                 product.firstBand},
                inPart, fragment, col);
        };
        if (count % threads == 0)
          emitItem();
        else
          emit::emitIf(b, compare(Predicate::ult, item, count), emitItem);
        return SmallVector<Value>();
      });
}

/// The sums of a fragment that begins at `place`, in f32 from the beginning of
/// those of a part: those of each team, added in the order of their numbers,
/// and brought to the size of results.
Value WgmmaResults::loadSums(Value place) {
  const WgmmaLayout &shared = context.shared;
  int64_t teams = context.spec.getTeams();
  SmallVector<Value> sums;
  for (int64_t i = 0; i < context.cluster.parts * teams; ++i) {
    int64_t first = shared.sums + i % teams * shared.sumBytes;
    Value address =
        b.offset(context.getShared(b, first), b.getF32Type(), place);
    Value own = context.cluster.getPlace(b, address, b.i32(i / teams));
    for (auto [j, word] : llvm::enumerate(
             emitLoadWords(b, own, width * kWordBytes, kCopyBytes))) {
      Value value = b.bitcast(b.getF32Type(), word);
      if (i == 0)
        sums.push_back(value);
      else
        sums[j] = Lanes(b, sums[j]) + Lanes(b, value);
    }
  }
  if (int shift = context.spec.format.getSumShift())
    for (Value &sum : sums)
      sum = Lanes(b, sum) * std::ldexp(1.0f, shift);
  return b.pack(sums);
}

/// Stores the sums of a part of a tile to shared memory (PTX ISA, "Register
/// Fragments for wgmma.mma_async.m64nNk16", "Accumulator D").
void WgmmaResults::emitStoreSums(ValueRange sums) {
  const WgmmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  constexpr int64_t accumulator = 4;
  Lanes row(b, thread.row), col = Lanes(b, thread.member) * 2;
  // Distances, in f32, of sums of neighbouring scaled and plain rows.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Value base =
      b.offset(context.getShared(b, shared.sums, thread.team, shared.sumBytes),
               b.getF32Type(), row * scaledPitch + col * plainPitch);
  auto address = [&](int64_t i) {
    int64_t plain = i / accumulator * 8 + i % 2;
    int64_t scaled = i % accumulator / 2 * kRowDistance;
    return b.offset(base, b.getF32Type(),
                    b.i32(plain * plainPitch + scaled * scaledPitch));
  };
  for (size_t i = 0; i < sums.size(); i += 2) {
    if (isScaledA) {
      b.store(b.pack(sums.slice(i, 2)), address(i), 2 * kWordBytes);
      continue;
    }
    b.store(sums[i], address(i), kWordBytes);
    b.store(sums[i + 1], address(i + 1), kWordBytes);
  }
}

Value WgmmaResults::emitSums(const TileCoord &tile, ValueRange sums,
                             Value parity) {
  const WgmmaLayout &shared = context.shared;
  int64_t parts = getParts();
  size_t each = sums.size() / parts;
  SmallVector<Value> last =
      emitCount(b, b.i32(parts), {parity}, [&](Value part, ValueRange carried) {
        Value parity = carried.front();
        if (context.cluster.parts > 1)
          context.sumsEmpty.emitWaitEmpty(b, {ring, parity},
                                          NVVM::MemScopeKind::CLUSTER);
        // Registers have no numbers: each part has its code. What makes results
        // of them stands once.
        for (int64_t i = 0; i < parts; ++i)
          emit::emitIf(b, compare(Predicate::eq, Lanes(b, part), i),
                       [&] { emitStoreSums(sums.slice(i * each, each)); });
        emitStored(parity);
        emitPart(
            tile, part,
            [&](const ResultRow &row, Value inPart, Value fragment, Value col) {
              SmallVector<Value> ofProducts;
              for (int64_t i = 0; i < context.spec.products; ++i) {
                int64_t first = i * (shared.sumCols / context.spec.products);
                ofProducts.push_back(
                    loadSums(Lanes(b, inPart) * shared.sumPitch +
                             Lanes(b, fragment) + first));
              }
              createRowWriter(b, context.spec, context.arguments, row, width)
                  ->emitFragment(ofProducts, col);
            });
        // Nothing that was written has to be seen by other CTAs: in the scope
        // of the cluster an arrival would wait for all results.
        if (context.cluster.parts > 1)
          emitArrive(context.sumsEmpty, NVVM::MemScopeKind::CTA);
        else
          emitStored(parity);
        return SmallVector<Value>{Lanes(b, parity) ^ Lanes(b, b.i32(1))};
      });
  if (context.spec.hasPadding())
    emitInFirst([&] {
      emitTilePadding(b, context.spec, context.arguments, tile, thread.number,
                      getTeamThreads(context.spec));
    });
  return last.front();
}

void WgmmaResults::emitInFirst(function_ref<void()> body) {
  if (context.cluster.parts * context.spec.getTeams() == 1)
    return body();
  emit::emitIf(b, compare(Predicate::eq, Lanes(b, teamOfAll), 0), body);
}

void WgmmaResults::emitTile(const TileCoord &tile) {
  emitCount(b, b.i32(getParts()), {}, [&](Value part, ValueRange) {
    emitPart(tile, part, [&](const ResultRow &row, Value, Value, Value col) {
      createRowWriter(b, context.spec, context.arguments, row, width)
          ->emitZeros(col);
    });
    return SmallVector<Value>();
  });
}

void WgmmaResults::emitRest(const ProductRange &product, Value cluster,
                            Value clusters) {
  if (!context.spec.hasRest())
    return;
  emitInFirst([&] {
    emitSinkRest(b, context.spec, context.arguments, product, thread.number,
                 cluster, clusters);
  });
}

} // namespace blockscale::gemm

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
#include "WgmmaRoles.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/Accumulators.h"
#include "blockscale/Numerics/OperandFragments.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Results between rows in shared memory, so that eight of them begin in
/// different banks.
static constexpr int64_t kRoundedPad = 8;

/// The barrier of the first warpgroup. Barrier 0 is that of all threads.
static constexpr int64_t kResultBarrier = 1;
/// That of the first team where one makes the results of a tile, behind those
/// by which teams hand over sums.
static constexpr int64_t kOwnBarrier =
    kResultBarrier + kTeamWarpgroups + kHandOverBarriers;

WgmmaResults::WgmmaResults(KernelBuilder &b, const WgmmaContext &context,
                           const WgmmaThread &thread)
    : RegisterResults(b, context.spec, context.arguments, thread.number,
                      getTeamThreads(context.spec)),
      context(context), thread(thread) {
  const WgmmaSpec &spec = context.spec;
  const WgmmaLayout &shared = context.shared;
  bool isScaledA = spec.format.isScaledA;
  bool sharesAll = needsBothWarpgroups(spec);
  teamOfAll = context.cluster.part * spec.getTeams() + thread.team;
  parts.areColumns = isScaledA;
  parts.count =
      context.tile.plainRows / (isScaledA ? shared.sumCols : shared.sumRows);
  parts.rows = shared.sumRows;
  parts.cols = shared.sumCols;
  parts.pitch = shared.sumPitch;
  parts.threads = sharesAll ? getTeamThreads(spec)
                            : std::min(getTeamThreads(spec), kWarpgroupThreads);
  parts.sharedRows = (isScaledA ? kWarpgroupRows : shared.sumRows) /
                     (spec.getParts() * spec.getResultTeams());
  int64_t cols = isScaledA || sharesAll
                     ? shared.sumCols / spec.products
                     : std::min(shared.sumCols, kWarpgroupRows);
  parts.fragments = cols / width;
  Lanes warpgroup = thread.warpgroup;
  Lanes none(b, b.i32(0));
  Lanes number = thread.number;
  parts.number = sharesAll
                     ? number
                     : numerics::splitBits(number, kWarpgroupThreads).second;
  isOwned = spec.hasOwnResults();
  parts.firstRow = (isOwned ? none : teamOfAll * parts.sharedRows) +
                   (isScaledA ? warpgroup * kWarpgroupRows : none);
  parts.firstCol = isScaledA || sharesAll ? none : warpgroup * kWarpgroupRows;
  parts.copies = context.cluster.parts * spec.countSums();
  parts.shift = spec.format.getSumShift();
  if (!spec.format.hasScales && parts.copies == 1 && spec.hasRoundedSums()) {
    parts.areRounded = true;
    parts.pitch = shared.sumCols + kRoundedPad;
  }
  ring = sharesAll ? none : warpgroup;
}

void WgmmaResults::emitArrive(const BarrierRing &barriers,
                              NVVM::MemScopeKind scope) {
  context.cluster.emitArrive(b, barriers.get(b, ring), thread.lane, scope);
}

void WgmmaResults::emitBegin(ValueRange carried) {
  if (context.spec.readsSumsLate())
    context.sumsEmpty.emitWaitEmpty(b, {ring, carried.front()},
                                    context.cluster.parts > 1
                                        ? NVVM::MemScopeKind::CLUSTER
                                        : NVVM::MemScopeKind::CTA);
}

void WgmmaResults::emitStored(ValueRange carried) {
  if (context.cluster.parts > 1) {
    emitArrive(context.sumsFull, NVVM::MemScopeKind::CLUSTER);
    context.sumsFull.emitWaitFull(b, {ring, carried.front()},
                                  NVVM::MemScopeKind::CLUSTER);
    return;
  }
  emitBarrier();
}

SmallVector<Value> WgmmaResults::emitRead(ValueRange carried) {
  // Nothing that was written has to be seen by other CTAs: in the scope of the
  // cluster an arrival would wait for all results.
  if (context.spec.readsSumsLate())
    emitArrive(context.sumsEmpty, NVVM::MemScopeKind::CTA);
  else
    emitBarrier();
  return {Lanes(b, carried.front()) ^ Lanes(b, b.i32(1))};
}

void WgmmaResults::emitBarrier() {
  Lanes barrier = ring + kResultBarrier;
  if (isOwned) {
    int64_t rings =
        llvm::divideCeil(getTeamThreads(context.spec), parts.threads);
    barrier = thread.team * rings + ring + kOwnBarrier;
  }
  upstream::createBarrier<NVVM::BarrierOp>(
      b, barrier, b.i32(context.spec.getResultTeams() * parts.threads));
}

Value WgmmaResults::emitTileSums(const TileCoord &tile, ValueRange sums,
                                 Value parity) {
  auto emitSums = [&] {
    // Those who decode early have not waited for the launch before.
    if (context.spec.decodesEarly())
      emitRoleWait(b, context.arguments, /*isEarly=*/false);
    return RegisterResults::emitSums(tile, sums, parity).front();
  };
  if (!isOwned)
    return emitSums();
  emit::emitIf(b, emit::isEqual(owner, thread.team), [&] {
    isInOwner = true;
    emitSums();
    isInOwner = false;
  });
  return parity;
}

void WgmmaResults::emitTile(const TileCoord &tile) {
  auto emitZeros = [&] { RegisterResults::emitTile(tile); };
  if (!isOwned)
    return emitZeros();
  emit::emitIf(b, emit::isEqual(thread.team, 0), emitZeros);
}

/// Copies are those of the teams of the first CTA of the cluster, then of the
/// next one.
Value WgmmaResults::getSumAddress(int64_t copy, Value place) {
  const WgmmaLayout &shared = context.shared;
  int64_t teams = context.spec.countSums();
  int64_t first = shared.sums + copy % teams * shared.sumBytes;
  Type type = parts.areRounded ? context.spec.result : b.getF32Type();
  if (isOwned)
    return b.offset(context.getShared(b, first, thread.team, shared.sumBytes),
                    type, place);
  Value address = b.offset(context.getShared(b, first), type, place);
  // CTAs that share rows of A have sums of their own.
  if (context.cluster.parts == 1)
    return address;
  return context.cluster.getPlace(b, address, b.i32(copy / teams));
}

/// Stores matrices of 8 x 8 results, four at a time: those of both halves of
/// the warp's 16 rows of two fragments of eight plain rows. Each lane gives the
/// address of a row of results of a matrix, which is transposed where the plain
/// rows are those of results.
void WgmmaResults::emitStoreRounded(ValueRange sums) {
  constexpr int64_t matrices = 4, side = 8;
  bool isScaledA = context.spec.format.isScaledA;
  numerics::BitLayout places =
      isScaledA ? numerics::kMatrixRowsOfA
                : numerics::getMatrixRowsOfB(numerics::countBits(side));
  auto [row, piece] = places.getElementOf(/*at=*/0, thread.lane);
  Lanes col = piece * side;
  (isScaledA ? row : col) =
      (isScaledA ? row : col) +
      numerics::getWarp(thread.number) * numerics::kMmaAccumulator.getRows();
  Value base = b.offset(context.getShared(b, context.shared.sums),
                        context.spec.result, row * parts.pitch + col);
  int64_t distance = isScaledA ? 2 * side : 2 * side * parts.pitch;
  auto pair = VectorType::get({2}, context.spec.result);
  for (int64_t i = 0, end = sums.size() / (2 * matrices); i < end; ++i) {
    SmallVector<Value> words;
    for (int64_t j = 0; j < matrices; ++j) {
      ValueRange both = sums.slice(2 * (matrices * i + j), 2);
      words.push_back(b.toBits(LLVM::FPTruncOp::create(b, pair, b.pack(both))));
    }
    NVVM::StMatrixOp::create(
        b, b.offset(base, context.spec.result, b.i32(i * distance)), words,
        isScaledA ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), side, side),
        NVVM::LdStMatrixEltType::B16);
  }
}

void WgmmaResults::emitStoreSums(ValueRange sums) {
  if (!owner || isOwned)
    return emitStoreOwn(sums);
  emit::emitIf(b, emit::isEqual(owner, thread.team),
               [&] { emitStoreOwn(sums); });
}

void WgmmaResults::emitStoreOwn(ValueRange sums) {
  if (parts.areRounded)
    return emitStoreRounded(sums);
  const WgmmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  // Rows of the fragment are scaled rows, and columns plain ones.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Lanes row = thread.row, col = thread.member * 2;
  Value base = b.offset(
      owner && !isOwned
          ? context.getShared(b, shared.sums)
          : context.getShared(b, shared.sums, thread.team, shared.sumBytes),
      b.getF32Type(), row * scaledPitch + col * plainPitch);
  storeFragments(numerics::kWgmmaAccumulator, sums, base, scaledPitch,
                 plainPitch,
                 [](int64_t) { return numerics::ElementIndex<int64_t>{0, 0}; });
}

void WgmmaResults::emitRest(const ProductRange &product, Value cluster,
                            Value clusters) {
  auto emitOwn = [&] { RegisterResults::emitRest(product, cluster, clusters); };
  if (context.cluster.sharers == 1)
    return emitOwn();
  emit::emitIf(b, emit::isEqual(context.cluster.sharer, 0), emitOwn);
}

void WgmmaResults::emitOnce(function_ref<void()> body) {
  if (context.cluster.parts * context.spec.getTeams() == 1 || isInOwner)
    return body();
  emit::emitIf(b, compare(Predicate::eq, teamOfAll, 0), body);
}

} // namespace blockscale::products

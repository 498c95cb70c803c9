//===- Barriers.cpp - Rings of mbarriers ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"
#include "DeviceEmission/DeviceCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

RingSlot RingSlot::getFirst(KernelBuilder &b) { return {b.i32(0), b.i32(0)}; }

RingSlot RingSlot::getNext(KernelBuilder &b, int64_t slots) const {
  if (slots == 1)
    return {index, Lanes(b, parity) ^ Lanes(b, b.i32(1))};
  // Behind slot 1 of two a turn ends.
  if (slots == 2)
    return {Lanes(b, index) ^ Lanes(b, b.i32(1)),
            Lanes(b, parity) ^ Lanes(b, index)};
  Lanes next = Lanes(b, index) + 1;
  Lanes isAround = compare(arith::CmpIPredicate::eq, next, slots);
  return {select(isAround, next.like(0), next),
          Lanes(b, parity) ^ Lanes(b, b.zext32(isAround))};
}

RingSlot RingSlot::getAfter(KernelBuilder &b, int64_t slots,
                            Value distance) const {
  Lanes place = Lanes(b, index) + Lanes(b, distance);
  Lanes rounds(
      b, arith::DivUIOp::create(b, place, b.i32(static_cast<int32_t>(slots))));
  return {place - rounds * slots, Lanes(b, parity) ^ (rounds & 1)};
}

Value BarrierRing::get(KernelBuilder &b, Value slot) const {
  return b.offset(memory, b.getI64Type(), slot);
}

void BarrierRing::emitInit(KernelBuilder &b) const {
  for (int64_t slot = 0; slot < slots; ++slot)
    NVVM::MBarrierInitOp::create(b, get(b, b.i32(slot)), b.i32(arrivals),
                                 /*predicate=*/Value());
}

/// Waits for the end of a phase. The threads of a warp can see it at different
/// times. nvvm.mbarrier.try_wait.parity branches as if they did not (bra.uni),
/// so this is a loop around a single try.
void BarrierRing::emitWait(KernelBuilder &b, Value slot, Value parity,
                           NVVM::MemScopeKind scope) const {
  Value barrier = get(b, slot);
  emitWhile(
      b, {},
      [&](ValueRange) -> Value {
        Lanes isDone(b, NVVM::MBarrierTryWaitOp::create(
                            b, b.getI1Type(), barrier, parity, Value(), scope));
        return isDone ^ isDone.like(1);
      },
      [](ValueRange) { return SmallVector<Value>(); });
}

void BarrierRing::emitWaitFull(KernelBuilder &b, const RingSlot &slot,
                               NVVM::MemScopeKind scope) const {
  emitWait(b, slot.index, slot.parity, scope);
}

void BarrierRing::emitWaitEmpty(KernelBuilder &b, const RingSlot &slot,
                                NVVM::MemScopeKind scope) const {
  // A wait for the phase before the first one of a barrier succeeds at once, so
  // that all buffers are empty in the beginning.
  emitWait(b, slot.index, Lanes(b, slot.parity) ^ Lanes(b, b.i32(1)), scope);
}

void BarrierRing::emitExpect(KernelBuilder &b, Value slot, Value bytes) const {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, /*res=*/Type(), get(b, slot), bytes, NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
}

void emitInOneThread(KernelBuilder &b, function_ref<void()> body) {
  Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  emit::emitIf(b, isElected, body);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

} // namespace blockscale::products

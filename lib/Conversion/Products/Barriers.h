//===- Barriers.h - Rings of mbarriers --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles of a kernel pass buffers to each other around a ring. Each buffer has a
// barrier that its producer completes and one that its consumer completes. A
// role counts its turns: the parity of the turns around the ring tells the
// phase of a barrier that it waits for from the one before.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_BARRIERS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_BARRIERS_H

#include "DeviceEmission/KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace blockscale::products {

inline constexpr int64_t kBarrierBytes = 8;

/// The slot of a ring that a role is at, as values that loops carry.
struct RingSlot {
  /// The first turn around the ring.
  static RingSlot getFirst(KernelBuilder &b);
  /// The slot that a loop carries as `values`, which are `get()` of the
  /// iteration before.
  static RingSlot of(mlir::ValueRange values) { return {values[0], values[1]}; }
  llvm::SmallVector<mlir::Value> get() const { return {index, parity}; }

  /// The slot after this one in a ring of `slots`, and the one `distance` (i32)
  /// after it.
  RingSlot getNext(KernelBuilder &b, int64_t slots) const;
  RingSlot getAfter(KernelBuilder &b, int64_t slots,
                    mlir::Value distance) const;

  /// The number of the slot's buffer, and how often the role was around the
  /// ring, modulo 2; both i32.
  mlir::Value index;
  mlir::Value parity;
};

/// Barriers beside each other in shared memory, one for each buffer of a ring.
class BarrierRing {
public:
  /// Makes a ring in which `arrivals` complete a phase of each barrier.
  BarrierRing(mlir::Value memory, int64_t slots, int64_t arrivals)
      : memory(memory), slots(slots), arrivals(arrivals) {}

  /// Makes them barriers; by one thread, before any other uses them.
  void emitInit(KernelBuilder &b) const;

  mlir::Value get(KernelBuilder &b, mlir::Value slot) const;

  /// Waits until the buffer at `slot` is filled, for the one who empties it.
  /// `scope` is that of what was written before.
  void emitWaitFull(
      KernelBuilder &b, const RingSlot &slot,
      mlir::NVVM::MemScopeKind scope = mlir::NVVM::MemScopeKind::CTA) const;
  /// Waits until it is empty again, for the one who fills it; the first time
  /// around the ring it is.
  void emitWaitEmpty(
      KernelBuilder &b, const RingSlot &slot,
      mlir::NVVM::MemScopeKind scope = mlir::NVVM::MemScopeKind::CTA) const;

  /// Arrives, for copies of `bytes` bytes (i32) that complete the phase.
  void emitExpect(KernelBuilder &b, mlir::Value slot, mlir::Value bytes) const;

private:
  void emitWait(KernelBuilder &b, mlir::Value slot, mlir::Value parity,
                mlir::NVVM::MemScopeKind scope) const;

  mlir::Value memory;
  int64_t slots;
  int64_t arrivals;
};

/// Runs `body` in one thread of a warp, all of whose threads get here together,
/// and leave together.
void emitInOneThread(KernelBuilder &b, llvm::function_ref<void()> body);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_BARRIERS_H

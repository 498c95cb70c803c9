//===- AsyncIssue.h - Start of asynchronous work ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCISSUE_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCISSUE_H

#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Machine/Cluster.h"

namespace blockscale::emulator {

/// A thread at an instruction. Work that is done later keeps it: who started
/// it is to blame for its faults.
struct Issuer {
  Warp &warp;
  const Op &op;
  unsigned lane;

  Cluster &getCluster() const { return warp.getCluster(); }
  HazardLog &getHazards() const { return getCluster().getHazards(); }
  Agent getAgent() const { return warp.getAgent(lane); }
  llvm::StringRef getName() const;

  /// Whether there was a fault.
  bool report(llvm::ArrayRef<Fault> faults) const;
  void report(const Fault &fault) const { report(llvm::ArrayRef(fault)); }

  /// The CTA of a shared address; null, and reported, where the cluster has
  /// none of its rank.
  Cta *findCta(uint64_t shared) const;
  /// An address operand of shared memory: 32 bits of it, or a generic address.
  /// The result is none, and the fault reported, where the address is in
  /// another window.
  std::optional<uint64_t> toShared(uint64_t address, bool isGeneric) const;
  /// The barrier at a shared address; null, and reported, where there is none.
  MBarrier *findBarrier(uint64_t shared) const;
  /// The thread uses it, or starts work of the generic proxy that will.
  void noteBarrier(uint64_t shared) const { noteLoad({shared, 8}); }
  /// The thread starts work of the async proxy that will signal it.
  void noteAsyncBarrier(uint64_t shared) const;

  /// An access of the thread to shared memory, which other warps must not race
  /// with.
  void noteLoad(const SharedRange &range) const;
  void noteStore(const SharedRange &range,
                 Warp::StoreKind kind = Warp::StoreKind::Exclusive) const;
  void noteCells(const CellRange &range, bool isStore, bool isMatrix) const;
  /// The thread starts a copy from global memory, by one of the proxies.
  void noteGlobalLoad(llvm::ArrayRef<GlobalRange> ranges, bool isAsync) const;

  /// Registers work with the hazards, and reports what it conflicts with.
  WorkRef begin(AsyncWork::Kind kind, AsyncWork work) const;
  /// What the thread did before it starts work that is to signal a barrier.
  ClockRef start() const {
    return getCluster().getClocks().start(warp.getClusterIndex());
  }
  /// The work is done and completes bytes of a barrier, or arrives there; the
  /// program has waited for it once the phase is seen to be complete.
  void completeTx(uint64_t barrier, uint32_t bytes, const WorkRef &work,
                  const ClockRef &started) const;
  void arrive(uint64_t barrier, llvm::ArrayRef<WorkRef> works,
              const ClockRef &started) const;
  /// Work writes into shared memory: no barrier may be there.
  void checkNoBarriers(const SharedRange &range) const;

private:
  /// The works were counted in a phase, the current one, unless it is over now.
  void watch(uint64_t barrier, uint64_t phase, const MBarrier &state,
             llvm::ArrayRef<WorkRef> works, const ClockRef &started) const;
};

/// Whether the instruction names no state space.
bool isGeneric(const Instruction &instruction);

/// Adds the operands from `first` on: addresses, vectors element by element,
/// and values of `type`.
llvm::Error addOperands(Decoder &decoder, Op &op, size_t first, Type type);

/// Cuts a result off the front: an mbarrier state, a predicate, a register.
llvm::Error addResult(Decoder &decoder, Op &op, const Operand &operand);

/// The value of an operand that must be an integer.
llvm::Expected<uint64_t> getImmediate(const Operand &operand);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_ASYNCISSUE_H

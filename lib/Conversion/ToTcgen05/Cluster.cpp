//===- Cluster.cpp - CTAs that multiply together --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// NVPTX address spaces.
static constexpr unsigned kSharedMemory = 3;
static constexpr unsigned kClusterMemory = 7;

/// The bits of an address of shared memory that it has in common with the same
/// place of the leader. Bits 24 and up are the number of the CTA in its
/// cluster; without the lowest of them it is the number of the leader.
static constexpr uint32_t kLeaderMask = ~(uint32_t(1) << 24);

Cluster::Cluster(KernelBuilder &b, GemmScheduleAttr schedule)
    : member(b, b.i32(0)), pair(b, b.i32(0)),
      tileBlocks(getTileBlocks(schedule)), pairs(schedule.getMulticast()) {
  if (!isPair())
    return;
  Lanes rank(b, NVVM::ClusterId::create(b, b.getI32Type()));
  member = rank & 1;
  if (pairs > 1)
    pair = rank >> 1;
}

NVVM::CTAGroupKind Cluster::getGroup() const {
  return isPair() ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

NVVM::CTAGroupKindAttr Cluster::getGroupAttr(KernelBuilder &b) const {
  return NVVM::CTAGroupKindAttr::get(b.getContext(), getGroup());
}

void Cluster::emitIfLeader(KernelBuilder &b, function_ref<void()> body) const {
  if (!isPair())
    return body();
  emit::emitIf(b, compare(arith::CmpIPredicate::eq, member, 0), body);
}

void Cluster::emitBarrier(KernelBuilder &b) const {
  if (!isPair()) {
    NVVM::BarrierOp::create(b);
    return;
  }
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// The bits of a pointer into shared memory, changed.
static Value toPointer(KernelBuilder &b, Value pointer, uint32_t mask,
                       unsigned space) {
  Lanes bits(b, LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer));
  if (mask != UINT32_MAX)
    bits = bits & mask;
  Value value = bits;
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), space), value);
}

Value Cluster::getLeaderBarrier(KernelBuilder &b, Value barrier) const {
  return isPair() ? toPointer(b, barrier, kLeaderMask, kSharedMemory) : barrier;
}

void Cluster::emitArriveAtLeader(KernelBuilder &b, Value barrier) const {
  if (isPair())
    barrier = toPointer(b, barrier, kLeaderMask, kClusterMemory);
  NVVM::MBarrierArriveOp::create(b, /*res=*/Type(), barrier, /*count=*/Value(),
                                 isPair() ? NVVM::MemScopeKind::CLUSTER
                                          : NVVM::MemScopeKind::CTA);
}

void Cluster::emitCommit(KernelBuilder &b, Value barrier, Value mask) const {
  NVVM::Tcgen05CommitOp::create(b, barrier, isPair() ? mask : Value(),
                                getGroup());
}

void Cluster::emitCommitToAll(KernelBuilder &b, Value barrier) const {
  Value mask = arith::ConstantOp::create(
      b, b.getI16IntegerAttr((1 << (tileBlocks * pairs)) - 1));
  emitCommit(b, barrier, mask);
}

/// `mask` of a pair, moved to its place in the cluster, as i16.
static Value shiftMask(KernelBuilder &b, uint32_t mask, Lanes amount) {
  return truncate(amount.like(mask) << amount, 16);
}

void Cluster::emitCommitToPair(KernelBuilder &b, Value barrier) const {
  constexpr uint32_t both = 0b11;
  emitCommit(b, barrier, shiftMask(b, both, pair << 1));
}

Value Cluster::getMulticastMask(KernelBuilder &b) const {
  constexpr uint32_t sameMember = 0b0101;
  return pairs > 1 ? shiftMask(b, sameMember, member) : Value();
}

Value Cluster::toPeer(KernelBuilder &b, Value pointer) const {
  Lanes peer = Lanes(b, NVVM::ClusterId::create(b, b.getI32Type())) | 1;
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kClusterMemory);
  return NVVM::MapaOp::create(b, type, pointer, peer);
}

Value Cluster::toCluster(KernelBuilder &b, Value pointer) const {
  return isPair() ? toPointer(b, pointer, UINT32_MAX, kClusterMemory) : pointer;
}

} // namespace blockscale::products

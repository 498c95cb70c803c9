//===- WarpBuffer.cpp - Shared memory between lanes and memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Part p of lane l lies at place l * parts + (p xor f(l)). A shared memory
// access of 16 bytes is done for eight lanes at a time, which must differ in
// the low three bits of the place: f makes them differ where each lane accesses
// a part of its own, and keeps them different where they access neighbours.
//
//===----------------------------------------------------------------------===//

#include "WarpBuffer.h"
#include "DeviceCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

/// Places that one access reaches without conflict.
static constexpr int64_t kPhase = 8;

/// f(lane) = (lane >> shift) & mask.
static int64_t getShift(int64_t parts) {
  return llvm::Log2_64(kPhase / std::min(parts, kPhase));
}
static int64_t getMask(int64_t parts) { return std::min(parts, kPhase) - 1; }

static Value shiftRight(KernelBuilder &b, Value value, int64_t amount) {
  return arith::ShRUIOp::create(b, value, b.i32(amount));
}
static Value bitAnd(KernelBuilder &b, Value value, int64_t mask) {
  return arith::AndIOp::create(b, value, b.i32(mask));
}
static Value scaled(KernelBuilder &b, Value value, int64_t factor) {
  return arith::MulIOp::create(b, value, b.i32(factor));
}

WarpBuffer::WarpBuffer(KernelBuilder &b, Value thread, int64_t threads,
                       int64_t fragmentBytes, int64_t runLanes)
    : bytes(kWarpThreads * fragmentBytes), runLanes(runLanes) {
  // Places are banks where the first place is in the first bank.
  Value all =
      createSharedArray(b, "stage", b.getI8Type(), threads * fragmentBytes,
                        /*alignment=*/kPhase * kPartBytes);
  lane = bitAnd(b, thread, kWarpThreads - 1);
  Value warp = shiftRight(b, thread, llvm::Log2_64(kWarpThreads));
  memory = b.offset(all, b.getI8Type(), scaled(b, warp, bytes));
}

SmallVector<Value> WarpBuffer::getOwn(KernelBuilder &b, Value owner,
                                      int64_t parts) {
  Value first = scaled(b, owner, parts);
  Value turn = bitAnd(b, shiftRight(b, owner, getShift(parts)), getMask(parts));
  first = arith::OrIOp::create(b, first, turn);
  SmallVector<Value> places;
  for (int64_t part = 0; part < parts; ++part) {
    Value place = arith::XOrIOp::create(b, first, b.i32(part));
    places.push_back(
        b.offset(memory, b.getI8Type(), scaled(b, place, kPartBytes)));
  }
  return places;
}

SmallVector<Value> WarpBuffer::getMoved(KernelBuilder &b, int64_t parts,
                                        int64_t steps) {
  // The owner is lane / parts, and of every further step lanes on.
  Value owner = shiftRight(b, lane, llvm::Log2_64(parts));
  Value turn = bitAnd(b, shiftRight(b, owner, getShift(parts)), getMask(parts));
  Value first = arith::XOrIOp::create(b, lane, turn);
  SmallVector<Value> places;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t owners = step * (kWarpThreads / parts);
    int64_t stepTurn = owners >> getShift(parts) & getMask(parts);
    Value place = arith::XOrIOp::create(b, first, b.i32(stepTurn));
    Value address =
        b.offset(memory, b.getI8Type(), scaled(b, place, kPartBytes));
    places.push_back(b.offset(address, b.getI8Type(),
                              b.i64(step * kWarpThreads * kPartBytes)));
  }
  return places;
}

SmallVector<Value> WarpBuffer::getMovedAddresses(KernelBuilder &b,
                                                 Value pointer, int64_t parts,
                                                 int64_t runStride) {
  auto product = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(b, b.zext64(value), b.i64(factor));
  };
  // Both the lanes that own fragments and the parts that lanes move come in
  // runs.
  auto offset = [&](int64_t lanes, int64_t bytes) -> Value {
    if (lanes >= kWarpThreads)
      return product(lane, bytes);
    Value run = shiftRight(b, lane, llvm::Log2_64(lanes));
    return arith::AddIOp::create(b, product(run, runStride),
                                 product(bitAnd(b, lane, lanes - 1), bytes));
  };
  int64_t runParts = runLanes * parts;
  Value move = arith::SubIOp::create(b, offset(runParts, kPartBytes),
                                     offset(runLanes, parts * kPartBytes));
  Value first = b.offset(pointer, b.getI8Type(), move);
  SmallVector<Value> addresses;
  for (int64_t step = 0; step < parts; ++step) {
    int64_t part = step * kWarpThreads;
    int64_t at = part / runParts * runStride + part % runParts * kPartBytes;
    addresses.push_back(b.offset(first, b.getI8Type(), b.i64(at)));
  }
  return addresses;
}

void WarpBuffer::release(KernelBuilder &b) {
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

SmallVector<Value> WarpBuffer::read(KernelBuilder &b, Value owner,
                                    int64_t fragmentBytes, int64_t begin) {
  auto type = VectorType::get({kPartWords}, b.getI32Type());
  return llvm::map_to_vector(
      getOwn(b, owner, fragmentBytes / kPartBytes), [&](Value place) {
        if (begin)
          place = b.offset(place, b.getI8Type(), b.i64(begin));
        return b.load(type, place, kPartBytes);
      });
}

SmallVector<Value> WarpBuffer::load(KernelBuilder &b, Value pointer,
                                    int64_t fragmentBytes, int64_t runStride) {
  int64_t parts = fragmentBytes / kPartBytes;
  SmallVector<Value> from = getMovedAddresses(b, pointer, parts, runStride);
  for (auto [target, source] : llvm::zip_equal(getMoved(b, parts, parts), from))
    NVVM::CpAsyncOp::create(b, target, source, kPartBytes,
                            NVVM::LoadCacheModifierKind::CG, Value());
  NVVM::CpAsyncCommitGroupOp::create(b);
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
  release(b);
  return read(b, lane, fragmentBytes, /*begin=*/0);
}

bool WarpBuffer::canShare(int64_t fragmentBytes) const {
  int64_t parts = fragmentBytes / kPartBytes;
  return fragmentBytes % kPartBytes == 0 && llvm::isPowerOf2_64(parts) &&
         parts <= kWarpThreads && runLanes * parts % kWarpThreads == 0;
}

SmallVector<Value> WarpBuffer::getShared(KernelBuilder &b,
                                         int64_t fragmentBytes, int64_t begin) {
  int64_t parts = fragmentBytes / kPartBytes;
  return llvm::map_to_vector(
      getMoved(b, parts, runLanes * parts / kWarpThreads),
      [&](Value place) -> Value {
        return b.offset(place, b.getI8Type(), b.i64(begin));
      });
}

SmallVector<Value>
WarpBuffer::readShared(KernelBuilder &b, int64_t fragmentBytes, int64_t begin) {
  return read(b, bitAnd(b, lane, runLanes - 1), fragmentBytes, begin);
}

void WarpBuffer::store(KernelBuilder &b, ArrayRef<Value> words, Value pointer,
                       int64_t runStride) {
  int64_t parts = words.size() / kPartWords;
  // Others may still read what the parts replace.
  release(b);
  for (auto [i, place] : llvm::enumerate(getOwn(b, lane, parts)))
    b.store(b.pack(words.slice(i * kPartWords, kPartWords)), place, kPartBytes);
  release(b);
  auto type = VectorType::get({kPartWords}, b.getI32Type());
  for (auto [to, from] :
       llvm::zip_equal(getMovedAddresses(b, pointer, parts, runStride),
                       getMoved(b, parts, parts)))
    b.store(b.load(type, from, kPartBytes), to, kPartBytes);
}

} // namespace blockscale

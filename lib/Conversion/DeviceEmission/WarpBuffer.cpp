//===- WarpBuffer.cpp - Shared memory between lanes and memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a lane are a row of shared memory, exchanged as in
// Numerics/SharedSwizzle.h: so lanes access different banks where each accesses
// a part of its own, and where they access neighbours.
//
//===----------------------------------------------------------------------===//

#include "WarpBuffer.h"
#include "DeviceCode.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static_assert(WarpBuffer::kPartBytes == numerics::kSwizzlePiece);

WarpBuffer::WarpBuffer(KernelBuilder &b, Lanes thread, int64_t threads,
                       int64_t fragmentBytes, int64_t runLanes)
    : bytes(kWarpThreads * fragmentBytes), runLanes(runLanes) {
  // Places are banks where the first place is in the first bank.
  Value all =
      createSharedArray(b, "stage", b.getI8Type(), threads * fragmentBytes,
                        /*alignment=*/numerics::kSwizzleLine);
  lane = numerics::getLane(thread);
  memory = b.offset(all, b.getI8Type(), numerics::getWarp(thread) * bytes);
}

SmallVector<Value> WarpBuffer::getOwn(KernelBuilder &b, Lanes owner,
                                      int64_t parts) {
  Lanes first =
      owner * parts | numerics::getExchange(owner, parts * kPartBytes);
  SmallVector<Value> places;
  for (int64_t part = 0; part < parts; ++part)
    places.push_back(b.offset(memory, b.getI8Type(),
                              (first ^ first.like(part)) * kPartBytes));
  return places;
}

SmallVector<Value> WarpBuffer::getMoved(KernelBuilder &b, int64_t parts,
                                        int64_t steps) {
  // The owner is lane / parts, and of every further step lanes on.
  Lanes first = numerics::getSwizzledPiece(lane, parts * kPartBytes);
  SmallVector<Value> places;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t owners = step * (kWarpThreads / parts);
    Lanes place =
        first ^ first.like(numerics::getExchange(owners, parts * kPartBytes));
    Value address = b.offset(memory, b.getI8Type(), place * kPartBytes);
    places.push_back(b.offset(address, b.getI8Type(),
                              b.i64(step * kWarpThreads * kPartBytes)));
  }
  return places;
}

SmallVector<Value> WarpBuffer::getMovedAddresses(KernelBuilder &b,
                                                 Value pointer, int64_t parts,
                                                 int64_t runStride) {
  auto product = [&](Lanes value, int64_t factor) {
    return extend(value, 64) * factor;
  };
  // Both the lanes that own fragments and the parts that lanes move come in
  // runs.
  auto offset = [&](int64_t lanes, int64_t bytes) {
    if (lanes >= kWarpThreads)
      return product(lane, bytes);
    auto [run, inRun] = numerics::splitBits(lane, lanes);
    return product(run, runStride) + product(inRun, bytes);
  };
  int64_t runParts = runLanes * parts;
  Lanes move = offset(runParts, kPartBytes);
  move = move - offset(runLanes, parts * kPartBytes);
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

SmallVector<Value> WarpBuffer::read(KernelBuilder &b, Lanes owner,
                                    int64_t fragmentBytes, int64_t begin) {
  auto type = VectorType::get({kPartWords}, b.getI32Type());
  return llvm::map_to_vector(
      getOwn(b, owner, fragmentBytes / kPartBytes), [&](Value place) -> Value {
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
  return read(b, numerics::splitBits(lane, runLanes).second, fragmentBytes,
              begin);
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

SmallVector<Value>
StagedMoves::load(KernelBuilder &b, function_ref<Value()> getPointer,
                  int64_t runStride,
                  function_ref<SmallVector<Value>()> loadOwn) const {
  SmallVector<Type> types(
      fragmentBytes / WarpBuffer::kPartBytes,
      VectorType::get({WarpBuffer::kPartWords}, b.getI32Type()));
  return emitIfElse(
      b, isFullWarp, types,
      [&] { return buffer.load(b, getPointer(), fragmentBytes, runStride); },
      loadOwn);
}

void StagedMoves::store(KernelBuilder &b, ArrayRef<Value> words, Value pointer,
                        int64_t runStride,
                        function_ref<void()> storeOwn) const {
  emit::emitIf(
      b, isFullWarp, [&] { buffer.store(b, words, pointer, runStride); },
      storeOwn);
}

} // namespace blockscale

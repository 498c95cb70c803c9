//===- WarpStage.cpp - Shared memory between lanes and memory -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Piece p of lane l lies at place l * pieces + (p xor f(l)). A shared memory
// access of 16 bytes is done for eight lanes at a time, which must differ in
// the low three bits of the place: f makes them differ where each lane accesses
// a piece of its own, and keeps them different where they access neighbours.
//
//===----------------------------------------------------------------------===//

#include "WarpStage.h"
#include "DeviceCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

/// Places that one access reaches without conflict.
static constexpr int64_t kPhase = 8;

/// f(lane) = (lane >> shift) & mask.
static int64_t getShift(int64_t pieces) {
  return llvm::Log2_64(kPhase / std::min(pieces, kPhase));
}
static int64_t getMask(int64_t pieces) { return std::min(pieces, kPhase) - 1; }

static Value shiftRight(KernelBuilder &b, Value value, int64_t amount) {
  return arith::ShRUIOp::create(b, value, b.i32(amount));
}
static Value bitAnd(KernelBuilder &b, Value value, int64_t mask) {
  return arith::AndIOp::create(b, value, b.i32(mask));
}
static Value scaled(KernelBuilder &b, Value value, int64_t factor) {
  return arith::MulIOp::create(b, value, b.i32(factor));
}

WarpStage::WarpStage(KernelBuilder &b, Value thread, int64_t threads,
                     int64_t chunkBytes, int64_t runLanes)
    : bytes(kWarpThreads * chunkBytes), runLanes(runLanes) {
  // Places are banks where the first place is in the first bank.
  Value all = createSharedArray(b, "stage", b.getI8Type(), threads * chunkBytes,
                                /*alignment=*/kPhase * kPieceBytes);
  lane = bitAnd(b, thread, kWarpThreads - 1);
  Value warp = shiftRight(b, thread, llvm::Log2_64(kWarpThreads));
  memory = b.offset(all, b.getI8Type(), scaled(b, warp, bytes));
}

SmallVector<Value> WarpStage::getOwn(KernelBuilder &b, Value owner,
                                     int64_t pieces) {
  Value first = scaled(b, owner, pieces);
  Value turn =
      bitAnd(b, shiftRight(b, owner, getShift(pieces)), getMask(pieces));
  first = arith::OrIOp::create(b, first, turn);
  SmallVector<Value> places;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    Value place = arith::XOrIOp::create(b, first, b.i32(piece));
    places.push_back(
        b.offset(memory, b.getI8Type(), scaled(b, place, kPieceBytes)));
  }
  return places;
}

SmallVector<Value> WarpStage::getMoved(KernelBuilder &b, int64_t pieces,
                                       int64_t steps) {
  // The owner is lane / pieces, and of every further step lanes on.
  Value owner = shiftRight(b, lane, llvm::Log2_64(pieces));
  Value turn =
      bitAnd(b, shiftRight(b, owner, getShift(pieces)), getMask(pieces));
  Value first = arith::XOrIOp::create(b, lane, turn);
  SmallVector<Value> places;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t owners = step * (kWarpThreads / pieces);
    int64_t stepTurn = owners >> getShift(pieces) & getMask(pieces);
    Value place = arith::XOrIOp::create(b, first, b.i32(stepTurn));
    Value address =
        b.offset(memory, b.getI8Type(), scaled(b, place, kPieceBytes));
    places.push_back(b.offset(address, b.getI8Type(),
                              b.i64(step * kWarpThreads * kPieceBytes)));
  }
  return places;
}

SmallVector<Value> WarpStage::getMovedAddresses(KernelBuilder &b, Value pointer,
                                                int64_t pieces,
                                                int64_t runStride) {
  auto product = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(b, b.zext64(value), b.i64(factor));
  };
  // Both the lanes that own chunks and the pieces that lanes move come in runs.
  auto offset = [&](int64_t lanes, int64_t bytes) -> Value {
    if (lanes >= kWarpThreads)
      return product(lane, bytes);
    Value run = shiftRight(b, lane, llvm::Log2_64(lanes));
    return arith::AddIOp::create(b, product(run, runStride),
                                 product(bitAnd(b, lane, lanes - 1), bytes));
  };
  int64_t runPieces = runLanes * pieces;
  Value move = arith::SubIOp::create(b, offset(runPieces, kPieceBytes),
                                     offset(runLanes, pieces * kPieceBytes));
  Value first = b.offset(pointer, b.getI8Type(), move);
  SmallVector<Value> addresses;
  for (int64_t step = 0; step < pieces; ++step) {
    int64_t piece = step * kWarpThreads;
    int64_t at =
        piece / runPieces * runStride + piece % runPieces * kPieceBytes;
    addresses.push_back(b.offset(first, b.getI8Type(), b.i64(at)));
  }
  return addresses;
}

void WarpStage::release(KernelBuilder &b) {
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

SmallVector<Value> WarpStage::read(KernelBuilder &b, Value owner,
                                   int64_t chunkBytes, int64_t begin) {
  auto type = VectorType::get({kPieceWords}, b.getI32Type());
  return llvm::map_to_vector(
      getOwn(b, owner, chunkBytes / kPieceBytes), [&](Value place) {
        if (begin)
          place = b.offset(place, b.getI8Type(), b.i64(begin));
        return b.load(type, place, kPieceBytes);
      });
}

SmallVector<Value> WarpStage::load(KernelBuilder &b, Value pointer,
                                   int64_t chunkBytes, int64_t runStride) {
  int64_t pieces = chunkBytes / kPieceBytes;
  SmallVector<Value> from = getMovedAddresses(b, pointer, pieces, runStride);
  for (auto [target, source] :
       llvm::zip_equal(getMoved(b, pieces, pieces), from))
    NVVM::CpAsyncOp::create(b, target, source, kPieceBytes,
                            NVVM::LoadCacheModifierKind::CG, Value());
  NVVM::CpAsyncCommitGroupOp::create(b);
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
  release(b);
  return read(b, lane, chunkBytes, /*begin=*/0);
}

bool WarpStage::canShare(int64_t chunkBytes) const {
  int64_t pieces = chunkBytes / kPieceBytes;
  return chunkBytes % kPieceBytes == 0 && llvm::isPowerOf2_64(pieces) &&
         pieces <= kWarpThreads && runLanes * pieces % kWarpThreads == 0;
}

SmallVector<Value> WarpStage::getShared(KernelBuilder &b, int64_t chunkBytes,
                                        int64_t begin) {
  int64_t pieces = chunkBytes / kPieceBytes;
  return llvm::map_to_vector(
      getMoved(b, pieces, runLanes * pieces / kWarpThreads),
      [&](Value place) -> Value {
        return b.offset(place, b.getI8Type(), b.i64(begin));
      });
}

SmallVector<Value> WarpStage::readShared(KernelBuilder &b, int64_t chunkBytes,
                                         int64_t begin) {
  return read(b, bitAnd(b, lane, runLanes - 1), chunkBytes, begin);
}

void WarpStage::store(KernelBuilder &b, ArrayRef<Value> words, Value pointer,
                      int64_t runStride) {
  int64_t pieces = words.size() / kPieceWords;
  // Others may still read what the pieces replace.
  release(b);
  for (auto [i, place] : llvm::enumerate(getOwn(b, lane, pieces)))
    b.store(b.pack(words.slice(i * kPieceWords, kPieceWords)), place,
            kPieceBytes);
  release(b);
  auto type = VectorType::get({kPieceWords}, b.getI32Type());
  for (auto [to, from] :
       llvm::zip_equal(getMovedAddresses(b, pointer, pieces, runStride),
                       getMoved(b, pieces, pieces)))
    b.store(b.load(type, from, kPieceBytes), to, kPieceBytes);
}

} // namespace blockscale

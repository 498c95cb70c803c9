//===- AmaxRaise.cpp - Amaxes of CTAs -------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AmaxRaise.h"
#include "DeviceCode.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

void launchClear(LaunchSite &site, ArrayRef<AmaxBuffer> buffers) {
  constexpr int64_t threads = 128;
  Value most = buffers.front().count;
  for (const AmaxBuffer &buffer : buffers)
    most = site.b.createOrFold<arith::MaxUIOp>(most, buffer.count);
  SmallVector<AmaxBuffer> operands(buffers);
  KernelSignature signature;
  for (AmaxBuffer &buffer : operands) {
    signature.add(buffer.memref, sizeof(float));
    signature.add(buffer.count);
  }
  std::string name = "clear_f32";
  if (buffers.size() > 1)
    name += "_x" + std::to_string(buffers.size());
  site.launch(
      name, {threads, getCeilDiv(site.b, most, threads), {}}, signature,
      [&](KernelBuilder &b) {
        Lanes item = emitGlobalThreadNumber(b, threads);
        for (const AmaxBuffer &buffer : operands)
          emit::emitIf(b, isBelow(b, item, toIndex(b, buffer.count)), [&] {
            Value address = emitAddress(b, buffer.memref, b.getF32Type(), item);
            b.store(b.f32(0.0f), address, sizeof(float));
          });
      });
}

Lanes emitWarpMaximum(KernelBuilder &b, Lanes bits) {
  return Lanes(b, NVVM::ReduxOp::create(b, b.getI32Type(), bits,
                                        upstream::KindOf<NVVM::ReduxOp>::UMAX,
                                        b.i32(kAllLanes)));
}

Lanes emitBlockMaximum(KernelBuilder &b, Lanes bits, Lanes thread,
                       int64_t warps, Value partial) {
  Lanes warp = numerics::getWarp(thread), lane = numerics::getLane(thread);
  auto getPlace = [&](Lanes ofWarp) {
    return emitAddress(b, partial, b.getI32Type(), ofWarp);
  };
  Lanes ofWarp = emitWarpMaximum(b, bits);
  emit::emitIf(b, isBelow(lane, 1),
               [&] { b.store(ofWarp, getPlace(warp), sizeof(float)); });
  gpu::BarrierOp::create(b);
  // Lanes beyond the number of warps have their values again.
  Lanes other = numerics::split(lane, warps).second;
  return emitWarpMaximum(
      b, b.load(b.getI32Type(), getPlace(other), sizeof(float)));
}

Lanes getPartBlocks(ImplicitLocOpBuilder &b, Value pieces, int64_t parts) {
  return emit::max(b, emit::min(b, pieces, emit::getIndex(b, parts)),
                   emit::getIndex(b, 1));
}

void emitParts(KernelBuilder &b, Value pieces, ArrayRef<Value> results,
               int64_t parts, Lanes thread, int64_t warps,
               function_ref<SmallVector<Value>(Lanes)> emitPiece,
               function_ref<void()> emitWait) {
  Lanes block = emitBlockNumber(b);
  SmallVector<Value> zeros(results.size(), b.i32(0));
  SmallVector<Value> bits = emit::emitReduction(
      b, block, toIndex(b, pieces), zeros,
      [&](Lanes piece, ValueRange amaxes) {
        SmallVector<Value> larger;
        for (auto [amax, value] : llvm::zip_equal(amaxes, emitPiece(piece)))
          larger.push_back(maxUnsigned(Lanes(b, amax), Lanes(b, value)));
        return larger;
      },
      parts);
  if (emitWait)
    emitWait();
  auto store = [&](Value value, Value result, Value part) {
    b.store(value, emitAddress(b, result, b.getI32Type(), part), sizeof(float));
  };
  for (size_t i = 0; i < results.size(); ++i) {
    Value partial = createSharedArray(b, "amax", b.getI32Type(), warps);
    Lanes largest =
        emitBlockMaximum(b, Lanes(b, bits[i]), thread, warps, partial);
    emit::emitIf(b, isBelow(thread, 1),
                 [&] { store(largest, results[i], block); });
  }
  emit::emitIf(b, isBelow(block, 1), [&] {
    Value first = getPartBlocks(b, toIndex(b, pieces), parts);
    emit::emitLoop(
        b, emit::add(b, first, thread), emit::getIndex(b, parts),
        [&](Lanes part) {
          for (Value result : results)
            store(b.i32(0), result, part);
        },
        warps * kWarpThreads);
  });
}

void emitRaise(KernelBuilder &b, ArrayRef<AmaxPart> parts, Lanes thread,
               int64_t warps, Value partial) {
  Lanes warp = numerics::getWarp(thread), lane = numerics::getLane(thread);
  auto isZero = [](Lanes number) { return isBelow(number, 1); };
  auto getPlace = [&](size_t part, Lanes ofWarp) {
    Lanes index = ofWarp + static_cast<int64_t>(part) * warps;
    return emitAddress(b, partial, b.getI32Type(), index);
  };
  SmallVector<Lanes> bits;
  for (const AmaxPart &part : parts)
    bits.push_back(emitWarpMaximum(b, part.bits));
  emit::emitIf(b, isZero(lane), [&] {
    for (auto [i, value] : llvm::enumerate(bits))
      b.store(value, getPlace(i, warp), sizeof(float));
  });
  gpu::BarrierOp::create(b);
  emit::emitIf(b, isZero(warp), [&] {
    // Threads beyond the number of warps have their values again.
    Lanes other = numerics::split(lane, warps).second;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Lanes value = emitWarpMaximum(
          b, b.load(b.getI32Type(), getPlace(i, other), sizeof(float)));
      Value address = part.address;
      emit::emitIf(b, isZero(lane), [&] {
        LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umax, address, value,
                                  LLVM::AtomicOrdering::monotonic, "device");
      });
    }
  });
}

} // namespace blockscale

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

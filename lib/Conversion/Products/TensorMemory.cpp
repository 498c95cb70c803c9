//===- TensorMemory.cpp - What kernels of tcgen05.mma share ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "DeviceEmission/DeviceCode.h"
#include "ProductTimeline.h"
#include "blockscale/Numerics/Accumulators.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

Value getTensorPointer(KernelBuilder &b, Value address, int64_t columns) {
  constexpr unsigned tensorMemory = 6; // NVPTX address space
  auto type = LLVM::LLVMPointerType::get(b.getContext(), tensorMemory);
  Value place = Lanes(b, address) + columns;
  return LLVM::IntToPtrOp::create(b, type, place);
}

void emitTensorAlloc(KernelBuilder &b, Value place, NVVM::CTAGroupKind group) {
  NVVM::Tcgen05AllocOp::create(b, place, b.i32(kTensorColumns), group);
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b, group);
}

void emitTensorFree(KernelBuilder &b, Value address, NVVM::CTAGroupKind group) {
  NVVM::Tcgen05DeallocOp::create(b, getTensorPointer(b, address),
                                 b.i32(kTensorColumns), group);
}

Lanes getWarpLanes(Lanes thread) {
  return numerics::getWarp(thread) * numerics::kTensorMemoryAddress.getPlace(
                                         kWarpThreads, /*col=*/int64_t(0));
}

/// The wait is part of the instruction: nothing ties nvvm.tcgen05.wait to the
/// registers, and LLVM moves uses of them before it.
static Value emitLoadColumns(KernelBuilder &b, Value address, int64_t columns) {
  assert(columns <= int64_t(1)
                        << numerics::kTensorMemoryAccumulator.getContiguousBits(
                               numerics::kSumRegister) &&
         "the registers of a thread are columns beside each other");
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "tcgen05.ld.sync.aligned.32x32b.x" << columns << ".b32 {";
  for (int64_t i = 0; i < columns; ++i)
    os << (i ? ", $" : "$") << i;
  os << "}, [$" << columns << "]; tcgen05.wait::ld.sync.aligned;";
  SmallVector<Type> types(columns, b.getI32Type());
  auto load = NVVM::InlinePtxOp::create(b, types, /*readOnlyArgs=*/address,
                                        /*readWriteArgs=*/ValueRange(), text,
                                        /*predicate=*/Value());
  return b.bitcast(VectorType::get({columns}, b.getF32Type()),
                   b.pack(load.getResults()));
}

Value emitLoadSums(KernelBuilder &b, const GemmSpec &spec,
                   const TileCoord &tile, Value address, int64_t columns) {
  if (!spec.mayBeEmptySum)
    return emitLoadColumns(b, address, columns);
  Value adds = compare(Predicate::ne, tile.begin, tile.end);
  Type type = VectorType::get({columns}, b.getF32Type());
  return emitIfElseZero(b, adds, type,
                        [&] {
                          return SmallVector<Value>{
                              emitLoadColumns(b, address, columns)};
                        })
      .front();
}

double getClock(const target::Gpu &gpu) {
  return gpu.getPeakFlops(target::Unit::Fp8) / kMicroseconds /
         (gpu.multiprocessors * kFp8Flops);
}

} // namespace blockscale::products

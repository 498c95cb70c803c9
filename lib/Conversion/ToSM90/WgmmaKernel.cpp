//===- WgmmaKernel.cpp - Roles into a kernel ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "WgmmaRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Registers of a thread that multiplies, and of one of the warpgroup that
/// loads. Together they are those of a multiprocessor.
static constexpr int64_t kProductRegisters = 232;
static constexpr int64_t kLoadRegisters = 40;

static Value getPlace(KernelBuilder &b, Value memory, int64_t offset) {
  return b.offset(memory, b.getI8Type(), b.i32(offset));
}

WgmmaContext::WgmmaContext(KernelBuilder &b, const WgmmaSpec &spec,
                           const GemmArguments &arguments)
    : spec(spec), arguments(arguments), tile(spec), shared(spec),
      order(b, spec, arguments, {/*blocks=*/1, /*tiles=*/1, b.i32(0)}),
      memory(getDynamicSharedMemory(b)),
      stageFull(getPlace(b, memory, shared.stageFull),
                spec.schedule.getStages(), /*arrivals=*/1),
      stageEmpty(getPlace(b, memory, shared.stageEmpty),
                 spec.schedule.getStages(),
                 /*arrivals=*/kProductThreads / kWarpThreads) {}

Value WgmmaContext::getShared(KernelBuilder &b, int64_t offset) const {
  return getPlace(b, memory, offset);
}

Value WgmmaContext::getShared(KernelBuilder &b, int64_t offset, Value slot,
                              int64_t bytes) const {
  return b.offset(memory, b.getI8Type(), Lanes(b, slot) * bytes + offset);
}

WgmmaThread::WgmmaThread(KernelBuilder &b, Value number) : number(number) {
  Lanes all(b, number);
  Lanes lanes = all & (kWarpThreads - 1);
  warpgroup = all >> llvm::Log2_64(kWarpgroupThreads);
  lane = lanes;
  // A warp has 16 rows: its threads have those of two halves (PTX ISA,
  // "Register Fragments for wgmma.mma_async.m64nNk16").
  row =
      (all >> llvm::Log2_64(kWarpThreads)) * (2 * kRowDistance) + (lanes >> 2);
  member = lanes & 3;
}

void emitWgmma(KernelBuilder &b, const WgmmaSpec &spec,
               GemmArguments arguments) {
  arguments.narrowSizes(b);
  WgmmaContext context(b, spec, arguments);
  Lanes thread(b, arith::IndexCastOp::create(
                      b, b.getI32Type(), emitThreadNumber(b, kWgmmaThreads)));
  Lanes multiplies = compare(Predicate::ult, thread, kProductThreads);
  Lanes warp = thread >> llvm::Log2_64(kWarpThreads);
  Lanes loads = compare(Predicate::eq, warp, kProductThreads / kWarpThreads);
  emit::emitIf(b, loads, [&] {
    emitInOneThread(b, [&] {
      context.stageFull.emitInit(b);
      context.stageEmpty.emitInit(b);
      NVVM::FenceMbarrierInitOp::create(b);
    });
  });
  gpu::BarrierOp::create(b);
  emit::emitIf(
      b, multiplies,
      [&] {
        NVVM::SetMaxRegisterOp::create(b, kProductRegisters,
                                       NVVM::SetMaxRegisterAction::increase);
        emitProducts(b, context, WgmmaThread(b, thread));
      },
      [&] {
        NVVM::SetMaxRegisterOp::create(b, kLoadRegisters,
                                       NVVM::SetMaxRegisterAction::decrease);
        emit::emitIf(b, loads, [&] {
          emitInOneThread(b, [&] { emitLoads(b, context); });
        });
      });
}

} // namespace blockscale::gemm

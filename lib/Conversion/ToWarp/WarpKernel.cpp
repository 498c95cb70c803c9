//===- WarpKernel.cpp - Roles into a kernel -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "WarpRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;

WarpContext::WarpContext(KernelBuilder &b, const ScaledGemmSpec &spec,
                         const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), shared(spec),
      order(b, spec, arguments, {/*blocks=*/1, /*tiles=*/1, /*tile=*/b.i32(0)}),
      stageFull(getShared(b, shared.stageFull), spec.schedule.getStages(),
                /*arrivals=*/1),
      stageEmpty(getShared(b, shared.stageEmpty), spec.schedule.getStages(),
                 /*arrivals=*/kMultiplyWarps) {}

WarpThread::WarpThread(KernelBuilder &b, Value number) : number(number) {
  Lanes all(b, number);
  Lanes warp = all >> llvm::Log2_64(kWarpThreads);
  lane = all & (kWarpThreads - 1);
  row = (warp >> llvm::Log2_64(kColWarps)) * kMmaRows;
  col = (warp & (kColWarps - 1)) * kMmaCols;
}

void emitWarpGemm(KernelBuilder &b, const ScaledGemmSpec &spec,
                  GemmArguments arguments) {
  arguments.narrowSizes(b);
  WarpContext context(b, spec, arguments);
  Lanes thread(
      b, arith::IndexCastOp::create(b, b.getI32Type(),
                                    emitThreadNumber(b, kWarpGemmThreads)));
  Lanes multiplies =
      compare(arith::CmpIPredicate::ult, thread, kMultiplyThreads);
  Lanes loads = multiplies ^ multiplies.like(1);
  emit::emitIf(b, loads, [&] {
    emitInOneThread(b, [&] {
      arguments.emitPrefetch(b);
      context.stageFull.emitInit(b);
      context.stageEmpty.emitInit(b);
      NVVM::FenceMbarrierInitOp::create(b);
    });
  });
  gpu::BarrierOp::create(b);
  emit::emitIf(
      b, multiplies,
      [&] { emitWarpProducts(b, context, WarpThread(b, thread)); },
      [&] {
        emitInOneThread(b, [&] { emitWarpLoads(b, context); });
        // All stages are on their way, and this warp has registers to spare.
        context.order.emitCheckGroups(b, loads, thread);
      });
}

} // namespace blockscale::gemm

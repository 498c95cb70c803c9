//===- ScaledMmaKernel.cpp - Roles into a kernel --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "ScaledMmaRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

ScaledMmaContext::ScaledMmaContext(KernelBuilder &b, const ScaledGemmSpec &spec,
                                   const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), shared(spec),
      order(b, spec, arguments, {/*blocks=*/1, /*tiles=*/1, /*tile=*/b.i32(0)}),
      stageFull(getShared(b, shared.stageFull), spec.schedule.getStages(),
                /*arrivals=*/1),
      stageEmpty(getShared(b, shared.stageEmpty), spec.schedule.getStages(),
                 /*arrivals=*/kMultiplyWarps) {}

ScaledMmaThread::ScaledMmaThread(Lanes number) : number(number) {
  Lanes warp = numerics::getWarp(number);
  lane = numerics::getLane(number);
  auto [rowWarp, colWarp] = numerics::splitBits(warp, kColWarps);
  row = rowWarp * kMmaRows;
  col = colWarp * kMmaCols;
}

void emitScaledMma(KernelBuilder &b, const ScaledGemmSpec &spec,
                   GemmArguments arguments) {
  arguments.narrowSizes(b);
  ScaledMmaContext context(b, spec, arguments);
  Lanes thread = emitThreadNumber32(b, kScaledMmaThreads);
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
      b, multiplies, [&] { emitProducts(b, context, ScaledMmaThread(thread)); },
      [&] {
        emitInOneThread(b, [&] { emitLoads(b, context); });
        // All stages are on their way, and this warp has registers to spare.
        context.order.emitCheckGroups(b, loads, thread);
      });
}

} // namespace blockscale::products

//===- GlobalScaleKernel.cpp - Decode scales from amaxes ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/Kernels.h"
#include "../ToCPU/RecipeEmitter.h"
#include "DeviceCode.h"
#include "Kernels.h"

using namespace mlir;

namespace blockscale {

static constexpr int64_t kThreads = 128;

/// A thread has one element.
LogicalResult lowerKernel(GlobalScaleOp op, LaunchSite &site) {
  Value count = cpu::prepareCall(op, site.call);
  site.emitAsserts();
  numerics::Recipe recipe = getNumerics(op.getEffectiveRecipe());
  site.launch(
      "global_scale_" + Twine(StringRef(numerics::getName(recipe))),
      {kThreads, getCeilDiv(site.b, count, kThreads), {}},
      {{site.lookup(op.getAmax()), sizeof(float)},
       {site.lookup(op.getScale()), sizeof(float)},
       {count}},
      [&](KernelBuilder &b, ValueRange arguments) {
        Value amax = arguments[0], scale = arguments[1];
        Value item = emitGlobalThreadNumber(b, kThreads);
        Value exists = isBelow(b, item, toIndex(b, arguments[2]));
        cpu::emitIf(b, exists, [&] {
          cpu::Lanes x = toF32(emitLoadBits(b, amax, b.getF32Type(), item));
          b.store(cpu::emitDecodeScaleOfAmax(recipe, x),
                  emitAddress(b, scale, b.getF32Type(), item), sizeof(float));
        });
      });
  return success();
}

} // namespace blockscale

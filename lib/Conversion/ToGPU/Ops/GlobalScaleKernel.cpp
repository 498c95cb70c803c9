//===- GlobalScaleKernel.cpp - Decode scales from amaxes ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Emission/GlobalFactors.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"

using namespace mlir;

namespace blockscale {

static constexpr int64_t kGlobalScaleThreads = 128;

/// Launches the kernel that computes global scales. A thread has one element.
LogicalResult lowerKernel(GlobalScaleOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  Value amax = site.lookup(op.getAmax()), scale = site.lookup(op.getScale());
  int64_t rank = emit::getTensorType(op.getAmax()).getRank();
  Value count =
      emit::getProduct(site.b, emit::getLeadingSizes(site.b, amax, rank));
  numerics::Recipe recipe = op.getArithmetic();
  GlobalKind kind = op.getAmaxKind();
  site.launch(
      "global_scale_" + Twine(StringRef(numerics::getName(recipe))) +
          (op.getNonzeroAmax() ? "_nonzero" : ""),
      {kGlobalScaleThreads, getCeilDiv(site.b, count, kGlobalScaleThreads), {}},
      {{amax, sizeof(float)}, {scale, sizeof(float)}, {count}},
      [&](KernelBuilder &b) {
        Value item = emitGlobalThreadNumber(b, kGlobalScaleThreads);
        Value exists = isBelow(b, item, toIndex(b, count));
        emit::emitIf(b, exists, [&] {
          emit::Lanes x = numerics::readGlobal(
              kind, toF32(emitLoadBits(b, amax, b.getF32Type(), item)));
          b.store(numerics::getDecodeScale(recipe, x),
                  emitAddress(b, scale, b.getF32Type(), item), sizeof(float));
        });
      });
  return success();
}

} // namespace blockscale

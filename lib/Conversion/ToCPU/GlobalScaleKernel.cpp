//===- GlobalScaleKernel.cpp - Decode scales from amaxes ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/GlobalFactors.h"
#include "Kernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

Value countItems(GlobalScaleOp op, CallSite &site) {
  Value items = getIndex(site.b, 1);
  for (OpFoldResult size : site.getSizes(op.getAmax()))
    items = mul(site.b, items, toIndex(site.b, size));
  return items;
}

void emitItems(GlobalScaleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value amax = range.lookup(op.getAmax()), scale = range.lookup(op.getScale());
  Indices sizes =
      getLeadingSizes(b, amax, getTensorType(op.getAmax()).getRank());
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Lanes value(b, memref::LoadOp::create(b, amax, position));
    value = numerics::readGlobal(op.getAmaxKind(), value);
    Lanes decode = numerics::getDecodeScale(op.getArithmetic(), value);
    memref::StoreOp::create(b, decode, scale, position);
  });
}

} // namespace blockscale::cpu

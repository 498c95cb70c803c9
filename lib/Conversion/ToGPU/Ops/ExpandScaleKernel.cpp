//===- ExpandScaleKernel.cpp - Scales of square blocks, replicated --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "Relayout.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

LogicalResult lowerKernel(ExpandScaleOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value source = site.lookup(op.getSource());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t rank = type.getRank();
  bool alongK = op.getScaleDim() == ScaleDim::K;
  int64_t block = op.getBlock()[0];

  emit::Indices sizes = emit::getLeadingSizes(b, source, rank);
  Lanes cols(b, sizes[alongK ? rank - 1 : rank - 2]);
  Lanes matrices = emit::getProduct(b, ArrayRef<Value>(sizes).drop_back(2));
  // Tiles do not tell the rows of the result.
  Lanes rows(b, site.lookup(op.getSize()));
  if (!rows)
    rows = emit::getIndex(b, type.getDimSize(rank - 2));
  Relayout relayout{{},
                    source,
                    site.lookup(op.getResult()),
                    getScaleLayout(type),
                    type.getShape().back(),
                    rows,
                    cols,
                    matrices};
  llvm::raw_string_ostream os(relayout.name);
  os << "expand_scale_" << (alongK ? "k" : "n") << '_' << block;
  if (relayout.layout.isLinear())
    os << "_x" << relayout.getWidth();
  else
    os << "_to_tiles";
  launchRelayout(site, relayout,
                 [&](KernelBuilder &b, const RelayoutPlace &place) {
                   Lanes blocks = emit::ceilDiv(b, place.rows, block);
                   Lanes ofRow = place.row / block;
                   Lanes at = alongK ? ofRow * place.cols + place.col
                                     : place.col * blocks + ofRow;
                   return place.matrix * (blocks * place.cols) + at;
                 });
  return success();
}

} // namespace blockscale

//===- QuantizeLaunch.cpp - Launches of row quantizers --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeLaunch.h"
#include "DeviceEmission/GroupedScales.h"
#include "DeviceEmission/LaunchModel.h"
#include "DeviceEmission/ScaleStore.h"
#include "QuadKernel.h"
#include "QuantizeArguments.h"
#include "QuantizeKernel.h"
#include "ThreadMapping.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

Lanes getSizeProduct(ImplicitLocOpBuilder &b, Value memref, int64_t begin,
                     int64_t end) {
  Lanes product = emit::getIndex(b, 1);
  for (int64_t dim = begin; dim < end; ++dim)
    product = product * emit::getDim(b, memref, dim);
  return product;
}

void requireSizes(ImplicitLocOpBuilder &b, Value operand, int64_t count,
                  Value like, StringRef name, StringRef source) {
  for (int64_t dim = 0; dim < count; ++dim) {
    Value found = b.createOrFold<memref::DimOp>(operand, dim);
    Value expected = b.createOrFold<memref::DimOp>(like, dim);
    Value holds = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, found,
                                                expected);
    emit::createAssert(b, {holds,
                           ("expected dimension " + Twine(dim) + " of " + name +
                            " to fit " + source)
                               .str(),
                           found});
  }
}

Lanes addGroups(ImplicitLocOpBuilder &b, const QuantizeSpec &spec,
                QuantizeOperands &operands, Lanes blocks, int64_t threads) {
  if (operands.offsets)
    operands.groups = emit::getDim(b, operands.offsets, 0);
  if (!spec.groupedTiles)
    return blocks;
  operands.tiles = emit::getDim(b, operands.scale, 0);
  return blocks +
         GroupedScales::countBlocks(b, operands.tiles, threads / kWarpThreads);
}

void launchQuantize(LaunchSite &site, const QuantizeSpec &spec,
                    QuantizeOperands operands) {
  ImplicitLocOpBuilder &b = site.b;
  const target::Chip &chip = site.getChip();
  int64_t rank = cast<MemRefType>(operands.x.getType()).getRank();
  int64_t firstMatrixDim = spec.batched ? rank - 2 : 0;
  operands.rows = getSizeProduct(b, operands.x, firstMatrixDim,
                                 spec.takesBlocks ? rank : rank - 1);
  if (spec.takesBlocks)
    operands.rows = operands.rows / spec.blockElements;
  operands.matrices = getSizeProduct(b, operands.x, 0, firstMatrixDim);
  spec.source->emitSizeAsserts(site);
  if (spec.isInQuads)
    return launchQuadQuantize(site, spec, operands);

  ThreadMapping mapping(spec, chip);
  mapping.remark(b.getLoc(), spec, chip);
  Lanes rowSets = operands.rows;
  if (spec.swizzled)
    rowSets = getCeilDiv(b, rowSets, kTileRows) * ThreadMapping::kRowStride;
  Lanes groups = getCeilDiv(b, rowSets, mapping.rowSetsPerGroup);
  // An empty grid is not launched (docs/LaunchPlan.md).
  Lanes blocks = addGroups(b, spec, operands, groups * mapping.blocksPerGroup,
                           ThreadMapping::kThreads);
  // What the first CTA stores is asked for without elements, too.
  Lanes matrices = operands.matrices;
  if (operands.storedAmax || operands.storedScale) {
    blocks = emit::max(b, blocks, emit::getIndex(b, 1));
    matrices = emit::max(b, matrices, emit::getIndex(b, 1));
  }
  operands.inputs = spec.source->getOperands(site);
  KernelSignature signature;
  addQuantizeSlots(signature, operands, spec, chip);
  int64_t threadBytes = mapping.fragmentElements * spec.source->getBytes();
  site.launch(spec.getKernelName(chip),
              {ThreadMapping::kThreads, blocks, matrices, threadBytes,
               mapping.residentBlocks},
              signature, [&](KernelBuilder &inside) {
                emitQuantizeKernel(inside, spec, chip, operands);
              });
}

} // namespace blockscale

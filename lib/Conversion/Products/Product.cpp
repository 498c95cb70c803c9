//===- Product.cpp - What dense and grouped products have -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Analysis/RowMoves.h"
#include "blockscale/IR/TypeRules.h"

#include <utility>

using namespace mlir;

namespace blockscale::products {

void Product::lookAtKernel() {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return;
  siblings = static_cast<int64_t>(getProducts(kernel).size());
  hasEpilogue = llvm::any_of(op->getUsers(), [](Operation *user) {
    return !isa<YieldOp, tensor::DimOp>(user) && !getScatteredRows(user);
  });
}

Product::Product(ProductOpInterface op)
    : op(op), groups(op.getGroupOperand().dim), a(op.getA()), b(op.getB()),
      scaleA(op.getScaleA()), scaleB(op.getScaleB()), result(op.getResult()),
      isMnMajorA(op.getMnMajorA()), isMnMajorB(op.getMnMajorB()),
      offsets(llvm::cast_if_present<Tensor>(op.getGroupOperand().ends)),
      factorA(op.getGlobalOperandA()), factorB(op.getGlobalOperandB()),
      bias(op.getBias()), scalesAfterRounding(op.getGlobalScaling() ==
                                              GlobalScaling::AfterRounding),
      keepsChain(op.keepsChain()) {
  if (op.scalesElements())
    elementFactor = std::exchange(scaleA ? factorA : factorB, {});
  lookAtKernel();
}

bool Product::canBeDecoded(const target::Chip &chip) const {
  return !isMnMajorScaled() ||
         (chip.hasWgmma() &&
          hasPackedMnMajorScales(cast<ProductOpInterface>(op)));
}

int64_t Product::getMaxRows() const {
  ProductDims dims =
      getProductDims(cast<ProductOpInterface>(op), /*ofB=*/false);
  int64_t rows = a.getType().getDimSize(dims.rows);
  auto most = op->getAttrOfType<IntegerAttr>(kMaxRowsAttrName);
  bool isKnown = most && most.getInt() > 0;
  return ShapedType::isDynamic(rows) && isKnown ? most.getInt() : rows;
}

} // namespace blockscale::products

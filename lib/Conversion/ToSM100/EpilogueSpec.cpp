//===- EpilogueSpec.cpp - What a kernel makes of its products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueSpec.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale::sm100 {

QuantizeEpilogue::QuantizeEpilogue(QuantizeOp op)
    : recipe(op.getArithmetic()),
      format(getElementFormat(op.getData().getType().getElementType())),
      blockElements(op.getBlockSize()), global(op.getGlobalOperand()),
      isOfGroups(op.getOffsets() != nullptr) {
  LayoutAttr layout = getLayout(op.getScale().getType());
  isSwizzled = static_cast<bool>(layout);
  isGrouped = layout && layout.isGrouped();
}

std::string QuantizeEpilogue::getName() const {
  std::string name = "_to_" +
                     std::string(numerics::getFormatInfo(format).name) + "_" +
                     std::string(numerics::getName(recipe));
  if (isOfGroups)
    name += "_of_groups";
  if (isSwizzled)
    name += isGrouped ? "_grouped" : "_swizzled";
  return name + getGlobalName(global);
}

EpilogueSpec::EpilogueSpec(const Epilogue &epilogue, const target::Chip &chip)
    : chip(&chip), source(epilogue.getValue()) {
  for (const ElementSource::Input &input : source.getInputs()) {
    auto *product =
        llvm::find(epilogue.products, input.logical.getDefiningOp());
    productOf.push_back(product == epilogue.products.end()
                            ? kNone
                            : product - epilogue.products.begin());
  }
  if (epilogue.quantize)
    quantize.emplace(epilogue.quantize);
}

SmallVector<ElementSource::Input> EpilogueSpec::getOtherInputs() const {
  SmallVector<ElementSource::Input> inputs;
  for (auto [input, product] : llvm::zip_equal(source.getInputs(), productOf))
    if (product == kNone)
      inputs.push_back(input);
  return inputs;
}

std::string EpilogueSpec::getName() const {
  std::string name = source.getName();
  for (int64_t product : productOf)
    name += product == kNone ? "_memory" : "_" + std::to_string(product);
  return quantize ? name + quantize->getName() : name;
}

} // namespace blockscale::sm100

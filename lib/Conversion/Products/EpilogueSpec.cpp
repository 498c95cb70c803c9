//===- EpilogueSpec.cpp - What a kernel makes of its products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueSpec.h"
#include "blockscale/Analysis/RoundTrip.h"

using namespace mlir;

namespace blockscale::products {

/// The most bytes of a row that a thread stores at a time, where others store
/// what is beside them.
static constexpr int64_t kStoredBytes = 16;

/// Whether the columns of the result of `product` are known to be a multiple of
/// `width`.
static bool hasMultiple(Operation *product, int64_t width) {
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  int64_t cols = type.getShape().back();
  return !ShapedType::isDynamic(cols) && cols % width == 0;
}

EpilogueSpec::EpilogueSpec(const Epilogue &epilogue, const target::Chip &chip,
                           bool hasFragments)
    : chip(&chip), source(epilogue.getValue()),
      width(hasFragments || epilogue.sink
                ? kFragment
                : kStoredBytes * 8 /
                      source.getElementType().getIntOrFloatBitWidth()),
      isWhole(hasMultiple(epilogue.products.front(), width)),
      sink(createSink(epilogue)) {
  for (const ElementSource::Input &input : source.getInputs()) {
    auto *product =
        llvm::find(epilogue.products, input.logical.getDefiningOp());
    productOf.push_back(product == epilogue.products.end()
                            ? kNone
                            : product - epilogue.products.begin());
  }
  for (auto [i, product] : llvm::enumerate(epilogue.products)) {
    Value result = product->getResult(0);
    if (isStored(result) && result != epilogue.getValue())
      kept.push_back({static_cast<int64_t>(i), createStore(result)});
  }
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
  for (const Kept &each : kept)
    name += "_kept" + std::to_string(each.product);
  if (!isWhole)
    name += "_any_n";
  return name + sink->getName();
}

} // namespace blockscale::products

//===- ProductKey.cpp - What a measured schedule is good for --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductKey.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::products {

/// The bucket of sizes that are not known.
static constexpr const char *kAny = "any";

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

static std::string getElement(Product::Tensor tensor) {
  return tensor ? toText(tensor.getType().getElementType()) : "none";
}

/// The largest size of the bucket.
static std::string getBucket(int64_t size) {
  constexpr int64_t kSmallest = 8, kStep = 1024;
  if (ShapedType::isDynamic(size))
    return kAny;
  int64_t bucket = size <= kStep
                       ? std::max<int64_t>(llvm::PowerOf2Ceil(size), kSmallest)
                       : llvm::alignTo(size, kStep);
  return std::to_string(bucket);
}

/// The bucket of the number of matrices, or of groups.
static std::string getMatrices(const Product &product) {
  int64_t count = 1;
  if (product.offsets)
    count = product.offsets.getType().getDimSize(0);
  else
    for (int64_t size : product.a.getType().getShape().drop_back(2))
      count = ShapedType::isDynamic(size) || ShapedType::isDynamic(count)
                  ? ShapedType::kDynamic
                  : count * size;
  if (ShapedType::isDynamic(count))
    return kAny;
  return std::to_string(llvm::PowerOf2Ceil(count));
}

static std::string getGlobals(const Product &product) {
  if (product.elementFactor.isPresent())
    return std::string(product.scaleA ? "a" : "b") + "_elements";
  std::string text;
  for (auto [name, factor] :
       {std::pair{"a", &product.factorA}, std::pair{"b", &product.factorB}})
    if (factor->isPresent())
      text += name;
  if (text.empty())
    return "none";
  return text + (product.scalesAfterRounding ? "_after" : "");
}

/// The order of the data of both operands.
static std::string getDataOrder(const Product &product) {
  if (isPrepacked(product.a.getType()) || isPrepacked(product.b.getType()))
    return product.isMnMajorScaled() ? "prepacked-mn-major" : "prepacked";
  if (!product.isMnMajorA && !product.isMnMajorB)
    return "row-major";
  return std::string("mn-major-") + (product.isMnMajorA ? "a" : "") +
         (product.isMnMajorB ? "b" : "");
}

ProductKey::ProductKey(const Product &product) {
  auto op = cast<ProductOpInterface>(product.op);
  ProductDims dimsA = getProductDims(op, /*ofB=*/false);
  ProductDims dimsB = getProductDims(op, /*ofB=*/true);
  auto getSize = [](Product::Tensor tensor, int64_t dim) {
    return getBucket(tensor.getType().getDimSize(dim));
  };
  StringRef groups = product.groups == GroupDim::None   ? "dense"
                     : product.groups == GroupDim::Rows ? "rows"
                                                        : "columns";
  auto block = op.getBlockSize();
  fields = {
      {"groups", groups.str(), ""},
      {"a", getElement(product.a), ""},
      {"scale_a", getElement(product.scaleA), "", "none"},
      {"b", getElement(product.b), ""},
      {"scale_b", getElement(product.scaleB), "", "none"},
      {"block", std::to_string(block), "block"},
      {"data", getDataOrder(product), "", "row-major"},
      {"result", getElement(product.result), ""},
      {"products", std::to_string(product.siblings), "products", "1"},
      {"epilogue", product.hasEpilogue ? "ops" : "none", "epilogue_", "none"},
      {"bias", getElement(product.bias), "bias_", "none"},
      {"globals", getGlobals(product), "globals_", "none"},
      {"order", product.keepsChain ? "chain" : "free", "", "free"},
      {"m", getBucket(product.getMaxRows()), "m"},
      {"n", getSize(product.b, dimsB.rows), "n"},
      {"k", getSize(product.a, dimsA.depth), "k"},
      {"matrices", getMatrices(product), "matrices", "1"}};
}

std::string ProductKey::getName() const {
  std::string name;
  for (const Field &field : fields)
    if (field.value != field.usual)
      name += (name.empty() ? "" : "-") + field.label.str() +
              (field.value == kAny ? "_" : "") + field.value;
  return name;
}

DictionaryAttr ProductKey::getAttribute(MLIRContext *context) const {
  SmallVector<NamedAttribute> members;
  for (const Field &field : fields)
    members.emplace_back(field.name, StringAttr::get(context, field.value));
  return DictionaryAttr::get(context, members);
}

} // namespace blockscale::products

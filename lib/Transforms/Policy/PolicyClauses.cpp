//===- PolicyClauses.cpp - What a policy makes of one product -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizationPolicy.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

static std::string getTypeName(LayerType type) {
  return std::string(kLayerTypeNames[static_cast<size_t>(type)]);
}

std::optional<FusionObstacle> findTypeObstacle(const PolicyProduct &product,
                                               const ProductForm &form) {
  bool isWeightOnly = !form.activation.format;
  if (isWeightOnly && !product.hasWeight)
    return FusionObstacle{"policy_c5", "a weight, as others stay plain",
                          "two operands that are none"};
  LayerType plain = getLayerType(form, product.plain);
  bool isNvfp4 = form.weight.format->scale == numerics::ScaleFormat::E4M3;
  if (isWeightOnly && plain != LayerType::BF16 &&
      !(plain == LayerType::F16 && isNvfp4))
    return FusionObstacle{"policy_c5",
                          isNvfp4 ? "a plain operand of bf16 or f16"
                                  : "a plain operand of bf16",
                          getTypeName(plain)};
  if (form.isTransformed)
    for (LayerType type : {product.plain, product.weight})
      if (LayerType own = getLayerType(form, type); own != LayerType::BF16)
        return FusionObstacle{"policy_c6",
                              "operands of bf16 to transform (rht)",
                              getTypeName(own)};
  return std::nullopt;
}

std::optional<FusionObstacle> findFormObstacle(const PolicyProduct &product,
                                               const ProductForm &form,
                                               bool leavesNarrow) {
  int64_t block = form.weight.format->blockSize;
  int64_t rows = product.weightRows;
  if (leavesNarrow && !ShapedType::isDynamic(rows) && rows < block)
    return FusionObstacle{
        "policy_c3",
        llvm::formatv("at least {0} rows, as many as a block has elements",
                      block),
        llvm::to_string(rows)};
  int64_t k = product.k;
  if (ShapedType::isDynamic(k) || k % block != 0 || k == 0)
    return FusionObstacle{
        "policy_c4", llvm::formatv("a static K of whole blocks of {0}", block),
        ShapedType::isDynamic(k) ? "a dynamic one" : llvm::to_string(k)};
  return findTypeObstacle(product, form);
}

bool readsAmax(const PolicyProduct &product, const ProductForm &form) {
  return product.hasWeight && form.activation.hasGlobal && !form.isTransformed;
}

/// The form with the amax that was measured for a product of one of the names,
/// where no rule gives one.
static ProductForm calibrate(ProductForm form, const PolicyProduct &product,
                             const ActivationAmaxes &amaxes) {
  if (form.activation.amax || !readsAmax(product, form))
    return form;
  for (StringRef name : product.names)
    if (auto found = amaxes.find(name); found != amaxes.end()) {
      form.activation.amax = found->second;
      return form;
    }
  return form;
}

PolicyDecision QuantizationPolicy::decide(const PolicyProduct &product) const {
  const PolicyRule *rule = find(product);
  if (!rule)
    return {rule, FusionObstacle{"policy_c1", "a rule that matches", "none"},
            std::nullopt};
  if (!rule->form)
    return {rule,
            FusionObstacle{"policy_c1", "a rule that quantizes",
                           rule->name + ", which leaves it"},
            std::nullopt};
  if (product.isLast && leavesLast)
    return {rule,
            FusionObstacle{"policy_c2", "a product before the last projection",
                           "that"},
            std::nullopt};
  if (auto obstacle = findFormObstacle(product, *rule->form, leavesNarrow))
    return {rule, std::move(obstacle), std::nullopt};
  return {rule, std::nullopt, calibrate(*rule->form, product, amaxes)};
}

} // namespace blockscale

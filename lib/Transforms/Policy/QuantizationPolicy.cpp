//===- QuantizationPolicy.cpp - How products are quantized ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizationPolicy.h"

#include <set>
#include <utility>

using namespace mlir;

namespace blockscale {

namespace {

struct FormatName {
  std::string_view name;
  numerics::ElementFormat element;
  numerics::ScaleFormat scale;
};

} // namespace

/// The names that users give to formats, those of `blockscale.quantize` in
/// Python.
static constexpr FormatName kFormatNames[] = {
    {"nvfp4", numerics::ElementFormat::E2M1, numerics::ScaleFormat::E4M3},
    {"mxfp8", numerics::ElementFormat::E4M3, numerics::ScaleFormat::E8M0},
    {"mxfp8_e5m2", numerics::ElementFormat::E5M2, numerics::ScaleFormat::E8M0},
    {"mxfp6_e2m3", numerics::ElementFormat::E2M3, numerics::ScaleFormat::E8M0},
    {"mxfp6_e3m2", numerics::ElementFormat::E3M2, numerics::ScaleFormat::E8M0},
    {"mxfp4", numerics::ElementFormat::E2M1, numerics::ScaleFormat::E8M0},
    {"mxint8", numerics::ElementFormat::INT8, numerics::ScaleFormat::E8M0},
};
static_assert(std::size(kFormatNames) == std::size(numerics::kBlockFormats));

const numerics::BlockFormat *findFormat(StringRef name) {
  for (const FormatName &each : kFormatNames)
    if (StringRef(each.name) == name)
      return numerics::findBlockFormat(each.element, each.scale);
  return nullptr;
}

StringRef getFormatName(const numerics::BlockFormat &format) {
  for (const FormatName &each : kFormatNames)
    if (each.element == format.element && each.scale == format.scale)
      return each.name;
  return "";
}

std::vector<std::string_view> listFormats() {
  std::vector<std::string_view> names;
  for (const FormatName &each : kFormatNames)
    names.push_back(each.name);
  return names;
}

std::string describe(const ProductForm &form) {
  std::string text = form.weight.format
                         ? getFormatName(*form.weight.format).str()
                         : std::string("plain");
  if (!form.activation.format)
    text += ", weights only";
  else if (form.activation.format != form.weight.format)
    text += " by " + getFormatName(*form.activation.format).str();
  if (form.cast)
    text += (" of " + StringRef(kLayerTypeNames[size_t(*form.cast)])).str();
  if (form.order != SumOrder::Free)
    text += (", order " + stringifySumOrder(form.order)).str();
  return text;
}

bool haveSameWeight(const ProductForm &a, const ProductForm &b) {
  return a.weight == b.weight && a.isTransformed == b.isTransformed &&
         a.cast == b.cast;
}

Type getLayerType(const ProductForm &form, Type element) {
  if (!form.cast || !element.isF32())
    return element;
  if (form.cast == LayerType::BF16)
    return BFloat16Type::get(element.getContext());
  return Float16Type::get(element.getContext());
}

LayerType getLayerType(const ProductForm &form, LayerType type) {
  return form.cast && type == LayerType::F32 ? *form.cast : type;
}

LayerType toLayerType(Type element) {
  if (element.isBF16())
    return LayerType::BF16;
  return element.isF16() ? LayerType::F16 : LayerType::F32;
}

std::optional<LayerType> findLayerType(StringRef name) {
  const auto *found = llvm::find(kLayerTypeNames, std::string_view(name));
  if (found == std::end(kLayerTypeNames))
    return std::nullopt;
  return static_cast<LayerType>(found - std::begin(kLayerTypeNames));
}

bool SizeRange::contains(int64_t size) const {
  if (ShapedType::isDynamic(size))
    return min <= 0 && max == std::numeric_limits<int64_t>::max();
  return min <= size && size <= max;
}

std::string describeRows(const SizeRange &rows) {
  std::string min = std::to_string(rows.min), max = std::to_string(rows.max);
  if (rows.max == SizeRange().max)
    return "M from " + min + " on";
  return rows.min <= 1 ? "M up to " + max : "M from " + min + " to " + max;
}

SmallVector<std::string> getLocationNames(Location location) {
  SmallVector<std::string> names;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      names.push_back(name.getName().str());
    else if (auto place = dyn_cast<FileLineColLoc>(part))
      names.push_back(
          (place.getFilename().getValue() + ":" + Twine(place.getLine()))
              .str());
    return WalkResult::advance();
  });
  return names;
}

bool PolicyRule::matches(const PolicyProduct &product) const {
  if (location && llvm::none_of(product.names, [&](StringRef name) {
        return matchesPattern(*location, name);
      }))
    return false;
  return (!function || matchesPattern(*function, product.function)) &&
         hasWeight.value_or(product.hasWeight) == product.hasWeight &&
         isLast.value_or(product.isLast) == product.isLast &&
         m.contains(product.m) && n.contains(product.n) &&
         k.contains(product.k);
}

const PolicyRule *QuantizationPolicy::find(const PolicyProduct &product) const {
  auto found = llvm::find_if(
      rules, [&](const PolicyRule &rule) { return rule.matches(product); });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<RowsDecision>
QuantizationPolicy::decideByRows(const PolicyProduct &product) const {
  if (!ShapedType::isDynamic(product.m))
    return {{{product.m, product.m}, decide(product)}};
  // The first numbers of rows that rules tell from the one before. A product
  // of no rows has no numbers, and is as one of a row.
  std::set<int64_t> first = {1};
  for (PolicyRule rule : rules) {
    SizeRange rows = std::exchange(rule.m, SizeRange());
    if (!rule.matches(product))
      continue;
    first.insert(std::max<int64_t>(rows.min, 1));
    if (rows.max != SizeRange().max)
      first.insert(rows.max + 1);
  }
  std::vector<RowsDecision> decisions;
  for (int64_t rows : first) {
    PolicyProduct sized = product;
    sized.m = rows;
    PolicyDecision decision = decide(sized);
    if (!decisions.empty() && decisions.back().decision.rule == decision.rule)
      continue;
    if (!decisions.empty())
      decisions.back().rows.max = rows - 1;
    decisions.push_back({{rows, SizeRange().max}, std::move(decision)});
  }
  return decisions;
}

QuantizationPolicy getUniformPolicy(const numerics::BlockFormat &format) {
  OperandForm operand;
  operand.format = &format;
  operand.hasGlobal = format.scale == numerics::ScaleFormat::E4M3;
  PolicyRule rule;
  rule.hasWeight = true;
  rule.form.emplace();
  rule.form->weight = rule.form->activation = operand;
  rule.name = "option format";
  QuantizationPolicy policy;
  policy.rules.push_back(std::move(rule));
  return policy;
}

} // namespace blockscale

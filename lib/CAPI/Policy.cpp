//===- Policy.cpp - Policies for layers, from C ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Policy.h"

#include "Config.h"

#include "../Runtime/CApi.h"

#include "blockscale/Runtime/JsonReader.h"
#include "blockscale/Transforms/QuantizationPolicy.h"

using namespace blockscale;
using namespace blockscale::capi;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::report;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

// C names.
// NOLINTBEGIN(readability-identifier-naming)

struct blockscale_policy {
  QuantizationPolicy policy;
};

// NOLINTEND(readability-identifier-naming)

namespace {

/// A decision with the texts that it refers to.
struct Decision : blockscale_policy_decision {
  std::string ruleText, clauseText, expectedText, foundText;

  void refer() {
    rule = ruleText.c_str();
    clause = clauseText.c_str();
    expected = expectedText.c_str();
    found = foundText.c_str();
  }
  void setObstacle(const FusionObstacle &obstacle) {
    clauseText = obstacle.clause.str();
    expectedText = obstacle.expected;
    foundText = obstacle.found;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// The names of tables here are literals, which end in 0.
static blockscale_operand_form toC(const OperandForm &form) {
  blockscale_operand_form result = {};
  if (!form.format)
    return result;
  result.format = getFormatName(*form.format).data();
  if (form.recipe)
    result.recipe = stringifyRecipe(*form.recipe).data();
  result.scaling = BLOCKSCALE_NO_GLOBAL_SCALE;
  if (form.hasGlobal)
    result.scaling = form.amax ? BLOCKSCALE_GLOBAL_SCALE_OF_AMAX
                               : BLOCKSCALE_DYNAMIC_GLOBAL_SCALE;
  result.amax = form.amax.value_or(0);
  result.is_swept = form.isSwept;
  return result;
}

static blockscale_layer_form toC(const ProductForm &form) {
  blockscale_layer_form result = {};
  result.weight = toC(form.weight);
  result.activation = toC(form.activation);
  result.is_transformed = form.isTransformed;
  if (form.cast)
    result.cast = kLayerTypeNames[static_cast<size_t>(*form.cast)].data();
  result.order = stringifySumOrder(form.order).data();
  return result;
}

static Status readFormat(const char *name, OperandForm &form) {
  if (!name)
    return Status::success();
  form.format = findFormat(name);
  if (form.format)
    return Status::success();
  return Status::failure("expected a format of " +
                         runtime::joinNames(listFormats()) + ", but got '" +
                         name + "'");
}

/// The type of that name, one of the first `count`.
static Result<LayerType> readType(const char *what, const char *name,
                                  size_t count = std::size(kLayerTypeNames)) {
  std::optional<LayerType> type = findLayerType(name);
  if (type && static_cast<size_t>(*type) < count)
    return *type;
  std::vector<std::string_view> names(kLayerTypeNames, kLayerTypeNames + count);
  return Status::failure("expected " + std::string(what) + " to be one of " +
                         runtime::joinNames(names) + ", but got '" + name +
                         "'");
}

/// What of a form the clauses of types read.
static Status readForm(const blockscale_layer_form &from, ProductForm &form) {
  if (!from.weight.format)
    return Status::failure("expected a weight with a format, but got none");
  for (const auto &[name, operand] :
       {std::pair(from.weight.format, &form.weight),
        std::pair(from.activation.format, &form.activation)}) {
    Status status = readFormat(name, *operand);
    if (!status.ok())
      return status;
  }
  form.isTransformed = from.is_transformed != 0;
  if (!from.cast)
    return Status::success();
  Result<LayerType> cast = readType("cast", from.cast, kCastTypeCount);
  if (!cast.ok())
    return cast.status();
  form.cast = *cast;
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static blockscale_status take(Result<QuantizationPolicy> read,
                              blockscale_policy **policy) {
  if (!read.ok())
    return report(read.status());
  *policy = new blockscale_policy{std::move(*read)};
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_policy_open(const char *path,
                                         blockscale_policy **policy) {
  Status status = checkNotNull({{"path", path}, {"policy", policy}});
  return status.ok() ? take(readPolicy(path), policy) : report(status);
}

blockscale_status blockscale_policy_parse(const char *text, size_t size,
                                          const char *name,
                                          blockscale_policy **policy) {
  Status status =
      checkNotNull({{"text", text}, {"name", name}, {"policy", policy}});
  return status.ok()
             ? take(parsePolicy(llvm::StringRef(text, size), name), policy)
             : report(status);
}

void blockscale_policy_destroy(blockscale_policy *policy) { delete policy; }

static Result<PolicyProduct> toProduct(const blockscale_layer *from) {
  Status status = checkNotNull({{"layer", from}});
  if (!status.ok())
    return status;
  blockscale_layer layer;
  status = readConfig(from, layer);
  if (status.ok())
    status = checkNotNull({{"name", layer.name}, {"type", layer.type}});
  if (!status.ok())
    return status;
  Result<LayerType> type = readType("type", layer.type);
  if (!type.ok())
    return type.status();
  if (layer.n < 0 || layer.k < 0)
    return Status::failure("expected n and k from 0 on, but got " +
                           std::to_string(layer.n) + " and " +
                           std::to_string(layer.k));
  PolicyProduct product;
  product.names.push_back(layer.name);
  product.function = layer.function ? layer.function : "forward";
  product.hasWeight = true;
  product.isLast = layer.is_last != 0;
  product.n = product.weightRows = layer.n;
  product.k = layer.k;
  if (layer.m < 0)
    return Status::failure("expected m from 0 on, but got " +
                           std::to_string(layer.m));
  if (layer.m != 0)
    product.m = layer.m;
  product.plain = product.weight = *type;
  return product;
}

blockscale_status
blockscale_policy_decide(const blockscale_policy *policy,
                         const blockscale_layer *layer,
                         const blockscale_policy_decision **decision) {
  Status status = checkNotNull({{"policy", policy}, {"decision", decision}});
  if (!status.ok())
    return report(status);
  Result<PolicyProduct> product = toProduct(layer);
  if (!product.ok())
    return report(product.status());
  // What rules say of these rows, and up to which number of them.
  int64_t rows = product->m;
  RowsDecision found{SizeRange(), {}};
  if (mlir::ShapedType::isDynamic(rows)) {
    found.decision = policy->policy.decide(*product);
  } else {
    product->m = mlir::ShapedType::kDynamic;
    for (RowsDecision &each : policy->policy.decideByRows(*product))
      if (each.rows.contains(rows))
        found = std::move(each);
  }
  const PolicyDecision &made = found.decision;
  auto result = std::make_unique<Decision>();
  if (made.rule)
    result->ruleText = made.rule->name;
  if (made.obstacle) {
    result->setObstacle(*made.obstacle);
  } else {
    result->is_quantized = 1;
    result->form = toC(*made.form);
  }
  result->max_m = found.rows.max;
  result->refer();
  *decision = result.release();
  return BLOCKSCALE_OK;
}

blockscale_status
blockscale_layer_form_check(const blockscale_layer_form *form, const char *type,
                            const blockscale_policy_decision **decision) {
  Status status =
      checkNotNull({{"form", form}, {"type", type}, {"decision", decision}});
  ProductForm read;
  if (status.ok())
    status = readForm(*form, read);
  if (!status.ok())
    return report(status);
  Result<LayerType> layerType = readType("type", type);
  if (!layerType.ok())
    return report(layerType.status());
  PolicyProduct product;
  product.hasWeight = true;
  product.plain = product.weight = *layerType;
  auto result = std::make_unique<Decision>();
  if (std::optional<FusionObstacle> obstacle =
          findTypeObstacle(product, read)) {
    result->setObstacle(*obstacle);
  } else {
    result->is_quantized = 1;
    result->form = toC(read);
  }
  result->max_m = SizeRange().max;
  result->refer();
  *decision = result.release();
  return BLOCKSCALE_OK;
}

void blockscale_policy_decision_destroy(
    const blockscale_policy_decision *decision) {
  delete static_cast<const Decision *>(decision);
}

blockscale_status blockscale_pattern_matches(const char *pattern,
                                             const char *name, int *matches) {
  Status status = checkNotNull(
      {{"pattern", pattern}, {"name", name}, {"matches", matches}});
  if (status.ok())
    status = checkPattern(pattern);
  if (!status.ok())
    return report(status);
  *matches = matchesPattern(pattern, name);
  return BLOCKSCALE_OK;
}

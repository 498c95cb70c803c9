//===- PolicyReader.cpp - Policies in JSON --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/policy.schema.json has the same rules, as far as a schema can say them.
//
//===----------------------------------------------------------------------===//

#include "TextFile.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Runtime/JsonReader.h"
#include "blockscale/Transforms/QuantizationPolicy.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using blockscale::runtime::JsonReader;
using blockscale::runtime::JsonValue;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using llvm::StringRef;

namespace blockscale {

static constexpr int64_t kPolicyVersion = 1;

namespace {

/// The members of a rule that say how an operand is quantized, and those of its
/// `weights` and `activations`, which go before them.
class OperandReader {
public:
  OperandReader(JsonReader &reader, const JsonValue &rule, StringRef member)
      : reader(reader), rule(rule),
        own(reader.getOptional(rule, member, JsonValue::Kind::Object)) {}

  OperandForm read();

private:
  /// The member of that name, of the operand or else of the rule; null if none.
  const JsonValue *find(StringRef name) const {
    const JsonValue *found = own ? own->find(name) : nullptr;
    return found ? found : rule.find(name);
  }
  void readRecipe(OperandForm &form);
  void readGlobal(OperandForm &form);

  JsonReader &reader;
  const JsonValue &rule;
  const JsonValue *own;
};

class PolicyReader : public JsonReader {
public:
  explicit PolicyReader(StringRef file) : file(file) {}

  QuantizationPolicy read(const JsonValue &policy);

private:
  PolicyRule readRule(const JsonValue &value, size_t number);
  void readMatch(const JsonValue &value, PolicyRule &rule);
  std::optional<std::string> readPattern(const JsonValue &match,
                                         StringRef member);
  std::optional<bool> readChoice(const JsonValue &match, StringRef member);
  SizeRange readRange(const JsonValue &match, StringRef member);
  ProductForm readForm(const JsonValue &value);
  void readMeasured(const JsonValue &value, QuantizationPolicy &policy);
  void checkForm(const JsonValue &value, const ProductForm &form);

  StringRef file;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void OperandReader::readRecipe(OperandForm &form) {
  const JsonValue *value = find("recipe");
  if (!value)
    return;
  std::vector<std::string_view> names;
  for (numerics::Recipe recipe : numerics::kRecipes)
    if (numerics::isDefinedFor(recipe, form.format->scale,
                               form.format->element))
      names.push_back(numerics::getName(recipe));
  std::string what = ("'recipe' of " + getFormatName(*form.format)).str();
  size_t number = reader.toChoice(*value, what, names);
  form.recipe = symbolizeRecipe(names[number]);
}

void OperandReader::readGlobal(OperandForm &form) {
  bool isNvfp4 = form.format->scale == numerics::ScaleFormat::E4M3;
  form.hasGlobal = isNvfp4;
  const JsonValue *value = find("global_scale");
  if (!value)
    return;
  if (!isNvfp4)
    return reader.fail(*value, "expected 'global_scale' only of nvfp4, but got "
                               "it of " +
                                   getFormatName(*form.format).str());
  if (value->kind != JsonValue::Kind::Object) {
    form.hasGlobal =
        reader.toChoice(*value, "'global_scale'", {"none", "dynamic"}) == 1;
    return;
  }
  reader.checkKeys(*value, {"amax"});
  if (!value->find("amax"))
    return reader.fail(*value, "expected a member 'amax'");
  form.amax = readAmax(reader, *value->find("amax"), "'amax'");
}

OperandForm OperandReader::read() {
  OperandForm form;
  const JsonValue *name = find("format");
  if (!name) {
    reader.fail(own ? *own : rule, "expected a member 'format'");
    return form;
  }
  reader.toChoice(*name, "'format'", listFormats());
  if (!reader.ok())
    return form;
  form.format = findFormat(name->string);
  readRecipe(form);
  readGlobal(form);
  return form;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::optional<std::string> PolicyReader::readPattern(const JsonValue &match,
                                                     StringRef member) {
  const JsonValue *value = getOptional(match, member, JsonValue::Kind::String);
  if (!value)
    return std::nullopt;
  Status status = checkPattern(value->string);
  if (!status.ok())
    fail(*value, "expected '" + member.str() + "' to be a pattern, but got '" +
                     value->string + "': " + status.message());
  return value->string;
}

std::optional<bool> PolicyReader::readChoice(const JsonValue &match,
                                             StringRef member) {
  const JsonValue *value = getOptional(match, member, JsonValue::Kind::Boolean);
  return value ? std::optional(value->boolean) : std::nullopt;
}

SizeRange PolicyReader::readRange(const JsonValue &match, StringRef member) {
  SizeRange range;
  const JsonValue *value = getOptional(match, member, JsonValue::Kind::Object);
  if (!value)
    return range;
  checkKeys(*value, {"min", "max"});
  range.min = getOptionalInteger(*value, "min", range.min);
  range.max = getOptionalInteger(*value, "max", range.max);
  if (range.min < 0 || range.max < range.min)
    fail(*value, "expected sizes from 0 on, min and then max, but got " +
                     std::to_string(range.min) + " and " +
                     std::to_string(range.max));
  return range;
}

void PolicyReader::readMatch(const JsonValue &value, PolicyRule &rule) {
  checkKeys(value, {"location", "function", "operands", "last_projection", "m",
                    "n", "k"});
  rule.location = readPattern(value, "location");
  rule.function = readPattern(value, "function");
  if (value.find("operands"))
    rule.hasWeight = getChoice(value, "operands", {"weight", "dynamic"}) == 0;
  rule.isLast = readChoice(value, "last_projection");
  rule.m = readRange(value, "m");
  rule.n = readRange(value, "n");
  rule.k = readRange(value, "k");
}

/// What the recipes, formats and choices of both operands must be together.
void PolicyReader::checkForm(const JsonValue &value, const ProductForm &form) {
  const numerics::BlockFormat *weight = form.weight.format;
  const numerics::BlockFormat *activation = form.activation.format;
  if (activation && activation->scale != weight->scale)
    fail(value, "expected formats of weights and activations with one type of "
                "scales, but got " +
                    getFormatName(*weight).str() + " and " +
                    getFormatName(*activation).str());
  for (const OperandForm &operand : {form.weight, form.activation})
    if (form.isTransformed && operand.recipe && isFourOverSix(*operand.recipe))
      fail(value, "expected recipes without 4over6 with 'rht', but got " +
                      stringifyRecipe(*operand.recipe).str());
  if (form.weight.isSwept &&
      (!form.weight.hasGlobal || form.weight.recipe != getSweepRecipe()))
    fail(value,
         "expected weights that are swept to be nvfp4 with a global "
         "scale and recipe " +
             stringifyRecipe(getSweepRecipe()).str() + ", but got " +
             getFormatName(*weight).str() +
             (form.weight.hasGlobal ? "" : " without a global scale") +
             (form.weight.recipe
                  ? " and recipe " + stringifyRecipe(*form.weight.recipe).str()
                  : ""));
}

/// The names of orders of sums, in the order of their numbers.
static std::vector<std::string_view> listOrders() {
  std::vector<std::string_view> names;
  for (unsigned number = 0; number <= getMaxEnumValForSumOrder(); ++number)
    names.push_back(stringifySumOrder(static_cast<SumOrder>(number)));
  return names;
}

ProductForm PolicyReader::readForm(const JsonValue &value) {
  ProductForm form;
  const JsonValue *weights =
      getOptional(value, "weights", JsonValue::Kind::Object);
  const JsonValue *activations =
      getOptional(value, "activations", JsonValue::Kind::Object);
  if (weights)
    checkKeys(*weights, {"format", "recipe", "global_scale", "sweep"});
  if (activations)
    checkKeys(*activations, {"format", "recipe", "global_scale"});
  bool isWeightOnly = getOptionalBoolean(value, "weight_only", false);
  if (isWeightOnly && activations)
    fail(*activations,
         "expected no 'activations' with 'weight_only', but got them");
  form.isTransformed = getOptionalBoolean(value, "rht", false);
  if (value.find("cast"))
    form.cast = static_cast<LayerType>(
        getChoice(value, "cast",
                  {std::begin(kLayerTypeNames),
                   std::begin(kLayerTypeNames) + kCastTypeCount}));
  if (value.find("order"))
    form.order = static_cast<SumOrder>(getChoice(value, "order", listOrders()));
  if (!ok())
    return form;
  form.weight = OperandReader(*this, value, "weights").read();
  form.weight.isSwept = weights && getOptionalBoolean(*weights, "sweep", false);
  // The sweep searches for this recipe. A recipe of the rule is that of the
  // activations then.
  if (form.weight.isSwept && !weights->find("recipe"))
    form.weight.recipe = getSweepRecipe();
  if (!isWeightOnly)
    form.activation = OperandReader(*this, value, "activations").read();
  if (ok())
    checkForm(value, form);
  return form;
}

PolicyRule PolicyReader::readRule(const JsonValue &value, size_t number) {
  PolicyRule rule;
  rule.name = ("rule " + llvm::Twine(number) + " of " + file).str();
  if (!checkKind(value, JsonValue::Kind::Object, "a rule"))
    return rule;
  if (const JsonValue *match =
          getOptional(value, "match", JsonValue::Kind::Object))
    readMatch(*match, rule);
  if (getOptionalBoolean(value, "leave", false)) {
    checkKeys(value, {"match", "leave"});
    return rule;
  }
  checkKeys(value,
            {"match", "leave", "format", "recipe", "global_scale", "weights",
             "activations", "weight_only", "rht", "cast", "order"});
  if (ok())
    rule.form = readForm(value);
  return rule;
}

void PolicyReader::readMeasured(const JsonValue &value,
                                QuantizationPolicy &policy) {
  const JsonValue *name = getOptional(value, "amaxes", JsonValue::Kind::String);
  if (!name)
    return;
  llvm::SmallString<128> path(name->string);
  if (llvm::sys::path::is_relative(path)) {
    path = llvm::sys::path::parent_path(file);
    llvm::sys::path::append(path, name->string);
  }
  Result<ActivationAmaxes> amaxes = readAmaxes(path);
  if (!amaxes.ok())
    return fail(*name, amaxes.message());
  policy.amaxesFile = std::string(path);
  policy.amaxes = std::move(*amaxes);
}

QuantizationPolicy PolicyReader::read(const JsonValue &value) {
  QuantizationPolicy policy;
  if (!checkKind(value, JsonValue::Kind::Object, "a policy"))
    return policy;
  checkKeys(value, {"version", "leave_last_projection", "leave_narrow",
                    "amaxes", "rules"});
  const JsonValue *version = get(value, "version", JsonValue::Kind::Integer);
  if (version && version->integer != kPolicyVersion)
    fail(*version, "expected version " + std::to_string(kPolicyVersion) +
                       ", but got " + std::to_string(version->integer));
  policy.leavesLast = getOptionalBoolean(value, "leave_last_projection", true);
  policy.leavesNarrow = getOptionalBoolean(value, "leave_narrow", true);
  readMeasured(value, policy);
  for (const JsonValue &rule : getElements(value, "rules"))
    policy.rules.push_back(readRule(rule, policy.rules.size() + 1));
  return policy;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Result<QuantizationPolicy> parsePolicy(StringRef text, StringRef name) {
  auto fail = [&](const std::string &message) {
    return Status::failure(name.str() + ":" + message);
  };
  if (text.size() > kMaxTextBytes)
    return fail(" expected a policy of up to " + std::to_string(kMaxTextBytes) +
                " bytes, but got " + std::to_string(text.size()));
  Result<JsonValue> value =
      runtime::parseJson(std::string_view(text.data(), text.size()));
  if (!value.ok())
    return fail(value.message());
  PolicyReader reader(name);
  QuantizationPolicy policy = reader.read(*value);
  if (!reader.ok())
    return fail(reader.getStatus().message());
  return policy;
}

Result<QuantizationPolicy> readPolicy(StringRef path) {
  Result<std::string> text = readText(path);
  if (!text.ok())
    return text.status();
  return parsePolicy(*text, path);
}

Result<QuantizationPolicy> choosePolicy(StringRef file, StringRef format) {
  if (file.empty() == format.empty())
    return Status::failure(
        "expected one of the options 'policy' and 'format', but got " +
        std::string(file.empty() ? "neither" : "both"));
  if (!file.empty())
    return readPolicy(file);
  if (const numerics::BlockFormat *found = findFormat(format))
    return getUniformPolicy(*found);
  return Status::failure("expected option 'format' to be one of " +
                         runtime::joinNames(listFormats()) + ", but got '" +
                         format.str() + "'");
}

llvm::LogicalResult readPolicyOptions(mlir::MLIRContext *context,
                                      StringRef file, StringRef format,
                                      QuantizationPolicy &policy) {
  Result<QuantizationPolicy> chosen = choosePolicy(file, format);
  if (!chosen.ok())
    return mlir::emitError(mlir::UnknownLoc::get(context)) << chosen.message();
  policy = std::move(*chosen);
  return llvm::success();
}

} // namespace blockscale

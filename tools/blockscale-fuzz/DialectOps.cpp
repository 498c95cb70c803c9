//===- DialectOps.cpp - Quantizers and what works on scales ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionWriter.h"
#include "blockscale/Numerics/Recipe.h"

using namespace llvm;

namespace blockscale {

/// A clause of an op, " WORD(%value : type)".
static std::string clause(const Twine &word, StringRef value,
                          const FuzzType &type) {
  return (" " + word + "(" + value + " : " + type.str() + ")").str();
}

static std::string blockText(int64_t rows, int64_t cols) {
  return (" block [" + Twine(rows) + ", " + Twine(cols) + "]").str();
}

static SmallVector<int64_t, 4> append(SmallVector<int64_t, 4> shape,
                                      std::initializer_list<int64_t> sizes) {
  shape.append(sizes.begin(), sizes.end());
  return shape;
}

StringRef FunctionWriter::recipe(bool isNvfp4) {
  if (bytes.rarely(80))
    isNvfp4 = !isNvfp4;
  SmallVector<StringRef> names = {""};
  for (numerics::Recipe each : numerics::kRecipes)
    if (numerics::isDefinedFor(each, isNvfp4 ? numerics::ScaleFormat::E4M3
                                             : numerics::ScaleFormat::E8M0) &&
        !(isBasic && numerics::isFourOverSix(each)))
      names.push_back(numerics::getName(each));
  return bytes.pick<StringRef>(ArrayRef<StringRef>(names));
}

/// Whether the recipe of this name, which may be empty, has the property.
static bool is(bool (*property)(numerics::Recipe), StringRef name) {
  std::optional<numerics::Recipe> recipe = numerics::parseRecipe(name);
  return recipe && property(*recipe);
}

static std::string recipeText(StringRef recipe) {
  return recipe.empty() ? "" : (" recipe " + recipe).str();
}

FuzzType FunctionWriter::globalType(ArrayRef<int64_t> leading,
                                    std::optional<int64_t> rows) {
  switch (bytes.choose(5)) {
  case 0:
    return tensor({}, "f32");
  case 1:
    return scalarType("f32");
  case 2:
    if (rows && !isBasic) {
      FuzzType type = tensor(leading, "f32");
      type.shape.push_back(*rows);
      return type;
    }
    break;
  default:
    break;
  }
  return tensor(leading, "f32");
}

std::string FunctionWriter::globalOperand(StringRef name,
                                          ArrayRef<int64_t> leading,
                                          std::optional<int64_t> rows) {
  FuzzType type = globalType(leading, rows);
  std::string value = bytes.rarely(6) ? constant(type) : operand(type);
  return clause(name, value, type);
}

std::string FunctionWriter::dataElement(bool isNvfp4) {
  if (isNvfp4)
    return "f4E2M1FN";
  if (isBasic)
    return bytes.pick<const char *>({"f8E4M3FN", "f4E2M1FN", "f8E5M2"});
  return bytes.pick<const char *>(
      {"f8E4M3FN", "f4E2M1FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN"});
}

static const char *scaleElement(bool isNvfp4) {
  return isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU";
}

void FunctionWriter::writeQuantize() {
  bool isNvfp4 = !bytes.flag();
  int64_t unit = isNvfp4 ? 16 : 32;
  unsigned form = isBasic ? 0 : bytes.pick<unsigned>({0, 0, 0, 1, 2});
  int64_t blockRows = form == 0 ? 1 : unit;
  int64_t blockCols = form == 2 ? 1 : unit;
  bool isTransposed =
      (form == 2 && isNvfp4) || (form != 0 && bytes.flag()) || rarelyWider(60);
  bool isSquare = form == 1;
  StringRef scaleDim =
      isSquare ? bytes.pick<StringRef>({"", "k", "n"}) : StringRef();
  StringRef recipe = this->recipe(isNvfp4);
  bool tails = is(numerics::acceptsTails, recipe);
  bool isFourOverSix = is(numerics::isFourOverSix, recipe);
  bool hasOffsets = rarelyWider(6);
  SmallVector<int64_t, 4> leading;
  if (!hasOffsets)
    leading = batch();
  int64_t rows = sizeOf(blockRows, tails), cols = sizeOf(blockCols, tails);

  FuzzType x = tensor(append(leading, {rows, cols}),
                      bytes.pick<const char *>({"bf16", "f32", "f16"}));
  FuzzType data = tensor(isTransposed ? append(leading, {cols, rows})
                                      : append(leading, {rows, cols}),
                         dataElement(isNvfp4));
  int64_t scaleRows = ceilDiv(rows, blockRows);
  int64_t scaleCols = ceilDiv(cols, blockCols);
  SmallVector<int64_t, 4> compact = append(leading, {scaleRows, scaleCols});
  SmallVector<int64_t, 4> shape = compact;
  if (scaleDim == "k")
    shape = append(leading, {rows, scaleCols});
  else if (scaleDim == "n")
    shape = append(leading, {cols, scaleRows});
  else if (isTransposed)
    shape = append(leading, {scaleCols, scaleRows});
  FuzzType scale = tensor(shape, scaleElement(isNvfp4));
  bool takesLayout = (form == 0 || (form == 2 && isTransposed) ||
                      !scaleDim.empty()) != bytes.rarely(40);
  int64_t groups = bytes.pick<int64_t>({3, 1, 2, 8, 0, kDynamicSize});
  int64_t groupDim = bytes.flag();
  if (takesLayout && bytes.flag())
    scale =
        hasOffsets && bytes.flag()
            ? grouped(scale, groups,
                      isTransposed || scaleDim == "n" ? 1 - groupDim : groupDim)
            : withLayout(scale);
  scale = spoiled(scale);
  data = spoiled(data);

  std::string input = operand(x);
  std::string clauses;
  bool hasRng =
      (data.element == "f4E2M1FN" && !isFourOverSix && rarelyWider(6)) ||
      rarelyWider(100);
  if (isNvfp4 || bytes.rarely(60)) {
    SmallVector<int64_t, 4> each = leading;
    if (hasOffsets && bytes.flag())
      each.push_back(groups);
    std::optional<int64_t> perRow;
    if ((form == 0 && !isTransposed && !hasRng && !isFourOverSix) ||
        bytes.rarely(60))
      perRow = rows;
    if (bytes.flag())
      clauses += globalOperand("global_scale", each, perRow);
    else if (bytes.rarely(3))
      clauses += globalOperand("global_amax", each, perRow);
    if ((form == 0 && !isFourOverSix && rarelyWider(6)) || rarelyWider(100)) {
      FuzzType type = tensor(compact, "f32");
      clauses += clause("block_amax", operand(type), type);
    }
  }
  if (hasRng) {
    FuzzType type = spoiled(tensor({bytes.rarely(4) ? 4 : 2}, "i64"));
    clauses += clause("rng", operand(type), type);
  }
  if (hasOffsets) {
    FuzzType type = tensor({groups}, "i32");
    clauses += clause("offsets", operand(type), type) + " group_dim " +
               std::to_string(groupDim);
  }
  std::string names = define({data, scale});
  line(names + " = blockscale.quantize " + input +
       blockText(blockRows, blockCols) + (isTransposed ? " transposed" : "") +
       (scaleDim.empty() ? "" : " scale_dim ") + scaleDim + recipeText(recipe) +
       clauses + " : " + x.str() + " -> " + data.str() + ", " + scale.str());
}

void FunctionWriter::writeAmax() {
  SmallVector<int64_t, 4> leading = batch();
  int64_t rows = size();
  FuzzType x = tensor(append(leading, {rows, size()}),
                      bytes.pick<const char *>({"bf16", "f32", "f16"}));
  FuzzType result = tensor({}, "f32");
  std::string clauses;
  switch (bytes.choose(isBasic ? 2 : 4)) {
  case 1:
    result.shape = leading;
    break;
  case 2:
    result.shape = append(leading, {rows});
    break;
  case 3: {
    FuzzType offsets = tensor({bytes.pick<int64_t>({3, 1, 0})}, "i32");
    result.shape = offsets.shape;
    clauses = clause("offsets", operand(offsets), offsets) + " group_dim " +
              std::to_string(bytes.choose(2));
    break;
  }
  default:
    break;
  }
  std::string input = operand(x);
  result = spoiled(result);
  std::string name = define(result);
  line(name + " = blockscale.amax " + input + clauses + " : " + x.str() +
       " -> " + result.str());
}

void FunctionWriter::writeGlobalScale() {
  FuzzType type = globalType(batch(), size());
  if (type.isScalar)
    type = tensor({}, "f32");
  std::string input = operand(type);
  std::string recipe = recipeText(this->recipe(/*isNvfp4=*/true));
  std::string name = define(type);
  line(name + " = blockscale.global_scale " + input + recipe + " : " +
       type.str());
}

void FunctionWriter::writeDequantize() {
  const FuzzValue *found = find([](const FuzzType &type) {
    return type.shape.size() > 1 && StringRef(type.element).starts_with("f4");
  });
  bool isNvfp4 = found ? bytes.flag() : !bytes.flag();
  int64_t unit = isNvfp4 ? 16 : 32;
  unsigned form = isBasic ? 0 : bytes.pick<unsigned>({0, 0, 0, 1, 2});
  int64_t blockRows = form == 0 ? 1 : unit;
  int64_t blockCols = form == 2 ? 1 : unit;
  StringRef recipe = this->recipe(isNvfp4);
  bool tails = is(numerics::acceptsTails, recipe);
  FuzzType data;
  if (found) {
    data = found->type;
  } else {
    SmallVector<int64_t, 4> leading = batch();
    int64_t rows = sizeOf(blockRows, tails);
    data = tensor(append(leading, {rows, sizeOf(blockCols, tails)}),
                  dataElement(isNvfp4));
  }
  SmallVector<int64_t, 4> leading(data.shape);
  leading.truncate(leading.size() - 2);
  int64_t rows = data.shape[leading.size()], cols = data.shape.back();
  FuzzType scale = tensor(
      append(leading, {ceilDiv(rows, blockRows), ceilDiv(cols, blockCols)}),
      scaleElement(isNvfp4));
  if (form == 0 && bytes.flag())
    scale = withLayout(scale);
  scale = spoiled(scale);
  std::string codes = found ? found->name : operand(data);
  std::string scales = operand(scale);
  std::string clauses;
  if (isNvfp4 && bytes.flag())
    clauses = globalOperand(bytes.flag() ? "global_scale" : "global_amax",
                            leading, rows);
  FuzzType result = data;
  result.element = bytes.pick<const char *>({"bf16", "f32", "f16"});
  result.encoding.clear();
  std::string name = define(result);
  line(name + " = blockscale.dequantize " + codes + ", " + scales +
       blockText(blockRows, blockCols) + recipeText(recipe) + clauses +
       kUncheckedOrigins + " : " + data.str() + ", " + scale.str() + " -> " +
       result.str());
}

void FunctionWriter::writeSwizzle() {
  const FuzzValue *found = find([](const FuzzType &type) {
    return type.shape.size() > 1 &&
           (type.element == "f8E4M3FN" || type.element == "f8E8M0FNU");
  });
  FuzzType source;
  if (found) {
    source = found->type;
  } else {
    SmallVector<int64_t, 4> leading = batch();
    int64_t rows = size();
    source =
        tensor(append(leading, {rows, size()}), scaleElement(bytes.flag()));
  }
  std::string input = found ? found->name : operand(source);
  FuzzType result = source;
  std::string clauses;
  bool isLinear = source.encoding.empty();
  if (source.shape.size() == 2 && bytes.rarely(3)) {
    int64_t groups = bytes.pick<int64_t>({3, 1, 2, kDynamicSize});
    int64_t dim = bytes.choose(2);
    if (isLinear)
      result = grouped(result, groups, dim);
    else
      result.encoding.clear();
    FuzzType offsets = tensor({groups}, "i32");
    clauses = clause("offsets", operand(offsets), offsets);
    if (dim == 1)
      clauses += " block " + std::to_string(bytes.pick({16, 32, 1, 7}));
  } else if (isLinear) {
    result = withLayout(result);
  } else {
    result.encoding.clear();
  }
  if (!isLinear && result.encoding.empty() && source.hasDynamicSizes()) {
    size_t block = clauses.find(" block");
    clauses.insert(block == std::string::npos ? clauses.size() : block,
                   sizesClause(source));
  }
  result = spoiled(result);
  std::string name = define(result);
  line(name + " = blockscale.swizzle " + input + clauses + " : " +
       source.str() + " -> " + result.str());
}

std::string FunctionWriter::sizesClause(const FuzzType &type) {
  std::string sizes;
  for (int64_t size : type.shape)
    if (size == kDynamicSize)
      sizes += (sizes.empty() ? "" : ", ") + operand(scalarType("index"));
  return " sizes(" + sizes + ")";
}

void FunctionWriter::writePrepack() {
  const FuzzValue *found = find([](const FuzzType &type) {
    static constexpr StringRef kElements[] = {
        "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "i8"};
    return type.shape.size() > 1 && is_contained(kElements, type.element) &&
           !StringRef(type.encoding).contains("swizzle");
  });
  FuzzType source;
  if (found) {
    source = found->type;
  } else {
    SmallVector<int64_t, 4> leading = batch();
    int64_t rows = size();
    source = tensor(append(leading, {rows, size()}), dataElement(bytes.flag()));
  }
  std::string input = found ? found->name : operand(source);
  FuzzType result = source;
  std::string clauses;
  if (source.encoding.empty()) {
    result = prepacked(result);
  } else {
    result.encoding.clear();
    if (source.hasDynamicSizes())
      clauses = sizesClause(source);
  }
  result = spoiled(result);
  std::string name = define(result);
  line(name + " = blockscale.prepack " + input + clauses + " : " +
       source.str() + " -> " + result.str());
}

void FunctionWriter::writeExpandScale() {
  bool isNvfp4 = bytes.flag();
  int64_t unit = isNvfp4 ? 16 : 32;
  SmallVector<int64_t, 4> leading = batch();
  int64_t rows = size();
  FuzzType source =
      tensor(append(leading, {rows, size()}), scaleElement(isNvfp4));
  bool isAlongK = bytes.flag();
  int64_t compact = isAlongK ? rows : source.shape.back();
  int64_t expanded = compact == kDynamicSize || compact > (int64_t(1) << 50)
                         ? kDynamicSize
                         : compact * unit - bytes.pick<int64_t>({0, 0, 1, 15});
  expanded = std::max<int64_t>(expanded, kDynamicSize);
  FuzzType result = source;
  result.shape =
      append(leading, {expanded, isAlongK ? source.shape.back() : rows});
  if (bytes.flag())
    result = withLayout(result);
  result = spoiled(result);
  std::string input = operand(source);
  std::string sizes;
  if (expanded == kDynamicSize)
    sizes = " sizes(" + operand(scalarType("index")) + ")";
  std::string name = define(result);
  line(name + " = blockscale.expand_scale " + input + blockText(unit, unit) +
       " scale_dim " + (isAlongK ? "k" : "n") + sizes + " : " + source.str() +
       " -> " + result.str());
}

void FunctionWriter::writeHadamard() {
  const FuzzValue *found = find([](const FuzzType &type) {
    return type.shape.size() > 1 && type.element == "bf16";
  });
  FuzzType type;
  if (found) {
    type = found->type;
  } else {
    SmallVector<int64_t, 4> leading = batch();
    int64_t rows = sizeOf(16, false);
    type = tensor(append(leading, {rows, sizeOf(16, false)}), "bf16");
  }
  std::string input = found ? found->name : operand(type);
  std::string mask;
  if (bytes.flag())
    mask = " sign_mask " +
           std::to_string(bytes.pick({0, 1, 65535, 4660, 65536, -1}));
  std::string dim = std::to_string(bytes.choose(2));
  std::string name = define(type);
  line(name + " = blockscale.hadamard " + input + " dim " + dim + mask + " : " +
       type.str());
}

void FunctionWriter::writeScaleSweep() {
  SmallVector<int64_t, 4> leading = batch();
  int64_t rows = size(), cols = sizeOf(16, false);
  FuzzType x = tensor(append(leading, {rows, cols}),
                      bytes.pick<const char *>({"bf16", "f32", "f16"}));
  FuzzType result = tensor(append(leading, {rows, ceilDiv(cols, 16)}), "f32");
  std::string input = operand(x);
  std::string clauses = globalOperand("global_amax", leading, rows);
  if (bytes.rarely(3)) {
    FuzzType type = tensor({ceilDiv(cols, 16), 16, 16}, "f32");
    clauses += clause("hessian", operand(type), type);
  }
  result = spoiled(result);
  std::string name = define(result);
  line(name + " = blockscale.scale_sweep " + input + clauses + " : " + x.str() +
       " -> " + result.str());
}

} // namespace blockscale

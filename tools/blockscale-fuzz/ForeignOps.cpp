//===- ForeignOps.cpp - Ops of other dialects around the dialect's --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts, slices, selects, branches, loops and calls: what verify-layout and
// the storage form have to see through.
//
//===----------------------------------------------------------------------===//

#include "FunctionWriter.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace blockscale {

static bool isTensor(const FuzzType &type) { return !type.isScalar; }
static bool isRanked(const FuzzType &type) { return !type.shape.empty(); }

/// Tensors whose elements other dialects may compute with.
static bool isPlain(const FuzzType &type) {
  return isTensor(type) && type.encoding.empty() &&
         (type.element == "f32" || type.element == "bf16");
}

void FunctionWriter::statement() {
  using Writer = void (FunctionWriter::*)();
  // The first is what an exhausted input gives.
  static constexpr Writer kWriters[] = {
      &FunctionWriter::writeQuantize,    &FunctionWriter::writeQuantize,
      &FunctionWriter::writeQuantize,    &FunctionWriter::writeQuantize,
      &FunctionWriter::writeQuantize,    &FunctionWriter::writeAmax,
      &FunctionWriter::writeGlobalScale, &FunctionWriter::writeDequantize,
      &FunctionWriter::writeDequantize,  &FunctionWriter::writeSwizzle,
      &FunctionWriter::writeSwizzle,     &FunctionWriter::writeScaledMM,
      &FunctionWriter::writeScaledMM,    &FunctionWriter::writeGroupedMM,
      &FunctionWriter::writeGroupedMM,   &FunctionWriter::writeCast,
      &FunctionWriter::writeSlice,       &FunctionWriter::writeSlice,
      &FunctionWriter::writeInsert,      &FunctionWriter::writeDim,
      &FunctionWriter::writeEmpty,       &FunctionWriter::writeSelect,
      &FunctionWriter::writeElementwise, &FunctionWriter::writeReshape,
      &FunctionWriter::writeIf,          &FunctionWriter::writeFor,
      &FunctionWriter::writeCall,        &FunctionWriter::writeExpandScale,
      &FunctionWriter::writeHadamard,    &FunctionWriter::writeScaleSweep,
      &FunctionWriter::writePrepack};
  constexpr unsigned kNumWider = 4;
  ArrayRef<Writer> writers(kWriters);
  (this->*bytes.pick(isBasic ? writers.drop_back(kNumWider) : writers))();
}

void FunctionWriter::writeCast() {
  const FuzzValue *found = find(isRanked);
  if (!found)
    return;
  FuzzValue value = *found;
  FuzzType type = value.type;
  for (int64_t &size : type.shape)
    if (bytes.flag())
      size = size == kDynamicSize ? this->size() : kDynamicSize;
  std::string name = define(spoiled(type));
  line(name + " = tensor.cast " + value.name + " : " + value.type.str() +
       " to " + scope.back().type.str());
}

/// Offset, size and stride lists of a slice of `whole`, whose type becomes
/// `slice`'s; mostly on whole tiles and bytes.
static std::string sliceLists(ByteSource &bytes, const FuzzType &whole,
                              FuzzType &slice,
                              function_ref<std::string()> runTimeIndex) {
  SmallVector<std::string> offsets, sizes, strides;
  for (auto [dim, extent] : enumerate(whole.shape)) {
    unsigned fromEnd = whole.shape.size() - dim;
    int64_t unit = fromEnd == 1 ? 4 : fromEnd == 2 ? 128 : 1;
    if (bytes.rarely(4))
      unit = bytes.pick<int64_t>({1, 2, 3, 16});
    int64_t offset = unit * bytes.pick<int64_t>({0, 0, 0, 1, 2, 1000});
    int64_t size = unit * bytes.pick<int64_t>({1, 2, 0, 3});
    if (extent != kDynamicSize && offset > extent && !bytes.rarely(8))
      offset = 0;
    if (extent != kDynamicSize &&
        (bytes.flag() || (offset + size > extent && !bytes.rarely(8))))
      size = std::max<int64_t>(0, extent - offset);
    offsets.push_back(bytes.rarely(6) ? runTimeIndex() : Twine(offset).str());
    bool isDynamic = bytes.rarely(4);
    sizes.push_back(isDynamic ? runTimeIndex() : Twine(size).str());
    strides.push_back(bytes.rarely(30) ? "2" : "1");
    slice.shape[dim] = isDynamic ? kDynamicSize : size;
  }
  return "[" + join(offsets, ", ") + "] [" + join(sizes, ", ") + "] [" +
         join(strides, ", ") + "]";
}

void FunctionWriter::writeSlice() {
  const FuzzValue *found = find(isRanked);
  if (!found)
    return;
  FuzzValue value = *found;
  FuzzType type = value.type;
  std::string lists = sliceLists(bytes, value.type, type,
                                 [&] { return operand(scalarType("index")); });
  // A slice may drop dimensions of size 1.
  if (type.shape.size() > 2 && type.shape.front() == 1 && bytes.flag())
    type.shape.erase(type.shape.begin());
  type = spoiled(type);
  std::string name = define(type);
  line(name + " = tensor.extract_slice " + value.name + lists + " : " +
       value.type.str() + " to " + type.str());
}

void FunctionWriter::writeInsert() {
  const FuzzValue *found = find(isRanked);
  if (!found)
    return;
  FuzzValue value = *found;
  FuzzType type = value.type;
  std::string lists = sliceLists(bytes, value.type, type,
                                 [&] { return operand(scalarType("index")); });
  std::string source = operand(type);
  std::string name = define(value.type);
  line(name + " = tensor.insert_slice " + source + " into " + value.name +
       lists + " : " + type.str() + " into " + value.type.str());
}

void FunctionWriter::writeDim() {
  const FuzzValue *found = find(isRanked);
  if (!found)
    return;
  FuzzValue value = *found;
  std::string name = sizeValue(value, bytes.choose(value.type.shape.size()));
  scope.push_back({name, scalarType("index")});
}

void FunctionWriter::writeEmpty() {
  const FuzzValue *found = find(isTensor);
  if (!found)
    return;
  FuzzType type = found->type;
  SmallVector<std::string> sizes;
  for (int64_t size : type.shape)
    if (size == kDynamicSize)
      sizes.push_back(operand(scalarType("index")));
  std::string name = define(type);
  line(name + " = tensor.empty(" + join(sizes, ", ") + ") : " + type.str());
}

void FunctionWriter::writeSelect() {
  const FuzzValue *found = find([](const FuzzType &) { return true; });
  if (!found)
    return;
  FuzzValue value = *found;
  std::string condition = operand(scalarType("i1"));
  std::string other = operand(value.type);
  std::string name = define(value.type);
  line(name + " = arith.select " + condition + ", " + value.name + ", " +
       other + " : " + value.type.str());
}

void FunctionWriter::writeElementwise() {
  const FuzzValue *found = bytes.rarely(10) ? find(isTensor) : find(isPlain);
  if (!found)
    return;
  FuzzValue value = *found;
  std::string other = operand(value.type);
  std::string name = define(value.type);
  line(name + " = " +
       bytes.pick<const char *>(
           {"arith.addf", "arith.mulf", "arith.maximumf", "arith.divf"}) +
       " " + value.name + ", " + other + " : " + value.type.str());
}

/// Collapses the leading dimensions, or all but the last.
void FunctionWriter::writeReshape() {
  const FuzzValue *found =
      find([](const FuzzType &type) { return type.shape.size() > 2; });
  if (!found)
    return;
  FuzzValue value = *found;
  FuzzType type = value.type;
  int64_t first = type.shape[0], second = type.shape[1];
  bool isDynamic = first == kDynamicSize || second == kDynamicSize;
  if (!isDynamic && first != 0 && second > (int64_t(1) << 61) / first)
    return;
  type.shape.erase(type.shape.begin());
  type.shape[0] = isDynamic ? kDynamicSize : first * second;
  std::string groups = "[0, 1]";
  for (unsigned dim = 2; dim < value.type.shape.size(); ++dim)
    groups += ", [" + std::to_string(dim) + "]";
  std::string name = define(type);
  line(name + " = tensor.collapse_shape " + value.name + " [" + groups +
       "] : " + value.type.str() + " into " + type.str());
}

void FunctionWriter::writeIf() {
  if (depth > 2 || scope.empty())
    return;
  FuzzType type = find([](const FuzzType &) { return true; })->type;
  std::string condition = operand(scalarType("i1"));
  std::string name = fresh();
  line(name + " = scf.if " + condition + " -> (" + type.str() + ") {");
  for (int branch = 0; branch < 2; ++branch) {
    size_t outer = scope.size();
    ++depth;
    for (unsigned i = bytes.choose(3); i > 0; --i)
      statement();
    std::string result = operand(type);
    line("scf.yield " + result + " : " + type.str());
    --depth;
    scope.resize(outer);
    line(branch == 0 ? "} else {" : "}");
  }
  scope.push_back({name, type});
}

void FunctionWriter::writeFor() {
  if (depth > 2 || scope.empty())
    return;
  FuzzType type = find([](const FuzzType &) { return true; })->type;
  std::string initial = operand(type);
  std::string from = bytes.rarely(3) ? index(bytes.pick({0, 1, 128, -1}))
                                     : operand(scalarType("index"));
  std::string to = operand(scalarType("index"));
  std::string step = index(bytes.pick({1, 128, 4, 0}));
  std::string name = fresh(), counter = fresh(), carried = fresh();
  line(name + " = scf.for " + counter + " = " + from + " to " + to + " step " +
       step + " iter_args(" + carried + " = " + initial + ") -> (" +
       type.str() + ") {");
  size_t outer = scope.size();
  ++depth;
  scope.push_back({counter, scalarType("index")});
  scope.push_back({carried, type});
  for (unsigned i = bytes.choose(3); i > 0; --i)
    statement();
  std::string result = operand(type);
  line("scf.yield " + result + " : " + type.str());
  --depth;
  line("}");
  scope.resize(outer);
  scope.push_back({name, type});
}

void FunctionWriter::writeCall() {
  if (functions.empty())
    return;
  const FuzzFunction &callee = functions[bytes.choose(functions.size())];
  SmallVector<std::string> operands, types, resultTypes;
  for (const FuzzType &type : callee.arguments) {
    operands.push_back(operand(type));
    types.push_back(type.str());
  }
  for (const FuzzType &type : callee.results)
    resultTypes.push_back(type.str());
  std::string results = define(callee.results);
  line(results + (results.empty() ? "" : " = ") + "func.call " + callee.name +
       "(" + join(operands, ", ") + ") : (" + join(types, ", ") + ") -> (" +
       join(resultTypes, ", ") + ")");
}

} // namespace blockscale

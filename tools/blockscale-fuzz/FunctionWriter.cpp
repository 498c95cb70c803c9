//===- FunctionWriter.cpp - Types, values and frame of a function ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace blockscale {

static std::string formatSize(int64_t size) {
  return size == kDynamicSize ? "?" : std::to_string(size);
}

std::string FuzzType::str() const {
  if (isScalar)
    return element;
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += formatSize(size) + "x";
  return text + element + encoding + ">";
}

bool FuzzType::hasDynamicSizes() const {
  return is_contained(shape, kDynamicSize);
}

bool FuzzType::operator==(const FuzzType &other) const {
  return str() == other.str();
}

FuzzType scalarType(StringRef element) {
  FuzzType type;
  type.element = element.str();
  type.isScalar = true;
  return type;
}

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

int64_t FunctionWriter::size() {
  if (bytes.rarely(200))
    return bytes.pick<int64_t>({int64_t(1) << 31, int64_t(1) << 40,
                                (int64_t(1) << 62) - 1, int64_t(1) << 62,
                                INT64_MAX});
  return bytes.pick<int64_t>(
      {4,   kDynamicSize, 1,   2,   3,   5,   7,  8,
       16,  17,           31,  32,  33,  48,  64, 100,
       127, 128,          129, 160, 256, 257, 0,  kDynamicSize});
}

int64_t FunctionWriter::sizeOf(int64_t unit, bool allowTail) {
  if (unit == 1 || allowTail || bytes.rarely(60))
    return size();
  if (bytes.rarely(200))
    return (int64_t(1) << 40) * unit;
  int64_t count = bytes.pick<int64_t>({2, -1, 1, 3, 4, 5, 8, 0, -1, 9});
  return count < 0 ? kDynamicSize : count * unit;
}

int64_t FunctionWriter::ceilDiv(int64_t size, int64_t divisor) {
  if (size == kDynamicSize)
    return size;
  return size / divisor + (size % divisor != 0);
}

SmallVector<int64_t, 4> FunctionWriter::batch() {
  SmallVector<int64_t, 4> shape;
  unsigned rank = bytes.pick<unsigned>({0, 0, 0, 1, 1, 2});
  for (unsigned i = 0; i < rank; ++i)
    shape.push_back(bytes.pick<int64_t>({2, 1, 3, kDynamicSize, 0}));
  return shape;
}

FuzzType FunctionWriter::tensor(ArrayRef<int64_t> shape, StringRef element) {
  FuzzType type;
  type.element = element.str();
  type.shape.assign(shape.begin(), shape.end());
  return type;
}

FuzzType FunctionWriter::withLayout(FuzzType type) {
  type.encoding = ", #blockscale.layout<swizzle_128x4>";
  return type;
}

FuzzType FunctionWriter::grouped(FuzzType type, int64_t groups, int64_t dim) {
  type.encoding = (", #blockscale.layout<swizzle_128x4, groups = " +
                   (groups == kDynamicSize ? "?" : Twine(groups)) +
                   ", dim = " + Twine(dim) + ">")
                      .str();
  return type;
}

FuzzType FunctionWriter::prepacked(FuzzType type) {
  type.encoding = ", #blockscale.data_layout<fragments_64x64>";
  return type;
}

FuzzType FunctionWriter::spoiled(FuzzType type) {
  if (!bytes.rarely(100))
    return type;
  switch (bytes.choose(4)) {
  case 0:
    if (!type.shape.empty())
      type.shape[bytes.choose(type.shape.size())] = size();
    break;
  case 1:
    type.element = bytes.pick<const char *>(
        {"f32", "bf16", "f16", "f4E2M1FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU",
         "f6E2M3FN", "f6E3M2FN", "i8", "i1", "f64"});
    break;
  case 2:
    if (!type.isScalar)
      type.encoding = bytes.pick<const char *>(
          {"", ", #blockscale.layout<swizzle_128x4>", ", 1",
           ", #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>",
           ", #blockscale.data_layout<fragments_64x64>"});
    break;
  default:
    if (!type.isScalar)
      type.shape.push_back(size());
    break;
  }
  return type;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string FunctionWriter::fresh() {
  return "%v" + std::to_string(numNames++);
}

void FunctionWriter::line(const Twine &text) {
  body += std::string(2 * depth + 2, ' ') + text.str() + "\n";
}

std::string FunctionWriter::argument(const FuzzType &type) {
  std::string name = fresh();
  arguments.push_back({name, type});
  return name;
}

/// Elements of `type`, and whether they are few enough to be written out.
static bool isSmall(const FuzzType &type, int64_t &count) {
  count = 1;
  for (int64_t size : type.shape) {
    if (size < 0 || size > 4096)
      return false;
    count *= size;
    if (count > 65536)
      return false;
  }
  return true;
}

std::string FunctionWriter::constant(const FuzzType &type) {
  int64_t count = 0;
  if (type.isScalar || !isSmall(type, count))
    return argument(type);
  bool isInteger = type.element[0] == 'i';
  std::string value;
  if (isInteger) {
    value = std::to_string(int(bytes.next()) - 2);
  } else if (type.element == "f32" || type.element == "bf16") {
    value = bytes.pick<const char *>(
        {"1.0", "0.5", "0.0", "-1.0", "2.0e+10", "1.0e-30", "448.0"});
    if (type.element == "f32" && bytes.rarely(10))
      value = bytes.pick<const char *>({"0x7FC00000", "0x7F800000"});
  } else if (type.element == "f8E8M0FNU") {
    value = bytes.pick<const char *>({"1.0", "2.0", "0x00", "0xFF", "0xFE"});
  } else {
    value = bytes.pick<const char *>({"1.0", "0.5", "2.0", "0x07", "0x00"});
  }
  // Ascending offsets are the legal ones.
  if (type.shape.size() == 1 && count > 0 && count <= 16) {
    std::string list;
    int64_t end = 0;
    for (int64_t i = 0; i < count; ++i) {
      end += isInteger ? bytes.pick<int64_t>({16, 32, 0, 128, 5, -7}) : 0;
      list += (i ? ", " : "") + (isInteger ? std::to_string(end) : value);
    }
    value = "[" + list + "]";
  }
  std::string name = fresh();
  line(name + " = arith.constant dense<" + value + "> : " + type.str());
  scope.push_back({name, type});
  return name;
}

std::string FunctionWriter::operand(const FuzzType &wanted) {
  FuzzType type = spoiled(wanted);
  if (!bytes.rarely(4))
    if (const FuzzValue *value =
            find([&](const FuzzType &found) { return found == type; }))
      return value->name;
  return bytes.rarely(5) ? constant(type) : argument(type);
}

std::string FunctionWriter::index(int64_t value) {
  std::string name = fresh();
  line(name + " = arith.constant " + Twine(value) + " : index");
  return name;
}

std::string FunctionWriter::sizeValue(const FuzzValue &value, unsigned dim) {
  std::string constant = index(dim);
  std::string name = fresh();
  line(name + " = tensor.dim " + value.name + ", " + constant + " : " +
       value.type.str());
  return name;
}

std::string FunctionWriter::define(ArrayRef<FuzzType> types) {
  SmallVector<std::string> names;
  for (const FuzzType &type : types) {
    names.push_back(fresh());
    scope.push_back({names.back(), type});
  }
  return join(names, ", ");
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

std::string FunctionWriter::write() {
  unsigned numStatements = 1 + bytes.choose(7);
  for (unsigned i = 0; i < numStatements; ++i)
    statement();

  FuzzFunction function;
  function.name = "@f" + std::to_string(functions.size());
  SmallVector<std::string> parameters, returned, returnedTypes;
  for (const FuzzValue &value : arguments) {
    parameters.push_back(value.name + ": " + value.type.str());
    function.arguments.push_back(value.type);
  }
  // The last values, so that little of the function is dead.
  unsigned numResults = std::min<size_t>(scope.size(), 1 + bytes.choose(6));
  for (const FuzzValue &value :
       ArrayRef<FuzzValue>(scope).take_back(numResults)) {
    returned.push_back(value.name);
    returnedTypes.push_back(value.type.str());
    function.results.push_back(value.type);
  }
  if (!arguments.empty() && bytes.rarely(8)) {
    returned.push_back(arguments.front().name);
    returnedTypes.push_back(arguments.front().type.str());
    function.results.push_back(arguments.front().type);
  }
  std::string types = join(returnedTypes, ", ");
  std::string text =
      "func.func " + std::string(bytes.rarely(4) ? "private " : "") +
      function.name + "(" + join(parameters, ", ") + ") -> (" + types +
      ") {\n" + body + "  return " + join(returned, ", ") +
      (types.empty() ? "" : " : ") + types + "\n}\n";
  functions.push_back(std::move(function));
  return text;
}

} // namespace blockscale

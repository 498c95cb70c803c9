//===- NpyHeader.cpp - The header of a .npy file --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/NpyHeader.h"

#include <algorithm>

using namespace blockscale::runtime;

namespace {
struct TypeInfo {
  std::string_view descr;
  std::string_view name;
  int64_t width;
};
} // namespace

static const TypeInfo &getInfo(NpyType type) {
  // The types in the order of NpyType.
  static constexpr TypeInfo kTable[] = {
      {"|b1", "bool", 1},    {"|u1", "uint8", 1},   {"|i1", "int8", 1},
      {"<u2", "uint16", 2},  {"<i2", "int16", 2},   {"<u4", "uint32", 4},
      {"<i4", "int32", 4},   {"<u8", "uint64", 8},  {"<i8", "int64", 8},
      {"<f2", "float16", 2}, {"<f4", "float32", 4}, {"<f8", "float64", 8},
  };
  return kTable[static_cast<size_t>(type)];
}

std::string_view blockscale::runtime::getNpyTypeName(NpyType type) {
  return getInfo(type).name;
}

std::optional<NpyType> blockscale::runtime::findNpyType(std::string_view name) {
  for (auto type = NpyType::Bool; type <= NpyType::Float64;
       type = static_cast<NpyType>(static_cast<int>(type) + 1))
    if (getNpyTypeName(type) == name)
      return type;
  return std::nullopt;
}

std::string_view blockscale::runtime::getNpyDescr(NpyType type) {
  return getInfo(type).descr;
}

int64_t blockscale::runtime::getNpyByteWidth(NpyType type) {
  return getInfo(type).width;
}

std::string
blockscale::runtime::formatNpyShape(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Result<int64_t>
blockscale::runtime::computeNpyByteCount(NpyType type,
                                         const std::vector<int64_t> &shape) {
  if (shape.size() > kMaxNpyRank)
    return Status::failure("expected at most " + std::to_string(kMaxNpyRank) +
                           " dimensions, but got " +
                           std::to_string(shape.size()));
  int64_t bytes = getNpyByteWidth(type);
  bool isEmpty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return Status::failure("expected dimension " + std::to_string(i) +
                             " to be non-negative, but got " +
                             std::to_string(shape[i]));
    isEmpty |= shape[i] == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(shape[i], 1), &bytes))
      return Status::failure("expected an array of less than 2^63 bytes, but "
                             "got shape " +
                             formatNpyShape(shape) + " of " +
                             std::string(getNpyTypeName(type)));
  }
  return isEmpty ? 0 : bytes;
}

std::string
blockscale::runtime::formatNpyHeader(NpyType type,
                                     const std::vector<int64_t> &shape) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPreamble = 10;
  // Room to rewrite the first dimension with as many digits as it may need.
  constexpr size_t kGrowthDigits = 21;

  std::string text =
      "{'descr': '" + std::string(getNpyDescr(type)) +
      "', 'fortran_order': False, 'shape': " + formatNpyShape(shape) + ", }";
  if (!shape.empty())
    text.append(kGrowthDigits - std::to_string(shape[0]).size(), ' ');
  size_t unpadded = kPreamble + text.size() + 1;
  text.append(kAlignment - unpadded % kAlignment, ' ');
  text += '\n';

  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(text.size() & 0xff);
  preamble += static_cast<char>(text.size() >> 8);
  return preamble + text;
}

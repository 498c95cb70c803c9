//===- StorageType.cpp - How files of tensors store elements --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/StorageType.h"

using namespace blockscale::checkpoint;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

std::string blockscale::checkpoint::listStorageTypes(FileFormat format) {
  std::string names;
  for (const StorageType &type : kStorageTypes)
    if (isIn(format, type))
      names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

std::string
blockscale::checkpoint::formatShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

Result<uint64_t>
blockscale::checkpoint::computeBytes(FileFormat format, const StorageType &type,
                                     const std::vector<int64_t> &shape) {
  std::string name(type.name);
  if (!isIn(format, type))
    return Status::failure("expected a type of " +
                           std::string(getName(format)) + ", one of " +
                           listStorageTypes(format) + ", but got " + name);
  if (shape.size() > getMaxRank(format))
    return Status::failure(
        "expected a shape of at most " + std::to_string(getMaxRank(format)) +
        " dimensions, but got " + std::to_string(shape.size()));
  int64_t elements = 1;
  bool fits = true;
  for (int64_t size : shape) {
    if (size < 0)
      return Status::failure("expected sizes of the shape not to be negative, "
                             "but got " +
                             std::to_string(size));
    fits &= !__builtin_mul_overflow(elements, size, &elements);
  }
  // In GGUF blocks do not reach over rows.
  int64_t unit = elements;
  if (format == FileFormat::Gguf)
    unit = shape.empty() ? 1 : shape.back();
  if (fits && unit % type.blockElements != 0)
    return Status::failure(std::string("expected the number of elements") +
                           (format == FileFormat::Gguf ? " of a row" : "") +
                           " to be a multiple of " +
                           std::to_string(type.blockElements) + " for " + name +
                           ", but got " + std::to_string(unit));
  int64_t bytes = 0;
  if (!fits || __builtin_mul_overflow(elements / type.blockElements,
                                      type.blockBytes, &bytes))
    return Status::failure(
        "expected a shape of less than 2^63 bytes, but got " +
        formatShape(shape) + " of " + name);
  return static_cast<uint64_t>(bytes);
}

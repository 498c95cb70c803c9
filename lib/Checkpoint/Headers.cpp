//===- Headers.cpp - What the readers of headers share --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Headers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace blockscale::checkpoint;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

Status blockscale::checkpoint::invalid(const std::string &where,
                                       const std::string &message) {
  return Status::failure(where + ": " + message, ErrorKind::InvalidCheckpoint);
}

std::string blockscale::checkpoint::describeByte(uint64_t offset) {
  return "byte " + std::to_string(offset) + " of the file";
}

std::string blockscale::checkpoint::describeTensor(const std::string &name,
                                                   uint64_t offset) {
  return "tensor '" + name + "' (" + describeByte(offset) + ")";
}

Status blockscale::checkpoint::checkName(std::string_view what,
                                         std::string_view name) {
  size_t offset = name.find('\0');
  if (offset != std::string_view::npos)
    return Status::failure("expected " + std::string(what) +
                           " without NUL, but byte " + std::to_string(offset) +
                           " of it is one");
  if (!llvm::json::isUTF8(llvm::StringRef(name.data(), name.size()), &offset))
    return Status::failure("expected " + std::string(what) +
                           " to be UTF-8, but byte " + std::to_string(offset) +
                           " of it is not");
  return Status::success();
}

Result<uint64_t>
blockscale::checkpoint::orderTensors(std::vector<StoredTensor> &tensors,
                                     std::vector<uint64_t> &headerOffsets,
                                     uint64_t dataOffset, uint64_t alignment) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  // Tensors without bytes come before the one that begins where they are.
  auto getRange = [&](size_t i) {
    return std::make_tuple(tensors[i].offset, tensors[i].bytes, i);
  };
  llvm::sort(order,
             [&](size_t a, size_t b) { return getRange(a) < getRange(b); });

  std::vector<StoredTensor> sorted;
  sorted.reserve(tensors.size());
  uint64_t end = dataOffset;
  for (size_t i : order) {
    StoredTensor &tensor = tensors[i];
    uint64_t expected = llvm::alignTo(end, alignment);
    if (tensor.offset != expected) {
      std::string before =
          sorted.empty() ? "the header" : "'" + sorted.back().name + "'";
      return invalid(
          describeTensor(tensor.name, headerOffsets[i]),
          std::string("expected it to begin at byte ") +
              std::to_string(expected) + " of the file, behind " + before +
              ", but it begins at byte " + std::to_string(tensor.offset) +
              (tensor.offset < expected ? " and overlaps" : ", behind a hole"));
    }
    end = tensor.offset + tensor.bytes;
    sorted.push_back(std::move(tensor));
  }
  tensors = std::move(sorted);
  return end;
}

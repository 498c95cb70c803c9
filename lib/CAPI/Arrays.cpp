//===- Arrays.cpp - Executables and their arrays, from C ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"

using namespace mlir;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::capi {

ArrayRef<Slot> getSlots(const blockscale_executable *executable,
                        blockscale_role role) {
  if (executable && role == BLOCKSCALE_ARGUMENT)
    return executable->function->getSignature().arguments;
  if (executable && role == BLOCKSCALE_RESULT)
    return executable->function->getSignature().results;
  return {};
}

static Status checkStrides(const blockscale_array &array) {
  // Strides of no elements say nothing, nor does that of one element.
  if (!array.strides ||
      llvm::is_contained(ArrayRef(array.shape, array.rank), 0))
    return Status::success();
  int64_t stride = 1;
  for (size_t i = array.rank; i-- > 0;) {
    if (array.shape[i] > 1 && array.strides[i] != stride)
      return Status::failure("expected row-major strides, where that of "
                             "dimension " +
                             std::to_string(i) + " is " +
                             std::to_string(stride) + ", but got " +
                             std::to_string(array.strides[i]) +
                             "; copy the array into row-major order");
    stride *= array.shape[i];
  }
  return Status::success();
}

static Status readArray(const blockscale_array &array, ArrayView &view) {
  auto dtype = static_cast<unsigned>(array.dtype);
  if (dtype > BLOCKSCALE_FLOAT64)
    return Status::failure("expected a dtype, but got " +
                           std::to_string(dtype));
  if (array.rank > runtime::kMaxNpyRank)
    return Status::failure("expected a rank of at most " +
                           std::to_string(runtime::kMaxNpyRank) + ", but got " +
                           std::to_string(array.rank));
  if (array.rank && !array.shape)
    return Status::failure("expected a shape, but got null");
  view.type = static_cast<runtime::NpyType>(dtype);
  if (array.rank)
    view.shape.assign(array.shape, array.shape + array.rank);
  Result<int64_t> bytes = runtime::computeNpyByteCount(view.type, view.shape);
  if (!bytes.ok())
    return bytes.status();
  view.bytes = *bytes;
  view.data = static_cast<uint8_t *>(array.data);
  if (view.bytes && !view.data)
    return Status::failure("expected data, but got null");
  auto width = static_cast<uintptr_t>(runtime::getNpyByteWidth(view.type));
  if (reinterpret_cast<uintptr_t>(view.data) % width)
    return Status::failure(
        "expected an address that is a multiple of " + std::to_string(width) +
            ", but got " +
            std::to_string(reinterpret_cast<uintptr_t>(view.data)),
        runtime::ErrorKind::Misaligned);
  return checkStrides(array);
}

static std::string getName(const blockscale_executable &executable) {
  return "@" + executable.function->getSignature().name + ": ";
}

static std::string getName(blockscale_role role) {
  return role == BLOCKSCALE_ARGUMENT ? "argument" : "result";
}

Result<ArrayView> convert(const blockscale_executable &executable,
                          blockscale_role role, size_t number,
                          const blockscale_array &array, bool isRead) {
  ArrayView view;
  Status status = readArray(array, view);
  bool isChecked = isRead && executable.function->isInHostMemory();
  if (status.ok())
    status =
        checkArgument(getSlots(&executable, role)[number], view, isChecked);
  if (status.ok())
    return view;
  return Status::failure(getName(executable) + getName(role) + " " +
                             std::to_string(number) + ": " + status.message(),
                         status.kind());
}

Result<std::vector<ArrayView>>
convertAll(const blockscale_executable &executable, blockscale_role role,
           const blockscale_array *arrays, size_t count, bool isRead) {
  size_t expected = getSlots(&executable, role).size();
  if (count != expected)
    return Status::failure(getName(executable) + "expected " +
                           std::to_string(expected) + " " + getName(role) +
                           "s, but got " + std::to_string(count));
  if (count && !arrays)
    return Status::failure(getName(executable) + "expected " + getName(role) +
                           "s, but got null");
  std::vector<ArrayView> views;
  views.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Result<ArrayView> view = convert(executable, role, i, arrays[i], isRead);
    if (!view.ok())
      return view.status();
    views.push_back(std::move(*view));
  }
  return views;
}

} // namespace blockscale::capi

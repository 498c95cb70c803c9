//===- Arrays.h - Callers' arrays and their descriptors ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_ARRAYS_H
#define BLOCKSCALE_DRIVER_ARRAYS_H

#include "blockscale/Runtime/Npy.h"
#include "blockscale/Runtime/PlanResolution.h"

namespace blockscale {

/// A dense array in C order in storage form, in somebody's memory: the host's,
/// or of a GPU. A scalar has shape ().
struct ArrayView {
  runtime::NpyType type = runtime::NpyType::UInt8;
  std::vector<int64_t> shape;
  uint8_t *data = nullptr;
  /// The bytes of an array of that type and shape.
  size_t bytes = 0;
};

std::vector<ArrayView> getViews(std::vector<runtime::NpyArray> &arrays);

/// The arrays as launch plans take them.
std::vector<runtime::PlanArgument>
getPlanArguments(const std::vector<ArrayView> &arrays);

using Shapes = std::vector<std::vector<int64_t>>;

/// What `function` of `plan` gives for `arguments`; an error where they do not
/// suit it.
runtime::Result<Shapes>
getResultShapes(const runtime::LaunchPlan &plan,
                const runtime::PlanFunction &function,
                const std::vector<ArrayView> &arguments);

/// Whether there are as many results as shapes, with these.
runtime::Status checkResultShapes(const std::vector<ArrayView> &results,
                                  const Shapes &shapes);

/// A memref descriptor of any rank: base pointer, aligned pointer, offset,
/// sizes, strides, each 8 bytes.
class MemrefDescriptor {
public:
  MemrefDescriptor(void *data, const std::vector<int64_t> &shape);
  MemrefDescriptor(const MemrefDescriptor &) = delete;
  MemrefDescriptor(MemrefDescriptor &&other) noexcept
      : words(std::move(other.words)), address(words.data()) {}

  /// What a packed call takes: the address of the pointer to the descriptor.
  void *getArgument() { return static_cast<void *>(&address); }

private:
  std::vector<int64_t> words;
  void *address;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_ARRAYS_H

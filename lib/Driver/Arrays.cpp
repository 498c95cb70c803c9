//===- Arrays.cpp - Callers' arrays and their descriptors -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Arrays.h"

#include "llvm/ADT/STLExtras.h"

using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

std::vector<ArrayView> getViews(std::vector<runtime::NpyArray> &arrays) {
  std::vector<ArrayView> views;
  views.reserve(arrays.size());
  for (runtime::NpyArray &array : arrays)
    views.push_back(
        {array.type, array.shape, array.data.data(), array.data.size()});
  return views;
}

std::vector<runtime::PlanArgument>
getPlanArguments(const std::vector<ArrayView> &arrays) {
  std::vector<runtime::PlanArgument> arguments;
  arguments.reserve(arrays.size());
  for (const ArrayView &array : arrays)
    arguments.push_back({array.type, array.shape, array.data});
  return arguments;
}

Result<Shapes> getResultShapes(const runtime::LaunchPlan &plan,
                               const runtime::PlanFunction &function,
                               const std::vector<ArrayView> &arguments) {
  Result<runtime::ResolvedFunction> resolved =
      runtime::resolve(plan, function, getPlanArguments(arguments));
  if (!resolved.ok())
    return resolved.status();
  Shapes shapes;
  for (size_t i : function.getBuffers(runtime::PlanBuffer::Role::Result))
    shapes.push_back(resolved->buffers[i].shape);
  return shapes;
}

Status checkResultShapes(const std::vector<ArrayView> &results,
                         const Shapes &shapes) {
  if (results.size() != shapes.size())
    return Status::failure("expected " + std::to_string(shapes.size()) +
                           " results, but got " +
                           std::to_string(results.size()));
  for (size_t i = 0; i < shapes.size(); ++i)
    if (results[i].shape != shapes[i])
      return Status::failure("expected shape " +
                             runtime::formatNpyShape(shapes[i]) +
                             " for result " + std::to_string(i) + ", but got " +
                             runtime::formatNpyShape(results[i].shape));
  return Status::success();
}

MemrefDescriptor::MemrefDescriptor(void *data,
                                   const std::vector<int64_t> &shape) {
  words.resize(3 + 2 * shape.size());
  words[0] = words[1] = reinterpret_cast<int64_t>(data);
  words[2] = 0;
  llvm::copy(shape, words.begin() + 3);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    words[3 + shape.size() + i] = stride;
    stride *= shape[i];
  }
  address = words.data();
}

} // namespace blockscale

//===- SameValues.h - Values that are surely one ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_SAMEVALUES_H
#define BLOCKSCALE_TRANSFORMS_SAMEVALUES_H

#include "mlir/IR/Value.h"

#include <optional>

namespace blockscale {

/// The value that an op only moves the elements of, or null: what is behind a
/// cast, a slice, a reshape, a transpose, a layout, replicated scales, the
/// border of a kernel, or between a number and a tensor of it.
mlir::Value getMoved(mlir::Value value);

/// What `value` was before all that moved it.
mlir::Value skipMoves(mlir::Value value);

/// The number that each element of a constant is, if it is one.
std::optional<double> findNumber(mlir::Value value);

/// Whether two values are surely one, before casts: results of one op, or of
/// equal ops, which are not merged yet where origins are compared, of values
/// that are.
bool areSame(mlir::Value a, mlir::Value b);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_SAMEVALUES_H

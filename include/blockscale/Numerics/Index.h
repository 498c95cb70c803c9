//===- Index.h - Numbers that say where things lie --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of ScaleLayout.h are templates over the type of their indices:
// int64_t here, and in code generators a value that emits each operation. Such
// a type has
//
//   + - * / %      with an index or an int64_t on the right; / and % are those
//                  of numbers that are not negative
//   like(x, c)     the constant c as an index of the kind of x
//   minSigned(x, y), maxSigned(x, y), isLess(x, y)
//   select(condition, x, y)
//
// and may have a ceilDivide of its own. Argument-dependent lookup finds them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_INDEX_H
#define BLOCKSCALE_NUMERICS_INDEX_H

#include <cstdint>
#include <type_traits>

namespace blockscale::numerics {

/// T where it is a type of numbers. This keeps the functions below from values
/// that emit operations.
template <typename T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>, T>;

template <typename T>
constexpr IfNumber<T> like(T, std::common_type_t<T> constant) {
  return constant;
}
template <typename T>
constexpr IfNumber<T> select(bool condition, T x, std::common_type_t<T> y) {
  return condition ? x : y;
}
constexpr bool isLess(int64_t x, int64_t y) { return x < y; }
constexpr int64_t minSigned(int64_t x, int64_t y) { return x < y ? x : y; }
constexpr int64_t maxSigned(int64_t x, int64_t y) { return x > y ? x : y; }

/// x / divisor, rounded up.
template <typename Index>
constexpr Index ceilDivide(Index x, int64_t divisor) {
  return (x + (divisor - 1)) / divisor;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_INDEX_H

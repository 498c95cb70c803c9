//===- Lanes.h - Arithmetic on scalars and vectors alike --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emitters of codecs and recipes are written once, as formulas on `Lanes`:
// a scalar or a 1-D vector of integers or floats. An operator emits one op of
// the arith dialect, without fast-math flags.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_LANES_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <type_traits>
#include <utility>

namespace blockscale::emit {

class Lanes {
public:
  Lanes(mlir::ImplicitLocOpBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }
  mlir::ImplicitLocOpBuilder &getBuilder() const { return *builder; }

  mlir::Type getElementType() const;
  bool isFloat() const;
  /// Number of lanes, 1 for a scalar.
  int64_t getCount() const;
  /// The type of these lanes with another element type.
  mlir::Type getTypeWith(mlir::Type element) const;

  /// A constant in every lane. Integers keep the low bits of `constant`.
  template <typename T>
  Lanes like(T constant) const {
    if constexpr (std::is_floating_point_v<T>)
      return floatLike(constant);
    else
      return isFloat() ? floatLike(static_cast<double>(constant))
                       : integerLike(static_cast<uint64_t>(constant));
  }

private:
  Lanes floatLike(double constant) const;
  Lanes integerLike(uint64_t constant) const;

  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;
};

//===----------------------------------------------------------------------===//
// Operators: `+ - * /` by the element type, `%` on integers. Shifts, divisions
// and remainders are those of numbers without sign.
//===----------------------------------------------------------------------===//

Lanes operator+(Lanes a, Lanes b);
Lanes operator-(Lanes a, Lanes b);
Lanes operator*(Lanes a, Lanes b);
Lanes operator/(Lanes a, Lanes b);
Lanes operator%(Lanes a, Lanes b);
Lanes operator&(Lanes a, Lanes b);
Lanes operator|(Lanes a, Lanes b);
Lanes operator^(Lanes a, Lanes b);
Lanes operator<<(Lanes a, Lanes b);
Lanes operator>>(Lanes a, Lanes b);

#define BLOCKSCALE_LANES_CONSTANT_OPERATOR(op)                                 \
  template <typename T>                                                        \
  std::enable_if_t<std::is_arithmetic_v<T>, Lanes> operator op(Lanes a, T b) { \
    return a op a.like(b);                                                     \
  }
BLOCKSCALE_LANES_CONSTANT_OPERATOR(+)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(-)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(*)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(/)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(%)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(&)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(|)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(<<)
BLOCKSCALE_LANES_CONSTANT_OPERATOR(>>)
#undef BLOCKSCALE_LANES_CONSTANT_OPERATOR

/// A constant in every lane of a value of the type of `shape`, as formulas of
/// Numerics write it.
template <typename T>
Lanes like(Lanes shape, T constant) {
  return shape.like(constant);
}

/// a * b + c where a * b is exact, so that a target may fuse the two.
Lanes addExactProduct(Lanes a, Lanes b, Lanes c);

//===----------------------------------------------------------------------===//
// Comparisons and selection
//===----------------------------------------------------------------------===//

Lanes compare(mlir::arith::CmpIPredicate predicate, Lanes a, Lanes b);
Lanes compare(mlir::arith::CmpFPredicate predicate, Lanes a, Lanes b);

template <typename Predicate, typename T,
          std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Lanes compare(Predicate predicate, Lanes a, T b) {
  return compare(predicate, a, a.like(b));
}

/// a < b of floats that are not NaN and of integers with sign.
Lanes isLess(Lanes a, Lanes b);

/// Unordered with itself.
Lanes isNan(Lanes x);

Lanes select(Lanes condition, Lanes a, Lanes b);

Lanes minUnsigned(Lanes a, Lanes b);
Lanes maxUnsigned(Lanes a, Lanes b);
Lanes minSigned(Lanes a, Lanes b);
Lanes maxSigned(Lanes a, Lanes b);

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// The same bits as integers or floats of the same width.
Lanes toBits(Lanes x);
Lanes toF32(Lanes bits);

/// i32 to f32; exact for the small numbers it is used for.
Lanes convertToF32(Lanes x);

/// f32 to i32, towards zero; of numbers that i32 holds.
Lanes truncateToI32(Lanes x);

/// f32 to f64, exact, and f32 or f64 to the nearest f32.
Lanes extendToF64(Lanes x);
Lanes roundToF32(Lanes x);

/// The low `width` bits, and zero extension to `width` bits.
Lanes truncate(Lanes x, unsigned width);
Lanes extend(Lanes x, unsigned width);

/// `scalar` in every lane of a value of the shape of `shape`.
Lanes broadcast(Lanes scalar, Lanes shape);

//===----------------------------------------------------------------------===//
// Lane movement, on vectors only
//===----------------------------------------------------------------------===//

/// The same bits as a vector of elements of another width, little-endian.
Lanes bitcastLanes(Lanes x, mlir::Type element);

/// Lanes 0, 2, .. and lanes 1, 3, ..
std::pair<Lanes, Lanes> deinterleave(Lanes x);
Lanes interleave(Lanes even, Lanes odd);

/// Vector i of the result has the lanes i, i + count, i + 2 * count, ..; the
/// count is a power of two.
llvm::SmallVector<Lanes> splitByResidue(Lanes x, int64_t count);

/// Every lane `times` times: 0, 0, .., 1, 1, ..
Lanes repeatLanes(Lanes x, int64_t times);

/// `count` lanes from `first` on, and the lanes of all `parts`.
Lanes slice(Lanes x, int64_t first, int64_t count);
Lanes concatenate(llvm::ArrayRef<Lanes> parts);

/// The first and the second half of the lanes.
std::pair<Lanes, Lanes> splitHalves(Lanes x);

/// Lane 0.
Lanes getFirstLane(Lanes x);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_LANES_H

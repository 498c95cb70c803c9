//===- Expression.h - Integer expressions of a plan -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes in a launch plan are expressions of dims, with this grammar:
//
//   expression = term { ( "+" | "-" ) term }
//   term       = factor { "*" factor }
//   factor     = INTEGER | DIM | "(" expression ")"
//              | FUNCTION "(" expression "," expression ")"
//   FUNCTION   = "ceildiv" | "floordiv" | "mod" | "min" | "max"
//
// Values are signed and have 64 bits; what does not fit is an error, as is a
// divisor below 1. floordiv rounds down, ceildiv up, and mod is not negative.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_EXPRESSION_H
#define BLOCKSCALE_RUNTIME_EXPRESSION_H

#include "blockscale/Runtime/Result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

/// The numbers that names stand for. Untrusted text may have any count of
/// names, so that each must be found without a look at all others.
using NameNumbers = std::map<std::string, size_t, std::less<>>;

/// The names by rising number as a list, "a, b, c".
std::string joinNames(const NameNumbers &numbers);

class Expression {
public:
  enum class Op : uint8_t {
    Constant,
    Dim,
    Add,
    Sub,
    Mul,
    CeilDiv,
    FloorDiv,
    Mod,
    Min,
    Max,
  };

  Expression(int64_t constant = 0);
  /// The dim of this number and name.
  static Expression dim(size_t number, std::string name);
  /// `op`, which has operands, of `a` and `b`. Constants are folded, and what
  /// adds nothing or multiplies by one is left out.
  static Expression make(Op op, const Expression &a, const Expression &b);

  /// Parses `text`, whose dims are those of `dims`.
  static Result<Expression> parse(std::string_view text,
                                  const NameNumbers &dims);

  /// Its value where dim i is `values[i]`. A failure names the expression.
  Result<int64_t> evaluate(const std::vector<int64_t> &values) const;

  /// The text that was parsed, or one that is parsed as this expression unless
  /// it is a negative constant, which the grammar has not.
  const std::string &getText() const { return text; }
  /// The value, where the expression is a number and nothing else.
  std::optional<int64_t> getConstant() const;
  /// The number of the dim, where the expression is one and nothing else.
  std::optional<size_t> getDim() const;
  /// The number that is divided, where the expression is the remainder of a
  /// division, and nothing otherwise.
  std::optional<Expression> getDividend() const;
  /// Whether it is 0 or more for all values of its dims, where a dim is so if
  /// `isNotNegative` says so of its number.
  bool
  isNotNegative(const std::function<bool(size_t number)> &isNotNegative) const;
  /// The largest number of a dim that it has, if any.
  std::optional<size_t> getLargestDim() const;

  /// An element of the postfix form, in which operands come before what
  /// combines them.
  struct Node {
    Op op;
    /// The value of a constant, or the number of a dim.
    int64_t value = 0;
  };

private:
  /// How tightly the parts of a text hang together.
  enum class Precedence { Sum, Product, Atom };

  /// The text as an operand, in parentheses where it binds less than `least`.
  std::string getText(Precedence least) const;

  std::vector<Node> nodes;
  std::string text;
};

/// The product of `factors`, in which the constant ones are one number at the
/// end.
Expression multiply(const std::vector<Expression> &factors);

/// Whether `name` can name a dim: a C identifier that is no function.
bool isDimName(std::string_view name);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_EXPRESSION_H

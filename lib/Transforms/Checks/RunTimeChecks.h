//===- RunTimeChecks.h - Rules that only run time decides -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assertions (`cf.assert`) of the rules of ops about sizes and indices. What
// types or the arithmetic of sizes prove is not asserted.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_CHECKS_RUNTIMECHECKS_H
#define BLOCKSCALE_LIB_TRANSFORMS_CHECKS_RUNTIMECHECKS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace blockscale {

/// What stands for sizes and counts that 64 bits do not hold.
inline constexpr int64_t kLargestIndex = std::numeric_limits<int64_t>::max();

/// What is expected of the steps of loops: one of 0 would never end.
inline constexpr llvm::StringLiteral kStepRule = "a step to be at least 1";

/// The name of `op` and, where it is known, its place in the source, as
/// "linalg.generic at m.mlir:3:8"; a function by its name, "@f".
std::string describe(mlir::Operation *op);

/// Whether the op computes each element of its results of the elements at the
/// same place of its operands, which then have the same sizes. A select by one
/// condition takes one of two tensors as it is, whatever size that has.
bool isElementwise(mlir::Operation *op);

/// The op that ops for `op` stand before: itself, or what it is inside of if
/// nothing else may stand there.
mlir::Operation *findPlaceBefore(mlir::Operation *op);

/// Asserts the rules of ops of a function. On a device the host asserts what it
/// knows before anything runs; what only the device knows is asserted by the
/// kernel that reads it, which then goes on, so that the caller makes the op
/// right for numbers that break the rule.
class RunTimeChecks {
public:
  RunTimeChecks(mlir::func::FuncOp function, bool isDevice)
      : function(function), isDevice(isDevice), builder(function.getContext()) {
  }

  /// The op whose rules follow. They are asserted before `place`, which is the
  /// op or one around it.
  void begin(mlir::Operation *op, mlir::Operation *place);

  /// The size of a dimension of a tensor or memref, as far back as it is known:
  /// an argument's dimension rather than that of what is computed from it. Null
  /// where memory will not tell it; what is computed from null is null, and
  /// null is not checked.
  mlir::OpFoldResult getSize(mlir::Value shaped, int64_t dim);

  /// Numbers of the host before the op.
  mlir::OpFoldResult add(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult sub(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult mul(mlir::OpFoldResult a, mlir::OpFoldResult b);
  /// The sum or the product of two numbers that are not negative, or the
  /// largest index where it is larger than that. Two constants have a product
  /// of 64 bits, and the arithmetic of a device's host refuses larger numbers.
  mlir::OpFoldResult addBounded(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult mulBounded(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult floorDiv(mlir::OpFoldResult a, int64_t b);
  mlir::OpFoldResult min(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult max(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult constant(int64_t number);
  /// `a` where `condition` is 0, `b` elsewhere.
  mlir::OpFoldResult chooseIfZero(mlir::OpFoldResult condition,
                                  mlir::OpFoldResult a, mlir::OpFoldResult b);

  /// Whether a relation of two numbers is proved to hold.
  static bool isProved(mlir::OpFoldResult left,
                       mlir::arith::CmpIPredicate relation,
                       mlir::OpFoldResult right);

  /// Whether the host knows `number` before anything runs.
  static bool isKnownToHost(mlir::OpFoldResult number);

  bool isOfDevice() const { return isDevice; }

  /// Whether only a kernel of a device knows `number`.
  bool isForDevice(mlir::OpFoldResult number) const {
    return isDevice && !isKnownToHost(number);
  }

  /// Asserts a relation of `found` to `bound` that is not proved. `rule` is
  /// what is expected.
  void require(mlir::OpFoldResult found, mlir::arith::CmpIPredicate relation,
               mlir::OpFoldResult bound, const llvm::Twine &rule);

  /// The same where the op stands, also of what only a kernel of a device
  /// knows.
  void requireWhereRead(mlir::OpFoldResult found,
                        mlir::arith::CmpIPredicate relation,
                        mlir::OpFoldResult bound, const llvm::Twine &rule);

  /// Requires that `found` is `bound`, which is named where it is not a
  /// constant.
  void requireEqual(mlir::OpFoldResult found, const llvm::Twine &name,
                    mlir::OpFoldResult bound, const llvm::Twine &boundName);

  /// Requires that `found` is `bound` or more, or less. Of a constant and
  /// another number it is the other one that is found.
  void requireAtLeast(mlir::OpFoldResult found, const llvm::Twine &name,
                      mlir::OpFoldResult bound, const llvm::Twine &boundName);
  void requireAtMost(mlir::OpFoldResult found, const llvm::Twine &name,
                     mlir::OpFoldResult bound, const llvm::Twine &boundName);

  /// A number that is -1 where two signed integers of `width` bits have no
  /// quotient of such a type, as the smallest number and -1; null if they
  /// always have one. It is `divisor` or 1.
  mlir::Value findOverflow(mlir::Value number, mlir::Value divisor,
                           unsigned width);

  /// Moves assertions of the function's first block up, as far as what they
  /// compare is known, so that they come before anything is written.
  void hoist();

private:
  bool isForHost(mlir::OpFoldResult found, mlir::OpFoldResult bound) const;
  mlir::OpFoldResult createSize(mlir::Value shaped, int64_t dim);
  mlir::OpFoldResult resolve(mlir::OpFoldResult size);
  template <typename OpTy>
  mlir::OpFoldResult compute(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult chooseLargest(mlir::Value isLarger,
                                   mlir::OpFoldResult number);
  mlir::Value getValue(mlir::OpFoldResult number);

  mlir::func::FuncOp function;
  bool isDevice;
  mlir::OpBuilder builder;
  mlir::Operation *op = nullptr;
  /// Whether assertions stand in the body of a linalg op.
  bool isInBody = false;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::OpFoldResult> sizes;
  llvm::SmallVector<mlir::cf::AssertOp> asserts;
  /// What the first block of the function has asserted, which holds from there
  /// on: a relation of two numbers.
  llvm::DenseSet<std::tuple<void *, unsigned, void *>> known;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_CHECKS_RUNTIMECHECKS_H

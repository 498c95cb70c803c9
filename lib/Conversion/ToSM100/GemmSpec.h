//===- GemmSpec.h - What a kernel of matrix products computes ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSPEC_H

#include "GemmFormat.h"
#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale::sm100 {

/// How many values a global scale has, and how the kernel is given it.
enum class FactorForm { Absent, Scalar, Single, EachMatrix, EachRow };

/// All that the code of a kernel depends on.
struct GemmSpec {
  GemmFormat format;
  GemmScheduleAttr schedule;
  mlir::Type result;
  /// Of the bias; null where absent.
  mlir::Type bias = {};
  FactorForm factorA = FactorForm::Absent;
  FactorForm factorB = FactorForm::Absent;
  bool scalesAfterRounding = false;
  /// Whether K can be 0, so that nothing is in the accumulator.
  bool mayBeEmptySum = false;

  /// The kernel's; equal specs have equal names.
  std::string getName() const;
};

/// What a kernel is given. Sizes are i32, absent operands null.
struct GemmArguments {
  /// Of the kernel's parameters: maps, scales, the result and what it is made
  /// of, sizes.
  GemmArguments(const GemmSpec &spec, mlir::ImplicitLocOpBuilder &b,
                mlir::ValueRange values);
  /// The result and what it is made of.
  GemmArguments(const GemmSpec &spec, mlir::ValueRange values);

  mlir::Value mapA, mapB;
  mlir::Value scaleA, scaleB;
  mlir::Value result;
  mlir::Value factorA, factorB;
  mlir::Value bias;
  /// M, N and K, and the number of matrices.
  mlir::Value rows, cols, depth, matrices;
};

} // namespace blockscale::sm100

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSPEC_H

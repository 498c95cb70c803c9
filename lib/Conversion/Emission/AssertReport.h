//===- AssertReport.h - What a broken assertion reports ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTREPORT_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTREPORT_H

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace blockscale::emit {

/// What is reported where an assertion does not hold. It is the same on a CPU
/// and in kernels.
class AssertReport {
public:
  explicit AssertReport(mlir::cf::AssertOp op);

  /// What is expected: "tensor.extract: expected index 0 to be below 3".
  llvm::StringRef getText() const { return text; }

  /// Emit what is found, and what it is compared with, as i64: the numbers of
  /// the comparison, or of the remainder that is compared. Both are 0 where no
  /// integers of at most 64 bits are compared.
  mlir::Value emitFound(mlir::ImplicitLocOpBuilder &b) const;
  mlir::Value emitExpected(mlir::ImplicitLocOpBuilder &b) const;

private:
  mlir::Value emitNumber(mlir::ImplicitLocOpBuilder &b,
                         mlir::Value number) const;

  std::string text;
  /// Both are null where there are none.
  mlir::Value found, expected;
  bool isSigned = true;
};

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTREPORT_H

//===- ConstantNumber.h - Constants that values are -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_CONSTANTNUMBER_H
#define BLOCKSCALE_LIB_IR_CONSTANTNUMBER_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"

namespace blockscale {

/// The float that `value`, or each element of it, is; nullopt if it is null or
/// no such constant.
std::optional<llvm::APFloat> getConstantNumber(mlir::Value value);

/// Whether `value` is a constant whose every element is exactly 1.0. Null is
/// not.
bool isConstantOne(mlir::Value value);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_CONSTANTNUMBER_H

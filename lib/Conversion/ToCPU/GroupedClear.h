//===- GroupedClear.h - Zeros where no group is -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDCLEAR_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDCLEAR_H

#include "GroupedForm.h"

namespace blockscale::cpu {

using namespace emit;

/// The data and scales of elements that no group covers, and the tiles behind
/// those of the last group, for some rows at a time.
class GroupedClear {
public:
  GroupedClear(mlir::ImplicitLocOpBuilder &b, const GroupedForm &form,
               mlir::Value data, mlir::Value scale, int64_t codesPerByte)
      : b(b), form(form), data(data), scale(scale), codesPerByte(codesPerByte) {
  }

  /// The number of items, at least 1.
  mlir::Value getItemCount() const;

  void emitItem(mlir::Value item) const;

private:
  mlir::ImplicitLocOpBuilder &b;
  const GroupedForm &form;
  mlir::Value data, scale;
  int64_t codesPerByte;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDCLEAR_H

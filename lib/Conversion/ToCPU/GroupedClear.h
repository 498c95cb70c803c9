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
  GroupedClear(const QuantizeSpec &spec, const GroupedForm &form)
      : b(spec.b), form(form), data(spec.data), scale(spec.scale),
        codesPerByte(spec.format.getCodesPerByte()) {}

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

//===- ConstantBytes.h - Raw bytes of tensor constants ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_CONSTANTBYTES_H
#define BLOCKSCALE_IR_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace blockscale {

/// The bytes of dense elements, which are one element where `isSplat`, or of a
/// resource. Elements narrower than a byte take one. Nothing where `constant`
/// is null or of another kind.
struct ConstantBytes {
  explicit ConstantBytes(mlir::Attribute constant);

  llvm::ArrayRef<char> bytes;
  bool isSplat = false;
};

/// `bytes` as the elements of `type`, in a resource where `original` is one.
mlir::TypedAttr getConstantOf(llvm::ArrayRef<uint8_t> bytes,
                              mlir::RankedTensorType type,
                              mlir::Attribute original);

} // namespace blockscale

#endif // BLOCKSCALE_IR_CONSTANTBYTES_H

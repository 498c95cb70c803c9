//===- ConstantTensor.h - Elements of constants, read and made --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTTENSOR_H
#define BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTTENSOR_H

#include "blockscale/IR/ConstantBytes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace blockscale {

/// The elements of a constant tensor or scalar.
class ConstantTensor {
public:
  /// The elements of `value`; nothing where it is no constant with all its
  /// elements.
  static std::optional<ConstantTensor> match(mlir::Value value);

  /// The elements of an optional operand, which is null where it is absent:
  /// success and nothing then, failure where it is no such constant.
  static mlir::FailureOr<std::optional<ConstantTensor>>
  matchOptional(mlir::Value value);

  int64_t getCount() const { return count; }

  /// Element `index` of f32, bf16 or f16 elements.
  float getFloat(int64_t index) const;
  /// Elements [first, first + floats.size()).
  void getFloats(int64_t first, llvm::MutableArrayRef<float> floats) const;

  /// Element `index` as raw bits: T has the width of the elements.
  template <typename T>
  T getRaw(int64_t index) const {
    T raw;
    std::memcpy(&raw, bytes.data() + (isSplat ? 0 : index) * sizeof(T),
                sizeof(T));
    return raw;
  }

private:
  ConstantTensor(mlir::Attribute constant, mlir::Type type);

  llvm::ArrayRef<char> bytes;
  bool isSplat = false;
  /// The type of the elements: f32, bf16, f16 or one of bytes.
  mlir::Type element;
  int64_t count = 0;
  /// What `bytes` shows of a scalar.
  float scalar = 0.0f;
};

/// Elements of a constant in the making.
class ConstantBuilder {
public:
  explicit ConstantBuilder(mlir::RankedTensorType type);

  /// The elements as T, which has their width.
  template <typename T>
  llvm::MutableArrayRef<T> getElements() {
    return {reinterpret_cast<T *>(blob.getMutableData().data()),
            blob.getMutableData().size() / sizeof(T)};
  }

  /// A resource where there are many elements, which no IR dump should print.
  mlir::TypedAttr takeAttribute();

private:
  mlir::RankedTensorType type;
  mlir::AsmResourceBlob blob;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTTENSOR_H

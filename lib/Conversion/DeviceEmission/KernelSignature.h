//===- KernelSignature.h - The operands of a kernel -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELSIGNATURE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELSIGNATURE_H

#include "Emission/Lanes.h"

#include <initializer_list>

namespace blockscale {

/// The operands that a kernel takes, in their order. Each operand has a slot,
/// which names the variable that holds it. In host code the variable holds a
/// buffer, a size or a scalar, which the launch passes; while the kernel's body
/// is emitted, it holds the parameter that this value arrives in. So one list
/// serves both sides, and each side reads operands by the names of variables:
///
///   Value x = ..., count = ...;
///   site.launch("f", shape, {{x, 16}, {count}}, [&](KernelBuilder &b) {
///     // x is a pointer here, and count an i64.
///   });
class KernelSignature {
public:
  struct Slot {
    /// `alignment` is what the address of a buffer is a multiple of, in bytes.
    Slot(mlir::Value &variable, int64_t alignment = 0)
        : value(&variable), alignment(alignment) {}
    Slot(emit::Lanes &number) : number(&number) {}

    mlir::Value get() const { return value ? *value : *number; }
    void set(mlir::ImplicitLocOpBuilder &b, mlir::Value held) const;

    /// The variable, of a buffer or any other operand, or of a number.
    mlir::Value *value = nullptr;
    emit::Lanes *number = nullptr;
    int64_t alignment = 0;
  };

  KernelSignature() = default;
  KernelSignature(std::initializer_list<Slot> slots) {
    for (const Slot &slot : slots)
      add(slot);
  }

  /// Adds a slot, unless its variable holds nothing: the operand is absent
  /// then, on both sides.
  void add(Slot slot) {
    if (slot.get())
      slots.push_back(slot);
  }
  void add(mlir::Value &variable, int64_t alignment = 0) {
    add(Slot(variable, alignment));
  }

  llvm::ArrayRef<Slot> getSlots() const { return slots; }
  size_t size() const { return slots.size(); }

  /// Reads the values of all variables, or gives them those in `values`.
  llvm::SmallVector<mlir::Value> getValues() const;
  void setValues(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange values) const;

private:
  llvm::SmallVector<Slot> slots;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELSIGNATURE_H

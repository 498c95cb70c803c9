//===- ElementSource.h - Where the elements of x come from ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reads x from memory, or it reads what elementwise ops of its body
// compute x from, at the same places, and evaluates them in registers. Values
// are rounded as a store of x would round them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ELEMENTSOURCE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ELEMENTSOURCE_H

#include "KernelBuilder.h"
#include "LaunchSite.h"
#include "blockscale/Analysis/Producers.h"

namespace blockscale {

/// The elements of a row as a thread holds them: 32-bit words, each of two bf16
/// or f16 or of one f32.
using ElementWords = llvm::SmallVector<mlir::Value>;

class ElementSource {
public:
  struct Input {
    /// The value that the input is in the body of the kernel.
    mlir::Value logical;
    Spread spread;
    /// The type of its elements, bf16, f16 or f32, and whether it is a scalar
    /// rather than memory.
    mlir::Type element;
    bool byValue;

    /// Whether linalg ops of the kernel compute it, a value of each row, which
    /// is no operand of the kernel.
    bool isMade() const { return logical.getDefiningOp() != nullptr; }
    int64_t getBytes() const { return element.getIntOrFloatBitWidth() / 8; }
    /// Bytes of an access that `xBytes` of x are loaded with, at most `widest`.
    int64_t getAccessBytes(mlir::Type x, int64_t xBytes, int64_t widest) const {
      int64_t elements = xBytes * 8 / x.getIntOrFloatBitWidth();
      return isAlongRows() ? std::min(elements * getBytes(), widest)
                           : getBytes();
    }
    /// Whether it lies along rows, as x does.
    bool isAlongRows() const {
      return spread == Spread::Elements || spread == Spread::Columns;
    }
  };

  /// The source of `x`, an argument of a kernel or what its elementwise ops
  /// compute.
  explicit ElementSource(mlir::Value x);

  /// The results of elementwise ops that the kernel yields: x, or values that x
  /// is computed from.
  llvm::ArrayRef<mlir::Value> getKept() const { return kept; }

  /// Whether x is in memory: it is the only input then.
  bool isMemory() const { return ops.empty(); }
  llvm::ArrayRef<Input> getInputs() const { return inputs; }
  mlir::Type getElementType() const { return element; }
  /// An input that has the sizes of x.
  const Input &getSameSized() const;
  /// The elementwise ops that compute it, in an order in which they can be.
  llvm::ArrayRef<mlir::linalg::LinalgOp> getOps() const { return ops; }
  /// Whether all inputs are arguments of the kernel.
  bool readsArguments() const;
  /// About how many bytes of memory an element is read from, and how many
  /// instructions compute it.
  int64_t getBytes() const;
  int64_t countOps() const;

  /// The part of a kernel's name that says what x is made by: empty for memory.
  std::string getName() const;

  /// The words of elements, computed from the words of each input: those of
  /// inputs along rows have as many elements; other inputs have a word, the
  /// same for all.
  struct Elements {
    ElementWords x;
    llvm::SmallVector<ElementWords> kept;
  };
  Elements evaluate(KernelBuilder &b, llvm::ArrayRef<ElementWords> words) const;

  /// Asserts that inputs have the sizes of x.
  void emitSizeAsserts(LaunchSite &site) const;

  /// The operands of a kernel, on the host: inputs, and then the buffers that
  /// computed values are kept in.
  llvm::SmallVector<mlir::Value> getOperands(const LaunchSite &site) const;
  /// Adds their slots. The kernel reads `xBytes` of x, or would, in an access
  /// of at most `widest`, and keeps as many elements with one.
  void addSlots(KernelSignature &signature,
                llvm::MutableArrayRef<mlir::Value> operands, int64_t xBytes,
                int64_t widest) const;

  int64_t getKeptAccessBytes(mlir::Value logical, int64_t xBytes,
                             int64_t widest) const;

  /// A value that is the same for all elements of a row, or for all, as a word:
  /// number `index`, an i64 or index, of `argument`.
  ElementWords loadOne(KernelBuilder &b, const Input &input,
                       mlir::Value argument, mlir::Value index) const;

private:
  void visit(mlir::Value value);

  mlir::Value x;
  mlir::Type element;
  llvm::SmallVector<mlir::linalg::LinalgOp> ops;
  llvm::SmallVector<Input> inputs;
  llvm::SmallVector<mlir::Value> kept;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ELEMENTSOURCE_H

//===- DevicePlaces.h - Parts whose begin the device knows ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may write to a part of a buffer that begins where an element of
// memory says, as an append to a cache does at a position on the device:
//
//   %p = memref.load %position[] {blockscale.place} : memref<i64>
//   %i = arith.index_cast %p {blockscale.place} : i64 to index
//   %part = memref.subview %cache[%i, 0] [1, 64] [1, 1] {blockscale.place}
//   blockscale.kernel ... outs(%part)
//
// The host cannot compute the address. So a launch passes the address of the
// buffer, and that of the position, and the kernel moves the pointer. A plain
// kernel, whose threads access elements by indices, computes the numbers alone.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEPLACES_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEPLACES_H

#include "KernelBuilder.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace blockscale {

/// The attribute of ops before a kernel that compute where parts of buffers
/// begin and assert rules of these numbers, and of the parts.
inline constexpr llvm::StringLiteral kPlaceAttrName = "blockscale.place";

/// The marked ops before an op, which compute numbers in its kernel.
class PlaceNumbers {
public:
  /// Takes the marked ops before `op`, none of which is a part.
  explicit PlaceNumbers(mlir::Operation *op);
  /// Erases them, but for those that an op still uses for which no kernel could
  /// be made.
  ~PlaceNumbers();
  PlaceNumbers(const PlaceNumbers &) = delete;
  PlaceNumbers &operator=(const PlaceNumbers &) = delete;

  bool isEmpty() const { return ops.empty(); }
  /// What a launch passes for them: buffers and numbers of the host.
  llvm::ArrayRef<mlir::Value> getOperands() const {
    return operands.getArrayRef();
  }
  /// Whether a kernel can take the operands. Emits an error at `op` where not.
  llvm::LogicalResult verify(mlir::Operation *op) const;

  /// Emits the ops in a kernel whose blocks have `threads`, all of which come
  /// here. `given` are the parameters for getOperands. `use` emits what takes
  /// the numbers, to which it is given a mapping.
  void emit(KernelBuilder &b, int64_t threads, mlir::ValueRange given,
            llvm::function_ref<void(mlir::IRMapping &numbers)> use) const;

private:
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Value> operands;
};

/// The parts that a kernel has at such places.
class DevicePlaces {
public:
  /// Takes the marked ops before `kernel`, whose operands become the parts at
  /// the begin of their buffers.
  explicit DevicePlaces(KernelOp kernel);

  /// Whether the parts can be moved to in a kernel. Emits an error where not.
  llvm::LogicalResult verify() const;

  bool isEmpty() const { return parts.empty(); }

  /// Whether `memref` is a part whose begin is a multiple of `alignment` bytes
  /// wherever it is. Emits an error where it is not a multiple.
  llvm::LogicalResult verifyAlignment(mlir::Value memref, int64_t alignment);
  /// Whether one was not.
  bool hasFailed() const { return isFailed; }

  /// What a launch passes beside the kernel's own operands: buffers and
  /// numbers of the host.
  llvm::ArrayRef<mlir::Value> getOperands() const {
    return numbers->getOperands();
  }

  /// Moves the pointers in `arguments`, of which each is that of a buffer or
  /// number in `buffers`, to the parts. `given` are the parameters for
  /// getOperands. A block has `threads`.
  void move(KernelBuilder &b, int64_t threads, mlir::ValueRange buffers,
            mlir::ValueRange given,
            llvm::MutableArrayRef<mlir::Value> arguments) const;

private:
  /// Elements that a part begins behind its buffer: the sum of products.
  struct Part {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> steps;
    int64_t elementBytes;
  };

  void addPart(mlir::memref::SubViewOp subview);

  KernelOp kernel;
  /// By the part at the begin of its buffer.
  llvm::MapVector<mlir::Value, Part> parts;
  /// What computes where they begin.
  std::optional<PlaceNumbers> numbers;
  bool isFailed = false;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEPLACES_H

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
// buffer, and that of the position, and the kernel moves the pointer.
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

/// The parts that a kernel has at such places.
class DevicePlaces {
public:
  /// Takes the marked ops before `kernel`, whose operands become the parts at
  /// the begin of their buffers.
  explicit DevicePlaces(KernelOp kernel);
  /// Erases the marked ops.
  ~DevicePlaces();
  DevicePlaces(const DevicePlaces &) = delete;
  DevicePlaces &operator=(const DevicePlaces &) = delete;

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
    return operands.getArrayRef();
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
  llvm::SmallVector<mlir::Operation *> ops;
  /// By the part at the begin of its buffer.
  llvm::MapVector<mlir::Value, Part> parts;
  llvm::SetVector<mlir::Value> operands;
  bool isFailed = false;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEPLACES_H

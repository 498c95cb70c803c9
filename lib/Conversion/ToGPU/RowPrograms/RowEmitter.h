//===- RowEmitter.h - Ops of a row program in registers ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWEMITTER_H

#include "DeviceEmission/WarpBuffer.h"
#include "ToGPU/Rows/RowLayout.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace blockscale {

/// Emits the ops of a row program on the fragment of a thread. All threads take
/// part in reductions; those without a row or a fragment have the values of
/// others, which nothing uses.
class RowEmitter {
public:
  /// The number of elements of the vectors that ops are computed on.
  static constexpr int64_t kVectorElements = 8;

  /// `arguments` maps tensors and scalars from outside of the program to
  /// pointers and values. `rows` is the number of rows of a matrix.
  RowEmitter(KernelBuilder &b, const RowLayout &layout, int64_t accessBytes,
             llvm::ArrayRef<RowOp> ops, const mlir::IRMapping &arguments,
             const RowPosition &position, mlir::Value rows);

  /// Lets full warps load fragments of `stagedBytes` through shared memory.
  void useBuffer(WarpBuffer &buffer, mlir::Value isFullWarp,
                 int64_t stagedBytes) {
    this->buffer = &buffer;
    this->isFullWarp = isFullWarp;
    this->stagedBytes = stagedBytes;
  }

  /// Computes all that has one value for each row. If there is one pass, its
  /// elements are in registers from here on.
  void emitRows();

  /// Moves to a pass, an i32 number. There are no others by default.
  void setPass(mlir::Value pass);

  /// Vectors of the first `elements` elements of `value` in the fragment, and
  /// of anything in their last one beyond.
  llvm::SmallVector<mlir::Value> getElements(mlir::Value value,
                                             int64_t elements);
  /// Forgets vectors that were computed in a scope of the code that is left,
  /// where they are not defined any more.
  void leaveScope() { known.clear(); }
  /// The element of `value`, which has one for each row, for the thread's row.
  mlir::Value getRow(mlir::Value value);

  /// The row among those of all matrices, and whether there is one.
  mlir::Value getRowNumber();
  mlir::Value hasRow();
  /// The number (i32) of the fragment in the row, and whether it is below a
  /// bound. The condition is null where it holds for all threads.
  mlir::Value getFragment() const { return fragment; }
  mlir::Value isFragmentBelow(int64_t bound);

private:
  const RowOp *findOp(mlir::Value value);
  bool isFromMemory(mlir::Value value) { return !findOp(value); }
  llvm::SmallVector<mlir::Value> evaluate(const RowOp &op, unsigned result,
                                          int64_t elements);
  mlir::Value evaluateRow(const RowOp &op, unsigned result);
  mlir::Value getArgument(const RowOp &op, unsigned operand, int64_t vector,
                          int64_t elements);

  llvm::SmallVector<mlir::Value> loadElements(mlir::Value value,
                                              int64_t elements, bool canStage);
  llvm::SmallVector<mlir::Value> loadColumns(mlir::Value value,
                                             int64_t elements);
  llvm::SmallVector<mlir::Value>
  loadFragment(mlir::Value pointer, mlir::Type type, int64_t elements);
  llvm::SmallVector<mlir::Value> loadOwn(mlir::Value pointer, mlir::Type type,
                                         int64_t present);
  mlir::Value loadScalar(mlir::Value value, mlir::Value index);

  void loadInputs();
  void loadSharedColumns();
  void shareColumns();
  void computeEarly();
  void hideInputs();
  mlir::Value getInitial(const RowOp &op);
  mlir::Value combine(const RowOp &op, mlir::Value lhs, mlir::Value rhs);
  mlir::Value reduceFragment(const RowOp &op);
  mlir::Value reduceRow(const RowOp &op);
  mlir::Value reduceParts(const RowOp &op, mlir::Value parts);

  KernelBuilder &b;
  const RowLayout &layout;
  int64_t accessBytes;
  llvm::ArrayRef<RowOp> ops;
  const mlir::IRMapping &arguments;
  const RowPosition &position;
  mlir::Value rows;
  /// The row that the thread loads: its own one or, where that does not exist,
  /// the last row of its matrix.
  mlir::Value loadedRow;
  /// The fragment of the pass, and the fragment that the thread loads: the same
  /// one or, where that does not exist, the last fragment of the row.
  mlir::Value fragment, loadedFragment;

  WarpBuffer *buffer = nullptr;
  mlir::Value isFullWarp;
  int64_t stagedBytes = 0;
  /// A tensor of one value for each column that shared memory holds as f32: the
  /// byte it begins at, and the parts that the lane loaded to store there.
  struct SharedColumn {
    int64_t begin;
    llvm::SmallVector<mlir::Value> loaded;
  };
  llvm::MapVector<mlir::Value, SharedColumn> sharedColumns;

  llvm::DenseMap<mlir::Value, mlir::Value> rowValues;
  /// Vectors that are in registers: `inputs` for all of the pass, and `known`
  /// until it is cleared.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Value>> inputs, known;
  unsigned reductions = 0;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWEMITTER_H

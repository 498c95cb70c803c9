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

/// Vectors of `RowEmitter::kVectorElements` elements for each value.
using RowVectors = llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Value>>;

/// A pass of a thread over its row: the fragment that it has in it.
struct RowPass {
  /// The number (i32) of the fragment, and of the one that the thread loads:
  /// the same one or, where that does not exist, the last fragment of the row.
  emit::Lanes fragment, loadedFragment;
  /// Elements that are in registers during all of the pass.
  RowVectors inputs;
};

/// Emits the ops of a row program on the fragments of a thread. All threads
/// take part in reductions; those without a row or a fragment have the values
/// of others, which nothing uses.
class RowEmitter {
public:
  /// The number of elements of the vectors that ops are computed on.
  static constexpr int64_t kVectorElements = 8;

  /// `arguments` maps tensors and scalars from outside of the program to
  /// pointers and values. `rows` is the number of rows of a matrix.
  RowEmitter(KernelBuilder &b, const RowLayout &layout, int64_t accessBytes,
             llvm::ArrayRef<RowOp> ops, const mlir::IRMapping &arguments,
             const RowPosition &position, emit::Lanes rows);

  /// Loads values of columns that may be read before anything else is, for a
  /// row of one pass.
  void loadEarly(llvm::ArrayRef<mlir::Value> columns);
  /// Computes all that has one value for each row. If there is one pass, its
  /// elements are in registers from here on; they come as `moves` moves them,
  /// unless that is null.
  void emitRows(const StagedMoves *moves);

  const RowPass &getFirstPass() const { return firstPass; }
  /// Emits a loop over all passes, which `body` is given with their numbers
  /// (i32).
  void
  emitPasses(llvm::function_ref<void(emit::Lanes, const RowPass &)> body) const;
  /// The same with a value that is carried from pass to pass. Returns the last
  /// one.
  emit::Lanes emitPasses(
      mlir::Value init,
      llvm::function_ref<mlir::Value(emit::Lanes, const RowPass &)> body) const;

  /// The element of `value`, which has one for each row, for the thread's row.
  mlir::Value getRow(mlir::Value value);

  /// The row among those of all matrices, and whether there is one.
  emit::Lanes getRowNumber() const {
    return position.fragment.matrix * rows + position.fragment.row;
  }
  emit::Lanes hasRow() const { return isBelow(position.fragment.row, rows); }
  /// Whether the fragment of a pass is below a bound; absent where that holds
  /// for all threads.
  emit::Lanes isFragmentBelow(const RowPass &pass, int64_t bound) const;

private:
  friend class FragmentVectors;

  /// The pass of a number, or the first one.
  RowPass getPass(emit::Lanes number) const;
  const RowOp *findOp(mlir::Value value) const;
  mlir::Value getScalar(RowForm form, mlir::Value value);
  mlir::Value evaluateRow(const RowOp &op, unsigned result);
  mlir::Value loadScalar(mlir::Value value, mlir::Value index) const;

  llvm::SmallVector<mlir::Value> loadElements(const RowPass &pass,
                                              mlir::Value value,
                                              int64_t elements,
                                              bool canStage) const;
  llvm::SmallVector<mlir::Value>
  loadColumns(const RowPass &pass, mlir::Value value, int64_t elements) const;
  llvm::SmallVector<mlir::Value> loadFragment(const RowPass &pass,
                                              mlir::Value pointer,
                                              mlir::Type type,
                                              int64_t elements) const;
  llvm::SmallVector<mlir::Value> loadOwn(mlir::Value pointer, mlir::Type type,
                                         int64_t present) const;

  void loadInputs();
  void loadSharedColumns();
  void shareColumns();
  void computeEarly(bool onlyReduced);
  void hideInputs();
  mlir::Value getInitial(const RowOp &op) const;
  emit::Lanes combine(const RowOp &op, mlir::Value lhs, mlir::Value rhs) const;
  emit::Lanes reduceLanes(const RowOp &op, emit::Lanes value) const;
  emit::Lanes reduceFragment(const RowOp &op, const RowPass &pass);
  emit::Lanes reduceRow(const RowOp &op);
  emit::Lanes reduceParts(const RowOp &op, mlir::Value parts) const;

  KernelBuilder &b;
  const RowLayout &layout;
  int64_t accessBytes;
  llvm::ArrayRef<RowOp> ops;
  const mlir::IRMapping &arguments;
  const RowPosition &position;
  emit::Lanes rows;
  const StagedMoves *staged = nullptr;
  /// The row that the thread loads: its own one or, where that does not exist,
  /// the last row of its matrix.
  emit::Lanes loadedRow;
  RowPass firstPass;

  /// Values of columns that were loaded before all else.
  RowVectors earlyColumns;

  /// A tensor of one value for each column that shared memory holds as f32: the
  /// byte it begins at, and the parts that the lane loaded to store there.
  struct SharedColumn {
    int64_t begin;
    llvm::SmallVector<mlir::Value> loaded;
  };
  llvm::MapVector<mlir::Value, SharedColumn> sharedColumns;

  llvm::DenseMap<mlir::Value, mlir::Value> rowValues;
  /// Ops whose results are known, so that they need no operand any more.
  llvm::SmallPtrSet<mlir::Operation *, 8> computed;
  unsigned reductions = 0;
};

/// The first elements of the fragment of a pass, loaded or computed once by the
/// code of one scope.
class FragmentVectors {
public:
  FragmentVectors(RowEmitter &rows, const RowPass &pass, int64_t elements)
      : rows(rows), pass(pass), elements(elements) {}

  /// The elements of a value, and anything in their last vector beyond.
  llvm::SmallVector<mlir::Value> get(mlir::Value value);

  /// A result of an op on the elements. Reductions give what they would
  /// combine.
  llvm::SmallVector<mlir::Value> evaluate(const RowOp &op, unsigned result);

private:
  mlir::Value getOperand(const RowOp &op, mlir::OpOperand &operand,
                         int64_t vector);

  RowEmitter &rows;
  const RowPass &pass;
  int64_t elements;
  RowVectors known;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWEMITTER_H

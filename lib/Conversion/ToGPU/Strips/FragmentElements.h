//===- FragmentElements.h - A fragment in registers -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_FRAGMENTELEMENTS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_FRAGMENTELEMENTS_H

#include "DeviceEmission/CvtEmitter.h"
#include "StripSource.h"
#include "StripSpec.h"

namespace blockscale {

/// Words of a vector that a thread loads or stores.
inline constexpr int64_t kVectorWords = 4;

/// The position at which a thread works. Values are of type index, but for the
/// conditions, which are i1.
struct StripPosition {
  emit::Lanes matrix;
  /// The numbers of rows and columns of the matrix.
  emit::Lanes rows;
  emit::Lanes columns;
  /// The row behind the last one that the warp may have: of its group, where
  /// strips begin where groups do, or of the matrix.
  emit::Lanes rowEnd;
  /// The first row and column of the warp, and of the fragment.
  emit::Lanes warpRow;
  emit::Lanes warpColumn;
  emit::Lanes row;
  emit::Lanes column;
  /// Number of the thread in its warp, and its place there.
  emit::Lanes lane;
  emit::Lanes laneRow;
  emit::Lanes laneColumn;
  /// Where groups are padded, their group that has the fragment: its number,
  /// whether there is one, and the rows of x that the fragment begins at and
  /// that the group ends before. Null elsewhere.
  emit::Lanes group = {};
  emit::Lanes hasGroup = {};
  emit::Lanes source = {};
  emit::Lanes sourceEnd = {};

  bool isPadded() const { return static_cast<bool>(group); }
  /// Whether row `i`, or column `j`, of the fragment exists.
  emit::Lanes hasRow(int64_t i) const;
  emit::Lanes hasColumn(int64_t j) const;
};

/// The elements of a fragment as one thread holds them. A row is a list of
/// vectors of 16 bytes.
class FragmentElements {
public:
  /// Loads the fragment of a thread whose warp has at least one element. Rows
  /// and columns that do not exist are loaded from others; where blocks may
  /// have such a part, it is zero instead. `inputs` are x, or what it is
  /// computed from.
  FragmentElements(KernelBuilder &b, CvtEmitter &cvt, const StripSource &source,
                   const StripShape &shape, const StripPosition &position,
                   mlir::ValueRange inputs);

  /// The random Hadamard transform of 16 rows of bf16, down each column.
  FragmentElements transformColumns(uint64_t signMask) const;
  /// Transforms the columns of one part, which become the same part of
  /// `result`.
  void transformPart(int64_t part, uint64_t signMask,
                     FragmentElements &result) const;

  /// max |x| of each column of rows [begin, end), NaN above all: vectors like
  /// those of a row, of elements of x.
  llvm::SmallVector<mlir::Value> computeColumnAmaxes(int64_t begin,
                                                     int64_t end) const;

  /// Exchanges column amaxes with the thread whose lane differs by `mask`, and
  /// takes the larger ones of both threads.
  void exchangeColumnAmaxes(llvm::SmallVector<mlir::Value> &amaxes,
                            int64_t mask) const;

  /// The elements that vectors of words or of column amaxes hold, as one f32
  /// for each column.
  llvm::SmallVector<emit::Lanes>
  extractColumns(llvm::ArrayRef<mlir::Value> vectors) const;

  /// The largest of the amaxes of columns [begin, begin + count) as f32.
  emit::Lanes reduceColumns(llvm::ArrayRef<mlir::Value> amaxes, int64_t begin,
                            int64_t count) const;

  /// max |x| of each row, whose elements have 16 bits. A vector has those of
  /// two rows.
  llvm::SmallVector<mlir::Value> computeRowAmaxes() const;

  /// Exchanges row amaxes with the thread whose lane differs by `mask`, and
  /// takes the larger ones of both threads. This thread keeps those of one half
  /// of the rows, the second half where `isBehind`; the other thread keeps the
  /// rest.
  void exchangeRowAmaxes(llvm::SmallVector<mlir::Value> &amaxes,
                         emit::Lanes isBehind, int64_t mask) const;

  /// Row amaxes as one f32 each.
  llvm::SmallVector<emit::Lanes>
  extractRows(llvm::ArrayRef<mlir::Value> amaxes) const;

  /// The words of a row in order.
  llvm::SmallVector<mlir::Value> getWords(int64_t row) const;
  void setWords(int64_t row, llvm::ArrayRef<mlir::Value> words);

  /// Makes the optimizer forget what was computed from the words.
  void hide();

  /// Columns side by side of which elements are computed together.
  static constexpr int64_t kPartColumns = 4;
  int64_t countParts() const {
    return static_cast<int64_t>(rows.front().size()) * (isPacked ? 2 : 1);
  }

  /// The number of vectors that a row is as f32, of which a part has one or
  /// more; their size; and the column of an element of vector `index`.
  int64_t getVectorsPerRow() const;
  int64_t getVectorSize() const;
  int64_t getColumn(int64_t index, int64_t element) const;

  /// The elements of a part of a row in order, each as f32 after `map`, which
  /// is given the vectors and their numbers in the row, and must be
  /// elementwise.
  llvm::SmallVector<mlir::Value>
  mapPart(int64_t row, int64_t part,
          llvm::function_ref<emit::Lanes(emit::Lanes, int64_t)> map) const;

private:
  /// A word as a vector of two elements of 16 bits.
  emit::Lanes getPair(size_t row, size_t vector, int64_t word) const;
  /// The f32 of the first elements of two words of a vector, and of the second
  /// ones. LLVM joins shifted words of a vector to those of 64 bits, but not
  /// shifted f32.
  std::pair<emit::Lanes, emit::Lanes> splitTwo(mlir::Value vector,
                                               int64_t first) const;

  KernelBuilder &b;
  CvtEmitter &cvt;
  /// The type of the elements, and whether a word has two of them.
  mlir::Type element;
  bool isPacked;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> rows;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_FRAGMENTELEMENTS_H

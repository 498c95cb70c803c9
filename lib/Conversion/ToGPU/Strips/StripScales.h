//===- StripScales.h - Scales of the blocks of a fragment -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALES_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALES_H

#include "StripGroups.h"
#include "StripScaleTable.h"

namespace blockscale {

/// Computes the scales of the blocks that a thread has part of, puts them into
/// the table of its warp, and scales elements.
class StripScales {
public:
  /// The global operand, and the scale that codes are decoded under where it is
  /// another one; null where absent.
  struct Globals {
    mlir::Value operand, scale;
  };

  /// `groups` is null where x has none.
  StripScales(KernelBuilder &b, const StripSpec &spec,
              const StripPosition &position, const FragmentElements &elements,
              CvtEmitter &cvt, Globals globals, const StripGroups *groups,
              StripScaleTable &table);

  /// The elements of a part of a row in order, scaled; zeros where no group is.
  llvm::SmallVector<mlir::Value> getScaledPart(int64_t row, int64_t part);

  /// The values of the codes of a part of a row, as words, where codes are not
  /// made. `randomWords` are those of the row, if codes are rounded by such.
  llvm::SmallVector<mlir::Value>
  getRoundedPart(int64_t row, int64_t part,
                 llvm::ArrayRef<mlir::Value> randomWords);
  /// The global value that codes are decoded under; null where there is none.
  mlir::Value getDecodeGlobal() const { return decodeGlobal; }

  /// The factor by which the code of an element of the fragment is decoded.
  emit::Lanes getDecodeFactor(int64_t row, int64_t column) const {
    llvm::ArrayRef<emit::Lanes> ofRow = decodeFactors[row / height];
    return ofRow.size() == 1 ? ofRow.front() : ofRow[column];
  }

private:
  void emitRows();
  void emitColumns();
  void emitTiles();

  llvm::SmallVector<BlockElements>
  getColumnBlocks(llvm::ArrayRef<llvm::SmallVector<mlir::Value>> words);
  DeviceQuantizer::Scales computeEach(llvm::ArrayRef<emit::Lanes> amaxes,
                                      llvm::ArrayRef<emit::Lanes> globals,
                                      llvm::ArrayRef<BlockElements> blocks);
  DeviceQuantizer::Scales computeColumns(llvm::ArrayRef<emit::Lanes> amaxes,
                                         int64_t row, int64_t span);
  std::unique_ptr<DeviceQuantizer> createDeviceQuantizer(emit::Lanes global);
  emit::Lanes loadGlobal(int64_t place);
  emit::Lanes loadGlobal(emit::Lanes group, emit::Lanes exists);
  void keepCovered(llvm::MutableArrayRef<emit::Lanes> pairs,
                   llvm::ArrayRef<emit::Lanes> covered);
  void computeMasks();
  llvm::SmallVector<emit::Lanes> keepPairs(llvm::ArrayRef<emit::Lanes> pairs,
                                           emit::Lanes exists);
  void addFactors(llvm::ArrayRef<emit::Lanes> scales,
                  llvm::ArrayRef<emit::Lanes> pairs,
                  llvm::function_ref<int64_t(int64_t)> getBlock);
  void addScaleFactors(llvm::function_ref<mlir::Value(int64_t)> ofColumn);
  void addDecodeFactors(llvm::ArrayRef<emit::Lanes> pairs,
                        llvm::function_ref<int64_t(int64_t)> getBlock);

  KernelBuilder &b;
  const StripSpec &spec;
  const StripPosition &position;
  FragmentElements elements;
  CvtEmitter &cvt;
  mlir::Value global;
  const StripGroups *groups;
  StripScaleTable &table;
  mlir::Value decodeGlobal;
  std::unique_ptr<DeviceQuantizer> quantizer;
  /// Rows of a fragment that have the same factors: one vector of factors for
  /// each that FragmentElements maps.
  int64_t height;
  llvm::SmallVector<llvm::SmallVector<emit::Lanes>> factors;
  /// The same of decoding, where codes are decoded: of each column, or of all.
  llvm::SmallVector<llvm::SmallVector<emit::Lanes>> decodeFactors;
  /// The factors of pairs of elements where these are rounded together, vectors
  /// of two bf16: those of decoding, and those of scaling unless `factors` has
  /// them.
  struct PairFactors {
    emit::Lanes decode, scale;
  };
  /// Those of each pair of columns, or of all.
  llvm::SmallVector<llvm::SmallVector<PairFactors>> pairFactors;
  /// Whether the elements of such a vector have a group, i1 for all or each; of
  /// each row instead where rows have groups.
  llvm::SmallVector<emit::Lanes> masks;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALES_H

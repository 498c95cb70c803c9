//===- StripScaleTable.h - Scales of a warp's fragments ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads leave the scale bytes of their blocks in a table in shared memory, of
// which each warp has its own. Then the warp stores words of adjacent bytes, in
// the form and layout of the result, padding included.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALETABLE_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALETABLE_H

#include "DeviceEmission/GroupedScales.h"
#include "FragmentElements.h"

namespace blockscale {

class StripScaleTable {
public:
  /// `base` is the table of the warp; `scales` is null where scales are not
  /// stored, and nothing is done then; `grouped` is null but for scales that
  /// have a grouped layout.
  StripScaleTable(KernelBuilder &b, const StripSpec &spec,
                  const StripPosition &position, mlir::Value base,
                  mlir::Value scales, const GroupedScales *grouped);

  /// The tables of all warps of a CTA, which are `bytes` apart and have the
  /// same strip of a group, or of none.
  struct Beside {
    mlir::Value first;
    int64_t bytes;
    emit::Lanes warp;
    int64_t warps;
    emit::Lanes hasGroup;
  };
  /// All scales are those of one group, in a grouped layout, and of strips that
  /// begin where groups do.
  void setGroup(const emit::Group &group, const Beside &beside);

  /// The columns of such scales that a store has.
  static int64_t getStoredColumns(const StripSpec &spec);
  /// Bytes of the table of one warp.
  static int64_t getBytes(const StripSpec &spec);
  /// Alignment of the result.
  static int64_t getAlignment(const StripSpec &spec);

  /// Puts scales, given as pairs in i16, of `count` blocks at block `row`,
  /// `column` of the fragment and those right of it (or, if `down`, below it).
  void put(llvm::ArrayRef<emit::Lanes> pairs, int64_t count, emit::Lanes row,
           emit::Lanes column, bool down);

  /// Stores the table after all threads of the warp came here.
  void emitStore();
  /// Stores zeros in place of the table.
  void emitStoreZeros();

private:
  struct Word;

  void emitWords(bool isZero);
  void emitGrouped(int64_t width);
  /// Stores the scales of one group.
  void emitInGroup(int64_t width);
  void emitTiles();
  /// Whether the warps of a CTA have all rows of tiles, which they store
  /// together.
  bool ownsTiles() const;
  void storeBytes(const Word &word, int64_t width,
                  llvm::function_ref<emit::Lanes(int64_t)> exists,
                  llvm::function_ref<mlir::Value(int64_t)> getAddress);
  /// Stores a word at `column`, or its bytes before column `columns`; all of it
  /// where that is null.
  void storeWord(const Word &word, int64_t width, mlir::Value address,
                 emit::Lanes column, emit::Lanes columns);
  emit::Lanes getGroupColumns();
  void emitLinear(int64_t width, bool isZero);
  void emitEachWord(int64_t width, int64_t beside,
                    llvm::function_ref<void(const Word &)> body);
  emit::Lanes loadWord(const Word &word, int64_t width, bool isZero);
  /// Rows (dimension 0) or columns of the result of one matrix, and the place
  /// in it of one in the warp's part.
  emit::Lanes getCount(int dimension);
  /// The end of those that the warp may have.
  emit::Lanes getEnd(int dimension);
  emit::Lanes getPlace(int dimension, emit::Lanes inWarp);

  KernelBuilder &b;
  const StripSpec &spec;
  const StripPosition &position;
  mlir::Value base;
  mlir::Value scales;
  const GroupedScales *grouped;
  std::optional<emit::Group> group;
  Beside beside = {};
  /// Rows of the table, bytes of each, and how often a row is stored.
  int64_t tableRows;
  int64_t tableColumns;
  int64_t repeats;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSCALETABLE_H

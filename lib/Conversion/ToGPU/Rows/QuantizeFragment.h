//===- QuantizeFragment.h - What a thread quantizes -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEFRAGMENT_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEFRAGMENT_H

#include "DeviceEmission/GroupedScales.h"
#include "DeviceEmission/ScaleStore.h"
#include "DeviceEmission/WarpBuffer.h"
#include "QuantizeSpec.h"
#include "ThreadMapping.h"

namespace blockscale {

/// Emits the work of a thread on the fragment at `position`.
class FragmentEmitter {
public:
  /// `rowTiles` is ceil(rows / 128), for swizzled scales; `grouped` is null but
  /// for scales of a grouped layout.
  FragmentEmitter(KernelBuilder &b, const QuantizeSpec &spec,
                  const target::Chip &chip, const QuantizeOperands &arguments,
                  FragmentPosition position, mlir::Value rowTiles,
                  const GroupedScales *grouped);

  /// Lets full warps, where the i1 `isFullWarp` holds, move their full
  /// fragments through shared memory.
  void useBuffer(WarpBuffer &buffer, mlir::Value isFullWarp) {
    this->buffer = &buffer;
    this->isFullWarp = isFullWarp;
  }

  /// Quantizes what `source` gives for the first so many elements of the
  /// fragment.
  using Source = std::function<llvm::SmallVector<BlockElements>(int64_t)>;
  void useElements(Source source) { this->source = std::move(source); }

  /// Quantizes a fragment of `elements` elements, and stores its data and the
  /// values of these, where there is memory for them. Returns its scale bytes
  /// in pairs. What no group covers gets zeros.
  llvm::SmallVector<mlir::Value> emit(int64_t elements);

  /// Stores the scale bytes of the first `blocks` blocks of the fragment, and
  /// of its padding where scales are swizzled. Missing ones are zero.
  void storeScales(llvm::ArrayRef<mlir::Value> pairs, int64_t blocks);

  int64_t countBlocks(int64_t elements) const;

private:
  /// Data words, and scale bytes in pairs, of consecutive blocks.
  struct Codes {
    llvm::SmallVector<mlir::Value> words;
    llvm::SmallVector<mlir::Value> pairs;
  };

  mlir::Value getRowNumber();
  mlir::Value getFirstElement();
  mlir::Value getFirstInRow(int64_t perFragment);

  llvm::SmallVector<mlir::Value> findGroups(int64_t elements);
  Codes quantizeGroups(int64_t elements, llvm::ArrayRef<mlir::Value> groups);

  mlir::Value loadGlobal(mlir::Value group);
  llvm::SmallVector<BlockElements> loadBlocks(int64_t elements);
  llvm::SmallVector<BlockElements> loadOwnBlocks(mlir::Value pointer,
                                                 int64_t elements);
  llvm::SmallVector<BlockElements> loadStagedBlocks(mlir::Value pointer);
  llvm::SmallVector<BlockElements> loadBlocksOf(mlir::Value pointer,
                                                mlir::Type type,
                                                int64_t loadBytes,
                                                int64_t elements);
  llvm::SmallVector<ElementWords> loadInput(const ElementSource::Input &input,
                                            mlir::Value argument,
                                            int64_t elements);
  llvm::SmallVector<BlockElements> computeBlocks(int64_t elements);
  llvm::SmallVector<mlir::Value> loadAmaxes(int64_t blocks);
  Codes quantize(llvm::ArrayRef<BlockElements> inputs, int64_t first,
                 mlir::Value group);
  Codes quantizeApart(llvm::ArrayRef<BlockElements> inputs,
                      llvm::ArrayRef<mlir::Value> groups);
  void clearUncovered(Codes &codes, llvm::ArrayRef<mlir::Value> groups);

  void store(const Codes &codes, int64_t elements);
  void storeData(llvm::SmallVector<mlir::Value> words, int64_t elements);
  void storeDecoded(const Codes &codes, int64_t elements);
  void storeWords(llvm::ArrayRef<mlir::Value> words, mlir::Value pointer,
                  int64_t bytes, int64_t storeBytes, bool isThroughBuffer,
                  int64_t bits);
  bool isStaged(int64_t elements) const {
    return buffer && elements == mapping.fragmentElements;
  }
  /// Bytes between the rows of a row set, of elements of so many bits.
  int64_t getRunStride(int64_t bits) const {
    return mapping.rowStride * spec.rowElements * bits / 8;
  }
  void storeGroupedScales(mlir::ValueRange pairs, int64_t blocks);

  KernelBuilder &b;
  const QuantizeSpec &spec;
  ThreadMapping mapping;
  std::unique_ptr<CvtEmitter> cvt;
  int64_t accessBytes;
  QuantizeOperands arguments;
  FragmentPosition position;
  mlir::Value rowTiles;
  const GroupedScales *grouped;
  Source source;
  WarpBuffer *buffer = nullptr;
  mlir::Value isFullWarp;
  /// The amaxes of the blocks of the fragment, where they are an operand.
  llvm::SmallVector<mlir::Value> givenAmaxes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEFRAGMENT_H

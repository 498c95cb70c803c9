//===- QuantizeFragment.h - What a thread quantizes -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread quantizes its fragment in stages, each of which has a file:
//
//   load     elements, from memory or as elementwise ops compute them
//   group    blocks by their groups, where the kernel has any
//   encode   blocks of one group: their scale bytes and codes
//   store    codes, values that are decoded from them, and scale bytes
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

/// The fragment of a thread, and its place in the tensors of the kernel.
struct Fragment {
  Fragment(KernelBuilder &b, const QuantizeSpec &spec,
           const ThreadMapping &mapping, const target::Chip &chip,
           const QuantizeOperands &arguments, FragmentPosition position);

  int64_t countBlocks(int64_t elements) const {
    return llvm::divideCeil(elements, spec.getBlockElements());
  }
  /// Number of the row among all rows of the batch.
  emit::Lanes getRowNumber() const {
    return position.matrix * arguments.rows + position.row;
  }
  /// The first element of the fragment among all elements.
  emit::Lanes getFirstElement() const {
    return getRowNumber() * spec.rowElements +
           getFirstInRow(mapping.fragmentElements);
  }
  /// The first of the fragment's items in a row where full fragments have
  /// `perFragment`.
  emit::Lanes getFirstInRow(int64_t perFragment) const {
    return extend(position.fragment, 64) * perFragment;
  }
  /// Whether all lanes of the warp have a full fragment.
  emit::Lanes isFullWarp() const;
  /// Bytes between the rows of a row set, of elements of so many bits.
  int64_t getRunStride(int64_t bits) const {
    return mapping.rowStride * spec.rowElements * bits / 8;
  }

  KernelBuilder &b;
  const QuantizeSpec &spec;
  const ThreadMapping &mapping;
  const target::Chip &chip;
  const QuantizeOperands &arguments;
  FragmentPosition position;
  /// Bytes of the widest access.
  int64_t accessBytes;
  /// Whether the matrix of the fragment exists; absent where all do.
  emit::Lanes matrixExists;
  /// ceil(rows / 128) of swizzled scales, else absent.
  emit::Lanes rowTiles;
};

/// The blocks of the first `elements` elements of a fragment, from x or what x
/// is computed from. Full fragments come as `staged` moves them, unless that is
/// null.
llvm::SmallVector<BlockElements> loadBlocks(const Fragment &fragment,
                                            const StagedMoves *staged,
                                            int64_t elements);
/// The amaxes of so many blocks, which are an operand.
llvm::SmallVector<emit::Lanes> loadAmaxes(const Fragment &fragment,
                                          int64_t blocks);

/// Data words, and scale bytes in pairs (i16), of consecutive blocks.
struct FragmentCodes {
  llvm::SmallVector<mlir::Value> words;
  llvm::SmallVector<emit::Lanes> pairs;
};

/// Gives the blocks of the first so many elements of a fragment.
using BlockSource =
    llvm::function_ref<llvm::SmallVector<BlockElements>(int64_t)>;

/// Encodes the first `elements` elements, which are loaded where a group has
/// any. What no group covers gets zeros.
FragmentCodes encodeFragment(const Fragment &fragment, int64_t elements,
                             BlockSource source);
/// Encodes blocks of one group, from block `first` of the fragment on. `amaxes`
/// are theirs where these are an operand, and `group` is absent where there are
/// no groups.
FragmentCodes encodeBlocks(const Fragment &fragment,
                           llvm::ArrayRef<BlockElements> blocks,
                           llvm::ArrayRef<emit::Lanes> amaxes, int64_t first,
                           emit::Lanes group);

/// Stores the data of `elements` elements, and the values that they are
/// decoded to, where there is memory for them.
void storeCodes(const Fragment &fragment, const StagedMoves *staged,
                const FragmentCodes &codes, int64_t elements);
/// Stores the scale bytes of the first `blocks` blocks, and of the padding of
/// swizzled scales. Missing ones are zero. `grouped` is null but for scales of
/// a grouped layout.
void storeScales(const Fragment &fragment, const GroupedScales *grouped,
                 llvm::ArrayRef<emit::Lanes> pairs, int64_t blocks);

/// Emits what CTA `block`, an index, of a kernel does with the ends of its
/// groups: it checks them, and fills up tiles of groups or, behind the CTAs
/// that do, runs `body`. This is given the number of the CTA among those on x,
/// an index, and the tiles, null where there are none. The CTA has `threads`
/// threads; `thread` is the number of one, an index.
void emitInGroups(
    KernelBuilder &b, const QuantizeSpec &spec,
    const QuantizeOperands &arguments, emit::Lanes block, emit::Lanes thread,
    int64_t threads,
    llvm::function_ref<void(emit::Lanes block, const GroupedScales *grouped)>
        body);

/// Quantizes what the thread has: a full fragment, a tail, padding, or nothing.
void quantizeFragment(const Fragment &fragment, const StagedMoves *staged,
                      const GroupedScales *grouped, BlockSource source);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEFRAGMENT_H

//===- FragmentStore.cpp - Stores of codes and scales ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "QuantizeArguments.h"
#include "QuantizeFragment.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Stores the words of elements of `bits` bits: `bytes` of them, in accesses of
/// up to `storeBytes`, or as `staged` moves them unless that is null.
static void storeWords(const Fragment &fragment, const StagedMoves *staged,
                       ArrayRef<Value> words, Value pointer, int64_t bytes,
                       int64_t storeBytes, int64_t bits) {
  KernelBuilder &b = fragment.b;
  auto storeOwn = [&] { emitStoreBytes(b, words, pointer, bytes, storeBytes); };
  if (!staged)
    return storeOwn();
  staged->store(b, words, pointer, fragment.getRunStride(bits), storeOwn);
}

/// Stores as many bytes of `words` as the codes of `elements` elements take.
static void storeData(const Fragment &fragment, const StagedMoves *staged,
                      SmallVector<Value> words, int64_t elements) {
  KernelBuilder &b = fragment.b;
  const QuantizeSpec &spec = fragment.spec;
  int64_t bits = spec.getDataBits();
  // A last byte of one code has zero above it.
  if (int64_t used = elements * bits % 32; used % 8 != 0) {
    Value &last = words[elements * bits / 32];
    last = Lanes(b, last) & ((1u << used) - 1);
  }
  Lanes byte;
  if (spec.rowElements * bits % 8 == 0) {
    byte = fragment.getFirstElement();
    if (bits == 4)
      byte = byte >> 1;
  } else {
    byte = fragment.getRowNumber() * spec.getRowBytes() +
           fragment.getFirstInRow(fragment.mapping.fragmentElements * bits / 8);
  }
  storeWords(fragment, staged, words,
             b.offset(fragment.arguments.data, b.getI8Type(), byte),
             llvm::divideCeil(elements * bits, 8),
             getDataStoreBytes(spec, fragment.accessBytes), bits);
}

static void storeDecoded(const Fragment &fragment, const StagedMoves *staged,
                         const FragmentCodes &codes, int64_t elements) {
  KernelBuilder &b = fragment.b;
  const QuantizeSpec &spec = fragment.spec;
  int64_t bits = spec.decoding->getValueBits();
  // Shared memory has room for the elements of x.
  bool fits = bits / 8 <= spec.getInputBytes();
  SmallVector<Value> values = spec.decoding->emit(b, codes.words, codes.pairs);
  storeWords(fragment, fits ? staged : nullptr, values,
             b.offset(fragment.arguments.decoded, spec.decoding->type,
                      fragment.getFirstElement()),
             elements * bits / 8,
             getDecodedStoreBytes(spec, fragment.accessBytes), bits);
}

void storeCodes(const Fragment &fragment, const StagedMoves *staged,
                const FragmentCodes &codes, int64_t elements) {
  if (elements != fragment.mapping.fragmentElements)
    staged = nullptr;
  if (fragment.arguments.data)
    storeData(fragment, staged, codes.words, elements);
  if (fragment.spec.decoding)
    storeDecoded(fragment, staged, codes, elements);
}

/// Stores the scale bytes of those blocks that have a group.
static void storeGroupedScales(const Fragment &fragment,
                               const GroupedScales &grouped,
                               ArrayRef<Lanes> pairs, int64_t blocks) {
  KernelBuilder &b = fragment.b;
  Lanes row = toIndex(b, fragment.position.row);
  Lanes first =
      toIndex(b, fragment.getFirstInRow(fragment.mapping.fragmentBlocks));
  auto emitIfFound = [&](const emit::Group &group, function_ref<void()> body) {
    emit::emitIf(b, isBelow(group.begin, group.end), body);
  };
  if (grouped.alongRows()) {
    // The row has one.
    emit::Group group = grouped.find(row).front();
    return emitIfFound(group, [&] {
      storeScaleBytes(b, pairs, grouped.getAddress(group, row, first), blocks,
                      fragment.mapping.fragmentBlocks);
    });
  }
  SmallVector<Lanes> columns;
  for (int64_t i = 0; i < blocks; ++i)
    columns.push_back(first + i);
  SmallVector<emit::Group> groups = grouped.find(columns);
  for (int64_t i = 0; i < blocks; ++i)
    emitIfFound(groups[i], [&] {
      Lanes byte = i % 2 == 0 ? pairs[i / 2] : pairs[i / 2] >> 8;
      b.store(truncate(byte, 8), grouped.getAddress(groups[i], row, columns[i]),
              1);
    });
}

void storeScales(const Fragment &fragment, const GroupedScales *grouped,
                 ArrayRef<Lanes> pairs, int64_t blocks) {
  KernelBuilder &b = fragment.b;
  const QuantizeSpec &spec = fragment.spec;
  const QuantizeOperands &arguments = fragment.arguments;
  if (!arguments.scale)
    return;
  if (grouped)
    return storeGroupedScales(fragment, *grouped, pairs, blocks);
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t fragmentBlocks = fragment.mapping.fragmentBlocks;
  int64_t stored = spec.swizzled ? fragmentBlocks : blocks;
  Value address =
      spec.swizzled
          ? getSwizzledScaleAddress(b, arguments.scale, fragment.rowTiles,
                                    fragment.position, rowBlocks,
                                    fragmentBlocks)
          : getLinearScaleAddress(b, arguments.scale, arguments.rows,
                                  fragment.position, rowBlocks, fragmentBlocks);
  SmallVector<Lanes> all(pairs);
  all.resize(llvm::divideCeil(stored, 2), pairs.front().like(0));
  storeScaleBytes(b, all, address, stored,
                  getScaleStoreBytes(spec, fragmentBlocks));
}

} // namespace blockscale

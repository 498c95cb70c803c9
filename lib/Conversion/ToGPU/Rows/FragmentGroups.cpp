//===- FragmentGroups.cpp - Groups of the blocks of a fragment ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "DeviceEmission/GroupSearch.h"
#include "QuantizeArguments.h"
#include "QuantizeFragment.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// The group of the row, or of each block. A block is in the group that has its
/// last element; one that is not whole is in none.
static SmallVector<Lanes> findGroups(const Fragment &fragment,
                                     int64_t elements) {
  const QuantizeSpec &spec = fragment.spec;
  KernelBuilder &b = fragment.b;
  int64_t size = spec.getBlockElements();
  SmallVector<Value> last;
  if (spec.groupDim == GroupDim::Rows)
    last.push_back(fragment.position.row);
  else
    for (int64_t i = 1; i <= fragment.countBlocks(elements); ++i) {
      Lanes first = fragment.getFirstInRow(fragment.mapping.fragmentElements);
      last.push_back(i * size <= elements
                         ? first + (i * size - 1)
                         : b.i64(std::numeric_limits<int64_t>::max()));
    }
  return emitFindGroups(b, getGroupEnds(b, spec, fragment.arguments), last);
}

/// Encodes each block under the global value of its group. The first one has a
/// group.
static FragmentCodes encodeApart(const Fragment &fragment,
                                 ArrayRef<BlockElements> blocks,
                                 ArrayRef<Lanes> amaxes,
                                 ArrayRef<Lanes> groups) {
  FragmentCodes codes;
  for (int64_t i = 0, count = blocks.size(); i < count; ++i) {
    Lanes isCovered = isBelow(groups[i], fragment.arguments.groups);
    FragmentCodes block =
        encodeBlocks(fragment, blocks.slice(i, 1),
                     amaxes.empty() ? amaxes : amaxes.slice(i, 1), i,
                     select(isCovered, groups[i], groups[0]));
    llvm::append_range(codes.words, block.words);
    Lanes pair = block.pairs.front();
    if (i % 2 == 0)
      codes.pairs.push_back(pair);
    else
      codes.pairs.back() = codes.pairs.back() | pair << 8;
  }
  return codes;
}

/// Zeros the blocks of no group. Blocks behind one have no group either, so
/// that a pair whose first block has none is zero as a whole.
static void clearUncovered(const Fragment &fragment, FragmentCodes &codes,
                           ArrayRef<Lanes> groups) {
  KernelBuilder &b = fragment.b;
  size_t blockWords = codes.words.size() / groups.size();
  Lanes zero = b.i32(0);
  for (auto [i, group] : llvm::enumerate(groups)) {
    Lanes isCovered = isBelow(group, fragment.arguments.groups);
    for (size_t word = i * blockWords; word < (i + 1) * blockWords; ++word)
      codes.words[word] = select(isCovered, Lanes(b, codes.words[word]), zero);
    Lanes &pair = codes.pairs[i / 2];
    pair = select(isCovered, pair, i % 2 == 0 ? pair.like(0) : pair & 0xFF);
  }
}

FragmentCodes encodeFragment(const Fragment &fragment, int64_t elements,
                             BlockSource source) {
  const QuantizeSpec &spec = fragment.spec;
  KernelBuilder &b = fragment.b;
  SmallVector<Lanes> groups;
  auto encode = [&] {
    SmallVector<BlockElements> blocks = source(elements);
    SmallVector<Lanes> amaxes = loadAmaxes(fragment, blocks.size());
    if (spec.groupDim == GroupDim::Columns &&
        spec.global.extent == GlobalExtent::Group)
      return encodeApart(fragment, blocks, amaxes, groups);
    return encodeBlocks(fragment, blocks, amaxes, /*first=*/0,
                        groups.empty() ? Lanes() : groups.front());
  };
  if (spec.groupDim == GroupDim::None)
    return encode();
  groups = findGroups(fragment, elements);
  size_t words = 0;
  SmallVector<Lanes> found = emitIfElseZero(
      b, isBelow(groups.front(), fragment.arguments.groups), [&] {
        FragmentCodes codes = encode();
        if (spec.groupDim == GroupDim::Columns)
          clearUncovered(fragment, codes, groups);
        words = codes.words.size();
        SmallVector<Lanes> all;
        for (Value word : codes.words)
          all.emplace_back(b, word);
        llvm::append_range(all, codes.pairs);
        return all;
      });
  return {llvm::to_vector_of<Value>(ArrayRef(found).take_front(words)),
          llvm::to_vector(ArrayRef(found).drop_front(words))};
}

void emitInGroups(KernelBuilder &b, const QuantizeSpec &spec,
                  const QuantizeOperands &arguments, Lanes block, Lanes thread,
                  int64_t threads,
                  function_ref<void(Lanes, const GroupedScales *)> body) {
  if (spec.checksEnds) {
    GroupEnds ends = getGroupEnds(b, spec, arguments);
    emitCheckGroups(b, {runtime::ErrorOp::Quantize, ends.unit}, ends.offsets,
                    ends.count, ends.extent, block);
  }
  if (!spec.groupedTiles)
    return body(block, /*grouped=*/nullptr);
  GroupedScales grouped(b, {{ScaleExtent{0, 1}, {1, spec.getBlockElements()}},
                            spec.groupDim == GroupDim::Columns,
                            spec.getGroupUnit(),
                            arguments.scale,
                            arguments.offsets,
                            toIndex(b, arguments.groups),
                            toIndex(b, arguments.rows),
                            emit::getIndex(b, spec.rowElements),
                            toIndex(b, arguments.tiles)});
  grouped.emitBlocks(block, numerics::getWarp(thread),
                     numerics::getLane(thread), threads / kWarpThreads,
                     [&](Lanes other) { body(other, &grouped); });
}

} // namespace blockscale

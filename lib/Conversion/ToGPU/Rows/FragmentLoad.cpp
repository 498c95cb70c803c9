//===- FragmentLoad.cpp - The elements of a fragment ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All loads of elements come before the first use, so that they are in flight
// together.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "QuantizeArguments.h"
#include "QuantizeFragment.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Bytes of an access to elements of x.
static int64_t getLoadBytes(const Fragment &fragment) {
  return getLoadBytes(fragment.spec, fragment.accessBytes);
}

/// Loads the blocks of elements of `type` at `pointer`, in accesses of
/// `loadBytes`.
static SmallVector<BlockElements> loadBlocksOf(const Fragment &fragment,
                                               Value pointer, Type type,
                                               int64_t loadBytes,
                                               int64_t elements) {
  KernelBuilder &b = fragment.b;
  int64_t blockElements = fragment.spec.getBlockElements();
  int64_t blockBytes = blockElements * type.getIntOrFloatBitWidth() / 8;
  SmallVector<BlockElements> blocks;
  for (int64_t i = 0; i < fragment.countBlocks(elements); ++i)
    blocks.push_back(BlockElements::load(
        b, b.offset(pointer, b.getI8Type(), b.i64(i * blockBytes)), type,
        blockElements, std::min(blockElements, elements - i * blockElements),
        loadBytes));
  return blocks;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The blocks of a full fragment, moved by whole warps where these have one.
static SmallVector<BlockElements>
loadStaged(const Fragment &fragment, const StagedMoves &staged, Value pointer) {
  const QuantizeSpec &spec = fragment.spec;
  const ThreadMapping &mapping = fragment.mapping;
  SmallVector<Value> words = staged.load(
      fragment.b, [&] { return pointer; },
      fragment.getRunStride(spec.inputType.getIntOrFloatBitWidth()),
      [&] {
        SmallVector<Value> own;
        for (const BlockElements &block :
             loadBlocksOf(fragment, pointer, spec.inputType,
                          getLoadBytes(fragment), mapping.fragmentElements))
          llvm::append_range(own, block.getWords());
        return own;
      });
  SmallVector<BlockElements> blocks;
  size_t blockWords = words.size() / mapping.fragmentBlocks;
  for (ArrayRef<Value> rest = words; !rest.empty();
       rest = rest.drop_front(blockWords))
    blocks.push_back(
        BlockElements::fromWords(rest.take_front(blockWords), spec.inputType));
  return blocks;
}

SmallVector<Lanes> loadAmaxes(const Fragment &fragment, int64_t blocks) {
  SmallVector<Lanes> amaxes;
  if (!fragment.spec.amaxIsGiven)
    return amaxes;
  KernelBuilder &b = fragment.b;
  Lanes first = fragment.getRowNumber() * fragment.spec.getBlocksPerRow() +
                fragment.getFirstInRow(fragment.mapping.fragmentBlocks);
  Type f32 = b.getF32Type();
  Value pointer = b.offset(fragment.arguments.blockAmax, f32, first);
  for (int64_t i = 0; i < blocks; ++i)
    amaxes.push_back(
        b.load(f32, b.offset(pointer, f32, b.i64(i)), sizeof(float)));
  return amaxes;
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

/// Words of an input for each block.
static SmallVector<ElementWords> loadInput(const Fragment &fragment,
                                           const ElementSource::Input &input,
                                           Value argument, int64_t elements) {
  KernelBuilder &b = fragment.b;
  const ElementSource &source = *fragment.spec.source;
  if (!input.isAlongRows()) {
    Lanes index =
        input.spread == Spread::Rows ? fragment.getRowNumber() : b.i64(0);
    return SmallVector<ElementWords>(fragment.countBlocks(elements),
                                     source.loadOne(b, input, argument, index));
  }
  Lanes first = input.spread == Spread::Elements
                    ? fragment.getFirstElement()
                    : fragment.getFirstInRow(fragment.mapping.fragmentElements);
  int64_t loadBytes = input.getAccessBytes(
      fragment.spec.inputType, getLoadBytes(fragment), fragment.accessBytes);
  SmallVector<ElementWords> blocks;
  for (const BlockElements &block :
       loadBlocksOf(fragment, b.offset(argument, input.element, first),
                    input.element, loadBytes, elements)) {
    ElementWords &words = blocks.emplace_back();
    for (Value vector : block.getWords())
      llvm::append_range(words, b.extractAll(vector));
  }
  return blocks;
}

/// The block of `words`, of whose elements the first `present` exist; the
/// others are 0.
static BlockElements makeBlock(const Fragment &fragment, ElementWords words,
                               int64_t present) {
  KernelBuilder &b = fragment.b;
  int64_t perWord = kWordBytes / fragment.spec.getInputBytes();
  for (auto [i, word] : llvm::enumerate(words)) {
    int64_t left = present - static_cast<int64_t>(i) * perWord;
    if (left <= 0)
      word = b.i32(0);
    else if (left < perWord)
      word = Lanes(b, word) & 0xFFFF;
  }
  constexpr int64_t perVector = 4;
  SmallVector<Value> vectors;
  for (ArrayRef<Value> rest = words; !rest.empty();
       rest = rest.drop_front(perVector))
    vectors.push_back(b.pack(rest.take_front(perVector)));
  return BlockElements::fromWords(vectors, fragment.spec.inputType);
}

/// The blocks of an x that elementwise ops make. All that they take is loaded
/// before.
static SmallVector<BlockElements> computeBlocks(const Fragment &fragment,
                                                int64_t elements) {
  KernelBuilder &b = fragment.b;
  const ElementSource &source = *fragment.spec.source;
  ArrayRef<Value> arguments = fragment.arguments.inputs;
  SmallVector<SmallVector<ElementWords>> loaded;
  for (auto [input, argument] : llvm::zip_first(source.getInputs(), arguments))
    loaded.push_back(loadInput(fragment, input, argument, elements));
  SmallVector<ElementWords> kept(source.getKept().size());
  SmallVector<BlockElements> blocks;
  for (int64_t i = 0; i < fragment.countBlocks(elements); ++i) {
    ElementSource::Elements made = source.evaluate(
        b, llvm::map_to_vector(
               loaded, [&](ArrayRef<ElementWords> blocks) -> ElementWords {
                 return blocks[i];
               }));
    for (auto [all, words] : llvm::zip_equal(kept, made.kept))
      llvm::append_range(all, words);
    blocks.push_back(
        makeBlock(fragment, std::move(made.x),
                  elements - i * fragment.spec.getBlockElements()));
  }
  for (auto [logical, words, argument] :
       llvm::zip_equal(source.getKept(), kept,
                       arguments.drop_front(source.getInputs().size()))) {
    Type element = getElementTypeOrSelf(logical.getType());
    emitStoreBytes(b, words,
                   b.offset(argument, element, fragment.getFirstElement()),
                   elements * element.getIntOrFloatBitWidth() / 8,
                   source.getKeptAccessBytes(logical, getLoadBytes(fragment),
                                             fragment.accessBytes));
  }
  return blocks;
}

SmallVector<BlockElements> loadBlocks(const Fragment &fragment,
                                      const StagedMoves *staged,
                                      int64_t elements) {
  const QuantizeSpec &spec = fragment.spec;
  if (!spec.source->isMemory())
    return computeBlocks(fragment, elements);
  Value pointer = fragment.b.offset(fragment.arguments.x, spec.inputType,
                                    fragment.getFirstElement());
  if (staged && elements == fragment.mapping.fragmentElements)
    return loadStaged(fragment, *staged, pointer);
  return loadBlocksOf(fragment, pointer, spec.inputType, getLoadBytes(fragment),
                      elements);
}

} // namespace blockscale

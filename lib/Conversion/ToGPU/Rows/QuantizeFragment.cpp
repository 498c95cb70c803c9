//===- QuantizeFragment.cpp - What a thread quantizes ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeFragment.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupSearch.h"
#include "DeviceEmission/RandomWords.h"
#include "QuantizeArguments.h"
#include "blockscale/Numerics/Philox.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscale {

FragmentEmitter::FragmentEmitter(KernelBuilder &b, const QuantizeSpec &spec,
                                 const target::Chip &chip,
                                 const QuantizeOperands &arguments,
                                 FragmentPosition position, Value rowTiles,
                                 const GroupedScales *grouped)
    : b(b), spec(spec), mapping(spec, chip), cvt(createCvtEmitter(chip)),
      accessBytes(getAccessBytes(chip)), arguments(arguments),
      position(position), rowTiles(rowTiles), grouped(grouped) {}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Number of the row among all rows of the batch.
Value FragmentEmitter::getRowNumber() {
  Value before = arith::MulIOp::create(b, position.matrix, arguments.rows);
  return arith::AddIOp::create(b, before, position.row);
}

/// The first element of the fragment among all elements.
Value FragmentEmitter::getFirstElement() {
  Value before =
      arith::MulIOp::create(b, getRowNumber(), b.i64(spec.rowElements));
  return arith::AddIOp::create(b, before,
                               getFirstInRow(mapping.fragmentElements));
}

/// The first of the fragment's items in a row where full fragments have
/// `perFragment`.
Value FragmentEmitter::getFirstInRow(int64_t perFragment) {
  return arith::MulIOp::create(b, b.zext64(position.fragment),
                               b.i64(perFragment));
}

int64_t FragmentEmitter::countBlocks(int64_t elements) const {
  return llvm::divideCeil(elements, spec.getBlockElements());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The group of the row, or of each block. A block is in the group that has its
/// last element; one that is not whole is in none.
SmallVector<Value> FragmentEmitter::findGroups(int64_t elements) {
  SmallVector<Value> last;
  if (spec.groupDim == GroupDim::Rows)
    last.push_back(position.row);
  else
    for (int64_t i = 0, size = spec.getBlockElements();
         i < countBlocks(elements); ++i) {
      bool isWhole = (i + 1) * size <= elements;
      Value first = getFirstInRow(mapping.fragmentElements);
      last.push_back(
          isWhole ? arith::AddIOp::create(b, first, b.i64((i + 1) * size - 1))
                        .getResult()
                  : b.i64(std::numeric_limits<int64_t>::max()));
    }
  return emitFindGroups(b, getGroupEnds(b, spec, arguments), last);
}

FragmentEmitter::Codes FragmentEmitter::quantizeGroups(int64_t elements,
                                                       ArrayRef<Value> groups) {
  SmallVector<BlockElements> inputs = loadBlocks(elements);
  bool isApart = spec.groupDim == GroupDim::Columns &&
                 spec.global.extent == GlobalExtent::Group;
  Codes codes = isApart ? quantizeApart(inputs, groups)
                        : quantize(inputs, 0, groups.front());
  if (spec.groupDim == GroupDim::Columns)
    clearUncovered(codes, groups);
  return codes;
}

/// Quantizes each block under the global value of its group.
FragmentEmitter::Codes
FragmentEmitter::quantizeApart(ArrayRef<BlockElements> inputs,
                               ArrayRef<Value> groups) {
  Codes codes;
  for (int64_t i = 0, count = inputs.size(); i < count; ++i) {
    // The first block has a group.
    Value isCovered = isBelow(b, groups[i], arguments.groups);
    Value group = arith::SelectOp::create(b, isCovered, groups[i], groups[0]);
    Codes block = quantize(inputs[i], i, group);
    llvm::append_range(codes.words, block.words);
    if (i % 2 == 0) {
      codes.pairs.push_back(block.pairs.front());
      continue;
    }
    Value eight = arith::ConstantOp::create(b, b.getI16IntegerAttr(8));
    Value high = arith::ShLIOp::create(b, block.pairs.front(), eight);
    codes.pairs.back() = arith::OrIOp::create(b, codes.pairs.back(), high);
  }
  return codes;
}

/// Zeros the blocks of no group.
void FragmentEmitter::clearUncovered(Codes &codes, ArrayRef<Value> groups) {
  size_t blockWords = codes.words.size() / groups.size();
  Value zero = b.i32(0);
  auto none = [&]() -> Value {
    return arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  };
  for (auto [i, group] : llvm::enumerate(groups)) {
    Value isCovered = isBelow(b, group, arguments.groups);
    for (size_t word = i * blockWords; word < (i + 1) * blockWords; ++word)
      codes.words[word] =
          arith::SelectOp::create(b, isCovered, codes.words[word], zero);
    Value &pair = codes.pairs[i / 2];
    // Blocks behind a block of no group have no group either, so that a pair
    // whose first block has none is zero as a whole.
    Value low = arith::AndIOp::create(
        b, pair, arith::ConstantOp::create(b, b.getI16IntegerAttr(0xFF)));
    pair =
        arith::SelectOp::create(b, isCovered, pair, i % 2 == 0 ? none() : low);
  }
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

SmallVector<Value> FragmentEmitter::emit(int64_t elements) {
  if (spec.groupDim == GroupDim::None) {
    Codes codes = quantize(loadBlocks(elements), 0, Value());
    store(codes, elements);
    return codes.pairs;
  }
  SmallVector<Value> groups = findGroups(elements);
  int64_t blocks = countBlocks(elements);
  SmallVector<Type> types(blocks * spec.getBlockElements() *
                              spec.getDataBits() / 32,
                          b.getI32Type());
  size_t words = types.size();
  types.append(llvm::divideCeil(blocks, 2), b.getI16Type());
  SmallVector<Value> found = emitIfElseZero(
      b, isBelow(b, groups.front(), arguments.groups), types, [&] {
        Codes codes = quantizeGroups(elements, groups);
        llvm::append_range(codes.words, codes.pairs);
        return codes.words;
      });
  Codes codes = {SmallVector<Value>(ArrayRef(found).take_front(words)),
                 SmallVector<Value>(ArrayRef(found).drop_front(words))};
  store(codes, elements);
  return codes.pairs;
}

Value FragmentEmitter::loadGlobal(Value group) {
  Value pointer = arguments.global;
  if (!pointer || spec.global.byValue)
    return pointer;
  auto offset = [&](Value index) {
    return b.offset(pointer, b.getF32Type(), index);
  };
  switch (spec.global.extent) {
  case GlobalExtent::Tensor:
    break;
  case GlobalExtent::Matrix:
    pointer = offset(position.matrix);
    break;
  case GlobalExtent::Row:
    pointer = offset(getRowNumber());
    break;
  case GlobalExtent::Group:
    pointer = offset(group);
    break;
  }
  return b.load(b.getF32Type(), pointer, sizeof(float));
}

/// All loads of elements come before the first use, so that they are in flight
/// together.
SmallVector<BlockElements> FragmentEmitter::loadBlocks(int64_t elements) {
  SmallVector<BlockElements> inputs;
  if (source) {
    inputs = source(elements);
  } else if (!spec.source->isMemory()) {
    inputs = computeBlocks(elements);
  } else {
    Value pointer = b.offset(arguments.x, spec.inputType, getFirstElement());
    inputs = isStaged(elements) ? loadStagedBlocks(pointer)
                                : loadOwnBlocks(pointer, elements);
  }
  if (spec.amaxIsGiven)
    givenAmaxes = loadAmaxes(inputs.size());
  return inputs;
}

SmallVector<BlockElements> FragmentEmitter::loadOwnBlocks(Value pointer,
                                                          int64_t elements) {
  return loadBlocksOf(pointer, spec.inputType, getLoadBytes(spec, accessBytes),
                      elements);
}

/// Loads the blocks of elements of `type` at `pointer`, in accesses of
/// `loadBytes`.
SmallVector<BlockElements> FragmentEmitter::loadBlocksOf(Value pointer,
                                                         Type type,
                                                         int64_t loadBytes,
                                                         int64_t elements) {
  int64_t blockElements = spec.getBlockElements();
  int64_t blockBytes = blockElements * type.getIntOrFloatBitWidth() / 8;
  SmallVector<BlockElements> blocks;
  for (int64_t i = 0; i < countBlocks(elements); ++i)
    blocks.push_back(BlockElements::load(
        b, b.offset(pointer, b.getI8Type(), b.i64(i * blockBytes)), type,
        blockElements, std::min(blockElements, elements - i * blockElements),
        loadBytes));
  return blocks;
}

/// Words of an input for each block.
SmallVector<ElementWords>
FragmentEmitter::loadInput(const ElementSource::Input &input, Value argument,
                           int64_t elements) {
  if (!input.isAlongRows()) {
    Value index = input.spread == Spread::Rows ? getRowNumber() : b.i64(0);
    return SmallVector<ElementWords>(
        countBlocks(elements), spec.source->loadOne(b, input, argument, index));
  }
  Value first = input.spread == Spread::Elements
                    ? getFirstElement()
                    : getFirstInRow(mapping.fragmentElements);
  int64_t loadBytes = input.getAccessBytes(
      spec.inputType, getLoadBytes(spec, accessBytes), accessBytes);
  SmallVector<ElementWords> blocks;
  for (const BlockElements &block :
       loadBlocksOf(b.offset(argument, input.element, first), input.element,
                    loadBytes, elements)) {
    ElementWords &words = blocks.emplace_back();
    for (Value vector : block.getWords())
      for (int64_t i = 0;
           i < cast<VectorType>(vector.getType()).getNumElements(); ++i)
        words.push_back(b.extract(vector, i));
  }
  return blocks;
}

/// The blocks of an x that elementwise ops make. All that they take is loaded
/// before. Elements that the last block has not are 0.
SmallVector<BlockElements> FragmentEmitter::computeBlocks(int64_t elements) {
  SmallVector<SmallVector<ElementWords>> loaded;
  ArrayRef<ElementSource::Input> inputs = spec.source->getInputs();
  for (auto [input, argument] :
       llvm::zip_first(inputs, ArrayRef<Value>(arguments.inputs)))
    loaded.push_back(loadInput(input, argument, elements));
  ArrayRef<Value> kept = spec.source->getKept();
  SmallVector<ElementWords> keptWords(kept.size());
  int64_t blockElements = spec.getBlockElements();
  int64_t perWord = kWordBytes / spec.getInputBytes();
  SmallVector<BlockElements> blocks;
  for (int64_t i = 0; i < countBlocks(elements); ++i) {
    ElementSource::Elements made = spec.source->evaluate(
        b, llvm::map_to_vector(
               loaded, [&](ArrayRef<ElementWords> blocks) -> ElementWords {
                 return blocks[i];
               }));
    for (auto [all, words] : llvm::zip_equal(keptWords, made.kept))
      llvm::append_range(all, words);
    ElementWords &words = made.x;
    int64_t present = elements - i * blockElements;
    for (int64_t word = 0; word < blockElements / perWord; ++word) {
      int64_t left = present - word * perWord;
      if (left <= 0)
        words[word] = b.i32(0);
      else if (left < perWord)
        words[word] = arith::AndIOp::create(b, words[word], b.i32(0xFFFF));
    }
    constexpr int64_t perVector = 4;
    SmallVector<Value> vectors;
    for (int64_t word = 0; word < blockElements / perWord; word += perVector)
      vectors.push_back(b.pack(ArrayRef<Value>(words).slice(word, perVector)));
    blocks.push_back(BlockElements::fromWords(vectors, spec.inputType));
  }
  for (auto [logical, words, argument] : llvm::zip_equal(
           kept, keptWords,
           ArrayRef<Value>(arguments.inputs).drop_front(inputs.size()))) {
    Type element = getElementTypeOrSelf(logical.getType());
    emitStoreBytes(b, words, b.offset(argument, element, getFirstElement()),
                   elements * element.getIntOrFloatBitWidth() / 8,
                   spec.source->getKeptAccessBytes(
                       logical, getLoadBytes(spec, accessBytes), accessBytes));
  }
  return blocks;
}

SmallVector<BlockElements> FragmentEmitter::loadStagedBlocks(Value pointer) {
  int64_t bytes = mapping.fragmentElements * spec.getInputBytes();
  SmallVector<Type> types(bytes / WarpBuffer::kPartBytes,
                          VectorType::get({4}, b.getI32Type()));
  auto branch = scf::IfOp::create(b, types, isFullWarp,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(
        b, buffer->load(b, pointer, bytes,
                        getRunStride(spec.inputType.getIntOrFloatBitWidth())));
    b.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> words;
    for (const BlockElements &own :
         loadOwnBlocks(pointer, mapping.fragmentElements))
      llvm::append_range(words, own.getWords());
    scf::YieldOp::create(b, words);
  }
  SmallVector<Value> words = branch.getResults();
  SmallVector<BlockElements> inputs;
  size_t blockWords = words.size() / mapping.fragmentBlocks;
  for (int64_t i = 0; i < mapping.fragmentBlocks; ++i)
    inputs.push_back(BlockElements::fromWords(
        ArrayRef<Value>(words).slice(i * blockWords, blockWords),
        spec.inputType));
  return inputs;
}

SmallVector<Value> FragmentEmitter::loadAmaxes(int64_t blocks) {
  Value first =
      arith::MulIOp::create(b, getRowNumber(), b.i64(spec.getBlocksPerRow()));
  first =
      arith::AddIOp::create(b, first, getFirstInRow(mapping.fragmentBlocks));
  Value pointer = b.offset(arguments.blockAmax, b.getF32Type(), first);
  SmallVector<Value> amaxes;
  for (int64_t i = 0; i < blocks; ++i)
    amaxes.push_back(b.load(b.getF32Type(),
                            b.offset(pointer, b.getF32Type(), b.i64(i)),
                            sizeof(float)));
  return amaxes;
}

/// Blocks from block `first` of the fragment on, all in one group.
FragmentEmitter::Codes FragmentEmitter::quantize(ArrayRef<BlockElements> inputs,
                                                 int64_t first, Value group) {
  std::unique_ptr<DeviceQuantizer> quantizer = createDeviceQuantizer(
      *cvt, spec.recipe, spec.format, spec.global.kind, spec.amaxIsGiven);
  quantizer->setGlobal(b, loadGlobal(group));
  SmallVector<Value> amaxes;
  if (spec.amaxIsGiven)
    llvm::append_range(
        amaxes, ArrayRef<Value>(givenAmaxes).slice(first, inputs.size()));
  else
    for (const BlockElements &input : inputs)
      amaxes.push_back(input.computeAmax(b, *cvt));
  DeviceQuantizer::Scales scales = quantizer->computeScales(b, amaxes, inputs);

  std::optional<RandomWords> random;
  Value firstGroup;
  if (spec.stochastic) {
    random.emplace(b, arguments.rng);
    int64_t rowGroups =
        llvm::divideCeil(spec.rowElements, numerics::kRandomGroup);
    firstGroup = arith::MulIOp::create(b, getRowNumber(), b.i64(rowGroups));
    firstGroup = arith::AddIOp::create(
        b, firstGroup,
        getFirstInRow(mapping.fragmentElements / numerics::kRandomGroup));
  }
  Codes codes;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    int64_t blockGroups = spec.getBlockElements() / numerics::kRandomGroup;
    SmallVector<Value> words;
    for (int64_t at = 0; random && at < blockGroups; ++at)
      words.append(random->draw(arith::AddIOp::create(
          b, firstGroup, b.i64((first + i) * blockGroups + at))));
    llvm::append_range(codes.words,
                       quantizer->encode(b, input, scales.factors[i], words));
  }
  llvm::append_range(codes.pairs, scales.pairs);
  return codes;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void FragmentEmitter::store(const Codes &codes, int64_t elements) {
  if (arguments.data)
    storeData(codes.words, elements);
  if (spec.decoding)
    storeDecoded(codes, elements);
}

/// Stores the codes of the fragment's `elements` elements: as many bytes of
/// `words` as they take.
void FragmentEmitter::storeData(SmallVector<Value> words, int64_t elements) {
  int64_t bits = spec.getDataBits();
  int64_t total = llvm::divideCeil(elements * bits, 8);
  // A last byte of one code has zero above it.
  if (int64_t used = elements * bits % 32; used % 8 != 0) {
    Value &last = words[elements * bits / 32];
    last = arith::AndIOp::create(b, last, b.i32((1u << used) - 1));
  }
  Value byte;
  if (spec.rowElements * bits % 8 == 0) {
    byte = getFirstElement();
    if (bits == 4)
      byte = arith::ShRUIOp::create(b, byte, b.i64(1));
  } else {
    byte = arith::MulIOp::create(b, getRowNumber(), b.i64(spec.getRowBytes()));
    byte = arith::AddIOp::create(
        b, byte, getFirstInRow(mapping.fragmentElements * bits / 8));
  }
  Value pointer = b.offset(arguments.data, b.getI8Type(), byte);
  storeWords(words, pointer, total, getDataStoreBytes(spec, accessBytes),
             isStaged(elements), bits);
}

/// Stores the values of the fragment's `elements` elements.
void FragmentEmitter::storeDecoded(const Codes &codes, int64_t elements) {
  int64_t bits = spec.decoding->getValueBits();
  // Shared memory has room for the elements of x.
  bool fits = bits / 8 <= spec.getInputBytes();
  storeWords(
      spec.decoding->emit(b, codes.words, codes.pairs),
      b.offset(arguments.decoded, spec.decoding->type, getFirstElement()),
      elements * bits / 8, getDecodedStoreBytes(spec, accessBytes),
      fits && isStaged(elements), bits);
}

/// Stores `bytes` of `words` in accesses of up to `storeBytes`, or through
/// shared memory, elements of `bits`.
void FragmentEmitter::storeWords(ArrayRef<Value> words, Value pointer,
                                 int64_t bytes, int64_t storeBytes,
                                 bool isThroughBuffer, int64_t bits) {
  auto storeOwn = [&] { emitStoreBytes(b, words, pointer, bytes, storeBytes); };
  if (!isThroughBuffer)
    return storeOwn();
  emit::emitIf(
      b, isFullWarp,
      [&] { buffer->store(b, words, pointer, getRunStride(bits)); }, storeOwn);
}

void FragmentEmitter::storeScales(ArrayRef<Value> pairs, int64_t blocks) {
  if (!arguments.scale)
    return;
  if (grouped)
    return storeGroupedScales(pairs, blocks);
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t fragmentBlocks = mapping.fragmentBlocks;
  int64_t stored = spec.swizzled ? fragmentBlocks : blocks;
  Value address =
      spec.swizzled
          ? getSwizzledScaleAddress(b, arguments.scale, rowTiles, position,
                                    rowBlocks, fragmentBlocks)
          : getLinearScaleAddress(b, arguments.scale, arguments.rows, position,
                                  rowBlocks, fragmentBlocks);
  Value zero = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  SmallVector<Value> all(pairs);
  all.resize(llvm::divideCeil(stored, 2), zero);
  storeScaleBytes(b, all, address, stored,
                  getScaleStoreBytes(spec, fragmentBlocks));
}

/// Stores the scale bytes of those blocks that have a group.
void FragmentEmitter::storeGroupedScales(ValueRange pairs, int64_t blocks) {
  Value row = toIndex(b, position.row);
  Value first = toIndex(b, getFirstInRow(mapping.fragmentBlocks));
  auto emitIfFound = [&](const emit::Group &group, function_ref<void()> body) {
    emit::emitIf(b, isBelow(b, group.begin, group.end), body);
  };
  if (grouped->alongRows()) {
    // The row has one.
    emit::Group group = grouped->find(row).front();
    return emitIfFound(group, [&] {
      storeScaleBytes(b, pairs, grouped->getAddress(group, row, first), blocks,
                      mapping.fragmentBlocks);
    });
  }
  SmallVector<Value> columns;
  for (int64_t i = 0; i < blocks; ++i)
    columns.push_back(emit::add(b, first, emit::getIndex(b, i)));
  SmallVector<emit::Group> groups = grouped->find(columns);
  for (int64_t i = 0; i < blocks; ++i)
    emitIfFound(groups[i], [&] {
      Value byte = pairs[i / 2];
      if (i % 2 != 0)
        byte = arith::ShRUIOp::create(
            b, byte, arith::ConstantOp::create(b, b.getI16IntegerAttr(8)));
      b.store(arith::TruncIOp::create(b, b.getI8Type(), byte),
              grouped->getAddress(groups[i], row, columns[i]), 1);
    });
}

} // namespace blockscale

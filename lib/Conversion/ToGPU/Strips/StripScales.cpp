//===- StripScales.cpp - Scales of the blocks of a fragment ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripScales.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"
#include "FragmentElements.h"
#include "blockscale/Numerics/Philox.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

using emit::getIndex;
using numerics::kRandomWordElements;

/// The number of columns whose blocks are given at once to a quantizer that
/// asks for the elements.
static constexpr int64_t kRoundColumns = 2;

StripScales::StripScales(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position,
                         const FragmentElements &elements, CvtEmitter &cvt,
                         Globals globals, const StripGroups *groups,
                         StripScaleTable &table)
    : b(b), spec(spec), position(position), elements(elements), cvt(cvt),
      global(globals.operand), groups(groups), table(table),
      height(std::min(spec.shape->fragmentRows, spec.block[0])) {
  Lanes value = loadGlobal(0);
  quantizer = createDeviceQuantizer(value);
  decodeGlobal = globals.scale ? globals.scale : Value(value);
  computeMasks();
  if (spec.hasRowBlocks())
    emitRows();
  else if (spec.isSquare())
    emitTiles();
  else
    emitColumns();
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

static Lanes loadNumber(KernelBuilder &b, Value global, Lanes index) {
  return b.load(b.getF32Type(), emitAddress(b, global, b.getF32Type(), index),
                sizeof(float));
}

/// The global value of the block at a column or row.
Lanes StripScales::loadGlobal(int64_t place) {
  if (!global || spec.hasGlobalByValue())
    return {b, global};
  switch (spec.global.extent) {
  case GlobalExtent::Matrix:
    return loadNumber(b, global, position.matrix);
  case GlobalExtent::Group:
    return loadGlobal(groups->getNumber(place), groups->isCovered(place));
  default:
    return loadNumber(b, global, getIndex(b, 0));
  }
}

/// The global value of a group, 0 where it does not exist.
Lanes StripScales::loadGlobal(Lanes group, Lanes exists) {
  return emitIfElseZero(b, exists,
                        [&]() -> SmallVector<Lanes> {
                          return {loadNumber(b, global, group)};
                        })
      .front();
}

std::unique_ptr<DeviceQuantizer>
StripScales::createDeviceQuantizer(Lanes global) {
  std::unique_ptr<DeviceQuantizer> quantizer =
      blockscale::createDeviceQuantizer(cvt, spec.recipe, spec.format,
                                        spec.global.kind,
                                        /*amaxIsGiven=*/false);
  quantizer->setGlobal(b, global);
  return quantizer;
}

//===----------------------------------------------------------------------===//
// Scale bytes that are stored
//===----------------------------------------------------------------------===//

/// Scale bytes as they are stored: zero in padding.
SmallVector<Lanes> StripScales::keepPairs(ArrayRef<Lanes> pairs, Lanes exists) {
  SmallVector<Lanes> kept(pairs);
  for (Lanes &pair : kept)
    if (spec.swizzled)
      pair = select(exists, pair, pair.like(0));
  return kept;
}

/// Sets the scale bytes of blocks that have no group to zero. `covered` says of
/// each block, or of all, whether it has one.
void StripScales::keepCovered(MutableArrayRef<Lanes> pairs,
                              ArrayRef<Lanes> covered) {
  for (auto [i, pair] : llvm::enumerate(pairs)) {
    if (covered.size() == 1) {
      pair = select(covered.front(), pair, pair.like(0));
      continue;
    }
    for (int64_t half : {0, 1})
      pair = select(covered[2 * static_cast<int64_t>(i) + half], pair,
                    pair & (half ? 0xFF : ~0xFF));
  }
}

void StripScales::computeMasks() {
  if (groups && spec.hasGroupsOfRows()) {
    llvm::append_range(masks, groups->getCovered());
    return;
  }
  for (int64_t v = 0; groups && v < elements.getVectorsPerRow(); ++v) {
    if (groups->isOne()) {
      masks.push_back(groups->isCovered(0));
      continue;
    }
    SmallVector<Value> mask;
    for (int64_t i = 0; i < elements.getVectorSize(); ++i)
      mask.push_back(groups->isCovered(elements.getColumn(v, i)));
    masks.push_back(b.pack(mask));
  }
}

SmallVector<Value> StripScales::getScaledPart(int64_t row, int64_t part) {
  auto scale = [&](Lanes vector, int64_t v) {
    Lanes scaled = quantizer->scale(b, vector, factors[row / height][v]);
    if (masks.empty())
      return scaled;
    return select(masks[spec.hasGroupsOfRows() ? row : v], scaled,
                  b.f32Splat(0.0f, elements.getVectorSize()));
  };
  return elements.mapPart(row, part, scale);
}

SmallVector<Value> StripScales::getRoundedPart(int64_t row, int64_t part,
                                               ArrayRef<Value> randomWords) {
  const BlockDecoding &decoding = *spec.decoding;
  constexpr int64_t columns = FragmentElements::kPartColumns;
  SmallVector<Value> scaled;
  if (!spec.roundsPairs() || !decoding.scalesPairs())
    scaled = getScaledPart(row, part);
  if (!spec.roundsPairs())
    return decoding.emitRounded(
        b, scaled,
        [&](int64_t j) { return getDecodeFactor(row, part * columns + j); },
        decodeGlobal,
        randomWords.drop_front(
            randomWords.empty() ? 0 : part * columns / kRandomWordElements));
  ArrayRef<PairFactors> ofRow = pairFactors[row / height];
  SmallVector<Value> all = elements.getWords(row), words;
  for (int64_t i = 0; i < columns / 2; ++i) {
    int64_t number = part * (columns / 2) + i;
    Lanes word(b, all[number]);
    const PairFactors &pair = ofRow[ofRow.size() == 1 ? 0 : number];
    words.push_back(
        pair.scale ? decoding.emitRoundedPair(b, word, pair.scale, pair.decode)
                   : decoding.emitRoundedPair(b, word,
                                              ArrayRef(scaled).slice(2 * i, 2),
                                              pair.decode));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The halves of two words that are exact as bf16 of f32, the first low.
static Lanes packHalves(KernelBuilder &b, Lanes low, Lanes high) {
  return b.toBits(low) >> 16 | (b.toBits(high) & 0xFFFF0000u);
}

/// One of the two bf16 of a word, twice.
static Lanes splatHalf(KernelBuilder &b, Lanes word, int32_t half) {
  Lanes pair = b.bitcast(VectorType::get({2}, b.getBF16Type()), word);
  return {b, LLVM::ShuffleVectorOp::create(b, pair, pair,
                                           ArrayRef<int32_t>{half, half})};
}

/// Adds factors of the next rows, given those of scaling and the scale bytes of
/// blocks, and the number of the block of each column.
void StripScales::addFactors(ArrayRef<Lanes> scales, ArrayRef<Lanes> pairs,
                             function_ref<int64_t(int64_t)> getBlock) {
  bool scalesPairs = spec.roundsPairs() && spec.decoding->scalesPairs();
  if (!scalesPairs)
    addScaleFactors([&](int64_t column) { return scales[getBlock(column)]; });
  if (!spec.roundsPairs())
    return addDecodeFactors(pairs, getBlock);
  SmallVector<Lanes> decoding;
  for (size_t i = 0; i < scales.size(); ++i)
    decoding.push_back(spec.decoding->emitFactor(
        b, pairs, static_cast<int64_t>(i), decodeGlobal));
  auto bf16 = VectorType::get({2}, b.getBF16Type());
  SmallVector<PairFactors> &ofColumns = pairFactors.emplace_back();
  for (int64_t j = 0; j < spec.shape->fragmentColumns; j += 2) {
    auto pack = [&](ArrayRef<Lanes> ofBlocks) {
      return b.bitcast(bf16, packHalves(b, ofBlocks[getBlock(j)],
                                        ofBlocks[getBlock(j + 1)]));
    };
    ofColumns.push_back({pack(decoding), scalesPairs ? pack(scales) : Lanes()});
  }
}

/// Adds factors of scaling of the next rows, given that of each column.
void StripScales::addScaleFactors(function_ref<Value(int64_t)> ofColumn) {
  factors.emplace_back();
  for (int64_t v = 0; v < elements.getVectorsPerRow(); ++v) {
    SmallVector<Value> vector;
    for (int64_t i = 0; i < elements.getVectorSize(); ++i)
      vector.push_back(ofColumn(elements.getColumn(v, i)));
    bool isSplat = llvm::all_equal(vector);
    factors.back().push_back(
        isSplat ? b.splat(vector.front(), elements.getVectorSize())
                : b.pack(vector));
  }
}

/// Adds factors by which codes of the next rows are decoded, given the number
/// of each column's block among those of `pairs`.
void StripScales::addDecodeFactors(ArrayRef<Lanes> pairs,
                                   function_ref<int64_t(int64_t)> getBlock) {
  if (!spec.decoding)
    return;
  SmallVector<Lanes> &ofColumns = decodeFactors.emplace_back();
  for (int64_t j = 0; j < spec.shape->fragmentColumns; ++j) {
    bool isNew = j == 0 || getBlock(j) != getBlock(j - 1);
    ofColumns.push_back(
        isNew ? spec.decoding->emitFactor(b, pairs, getBlock(j), decodeGlobal)
              : ofColumns.back());
  }
}

/// Emits `body` in the first of the threads that share a block.
static void emitInFirst(KernelBuilder &b, Lanes lane, int64_t sharing,
                        function_ref<void()> body) {
  if (sharing <= 1)
    return body();
  Lanes isFirst = isBelow(numerics::split(lane, sharing).second, 1);
  emit::emitIf(b, isFirst, body);
}

/// The scales of blocks beside each other, of which there is one or an even
/// number. `globals` is empty where they are under that of `quantizer`, and has
/// one for each elsewhere; `blocks` is empty where quantizers do not ask for
/// elements.
DeviceQuantizer::Scales
StripScales::computeEach(ArrayRef<Lanes> amaxes, ArrayRef<Lanes> globals,
                         ArrayRef<BlockElements> blocks) {
  if (globals.empty())
    return quantizer->computeScales(b, amaxes, blocks);
  DeviceQuantizer::Scales scales;
  for (size_t j = 0; j < globals.size(); ++j) {
    DeviceQuantizer::Scales part =
        createDeviceQuantizer(globals[j])
            ->computeScales(b, amaxes[j],
                            blocks.empty() ? blocks : blocks.slice(j, 1));
    llvm::append_range(scales.factors, part.factors);
    if (j % 2 == 0)
      llvm::append_range(scales.pairs, part.pairs);
    else
      scales.pairs.back() = scales.pairs.back() | part.pairs.front() << 8;
  }
  return scales;
}

//===----------------------------------------------------------------------===//
// Blocks of one row
//===----------------------------------------------------------------------===//

/// Threads side by side share the blocks of 16 rows. Each computes the scales
/// of some of these rows: at each exchange a thread keeps half of the rows and
/// gives its amaxes of the others away, and gets factors back in reverse:
///
///   lane 0: rows 0-15  ->  0-7      lane 1: rows 0-15  ->  8-15
void StripScales::emitRows() {
  int64_t sharing = spec.block[1] / spec.shape->fragmentColumns;
  SmallVector<Value> amaxes = elements.computeRowAmaxes();
  Lanes first = getIndex(b, 0);
  SmallVector<Lanes> isBehind;
  // The groups of the rows whose amaxes this thread has.
  SmallVector<Lanes> groupNumbers;
  if (groups && spec.hasGroupsOfRows())
    llvm::append_range(groupNumbers, groups->getNumbers());
  for (int64_t mask = 1; mask < sharing; mask *= 2) {
    Lanes bit = position.laneColumn / mask % 2;
    isBehind.push_back(isBelow(bit.like(0), bit));
    elements.exchangeRowAmaxes(amaxes, isBehind.back(), mask);
    first = first + bit * static_cast<int64_t>(2 * amaxes.size());
    size_t half = groupNumbers.size() / 2;
    for (size_t i = 0; i < half; ++i)
      groupNumbers[i] =
          select(isBehind.back(), groupNumbers[half + i], groupNumbers[i]);
    groupNumbers.truncate(half);
  }

  SmallVector<Lanes> rows = elements.extractRows(amaxes);
  Lanes block = position.column / spec.block[1];
  Lanes exists = isBelow(block * spec.block[1], position.columns);
  SmallVector<Lanes> covered, globals;
  for (Lanes number : groupNumbers) {
    covered.push_back(groups->exists(number));
    if (spec.global.extent == GlobalExtent::Group)
      globals.push_back(loadGlobal(number, covered.back()));
  }
  DeviceQuantizer::Scales scales = computeEach(rows, globals, {});
  if (groups)
    keepCovered(scales.pairs,
                covered.empty() ? groups->getCovered() : ArrayRef(covered));
  table.put(keepPairs(scales.pairs, exists), static_cast<int64_t>(rows.size()),
            first, getIndex(b, 0), /*down=*/true);
  auto giveBack = [&](SmallVector<Lanes> ofRows) {
    int64_t mask = sharing / 2;
    for (Lanes behind : llvm::reverse(isBehind)) {
      SmallVector<Lanes> before, after;
      for (Lanes mine : ofRows) {
        Lanes other = b.toFloat(emitShuffle(b, b.toBits(mine), mask));
        before.push_back(select(behind, other, mine));
        after.push_back(select(behind, mine, other));
      }
      ofRows = std::move(before);
      llvm::append_range(ofRows, after);
      mask /= 2;
    }
    return ofRows;
  };
  SmallVector<Lanes> factors = llvm::to_vector(scales.factors), decoding;
  if (spec.decoding)
    for (size_t i = 0; i < rows.size(); ++i)
      decoding.push_back(spec.decoding->emitFactor(
          b, scales.pairs, static_cast<int64_t>(i), decodeGlobal));
  if (spec.roundsPairs() && spec.decoding->scalesPairs()) {
    // Both factors of a row are one word.
    for (auto [factor, other] : llvm::zip_equal(factors, decoding))
      factor = b.toFloat(packHalves(b, other, factor));
    for (Lanes both : giveBack(factors)) {
      Lanes word = b.toBits(both);
      pairFactors.push_back({{splatHalf(b, word, 0), splatHalf(b, word, 1)}});
    }
    return;
  }
  for (Lanes factor : giveBack(factors))
    addScaleFactors([&](int64_t) { return factor; });
  if (!spec.roundsPairs()) {
    for (Lanes factor : giveBack(decoding))
      decodeFactors.push_back({factor});
    return;
  }
  // Those of two rows are one word.
  SmallVector<Lanes> words;
  for (size_t i = 0; i < decoding.size(); i += 2)
    words.push_back(b.toFloat(packHalves(b, decoding[i], decoding[i + 1])));
  for (Lanes both : giveBack(words))
    for (int32_t half : {0, 1})
      pairFactors.push_back({{splatHalf(b, b.toBits(both), half), Lanes()}});
}

//===----------------------------------------------------------------------===//
// Blocks of one column
//===----------------------------------------------------------------------===//

/// The blocks of columns, made from `words`, which are those of the rows.
SmallVector<BlockElements>
StripScales::getColumnBlocks(ArrayRef<SmallVector<Value>> words) {
  SmallVector<SmallVector<Value>> columns(kRoundColumns);
  for (ArrayRef<Value> ofRow : words) {
    Value packed = b.pack(ofRow);
    for (auto [column, element] :
         llvm::zip_equal(columns, elements.extractColumns(packed)))
      column.push_back(b.toBits(element));
  }
  SmallVector<BlockElements> blocks;
  for (ArrayRef<Value> column : columns) {
    SmallVector<Value> vectors;
    for (; !column.empty(); column = column.drop_front(kVectorWords))
      vectors.push_back(b.pack(column.take_front(kVectorWords)));
    blocks.push_back(BlockElements::fromWords(vectors, b.getF32Type()));
  }
  return blocks;
}

/// The scales of all columns of rows [row, row + span), each under the global
/// value of its group.
DeviceQuantizer::Scales StripScales::computeColumns(ArrayRef<Lanes> amaxes,
                                                    int64_t row, int64_t span) {
  SmallVector<Lanes> globals;
  if (spec.global.extent == GlobalExtent::Group && !groups->isOne())
    for (int64_t j = 0; j < spec.shape->fragmentColumns; ++j)
      globals.push_back(loadGlobal(j));
  if (!numerics::isFourOverSix(spec.recipe))
    return computeEach(amaxes, globals, {});
  // A quantizer that asks for the elements has long code: once, in a loop.
  int64_t rounds = spec.shape->fragmentColumns / kRoundColumns;
  auto toLanes = [&](ArrayRef<Value> values) {
    return llvm::map_to_vector(values,
                               [&](Value value) { return Lanes(b, value); });
  };
  Value noPair = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  SmallVector<SmallVector<Value>> lists;
  lists.push_back(llvm::to_vector_of<Value>(amaxes));
  lists.push_back(llvm::to_vector_of<Value>(globals));
  lists.emplace_back(spec.shape->fragmentColumns, b.f32(0.0f));
  lists.emplace_back(rounds, noPair);
  for (int64_t i = row; i < row + span; ++i)
    lists.push_back(elements.getWords(i));
  lists = emitRounds(b, rounds, lists,
                     [&](MutableArrayRef<SmallVector<Value>> first) {
                       DeviceQuantizer::Scales part =
                           computeEach(toLanes(first[0]), toLanes(first[1]),
                                       getColumnBlocks(first.drop_front(4)));
                       first[2] = llvm::to_vector_of<Value>(part.factors);
                       first[3] = llvm::to_vector_of<Value>(part.pairs);
                     });
  // In the same registers from here on.
  for (int64_t i = row; i < row + span; ++i)
    elements.setWords(i, lists[4 + i - row]);
  DeviceQuantizer::Scales scales;
  llvm::append_range(scales.factors, toLanes(lists[2]));
  llvm::append_range(scales.pairs, toLanes(lists[3]));
  return scales;
}

void StripScales::emitColumns() {
  int64_t span = height;
  int64_t sharing = spec.block[0] / span;
  for (int64_t row = 0; row * span < spec.shape->fragmentRows; ++row) {
    SmallVector<Value> amaxes =
        elements.computeColumnAmaxes(row * span, (row + 1) * span);
    for (int64_t mask = 1; mask < sharing; mask *= 2)
      elements.exchangeColumnAmaxes(amaxes,
                                    mask * spec.shape->getLaneColumns());
    DeviceQuantizer::Scales scales =
        computeColumns(elements.extractColumns(amaxes), row * span, span);
    if (groups)
      keepCovered(scales.pairs, groups->getCovered());
    Lanes exists = position.hasRow(row * span);
    emitInFirst(b, position.laneRow, sharing, [&] {
      table.put(keepPairs(scales.pairs, exists), spec.shape->fragmentColumns,
                getIndex(b, row), getIndex(b, 0), /*down=*/false);
    });
    addFactors(scales.factors, scales.pairs,
               [](int64_t column) { return column; });
  }
}

//===----------------------------------------------------------------------===//
// Square blocks
//===----------------------------------------------------------------------===//

void StripScales::emitTiles() {
  int64_t width = std::min(spec.shape->fragmentColumns, spec.block[1]);
  int64_t sharingRows = spec.block[0] / height;
  int64_t sharingColumns = spec.block[1] / width;
  int64_t tileRows = spec.shape->fragmentRows / height;
  int64_t tileColumns = spec.shape->fragmentColumns / width;
  SmallVector<Lanes> amaxes;
  for (int64_t row = 0; row < tileRows; ++row) {
    SmallVector<Value> columns =
        elements.computeColumnAmaxes(row * height, (row + 1) * height);
    for (int64_t column = 0; column < tileColumns; ++column) {
      Lanes amax = elements.reduceColumns(columns, column * width, width);
      for (int64_t mask = 1; mask < sharingColumns; mask *= 2)
        amax = emitExchangeMaximum(b, amax, mask);
      for (int64_t mask = 1; mask < sharingRows; mask *= 2)
        amax =
            emitExchangeMaximum(b, amax, mask * spec.shape->getLaneColumns());
      amaxes.push_back(amax);
    }
  }
  // One tile, or two beside or below each other.
  DeviceQuantizer::Scales tiles = quantizer->computeScales(b, amaxes, {});
  if (groups)
    keepCovered(tiles.pairs, groups->getCovered());
  bool down = tileRows > 1;
  emitInFirst(b, position.laneRow, sharingRows, [&] {
    emitInFirst(b, position.laneColumn, sharingColumns, [&] {
      for (int64_t i = 0; i < tileRows * tileColumns; ++i) {
        Lanes pair = tiles.pairs[i / 2];
        Lanes byte = i % 2 == 0 ? pair : pair >> 8;
        Lanes exists = spec.hasScalesAlongRows()
                           ? position.hasColumn(down ? 0 : i * width)
                           : position.hasRow(down ? i * height : 0);
        table.put(keepPairs(byte, exists), 1, getIndex(b, down ? i : 0),
                  getIndex(b, down ? 0 : i), down);
      }
    });
  });
  for (int64_t row = 0; row < tileRows; ++row) {
    addFactors(tiles.factors, tiles.pairs, [&](int64_t column) {
      return row * tileColumns + column / width;
    });
  }
}

} // namespace blockscale

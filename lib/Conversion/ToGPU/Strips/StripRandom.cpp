//===- StripRandom.cpp - Random bits of a fragment ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripRandom.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"
#include "blockscale/Numerics/Philox.h"

using namespace mlir;
using blockscale::emit::Lanes;
using blockscale::numerics::kRandomGroup;
using blockscale::numerics::kRandomWordElements;

namespace blockscale {

StripRandom::StripRandom(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position, Value rng)
    : b(b), spec(spec), position(position), words(b, rng),
      rowGroups(emit::ceilDiv(b, position.columns, kRandomGroup)) {
  Lanes row = position.matrix * position.rows + position.row;
  if (!spec.isPlaced) {
    firstGroup = row * rowGroups + position.column / kRandomGroup;
    return;
  }
  auto toIndex = [&](Lanes number) -> Lanes {
    return {b, arith::IndexCastOp::create(b, b.getIndexType(), number)};
  };
  auto [first, perRow] = RandomWords::loadPlace(b, rng);
  rowGroups = toIndex(perRow);
  firstGroup =
      toIndex(first) + row * rowGroups + position.column / kRandomGroup;
}

SmallVector<Value> StripRandom::draw(Lanes group) {
  return words.draw({b, arith::IndexCastOp::create(b, b.getI64Type(), group)});
}

int64_t StripRandom::countSharing() const {
  return kRandomGroup / spec.shape->fragmentColumns;
}

SmallVector<Value> StripRandom::drawRow(int64_t row) {
  int64_t sharing = countSharing();
  if (sharing == 1)
    return draw(firstGroup + rowGroups * row);
  if (row % sharing == 0)
    drawn = drawRows(row, sharing);
  SmallVector<Value> words;
  for (ArrayRef<Value> ofRows : drawn)
    words.push_back(ofRows[row % sharing]);
  return words;
}

/// Transposes the bytes of four words: words of rows, with a byte for each of
/// four columns, become words of columns, with a byte for each row. In each
/// word bytes 1 and 2 belong to elements 2 and 1.
static void transposeBytes(KernelBuilder &b, MutableArrayRef<Value> words) {
  constexpr uint32_t mask = 0x00FF00FF;
  auto exchangeHalves = [&](Value &first, Value &second) {
    Lanes low(b, first), high(b, second);
    first = (low & 0xFFFF) | (high << 16);
    second = (low >> 16) | (high & ~0xFFFFu);
  };
  auto exchangeBytes = [&](Value &first, Value &second) {
    Lanes low(b, first), high(b, second);
    first = (low & mask) | ((high & mask) << 8);
    second = ((low >> 8) & mask) | (high & ~mask);
  };
  exchangeHalves(words[0], words[1]);
  exchangeHalves(words[2], words[3]);
  exchangeBytes(words[0], words[2]);
  exchangeBytes(words[1], words[3]);
}

SmallVector<SmallVector<Value>> StripRandom::drawRows(int64_t first,
                                                      int64_t count) {
  int64_t sharing = countSharing();
  int64_t drawnRows = count / sharing;
  // Which of two threads this is, and what it draws so that exchanges put the
  // rows in order.
  SmallVector<std::pair<int64_t, Lanes>> exchanges;
  Lanes firstRow = emit::getIndex(b, first);
  for (int64_t mask = sharing / 2; mask > 0; mask /= 2) {
    Lanes bit = position.laneColumn / mask % 2;
    exchanges.emplace_back(mask, isBelow(bit.like(0), bit));
    firstRow = firstRow + bit * (count / (2 * mask));
  }
  SmallVector<SmallVector<Value>> wordRows(kRandomGroup / kRandomWordElements);
  for (int64_t i = 0; i < drawnRows; ++i) {
    Lanes row = firstRow + i;
    Lanes group = firstGroup + row * rowGroups;
    for (auto [wordRow, word] : llvm::zip_equal(wordRows, draw(group)))
      wordRow.push_back(word);
  }
  for (auto [mask, isBehind] : exchanges)
    exchangeHalves(b, wordRows, isBehind, mask);
  return wordRows;
}

SmallVector<SmallVector<Value>> StripRandom::drawColumns() {
  SmallVector<SmallVector<Value>> wordRows =
      drawRows(0, spec.shape->fragmentRows);
  SmallVector<SmallVector<Value>> columns;
  for (SmallVector<Value> &wordRow : wordRows) {
    MutableArrayRef<Value> rest(wordRow);
    for (; !rest.empty(); rest = rest.drop_front(kRandomWordElements))
      transposeBytes(b, rest.take_front(kRandomWordElements));
    for (int64_t column = 0; column < kRandomWordElements; ++column) {
      columns.emplace_back();
      for (size_t i = column; i < wordRow.size(); i += kRandomWordElements)
        columns.back().push_back(wordRow[i]);
    }
  }
  return columns;
}

} // namespace blockscale

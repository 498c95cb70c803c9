//===- FragmentElements.cpp - A fragment in registers ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentElements.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/DeviceHadamard.h"
#include "DeviceEmission/WarpExchange.h"
#include "StripLoads.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

Lanes StripPosition::hasRow(int64_t i) const {
  return isBelow(row + i, rowEnd);
}

Lanes StripPosition::hasColumn(int64_t j) const {
  return isBelow(column + j, columns);
}

FragmentElements::FragmentElements(KernelBuilder &b, CvtEmitter &cvt,
                                   const StripSource &source,
                                   const StripShape &shape,
                                   const StripPosition &position,
                                   ValueRange inputs)
    : b(b), cvt(cvt), element(shape.inputType), isPacked(!element.isF32()),
      rows(loadFragment(b, source, shape, position, inputs)) {}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

std::pair<Lanes, Lanes> FragmentElements::splitTwo(Value vector,
                                                   int64_t first) const {
  SmallVector<Value> evens, odds;
  for (int64_t i : {0, 1}) {
    auto [even, odd] = cvt.widenPair(b, b.extract(vector, first + i), element);
    evens.push_back(even);
    odds.push_back(odd);
  }
  return {b.pack(evens), b.pack(odds)};
}

void FragmentElements::transformPart(int64_t part, uint64_t signMask,
                                     FragmentElements &result) const {
  auto rounded = VectorType::get({2}, b.getBF16Type());
  int64_t vector = part / 2, first = part % 2 * 2;
  SmallVector<Lanes> evens, odds;
  for (ArrayRef<Value> row : rows) {
    auto [even, odd] = splitTwo(row[vector], first);
    evens.push_back(even);
    odds.push_back(odd);
  }
  emitHadamard(b, evens, signMask);
  emitHadamard(b, odds, signMask);
  for (auto [i, even, odd] : llvm::enumerate(evens, odds)) {
    SmallVector<Value> words = result.getWords(static_cast<int64_t>(i));
    for (int64_t j : {0, 1}) {
      Value pair = b.pack({b.extract(even, j), b.extract(odd, j)});
      words[vector * kVectorWords + first + j] =
          b.toBits(arith::TruncFOp::create(b, rounded, pair));
    }
    result.setWords(static_cast<int64_t>(i), words);
  }
}

FragmentElements FragmentElements::transformColumns(uint64_t signMask) const {
  FragmentElements result = *this;
  for (int64_t part = 0; part < countParts(); ++part)
    transformPart(part, signMask, result);
  return result;
}

//===----------------------------------------------------------------------===//
// Amaxes
//===----------------------------------------------------------------------===//

Lanes FragmentElements::getPair(size_t row, size_t vector, int64_t word) const {
  auto pair = VectorType::get({2}, element);
  return b.bitcast(pair, b.extract(rows[row][vector], word));
}

SmallVector<Value> FragmentElements::computeColumnAmaxes(int64_t begin,
                                                         int64_t end) const {
  auto floats = VectorType::get({kVectorWords}, b.getF32Type());
  SmallVector<Value> amaxes;
  for (size_t v = 0; v < rows.front().size(); ++v) {
    if (!isPacked) {
      SmallVector<Value> magnitudes;
      for (int64_t i = begin; i < end; ++i)
        magnitudes.push_back(b.abs(b.bitcast(floats, rows[i][v])));
      amaxes.push_back(
          reduceInTree(magnitudes, [&](Value lhs, Value rhs) -> Value {
            return arith::MaximumFOp::create(b, lhs, rhs);
          }));
      continue;
    }
    SmallVector<Value> words;
    for (int64_t word = 0; word < kVectorWords; ++word) {
      SmallVector<Value> pairs;
      for (int64_t i = begin; i < end; ++i)
        pairs.push_back(getPair(i, v, word));
      words.push_back(b.toBits(b.abs(cvt.reduceMagnitudes(b, pairs))));
    }
    auto elements = VectorType::get({2 * kVectorWords}, element);
    amaxes.push_back(b.bitcast(elements, b.pack(words)));
  }
  return amaxes;
}

void FragmentElements::exchangeColumnAmaxes(SmallVector<Value> &amaxes,
                                            int64_t mask) const {
  auto words = VectorType::get({kVectorWords}, b.getI32Type());
  for (Value &amax : amaxes) {
    Value mine = b.bitcast(words, amax);
    SmallVector<Value> others;
    for (int64_t i = 0; i < kVectorWords; ++i)
      others.push_back(emitShuffle(b, b.extract(mine, i), mask));
    Value other = b.bitcast(amax.getType(), b.pack(others));
    amax = arith::MaximumFOp::create(b, amax, other);
  }
}

SmallVector<Lanes>
FragmentElements::extractColumns(ArrayRef<Value> vectors) const {
  SmallVector<Lanes> columns;
  for (Value vector : vectors) {
    auto type = cast<VectorType>(vector.getType());
    int64_t count = type.getNumElements() * type.getElementTypeBitWidth() / 32;
    Value words = b.bitcast(VectorType::get({count}, b.getI32Type()), vector);
    for (int64_t i = 0; i < count; ++i) {
      Lanes word = b.extract(words, i);
      if (!isPacked) {
        columns.push_back(b.toFloat(word));
        continue;
      }
      auto [low, high] = cvt.widenPair(b, word, element);
      columns.append({low, high});
    }
  }
  return columns;
}

Lanes FragmentElements::reduceColumns(ArrayRef<Value> amaxes, int64_t begin,
                                      int64_t count) const {
  int64_t perVector = isPacked ? 2 * kVectorWords : kVectorWords;
  ArrayRef<Value> part = amaxes.slice(begin / perVector, count / perVector);
  Value result = part.front();
  for (Value vector : part.drop_front())
    result = arith::MaximumFOp::create(b, result, vector);
  for (int64_t half = perVector / 2; half >= (isPacked ? 2 : 1); half /= 2)
    result = arith::MaximumFOp::create(b, b.slice(result, 0, half),
                                       b.slice(result, half, half));
  if (!isPacked)
    return b.extract(result, 0);
  auto [low, high] = cvt.widenPair(b, b.toBits(result), element);
  return {b, arith::MaximumFOp::create(b, low, high)};
}

SmallVector<Value> FragmentElements::computeRowAmaxes() const {
  SmallVector<Value> ofRows, amaxes;
  for (size_t i = 0; i < rows.size(); ++i) {
    SmallVector<Value> pairs;
    for (size_t v = 0; v < rows[i].size(); ++v)
      for (int64_t word = 0; word < kVectorWords; ++word)
        pairs.push_back(getPair(i, v, word));
    ofRows.push_back(cvt.reduceMagnitudes(b, pairs));
  }
  // Each row has two magnitudes left. The first ones of two rows become a
  // vector, the second ones another, and the larger ones of both are the amaxes
  // of the rows.
  for (size_t i = 0; i < ofRows.size(); i += 2) {
    Value low = LLVM::ShuffleVectorOp::create(b, ofRows[i], ofRows[i + 1],
                                              ArrayRef<int32_t>{0, 2});
    Value high = LLVM::ShuffleVectorOp::create(b, ofRows[i], ofRows[i + 1],
                                               ArrayRef<int32_t>{1, 3});
    amaxes.push_back(b.abs(cvt.reduceMagnitudes(b, {low, high})));
  }
  return amaxes;
}

void FragmentElements::exchangeRowAmaxes(SmallVector<Value> &amaxes,
                                         Lanes isBehind, int64_t mask) const {
  size_t half = amaxes.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    Lanes first(b, amaxes[i]), second(b, amaxes[half + i]);
    Lanes mine = select(isBehind, second, first);
    Lanes given = select(isBehind, first, second);
    Lanes taken = emitShuffle(b, b.toBits(given), mask);
    amaxes[i] =
        arith::MaximumFOp::create(b, mine, b.bitcast(mine.getType(), taken));
  }
  amaxes.truncate(half);
}

SmallVector<Lanes> FragmentElements::extractRows(ArrayRef<Value> amaxes) const {
  SmallVector<Lanes> result;
  for (Value pair : amaxes) {
    auto [low, high] = cvt.widenPair(b, b.toBits(pair), element);
    result.append({low, high});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

SmallVector<Value> FragmentElements::getWords(int64_t row) const {
  SmallVector<Value> words;
  for (Value vector : rows[row])
    for (int64_t i = 0; i < kVectorWords; ++i)
      words.push_back(b.extract(vector, i));
  return words;
}

void FragmentElements::setWords(int64_t row, ArrayRef<Value> words) {
  for (auto [v, vector] : llvm::enumerate(rows[row]))
    vector = b.pack(words.slice(v * kVectorWords, kVectorWords));
}

void FragmentElements::hide() {
  for (size_t row = 0; row < rows.size(); ++row) {
    SmallVector<Value> words = getWords(static_cast<int64_t>(row));
    for (Value &word : words)
      word = b.hide(word);
    setWords(static_cast<int64_t>(row), words);
  }
}

int64_t FragmentElements::getVectorsPerRow() const {
  return static_cast<int64_t>(rows.front().size()) *
         (isPacked ? kVectorWords : 1);
}

int64_t FragmentElements::getVectorSize() const {
  return isPacked ? 2 : kVectorWords;
}

int64_t FragmentElements::getColumn(int64_t index, int64_t element) const {
  if (!isPacked)
    return index * kPartColumns + element;
  return index / 2 * kPartColumns + 2 * element + index % 2;
}

SmallVector<Value>
FragmentElements::mapPart(int64_t row, int64_t part,
                          function_ref<Lanes(Lanes, int64_t)> map) const {
  if (!isPacked) {
    auto floats = VectorType::get({kVectorWords}, b.getF32Type());
    return b.extractAll(map(b.bitcast(floats, rows[row][part]), part));
  }
  auto [even, odd] = splitTwo(rows[row][part / 2], part % 2 * 2);
  even = map(even, 2 * part);
  odd = map(odd, 2 * part + 1);
  return {b.extract(even, 0), b.extract(odd, 0), b.extract(even, 1),
          b.extract(odd, 1)};
}

} // namespace blockscale

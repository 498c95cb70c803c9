//===- PrepackedUnits.cpp - Codes in words of fragments -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepackedUnits.h"
#include "blockscale/Numerics/DataLayout.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale::emit {

/// Calls `body` with the row, the first byte in the row and the register of
/// each pair of codes of a unit.
static void forEachPair(const PrepackedUnit &unit,
                        function_ref<void(Lanes, Lanes, int64_t)> body) {
  Lanes thread = unit.thread;
  for (int64_t reg = 0; reg < getUnitRegisters(unit.bits); ++reg) {
    Lanes product =
        unit.unit * getUnitProducts(unit.bits) + reg / kFragmentRegisters;
    ElementIndex<Lanes> element = getFragmentElement(FragmentPlace<Lanes>{
        thread, product, like(thread, reg % kFragmentRegisters),
        like(thread, 0)});
    Lanes row = element.row + unit.rowBlock * kFragmentRows;
    Lanes col = element.col + unit.colBlock * kFragmentCols;
    body(row, unit.bits == 4 ? col / 2 : col, reg);
  }
}

SmallVector<Lanes> emitGatherUnit(ImplicitLocOpBuilder &b,
                                  const PrepackedUnit &unit,
                                  function_ref<Lanes(Lanes, Lanes)> load) {
  int64_t bits = unit.bits;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  SmallVector<Lanes> words(kUnitWords, Lanes(b, zero));
  forEachPair(unit, [&](Lanes row, Lanes byte, int64_t reg) {
    Lanes first = load(row, byte);
    Lanes low = bits == 4 ? first & 0xF : first;
    Lanes high = bits == 4 ? first >> 4 : load(row, byte + 1);
    for (auto [i, word] : llvm::enumerate(words))
      word = word | placeCode(low, reg, 0, bits, i) |
             placeCode(high, reg, 1, bits, i);
  });
  return words;
}

void emitScatterUnit(const PrepackedUnit &unit, ArrayRef<Lanes> words,
                     function_ref<void(Lanes, Lanes, Lanes)> store) {
  int64_t bits = unit.bits;
  forEachPair(unit, [&](Lanes row, Lanes byte, int64_t reg) {
    Lanes low = takeCode(words.data(), reg, 0, bits);
    Lanes high = takeCode(words.data(), reg, 1, bits);
    if (bits == 4)
      return store(low | (high << 4), row, byte);
    store(low, row, byte);
    store(high, row, byte + 1);
  });
}

} // namespace blockscale::emit

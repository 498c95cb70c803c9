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
static void forEachPair(ImplicitLocOpBuilder &b, const PrepackedUnit &unit,
                        function_ref<void(Value, Value, int64_t)> body) {
  Lanes thread(b, unit.thread);
  for (int64_t reg = 0; reg < getUnitRegisters(unit.bits); ++reg) {
    Lanes product = Lanes(b, unit.unit) * getUnitProducts(unit.bits) +
                    reg / kFragmentRegisters;
    ElementIndex<Lanes> element = getFragmentElement(FragmentPlace<Lanes>{
        thread, product, like(thread, reg % kFragmentRegisters),
        like(thread, 0)});
    Value row = add(b, element.row, mul(b, unit.rowBlock, kFragmentRows));
    Value col = add(b, element.col, mul(b, unit.colBlock, kFragmentCols));
    body(row, unit.bits == 4 ? div(b, col, 2) : col, reg);
  }
}

SmallVector<Lanes> emitGatherUnit(ImplicitLocOpBuilder &b,
                                  const PrepackedUnit &unit,
                                  function_ref<Lanes(Value, Value)> load) {
  int64_t bits = unit.bits;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  SmallVector<Lanes> words(kUnitWords, Lanes(b, zero));
  forEachPair(b, unit, [&](Value row, Value byte, int64_t reg) {
    Lanes first = load(row, byte);
    Lanes low = bits == 4 ? first & 0xF : first;
    Lanes high =
        bits == 4 ? first >> 4 : load(row, add(b, byte, getIndex(b, 1)));
    for (auto [i, word] : llvm::enumerate(words))
      word = word | placeCode(low, reg, 0, bits, i) |
             placeCode(high, reg, 1, bits, i);
  });
  return words;
}

void emitScatterUnit(ImplicitLocOpBuilder &b, const PrepackedUnit &unit,
                     ArrayRef<Lanes> words,
                     function_ref<void(Lanes, Value, Value)> store) {
  int64_t bits = unit.bits;
  forEachPair(b, unit, [&](Value row, Value byte, int64_t reg) {
    Lanes low = takeCode(words.data(), reg, 0, bits);
    Lanes high = takeCode(words.data(), reg, 1, bits);
    if (bits == 4)
      return store(low | (high << 4), row, byte);
    store(low, row, byte);
    store(high, row, add(b, byte, getIndex(b, 1)));
  });
}

} // namespace blockscale::emit

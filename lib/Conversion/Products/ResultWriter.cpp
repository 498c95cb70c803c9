//===- ResultWriter.cpp - From sums to results in memory ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultWriter.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Bytes of stores, of which rows begin at multiples, the widest first.
static constexpr int64_t kStoreBytes[] = {32, 16};

ResultWriter::ResultWriter(KernelBuilder &b, const GemmSpec &spec,
                           const GemmArguments &arguments, const ResultRow &row,
                           int64_t width)
    : b(b), spec(spec), arguments(arguments),
      values(b, spec, arguments.products.front(), arguments.cols, row),
      width(width), rowExists(row.exists),
      rowAddress(
          b.offset(arguments.result, spec.result,
                   Lanes(b, row.getStored()) * toI64(b, arguments.cols))) {
  for (int64_t bytes : kStoreBytes) {
    int64_t elements = bytes / getByteSize(spec.result);
    if (elements > width)
      continue;
    storeBytes.push_back(bytes);
    isAligned.push_back(
        compare(Predicate::eq, Lanes(b, arguments.cols) & (elements - 1), 0));
  }
}

Value ResultWriter::getAddress(Value col) {
  return b.offset(rowAddress, spec.result, toI64(b, col));
}

void ResultWriter::emitWhole(Value results, Value col, int64_t storeBytes) {
  int64_t words = width * getByteSize(spec.result) / 4;
  int64_t storeWords = storeBytes / 4;
  Value bits = b.bitcast(VectorType::get({words}, b.getI32Type()), results);
  Value address = getAddress(col);
  for (int64_t word = 0; word < words; word += storeWords)
    b.store(b.slice(bits, word, storeWords),
            b.offset(address, b.getI32Type(), b.i64(word)), storeBytes);
}

void ResultWriter::emitStores(Value col, Results getResults) {
  Lanes end = Lanes(b, col) + width;
  Lanes isWhole = compare(Predicate::ule, end, Lanes(b, arguments.cols));
  auto emitElements = [&] {
    for (int64_t i = 0; i < width; ++i) {
      Value element = Lanes(b, col) + i;
      emit::emitIf(b, isBelow(b, element, arguments.cols), [&] {
        b.store(getResults(element, i, 1), getAddress(element),
                getByteSize(spec.result));
      });
    }
  };
  auto emitFrom = [&](auto &self, size_t widest) -> void {
    if (widest == isAligned.size())
      return emitElements();
    emit::emitIf(
        b, isWhole & Lanes(b, isAligned[widest]),
        [&] { emitWhole(getResults(col, 0, width), col, storeBytes[widest]); },
        [&] { self(self, widest + 1); });
  };
  emit::emitIf(b, rowExists, [&] { emitFrom(emitFrom, 0); });
}

void ResultWriter::emitFragment(ValueRange sums, Value col) {
  emitStores(col, [&](Value place, int64_t first, int64_t count) {
    Value sum = sums.front();
    if (count == 1)
      sum = b.extract(sum, first);
    // Sums that are rounded are results.
    bool isResult = getElementTypeOrSelf(sums.front().getType()) == spec.result;
    return isResult && !spec.result.isF32() ? sum
                                            : values.emit(sum, place, count);
  });
}

void ResultWriter::emitZeros(Value col) {
  emitStores(col, [&](Value, int64_t, int64_t count) -> Value {
    Type type = spec.result;
    if (count > 1)
      type = VectorType::get({count}, type);
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  });
}

} // namespace blockscale::products

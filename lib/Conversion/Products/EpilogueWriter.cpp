//===- EpilogueWriter.cpp - From sums to what follows products ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueWriter.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// The most bytes of loads of inputs.
static constexpr int64_t kInputLoadBytes = 16;

EpilogueWriter::EpilogueWriter(KernelBuilder &b, const GemmSpec &spec,
                               const GemmArguments &arguments,
                               const ResultRow &row)
    : b(b), spec(spec), epilogue(*spec.epilogue), arguments(arguments),
      row(row) {
  for (const ProductArguments &product : this->arguments.products)
    values.emplace_back(b, spec, product, arguments.cols, this->row);
  sink = epilogue.sink->createWriter({b, *epilogue.chip, this->arguments.sink,
                                      epilogue.source.getElementType(),
                                      arguments.cols, epilogue.width,
                                      epilogue.isWhole, this->row});
  for (auto [kept, memory] :
       llvm::zip_equal(epilogue.kept, this->arguments.kept))
    stores.push_back(kept.store->createWriter(
        {b, *epilogue.chip, memory, spec.result, arguments.cols, epilogue.width,
         epilogue.isWhole, this->row}));
}

static ElementWords toWords(KernelBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t words =
      type.getNumElements() * getByteSize(type.getElementType()) / kWordBytes;
  return b.extractAll(
      b.bitcast(VectorType::get({words}, b.getI32Type()), vector));
}

Value EpilogueWriter::getCol(Value col, int64_t i, int64_t count) {
  if (count == epilogue.width)
    return col;
  return minUnsigned(Lanes(b, col) + i, Lanes(b, arguments.cols) - count);
}

ElementWords EpilogueWriter::loadInput(const ElementSource::Input &input,
                                       Value argument, Value col,
                                       int64_t count) {
  if (!input.isAlongRows()) {
    Value index = input.spread == Spread::Rows ? row.number : b.i64(0);
    return epilogue.source.loadOne(b, input, argument, index);
  }
  ElementWords words;
  for (int64_t i = 0; i < epilogue.width; i += count) {
    Lanes first = toI64(b, getCol(col, i, count));
    if (input.spread == Spread::Elements)
      first = first + Lanes(b, row.number) * toI64(b, arguments.cols);
    if (count > 1) {
      llvm::append_range(
          words, emitLoadWords(b, b.offset(argument, input.element, first),
                               count * input.getBytes(), kInputLoadBytes));
      continue;
    }
    Lanes bits = emitLoadBits(b, argument, input.element, first);
    if (input.getBytes() == kWordBytes)
      words.push_back(bits);
    else if (i % 2 == 0)
      words.push_back(b.zext32(bits));
    else
      words.back() = Lanes(b, words.back()) | (Lanes(b, b.zext32(bits)) << 16);
  }
  return words;
}

ElementWords EpilogueWriter::emitProduct(int64_t product, ValueRange sums,
                                         Value col, int64_t count) {
  if (sums.empty())
    return toWords(
        b, arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get(
                                            {epilogue.width}, spec.result))));
  ElementWords words;
  SmallVector<Value> elements;
  for (int64_t i = 0; i < epilogue.width; i += count) {
    Value first = getCol(col, i, count);
    if (count == 1) {
      Value sum = b.extract(sums[product], i);
      elements.push_back(values[product].emit(sum, first, count));
      continue;
    }
    Value some = count == epilogue.width ? sums[product]
                                         : b.slice(sums[product], i, count);
    llvm::append_range(words,
                       toWords(b, values[product].emit(some, first, count)));
  }
  return count == 1 ? toWords(b, b.pack(elements)) : words;
}

SmallVector<ElementWords> EpilogueWriter::emitInputs(ValueRange sums, Value col,
                                                     int64_t count) {
  // Inputs in memory are loaded first, so that their loads are under way while
  // the others are computed.
  ArrayRef<ElementSource::Input> inputs = epilogue.source.getInputs();
  SmallVector<ElementWords> words(inputs.size());
  auto *argument = arguments.inputs.begin();
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product == EpilogueSpec::kNone)
      words[i] = loadInput(inputs[i], *argument++, col, count);
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product != EpilogueSpec::kNone)
      words[i] = emitProduct(product, sums, col, count);
  return words;
}

SmallVector<Value> EpilogueWriter::emitSomeColumns(
    int64_t words, function_ref<SmallVector<Value>(int64_t count)> emitSome) {
  // Rows begin at multiples of a piece.
  Lanes isAligned = compare(arith::CmpIPredicate::eq,
                            Lanes(b, arguments.cols) & (kPieceCols - 1), 0);
  SmallVector<Type> types(words, b.getI32Type());
  return emitIfElse(
      b, isAligned, types,
      [&] { return emitSome(std::min(epilogue.width, kPieceCols)); },
      [&] { return emitSome(1); });
}

SmallVector<ElementWords> EpilogueWriter::emitAnyInputs(ValueRange sums,
                                                        Value col) {
  SmallVector<int64_t> counts;
  for (const ElementSource::Input &input : epilogue.source.getInputs())
    counts.push_back(input.isAlongRows()
                         ? epilogue.width * input.getBytes() / kWordBytes
                         : 1);
  auto emitAll = [&](int64_t count) {
    SmallVector<Value> all;
    for (const ElementWords &words : emitInputs(sums, col, count))
      llvm::append_range(all, words);
    return all;
  };
  SmallVector<Value> all = emitSomeColumns(llvm::sum_of(counts), emitAll);
  SmallVector<ElementWords> words;
  ArrayRef<Value> rest = all;
  for (int64_t count : counts) {
    words.emplace_back(rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return words;
}

ElementWords EpilogueWriter::emitWords(ValueRange sums, Value col) {
  return epilogue.source
      .evaluate(b, epilogue.isWhole ? emitInputs(sums, col, epilogue.width)
                                    : emitAnyInputs(sums, col))
      .x;
}

void EpilogueWriter::emitKept(ValueRange sums, Value col, Value exists) {
  for (auto [kept, store] : llvm::zip_equal(epilogue.kept, stores))
    store->emitFragment(col, exists, [&, product = kept.product] {
      auto emitSome = [&](int64_t count) {
        return emitProduct(product, sums, col, count);
      };
      return epilogue.isWhole
                 ? emitSome(epilogue.width)
                 : emitSomeColumns(epilogue.width * getByteSize(spec.result) /
                                       kWordBytes,
                                   emitSome);
    });
}

void EpilogueWriter::emitFragment(ValueRange sums, Value col) {
  Lanes isInside(b, isBelow(b, col, arguments.cols));
  Lanes exists = Lanes(b, row.exists) & isInside;
  emitKept(sums, col, exists);
  sink->emitFragment(col, exists, [&] { return emitWords(sums, col); });
}

void EpilogueWriter::emitZeros(Value col) {
  Lanes isInside(b, isBelow(b, col, arguments.cols));
  Lanes exists = Lanes(b, row.exists) & isInside;
  emitKept(ValueRange(), col, exists);
  sink->emitZeros(col, exists, [&] { return emitWords(ValueRange(), col); });
}

std::unique_ptr<RowWriter> createRowWriter(KernelBuilder &b,
                                           const GemmSpec &spec,
                                           const GemmArguments &arguments,
                                           const ResultRow &row,
                                           int64_t width) {
  if (spec.epilogue)
    return std::make_unique<EpilogueWriter>(b, spec, arguments, row);
  return std::make_unique<ResultWriter>(b, spec, arguments, row, width);
}

} // namespace blockscale::products

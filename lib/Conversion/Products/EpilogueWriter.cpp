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

/// Bytes of loads of inputs; rows are whole fragments.
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
                                      arguments.cols, this->row});
}

static Value getZeros(KernelBuilder &b, Type element) {
  return arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({kFragment}, element)));
}

static ElementWords toWords(KernelBuilder &b, Value vector) {
  int64_t words = kFragment *
                  getByteSize(getElementTypeOrSelf(vector.getType())) /
                  kWordBytes;
  return b.extractAll(
      b.bitcast(VectorType::get({words}, b.getI32Type()), vector));
}

ElementWords EpilogueWriter::loadInput(const ElementSource::Input &input,
                                       Value argument, Value col) {
  if (!input.isAlongRows()) {
    Value index = input.spread == Spread::Rows ? row.number : b.i64(0);
    return epilogue.source.loadOne(b, input, argument, index);
  }
  Lanes first = toI64(b, col);
  if (input.spread == Spread::Elements)
    first = first + Lanes(b, row.number) * toI64(b, arguments.cols);
  return llvm::to_vector_of<Value>(
      emitLoadWords(b, b.offset(argument, input.element, first),
                    kFragment * input.getBytes(), kInputLoadBytes));
}

ElementWords EpilogueWriter::emitWords(ValueRange sums, Value col) {
  // Inputs in memory are loaded first, so that their loads are under way while
  // the others are computed.
  ArrayRef<ElementSource::Input> inputs = epilogue.source.getInputs();
  SmallVector<ElementWords> words(inputs.size());
  auto *argument = arguments.inputs.begin();
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product == EpilogueSpec::kNone)
      words[i] = loadInput(inputs[i], *argument++, col);
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product != EpilogueSpec::kNone)
      words[i] =
          toWords(b, sums.empty()
                         ? getZeros(b, spec.result)
                         : values[product].emit(sums[product], col, kFragment));
  return epilogue.source.evaluate(b, words).x;
}

void EpilogueWriter::emitFragment(ValueRange sums, Value col) {
  Lanes isInside(b, isBelow(b, col, arguments.cols));
  sink->emitFragment(col, Lanes(b, row.exists) & isInside,
                     [&] { return emitWords(sums, col); });
}

void EpilogueWriter::emitZeros(Value col) {
  Lanes isInside(b, isBelow(b, col, arguments.cols));
  sink->emitZeros(col, Lanes(b, row.exists) & isInside,
                  [&] { return emitWords(ValueRange(), col); });
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

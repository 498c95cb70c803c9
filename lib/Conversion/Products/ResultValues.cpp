//===- ResultValues.cpp - From sums to the values of results --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultValues.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// Bytes of the widest load that all lanes share.
static constexpr int64_t kLoadBytes = 16;

/// `scalar` as `count` lanes.
static Value spread(KernelBuilder &b, Value scalar, int64_t count) {
  return count == 1 ? scalar : b.splat(scalar, count);
}

/// The global scale of the thread's matrix; null where it is absent or has one
/// for each row of its operand.
static Value loadOfMatrix(KernelBuilder &b, const GlobalOperand &operand,
                          Value factor, Value matrix) {
  if (!factor || operand.extent == GlobalExtent::Row)
    return {};
  return loadFactor(b, operand, factor, matrix);
}

ResultValues::ResultValues(KernelBuilder &b, const GemmSpec &spec,
                           const ProductArguments &arguments, Value cols,
                           const ResultRow &row)
    : b(b), spec(spec), arguments(arguments), cols(cols), product(row.product) {
  factorA = loadOfMatrix(b, spec.factorA, arguments.factorA, product);
  factorB = loadOfMatrix(b, spec.factorB, arguments.factorB, product);
  if (spec.factorA.extent != GlobalExtent::Row)
    return;
  Type types[] = {b.getF32Type()};
  factorA =
      emitIfElseZero(b, row.exists, types, [&] {
        Value address = b.offset(arguments.factorA, types[0], row.number);
        return SmallVector<Value>{b.load(types[0], address, sizeof(float))};
      }).front();
}

Value ResultValues::loadColumns(Value pointer, Type type, bool isOfEach,
                                Value col, int64_t count) {
  Lanes place = toI64(b, col);
  if (isOfEach)
    place = place + toI64(b, product) * toI64(b, cols);
  Value address = b.offset(pointer, type, place);
  if (count == 1)
    return b.load(type, address, getByteSize(type));
  int64_t words = count * getByteSize(type) / 4;
  // Several columns are stored at a time where rows of results begin at
  // multiples of the narrowest such store. Narrower elements, of which each
  // group has a row, begin at smaller multiples.
  int64_t access = std::min(kLoadBytes, words * kWordBytes);
  if (isOfEach)
    access = std::min(access, kLoadBytes * getByteSize(type) /
                                  getByteSize(spec.result));
  Value bits =
      b.load(VectorType::get({words}, b.getI32Type()), address, access);
  return b.bitcast(VectorType::get({count}, type), bits);
}

Value ResultValues::getFactor(Value col, int64_t count) {
  Value right = factorB ? spread(b, factorB, count) : Value();
  if (spec.factorB.extent == GlobalExtent::Row)
    right = loadColumns(arguments.factorB, b.getF32Type(), /*isOfEach=*/true,
                        col, count);
  if (!factorA)
    return right;
  Value left = spread(b, factorA, count);
  return right ? Value(Lanes(b, left) * Lanes(b, right)) : left;
}

Value ResultValues::round(Lanes value) {
  if (spec.result.isF32())
    return value;
  return LLVM::FPTruncOp::create(b, value.getTypeWith(spec.result), value);
}

Lanes ResultValues::widen(Value value) {
  Lanes lanes(b, value);
  if (lanes.getElementType().isF32())
    return lanes;
  Type type = lanes.getTypeWith(b.getF32Type());
  return Lanes(b, LLVM::FPExtOp::create(b, type, value));
}

Value ResultValues::emit(Value sums, Value col, int64_t count) {
  Value factor = getFactor(col, count);
  bool rounds = spec.scalesAfterRounding && factor;
  auto roundEarly = [&](Lanes x) { return rounds ? widen(round(x)) : x; };
  Lanes y = roundEarly(Lanes(b, sums));
  if (factor)
    y = roundEarly(y * roundEarly(Lanes(b, factor)));
  if (spec.bias)
    y = y + widen(loadColumns(arguments.bias, spec.bias, spec.hasBiasOfEach,
                              col, count));
  return round(y);
}

} // namespace blockscale::products

//===- ResultWriter.cpp - From sums to results in memory ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultWriter.h"
#include "../ToGPU/DeviceCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::sm100 {

using cpu::Lanes;
using Predicate = arith::CmpIPredicate;

/// Bytes of stores, of which rows begin at multiples, the widest first.
static constexpr int64_t kStoreBytes[] = {32, 16};
/// Bytes of the widest load that all lanes share.
static constexpr int64_t kLoadBytes = 16;

static int64_t getBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

static Lanes wide(KernelBuilder &b, Value value) {
  return Lanes(b, b.zext64(value));
}

/// `scalar` as `count` lanes.
static Value spread(KernelBuilder &b, Value scalar, int64_t count) {
  return count == 1 ? scalar : b.splat(scalar, count);
}

/// The global scale of the thread's row of A, or of its matrix; null where it
/// is absent or has one for each column.
static Value loadFactor(KernelBuilder &b, FactorForm form, Value factor,
                        Value matrix) {
  switch (form) {
  case FactorForm::Absent:
  case FactorForm::EachRow:
    return {};
  case FactorForm::Scalar:
    return factor;
  case FactorForm::Single:
    return b.load(b.getF32Type(), factor, sizeof(float));
  case FactorForm::EachMatrix:
    return b.load(b.getF32Type(), b.offset(factor, b.getF32Type(), matrix),
                  sizeof(float));
  }
  return {};
}

ResultWriter::ResultWriter(KernelBuilder &b, const GemmSpec &spec,
                           const GemmArguments &arguments, Value matrix,
                           Value row)
    : b(b), spec(spec), arguments(arguments), matrix(matrix) {
  rowExists = isBelow(b, row, arguments.rows);
  Lanes number = wide(b, matrix) * wide(b, arguments.rows) + wide(b, row);
  rowAddress =
      b.offset(arguments.result, spec.result, number * wide(b, arguments.cols));
  factorA = loadFactor(b, spec.factorA, arguments.factorA, matrix);
  factorB = loadFactor(b, spec.factorB, arguments.factorB, matrix);
  if (spec.factorA == FactorForm::EachRow) {
    Type types[] = {b.getF32Type()};
    factorA =
        emitIfElseZero(b, rowExists, types, [&] {
          Value address = b.offset(arguments.factorA, types[0], number);
          return SmallVector<Value>{b.load(types[0], address, sizeof(float))};
        }).front();
  }
  for (int64_t bytes : kStoreBytes) {
    int64_t elements = bytes / getBytes(spec.result);
    isAligned.push_back(
        compare(Predicate::eq, Lanes(b, arguments.cols) & (elements - 1), 0));
  }
}

Value ResultWriter::getAddress(Value col) {
  return b.offset(rowAddress, spec.result, wide(b, col));
}

Value ResultWriter::loadColumns(Value pointer, Type type, Value row, Value col,
                                int64_t count) {
  Lanes place = wide(b, col);
  if (row)
    place = place + wide(b, row) * wide(b, arguments.cols);
  Value address = b.offset(pointer, type, place);
  if (count == 1)
    return b.load(type, address, getBytes(type));
  int64_t words = count * getBytes(type) / 4;
  Value bits =
      b.load(VectorType::get({words}, b.getI32Type()), address, kLoadBytes);
  return b.bitcast(VectorType::get({count}, type), bits);
}

Value ResultWriter::getFactor(Value col, int64_t count) {
  Value right = factorB ? spread(b, factorB, count) : Value();
  if (spec.factorB == FactorForm::EachRow)
    right = loadColumns(arguments.factorB, b.getF32Type(), matrix, col, count);
  if (!factorA)
    return right;
  Value left = spread(b, factorA, count);
  return right ? Value(Lanes(b, left) * Lanes(b, right)) : left;
}

Value ResultWriter::round(Lanes value) {
  if (spec.result.isF32())
    return value;
  return LLVM::FPTruncOp::create(b, value.getTypeWith(spec.result), value);
}

Lanes ResultWriter::widen(Value value) {
  Lanes lanes(b, value);
  if (lanes.getElementType().isF32())
    return lanes;
  Type type = lanes.getTypeWith(b.getF32Type());
  return Lanes(b, LLVM::FPExtOp::create(b, type, value));
}

Value ResultWriter::emitResult(Lanes sums, Value factor, Value bias) {
  bool rounds = spec.scalesAfterRounding && factor;
  auto roundEarly = [&](Lanes x) { return rounds ? widen(round(x)) : x; };
  Lanes y = roundEarly(sums);
  if (factor)
    y = roundEarly(y * roundEarly(Lanes(b, factor)));
  if (bias)
    y = y + widen(bias);
  return round(y);
}

void ResultWriter::emitWhole(Value sums, Value col, int64_t storeBytes) {
  Value bias;
  if (spec.bias)
    bias = loadColumns(arguments.bias, spec.bias, Value(), col, kChunk);
  Value result = emitResult(Lanes(b, sums), getFactor(col, kChunk), bias);
  int64_t words = kChunk * getBytes(spec.result) / 4;
  int64_t storeWords = storeBytes / 4;
  Value bits = b.bitcast(VectorType::get({words}, b.getI32Type()), result);
  Value address = getAddress(col);
  for (int64_t word = 0; word < words; word += storeWords)
    b.store(b.slice(bits, word, storeWords),
            b.offset(address, b.getI32Type(), b.i64(word)), storeBytes);
}

void ResultWriter::emitElement(Value sum, Value col) {
  Value bias;
  if (spec.bias)
    bias = loadColumns(arguments.bias, spec.bias, Value(), col, 1);
  Value result = emitResult(Lanes(b, sum), getFactor(col, 1), bias);
  b.store(result, getAddress(col), getBytes(spec.result));
}

void ResultWriter::emitElements(Value sums, Value col) {
  for (int64_t i = 0; i < kChunk; ++i) {
    Value element = Lanes(b, col) + i;
    cpu::emitIf(b, isBelow(b, element, arguments.cols),
                [&] { emitElement(b.extract(sums, i), element); });
  }
}

void ResultWriter::emitChunk(Value sums, Value col) {
  Lanes end = Lanes(b, col) + kChunk;
  Lanes isWhole = compare(Predicate::ule, end, Lanes(b, arguments.cols));
  auto emitStores = [&](auto &self, size_t width) -> void {
    if (width == isAligned.size())
      return emitElements(sums, col);
    cpu::emitIf(
        b, isWhole & Lanes(b, isAligned[width]),
        [&] { emitWhole(sums, col, kStoreBytes[width]); },
        [&] { self(self, width + 1); });
  };
  cpu::emitIf(b, rowExists, [&] { emitStores(emitStores, 0); });
}

} // namespace blockscale::sm100

//===- ElementSource.cpp - Where the elements of x come from --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementSource.h"
#include "DeviceCode.h"
#include "LinalgBody.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Instructions.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

ElementSource::ElementSource(Value x)
    : x(x), element(getElementTypeOrSelf(x.getType())) {
  visit(x);
  if (isMemory())
    inputs.push_back({x, Spread::Elements, element, /*byValue=*/false});
}

void ElementSource::visit(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || llvm::is_contained(ops, op))
    return;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value input = operand->get();
    Spread spread = *getSpread(op.getMatchingIndexingMap(operand));
    bool isMade = input.getDefiningOp<linalg::LinalgOp>() != nullptr;
    if (isMade && spread == Spread::Elements) {
      visit(input);
      continue;
    }
    bool isKnown = llvm::any_of(inputs, [&](const Input &known) {
      return known.logical == input && known.spread == spread;
    });
    if (!isKnown && !getUniformConstant(input))
      inputs.push_back({input, spread, getElementTypeOrSelf(input.getType()),
                        !isa<ShapedType>(input.getType())});
  }
  ops.push_back(op);
  if (llvm::any_of(op->getResult(0).getUsers(), llvm::IsaPred<YieldOp>))
    kept.push_back(op->getResult(0));
}

const ElementSource::Input &ElementSource::getSameSized() const {
  return *llvm::find_if(inputs, [](const Input &input) {
    return input.spread == Spread::Elements;
  });
}

bool ElementSource::readsArguments() const {
  return llvm::all_of(inputs, [](const Input &input) {
    return isa<BlockArgument>(input.logical);
  });
}

int64_t ElementSource::getBytes() const {
  int64_t bytes = 0;
  for (const Input &input : inputs)
    if (input.spread == Spread::Elements)
      bytes += input.getBytes();
  return bytes;
}

int64_t ElementSource::countOps() const {
  int64_t count = 0;
  for (linalg::LinalgOp op : ops)
    count += countInstructions(*op.getBlock());
  return count;
}

std::string ElementSource::getName() const {
  if (isMemory())
    return "";
  // The first kinds of arithmetic.
  constexpr size_t most = 4;
  llvm::SetVector<StringRef> names;
  for (linalg::LinalgOp op : ops)
    for (Operation &inside : op.getBlock()->without_terminator()) {
      bool isCast = isa<arith::ConstantOp, arith::BitcastOp, arith::ExtFOp,
                        arith::TruncFOp>(inside);
      if (!isCast && isa<FloatType>(inside.getResult(0).getType()) &&
          names.size() < most)
        names.insert(inside.getName().stripDialect());
    }
  return "_of_" + (names.empty() ? "casts" : llvm::join(names, "_"));
}

/// Pair `i` of elements as a vector.
static Value getPair(KernelBuilder &b, const ElementSource::Input &input,
                     const ElementWords &words, int64_t i) {
  auto type = VectorType::get({2}, input.element);
  bool isWide = input.element.isF32();
  if (!input.isAlongRows()) {
    Value word = words.front();
    return b.bitcast(type, isWide ? b.pack({word, word}) : word);
  }
  if (!isWide)
    return b.bitcast(type, words[i]);
  return b.pack({b.toFloat(words[2 * i]), b.toFloat(words[2 * i + 1])});
}

/// Appends the words of a pair of elements.
static void appendPair(KernelBuilder &b, Value pair, ElementWords &words) {
  if (!getElementTypeOrSelf(pair.getType()).isF32()) {
    words.push_back(b.bitcast(b.getI32Type(), pair));
    return;
  }
  words.push_back(b.toBits(b.extract(pair, 0)));
  words.push_back(b.toBits(b.extract(pair, 1)));
}

ElementSource::Elements
ElementSource::evaluate(KernelBuilder &b, ArrayRef<ElementWords> words) const {
  int64_t pairs = 0;
  for (auto [input, own] : llvm::zip_equal(inputs, words))
    if (input.isAlongRows())
      pairs = static_cast<int64_t>(own.size()) / (input.getBytes() / 2);
  Elements result;
  result.kept.resize(kept.size());
  for (int64_t i = 0; i < pairs; ++i) {
    llvm::DenseMap<std::pair<Value, int>, Value> vectors;
    for (auto [input, own] : llvm::zip_equal(inputs, words))
      vectors[{input.logical, static_cast<int>(input.spread)}] =
          getPair(b, input, own, i);
    for (linalg::LinalgOp op : ops)
      vectors[{op->getResult(0), static_cast<int>(Spread::Elements)}] =
          emitLinalgOp(b, op, /*size=*/2, [&](OpOperand &operand) {
            Spread spread = *getSpread(op.getMatchingIndexingMap(&operand));
            return vectors.lookup({operand.get(), static_cast<int>(spread)});
          }).front();
    auto append = [&](Value logical, ElementWords &words) {
      appendPair(b,
                 vectors.lookup({logical, static_cast<int>(Spread::Elements)}),
                 words);
    };
    append(x, result.x);
    for (auto [logical, words] : llvm::zip_equal(kept, result.kept))
      append(logical, words);
  }
  return result;
}

ElementWords ElementSource::loadOne(KernelBuilder &b, const Input &input,
                                    Value argument, Value index) const {
  Type bits = b.getIntegerType(input.getBytes() * 8);
  Lanes value = input.byValue
                    ? b.bitcast(bits, argument)
                    : b.load(bits, emitAddress(b, argument, bits, index),
                             input.getBytes());
  if (input.element.isF32())
    return {value};
  value = b.zext32(value);
  Lanes high = value << 16;
  return {value | high};
}

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

void ElementSource::emitSizeAsserts(LaunchSite &site) const {
  if (isMemory())
    return;
  ImplicitLocOpBuilder &b = site.b;
  Value like = site.lookup(getSameSized().logical);
  for (linalg::LinalgOp op : ops)
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value input = operand->get();
      bool isInput = llvm::any_of(inputs, [&](const Input &known) {
        return known.logical == input && !known.byValue && !known.isMade();
      });
      if (!isInput)
        continue;
      AffineMap map = op.getMatchingIndexingMap(operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        Value found = b.createOrFold<memref::DimOp>(site.lookup(input), dim);
        Value expected =
            loop ? b.createOrFold<memref::DimOp>(like, loop.getPosition())
                 : arith::ConstantIndexOp::create(b, 1).getResult();
        Value holds = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                    found, expected);
        emit::createAssert(b, {holds,
                               "expected inputs of an elementwise op to have "
                               "the sizes of its result",
                               found});
      }
    }
}

int64_t ElementSource::getKeptAccessBytes(Value logical, int64_t xBytes,
                                          int64_t widest) const {
  Type own = getElementTypeOrSelf(logical.getType());
  return Input{logical, Spread::Elements, own, /*byValue=*/false}
      .getAccessBytes(element, xBytes, widest);
}

SmallVector<Value> ElementSource::getOperands(const LaunchSite &site) const {
  SmallVector<Value> operands;
  for (const Input &input : inputs)
    operands.push_back(input.isMade() ? Value() : site.lookup(input.logical));
  for (Value logical : kept)
    operands.push_back(site.lookup(logical));
  return operands;
}

void ElementSource::addSlots(KernelSignature &signature,
                             MutableArrayRef<Value> operands, int64_t xBytes,
                             int64_t widest) const {
  for (auto [input, operand] : llvm::zip_first(inputs, operands))
    signature.add(operand, input.getAccessBytes(element, xBytes, widest));
  for (auto [logical, operand] :
       llvm::zip_equal(kept, operands.drop_front(inputs.size())))
    signature.add(operand, getKeptAccessBytes(logical, xBytes, widest));
}

} // namespace blockscale

//===- LinalgBody.cpp - Bodies of linalg ops in registers -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgBody.h"
#include "MathIntrinsics.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static int64_t countLanes(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Lanes emitExtend(KernelBuilder &b, Value vector) {
  if (!getElementTypeOrSelf(vector.getType()).isBF16()) {
    auto floats = VectorType::get({countLanes(vector)}, b.getF32Type());
    return {b, arith::ExtFOp::create(b, floats, vector)};
  }
  // A bf16 is the high half of its f32.
  int64_t words = countLanes(vector) / 2;
  Value pairs = b.bitcast(VectorType::get({words}, b.getI32Type()), vector);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < words; ++i) {
    Lanes word = b.extract(pairs, i);
    elements.push_back(b.toFloat(word << 16));
    elements.push_back(b.toFloat(word & 0xFFFF0000u));
  }
  return b.pack(elements);
}

Lanes emitRound(KernelBuilder &b, Value vector, Type element) {
  // An instruction rounds two.
  auto pair = VectorType::get({2}, element);
  int64_t size = countLanes(vector);
  if (size == 2)
    return {b, arith::TruncFOp::create(b, pair, vector)};
  SmallVector<Value> words;
  for (int64_t i = 0; i < size; i += 2)
    words.push_back(
        b.toBits(arith::TruncFOp::create(b, pair, b.slice(vector, i, 2))));
  return b.bitcast(VectorType::get({size}, element), b.pack(words));
}

/// Each f32 rounded to bf16, as f32: the high half of a word whose low half is
/// 0, so that one instruction rounds and widens.
static Value emitRoundInPlace(KernelBuilder &b, Value vector) {
  auto pair = VectorType::get({2}, b.getBF16Type());
  SmallVector<Value> elements;
  for (int64_t i = 0; i < countLanes(vector); ++i) {
    Value above = b.pack({b.f32(0), b.extract(vector, i)});
    Value word = arith::TruncFOp::create(b, pair, above);
    elements.push_back(b.toFloat(b.toBits(word)));
  }
  return b.pack(elements);
}

/// The operands of a product of two bf16 in f32 that `op` rounds; null if it
/// rounds something else.
static std::pair<Value, Value> getBf16Factors(Operation &op) {
  auto rounded = dyn_cast<arith::TruncFOp>(op);
  auto product = rounded ? rounded.getIn().getDefiningOp<arith::MulFOp>()
                         : arith::MulFOp();
  if (!product || !rounded.getType().isBF16())
    return {};
  auto lhs = product.getLhs().getDefiningOp<arith::ExtFOp>();
  auto rhs = product.getRhs().getDefiningOp<arith::ExtFOp>();
  bool areBf16 = lhs && rhs && lhs.getIn().getType().isBF16() &&
                 rhs.getIn().getType().isBF16();
  return areBf16 ? std::pair<Value, Value>(lhs.getIn(), rhs.getIn())
                 : std::pair<Value, Value>();
}

/// The product has no more bits than an f32, unless it is so small that it is
/// rounded to 0 either way: one rounding is as good as two.
static Value emitBf16Product(KernelBuilder &b, Value lhs, Value rhs) {
  auto pair = VectorType::get({2}, b.getBF16Type());
  Value zero = b.bitcast(pair, b.i32(0x80008000u));
  SmallVector<Value> words;
  for (int64_t i = 0; i < countLanes(lhs); i += 2)
    words.push_back(b.toBits(
        b.callIntrinsic("llvm.nvvm.fma.rn.bf16x2",
                        {b.slice(lhs, i, 2), b.slice(rhs, i, 2), zero})));
  return b.bitcast(lhs.getType(), b.pack(words));
}

bool isReadAsF32(BlockArgument argument) {
  if (argument.getType().isF32())
    return true;
  auto isFactor = [&](Operation &op) {
    auto [lhs, rhs] = getBf16Factors(op);
    return lhs == argument || rhs == argument;
  };
  auto isWidening = [](Operation *user) {
    return isa<arith::ExtFOp>(user) && user->getResult(0).getType().isF32();
  };
  return isElementFloat(argument.getType()) &&
         llvm::none_of(*argument.getOwner(), isFactor) &&
         llvm::all_of(argument.getUsers(), isWidening);
}

static Value emitSplat(KernelBuilder &b, TypedAttr value, int64_t size) {
  auto type = VectorType::get({size}, value.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

/// `op` on vectors of `size` elements.
static Value emitElementwise(KernelBuilder &b, Operation *op,
                             ArrayRef<Value> operands, int64_t size) {
  if (StringRef intrinsic = getMathIntrinsic(op); !intrinsic.empty())
    return b.callIntrinsic(intrinsic, operands);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp constant) {
        return emitSplat(b, constant.getValue(), size);
      })
      .Case([&](arith::ExtFOp) { return emitExtend(b, operands[0]); })
      .Case([&](arith::TruncFOp rounded) {
        return emitRound(b, operands[0], rounded.getType());
      })
      .Default([&](Operation *) -> Value {
        auto type = VectorType::get({size}, op->getResult(0).getType());
        Operation *wide = b.create(b.getLoc(), op->getName().getIdentifier(),
                                   operands, {type}, op->getAttrs());
        return wide->getResult(0);
      });
}

SmallVector<Value> emitLinalgBody(KernelBuilder &b, Block &body,
                                  ValueRange arguments,
                                  function_ref<Value(Value)> outer) {
  int64_t size = countLanes(arguments.front());
  IRMapping vectors;
  for (auto [argument, vector] : llvm::zip(body.getArguments(), arguments))
    vectors.map(argument, vector);
  auto lookup = [&](Value value) -> Value {
    if (Value known = vectors.lookupOrNull(value))
      return known;
    TypedAttr constant;
    Value vector = matchPattern(value, m_Constant(&constant))
                       ? emitSplat(b, constant, size)
                       : outer(value);
    vectors.map(value, vector);
    return vector;
  };
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ExtFOp>(op)) {
      Value known = vectors.lookupOrNull(op.getOperand(0));
      if (known && getElementTypeOrSelf(known) == op.getResult(0).getType()) {
        vectors.map(op.getResult(0), known);
        continue;
      }
    }
    auto rounded = isa<arith::ExtFOp>(op)
                       ? op.getOperand(0).getDefiningOp<arith::TruncFOp>()
                       : arith::TruncFOp();
    if (rounded && rounded->getBlock() == &body && rounded.getType().isBF16()) {
      vectors.map(op.getResult(0),
                  emitRoundInPlace(b, vectors.lookup(rounded.getIn())));
      continue;
    }
    if (auto [lhs, rhs] = getBf16Factors(op); lhs) {
      vectors.map(op.getResult(0),
                  emitBf16Product(b, lookup(lhs), lookup(rhs)));
      continue;
    }
    vectors.map(op.getResult(0),
                emitElementwise(b, &op,
                                llvm::map_to_vector(op.getOperands(), lookup),
                                size));
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(), lookup);
}

SmallVector<Value> emitLinalgOp(KernelBuilder &b, linalg::LinalgOp op,
                                int64_t size,
                                function_ref<Value(OpOperand &)> getVector,
                                function_ref<Value(Value)> getScalar,
                                ValueRange outputs) {
  SmallVector<Value> arguments;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument inside = op.getMatchingBlockArgument(operand);
    if (inside.use_empty())
      arguments.push_back(
          LLVM::PoisonOp::create(b, VectorType::get({size}, inside.getType())));
    else if (TypedAttr constant = getUniformConstant(operand->get()))
      arguments.push_back(emitSplat(b, constant, size));
    else
      arguments.push_back(getVector(*operand));
  }
  llvm::append_range(arguments, outputs);
  return emitLinalgBody(
      b, *op.getBlock(), arguments,
      [&](Value value) -> Value { return b.splat(getScalar(value), size); });
}

} // namespace blockscale

//===- KernelBuilder.cpp - Shorthand for kernel bodies --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

Lanes KernelBuilder::i32Splat(uint32_t value, int64_t size) {
  auto type = VectorType::get({size}, getI32Type());
  return constant(DenseElementsAttr::get(type, llvm::APInt(32, value)));
}

Lanes KernelBuilder::f32Splat(float value, int64_t size) {
  auto type = VectorType::get({size}, getF32Type());
  return constant(DenseElementsAttr::get(type, llvm::APFloat(value)));
}

Lanes KernelBuilder::splat(Value value, int64_t size) {
  Value one = pack(value);
  SmallVector<int32_t> zeros(size, 0);
  return {*this, LLVM::ShuffleVectorOp::create(*this, one, one, zeros)};
}

Lanes KernelBuilder::callIntrinsic(StringRef name, ValueRange operands) {
  auto call = LLVM::CallIntrinsicOp::create(*this, operands.front().getType(),
                                            getStringAttr(name), operands);
  return {*this, call.getResult(0)};
}

Lanes KernelBuilder::hide(Value word, Value cause) {
  SmallVector<Value> operands = {word};
  if (cause)
    operands.push_back(cause);
  auto hidden = LLVM::InlineAsmOp::create(
      *this, getI32Type(), operands, /*asm_string=*/"",
      cause ? "=r,0,r" : "=r,0",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return {*this, hidden.getRes()};
}

Lanes KernelBuilder::extract(Value vector, int64_t index) {
  return {*this, LLVM::ExtractElementOp::create(*this, vector, i32(index))};
}

SmallVector<Value> KernelBuilder::extractAll(Value vector) {
  SmallVector<Value> elements;
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i)
    elements.push_back(extract(vector, i));
  return elements;
}

Lanes KernelBuilder::pack(ValueRange values) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())},
                              values.front().getType());
  Value result = LLVM::PoisonOp::create(*this, type);
  for (auto [index, value] : llvm::enumerate(values))
    result = LLVM::InsertElementOp::create(*this, result, value, i32(index));
  return {*this, result};
}

Lanes KernelBuilder::slice(Value vector, int64_t begin, int64_t size) {
  auto positions = llvm::to_vector(
      llvm::seq<int32_t>(static_cast<int32_t>(begin), begin + size));
  return {*this,
          LLVM::ShuffleVectorOp::create(*this, vector, vector, positions)};
}

Value KernelBuilder::offset(Value pointer, Type type, Value index) {
  return LLVM::GEPOp::create(*this, pointer.getType(), type, pointer, index);
}

Lanes KernelBuilder::load(Type type, Value pointer, unsigned alignment) {
  return {*this, LLVM::LoadOp::create(*this, type, pointer, alignment)};
}

void KernelBuilder::store(Value value, Value pointer, unsigned alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}

Value reduceInTree(ValueRange values,
                   function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> rest(values);
  for (size_t i = 0; i + 1 < rest.size(); i += 2)
    rest.push_back(combine(rest[i], rest[i + 1]));
  return rest.back();
}

} // namespace blockscale

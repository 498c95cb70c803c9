//===- SumRegisters.cpp - Registers of a thread's sums --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumRegisters.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::products {

static LLVM::InlineAsmOp createPtx(KernelBuilder &b, TypeRange results,
                                   ValueRange operands, StringRef text,
                                   StringRef constraints) {
  return LLVM::InlineAsmOp::create(
      b, results, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
      /*operand_attrs=*/ArrayAttr());
}

void emitInlinePtx(KernelBuilder &b, ValueRange operands, StringRef text,
                   StringRef constraints) {
  createPtx(b, TypeRange(), operands, text, constraints.str() + "~{memory}");
}

static std::string getName(int64_t number) {
  return "%sum" + std::to_string(number);
}

/// One instruction for each register, whose operands `getOperands` gives.
static std::string getMoves(int64_t count,
                            function_ref<std::string(int64_t)> getOperands) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t i : llvm::seq(count))
    os << (i ? " " : "") << "mov.b32 " << getOperands(i) << ";";
  return text;
}

SumRegisters::SumRegisters(KernelBuilder &b, int64_t count) : count(count) {
  createPtx(b, TypeRange(), ValueRange(),
            ".reg .f32 %sum<" + std::to_string(count) + ">;",
            /*constraints=*/"");
}

std::string SumRegisters::getNames() const {
  std::string text;
  for (int64_t i : llvm::seq(count))
    text += (i ? ", " : "") + getName(i);
  return text;
}

void SumRegisters::emitClear(KernelBuilder &b) const {
  std::string text =
      getMoves(count, [](int64_t i) { return getName(i) + ", 0"; });
  createPtx(b, TypeRange(), ValueRange(), text, /*constraints=*/"");
}

void SumRegisters::emitSet(KernelBuilder &b, ValueRange values) const {
  std::string text = getMoves(
      count, [](int64_t i) { return getName(i) + ", $" + std::to_string(i); });
  SmallVector<StringRef> constraints(count, "f");
  createPtx(b, TypeRange(), values, text, llvm::join(constraints, ","));
}

SmallVector<Value> SumRegisters::emitGet(KernelBuilder &b) const {
  std::string text = getMoves(count, [](int64_t i) {
    return "$" + std::to_string(i) + ", " + getName(i);
  });
  SmallVector<StringRef> constraints(count, "=f");
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value all =
      createPtx(b, result, ValueRange(), text, llvm::join(constraints, ","))
          .getRes();
  SmallVector<Value> values;
  for (int64_t i : llvm::seq(count))
    values.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return values;
}

} // namespace blockscale::products

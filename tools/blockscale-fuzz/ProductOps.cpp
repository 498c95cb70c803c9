//===- ProductOps.cpp - Matrix products -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionWriter.h"

using namespace llvm;

namespace blockscale {

/// Type of the scales of data of `shape`, linear or swizzled.
FuzzType FunctionWriter::productScale(ArrayRef<int64_t> shape, int64_t block) {
  FuzzType type = tensor(shape, block == 16 ? "f8E4M3FN" : "f8E8M0FNU");
  type.shape.back() = ceilDiv(type.shape.back(), block);
  if (bytes.flag())
    type = withLayout(type);
  return spoiled(type);
}

/// Now and then makes the left operand plain, which has no scales then.
bool FunctionWriter::makesPlain(FuzzType &a, int64_t block) {
  if (!bytes.rarely(5))
    return false;
  a.element = block == 16 && bytes.flag() ? "f16" : "bf16";
  return true;
}

std::string
FunctionWriter::productOperands(const FuzzType &a, const FuzzType &b,
                                const FuzzType *offsets, const FuzzType *scaleA,
                                const FuzzType &scaleB, int64_t block) {
  std::string operands = operand(a);
  operands += ", " + operand(b);
  if (offsets)
    operands += " offsets(" + operand(*offsets) + ")";
  operands += " scales(" + (scaleA ? operand(*scaleA) : "none");
  operands +=
      ", " + operand(scaleB) + ") block [1, " + std::to_string(block) + "]";
  if (rarelyWider(4))
    operands += bytes.pick<const char *>({" global_scaling after_rounding",
                                          " global_scaling before_rounding",
                                          " global_scaling in_elements"});
  if (rarelyWider(4))
    operands += bytes.pick<const char *>({" order chain", " order free"});
  return operands;
}

void FunctionWriter::writeScaledMM() {
  int64_t block = bytes.pick<int64_t>({16, 32});
  SmallVector<int64_t, 4> leading = batch();
  int64_t rows = size(), cols = size(), inner = sizeOf(block, false);
  auto matrix = [&](int64_t first, int64_t second) {
    SmallVector<int64_t, 4> shape(leading);
    shape.append({first, second});
    return shape;
  };
  FuzzType a = tensor(matrix(rows, inner), dataElement(block == 16));
  FuzzType b = tensor(matrix(cols, inner), dataElement(block == 16));
  bool isPlain = makesPlain(a, block);
  if (isPlain && rarelyWider(2))
    b = prepacked(b);
  FuzzType scaleA = productScale(a.shape, block);
  FuzzType scaleB = productScale(b.shape, block);
  FuzzType result = spoiled(tensor(
      matrix(rows, cols), bytes.pick<const char *>({"bf16", "f32", "f16"})));
  std::string operands = productOperands(
      a, b, /*offsets=*/nullptr, isPlain ? nullptr : &scaleA, scaleB, block);
  if (block == 16 && !isPlain && bytes.flag())
    operands += globalOperand("global_scale_a", leading, rows);
  if (block == 16 && bytes.flag())
    operands += globalOperand("global_scale_b", leading, cols);
  if (bytes.flag()) {
    FuzzType bias = spoiled(
        tensor({cols}, bytes.pick<const char *>({"f32", "bf16", "f16"})));
    operands += " bias(" + operand(bias) + " : " + bias.str() + ")";
  }
  operands += kUncheckedOrigins;
  std::string name = define(result);
  line(name + " = blockscale.scaled_mm " + operands + " : " + a.str() + ", " +
       b.str() + ", " + (isPlain ? "" : scaleA.str() + ", ") + scaleB.str() +
       " -> " + result.str());
}

void FunctionWriter::writeGroupedMM() {
  int64_t block = bytes.pick<int64_t>({32, 16});
  bool isAlongK = bytes.flag();
  int64_t groups = bytes.pick<int64_t>({3, 1, 2, kDynamicSize, 0});
  int64_t rows = size(), cols = size(), inner = sizeOf(block, false);
  FuzzType a = tensor({rows, inner}, dataElement(block == 16));
  FuzzType b = tensor({cols, inner}, dataElement(block == 16));
  FuzzType result =
      tensor({rows, cols}, bytes.pick<const char *>({"bf16", "f32", "f16"}));
  if (isAlongK)
    result.shape = {groups, rows, cols};
  else
    b.shape = {groups, cols, inner};
  bool isPlain = makesPlain(a, block);
  if (isPlain && rarelyWider(2))
    b = prepacked(b);
  FuzzType scaleA = productScale(a.shape, block);
  FuzzType scaleB = productScale(b.shape, block);
  if (groups != 0 && bytes.flag())
    scaleA = grouped(scaleA, groups, isAlongK);
  if (groups != 0 && isAlongK && bytes.flag())
    scaleB = grouped(scaleB, groups, 1);
  FuzzType offsets = spoiled(tensor({groups}, "i32"));
  std::string operands = productOperands(
      a, b, &offsets, isPlain ? nullptr : &scaleA, scaleB, block);
  if (block == 16 && !isPlain && bytes.flag())
    operands += globalOperand("global_scale_a", {groups},
                              isAlongK ? std::nullopt : std::optional(rows));
  if (block == 16 && bytes.flag())
    operands += globalOperand("global_scale_b", {groups}, std::nullopt);
  if (rarelyWider(3)) {
    FuzzType bias = tensor({cols}, bytes.pick<const char *>({"f32", "bf16"}));
    if (bytes.flag())
      bias.shape = {groups, cols};
    operands += " bias(" + operand(bias) + " : " + bias.str() + ")";
  }
  operands += kUncheckedOrigins;
  result = spoiled(result);
  std::string name = define(result);
  line(name + " = blockscale.scaled_grouped_mm " + operands + " : " + a.str() +
       ", " + b.str() + ", " + offsets.str() + ", " +
       (isPlain ? "" : scaleA.str() + ", ") + scaleB.str() + " -> " +
       result.str());
}

} // namespace blockscale

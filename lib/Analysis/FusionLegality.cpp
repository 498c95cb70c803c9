//===- FusionLegality.cpp - What may run as one kernel --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Recipe.h"

using namespace mlir;

namespace blockscale {

Diagnostic &operator<<(Diagnostic &diag, const FusionObstacle &obstacle) {
  return diag << "(" << obstacle.clause << "): expected " << obstacle.expected
              << ", but got " << obstacle.found;
}

template <typename T>
static std::string print(const T &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << value;
  return text;
}

std::optional<FusionObstacle> findOneReadObstacle(QuantizeOp op) {
  RankedTensorType x = op.getX().getType();
  if (!x.getElementType().isBF16() ||
      ShapedType::isDynamic(x.getShape().back()))
    return FusionObstacle{"one_read_c1",
                          "x of bf16 with a static last dimension", print(x)};
  if (numerics::isFourOverSix(getNumerics(op.getEffectiveRecipe())))
    return FusionObstacle{"one_read_c2", "a recipe without 4over6",
                          stringifyRecipe(op.getEffectiveRecipe()).str()};
  if (op.getBlockAmax())
    return FusionObstacle{"one_read_c2", "computed block amaxes", "block_amax"};
  if (op.getRng() || op.getOffsets())
    return FusionObstacle{"one_read_c3", "no rng and no offsets",
                          op.getRng() ? "rng" : "offsets"};
  if (op.hasRowGlobals())
    return FusionObstacle{
        "one_read_c4", "one global value for the tensor or each matrix",
        print(op.getGlobalScale() ? op.getGlobalScale().getType()
                                  : op.getGlobalAmax().getType())};
  return std::nullopt;
}

} // namespace blockscale

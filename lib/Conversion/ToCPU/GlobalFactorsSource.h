//===- GlobalFactorsSource.h - Global factors of a kernel -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_GLOBALFACTORSSOURCE_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_GLOBALFACTORSSOURCE_H

#include "QuantizeSpec.h"

#include <optional>

namespace blockscale::cpu {

using namespace emit;

/// The global factors of an op with `global_scale` or `global_amax`, computed
/// once where all elements share them.
class GlobalFactorsSource {
public:
  /// `global` is the buffer of the operand.
  GlobalFactorsSource(mlir::ImplicitLocOpBuilder &b, numerics::Recipe recipe,
                      const GlobalOperand &operand, mlir::Value global)
      : b(b), recipe(recipe), operand(operand), global(global) {
    if (operand.isSingle())
      shared =
          emitGlobalFactors(b, recipe, operand.kind, loadGlobal(b, global, {}));
  }

  explicit GlobalFactorsSource(const QuantizeSpec &spec)
      : GlobalFactorsSource(spec.b, spec.format.recipe, spec.global,
                            spec.globalScale) {}

  /// Whether the op has a global operand.
  bool isPresent() const { return operand.isPresent(); }

  /// The factors at `indices`, of which the operand takes as many as it has
  /// dimensions: those of the batch element, and the row.
  GlobalFactors get(mlir::ValueRange indices) const {
    if (shared)
      return *shared;
    auto type = mlir::cast<mlir::MemRefType>(global.getType());
    return emitGlobalFactors(
        b, recipe, operand.kind,
        loadGlobal(b, global, indices.take_front(type.getRank())));
  }

private:
  mlir::ImplicitLocOpBuilder &b;
  numerics::Recipe recipe;
  GlobalOperand operand;
  mlir::Value global;
  std::optional<GlobalFactors> shared;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_GLOBALFACTORSSOURCE_H

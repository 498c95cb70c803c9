//===- LowerTosa.cpp - TOSA programs to the dialect and linalg ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants/ConstantTensor.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToSCF/TosaToSCF.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_LOWERTOSA
#include "blockscale/Transforms/Passes.h.inc"

static bool isTosa(Operation *op) {
  return isa_and_present<tosa::TosaDialect>(op->getDialect());
}

static bool isTosaType(Type type) {
  return isa<tosa::TosaDialect>(getElementTypeOrSelf(type).getDialect());
}

/// Whether an op, or the signature of a function, is one of TOSA's.
static bool hasTosa(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        auto function = dyn_cast<func::FuncOp>(op);
        bool isFound =
            isTosa(op) ||
            (function &&
             (llvm::any_of(function.getArgumentTypes(), isTosaType) ||
              llvm::any_of(function.getResultTypes(), isTosaType)));
        return isFound ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static void buildLowerTosa(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(tosa::createTosaInferShapesPass());
  pm.addPass(createFromTosa());
  pm.addNestedPass<func::FuncOp>(createTosaToSCFPass());
  tosa::addTosaToLinalgPasses(pm, TosaToLinalgOptions(),
                              TosaToLinalgNamedOptions(),
                              /*validationOptions=*/std::nullopt);
  pm.addNestedPass<func::FuncOp>(createTosaToArithPass());
  pm.addNestedPass<func::FuncOp>(createTosaToTensorPass());
  pm.addPass(createCanonicalizerPass());
}

/// Gives constants of many elements the form of resources, which no dump
/// prints.
static void makeResources(ModuleOp module) {
  module->walk([](arith::ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!elements || !type || elements.isSplat() ||
        !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() == 1)
      return;
    ConstantBuilder constant(type);
    llvm::copy(elements.getRawData(), constant.getElements<char>().begin());
    op.setValueAttr(constant.takeAttribute());
  });
}

/// Reads an operand that is repeated along some dimension at 0 wherever its
/// size is 1. MLIR's lowering of TOSA writes the bias tensor<1x1x32> of a sum
/// of tensor<1x8x32> as (d0, 0, d2), and of tensor<2x8x32> as (0, 0, d2);
/// kernels know the latter as a row.
static void normalizeRepeatedOperands(ModuleOp module) {
  module->walk([](linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (auto [operand, map] : llvm::zip(op.getDpsInputs(), maps)) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      auto isZero = [](AffineExpr expr) {
        auto constant = dyn_cast<AffineConstantExpr>(expr);
        return constant && constant.getValue() == 0;
      };
      if (!type || !llvm::any_of(map.getResults(), isZero))
        continue;
      SmallVector<AffineExpr> results(map.getResults());
      for (auto [expr, size] : llvm::zip_equal(results, type.getShape()))
        if (size == 1)
          expr = getAffineConstantExpr(0, op.getContext());
      map = AffineMap::get(map.getNumDims(), 0, results, op.getContext());
    }
    // Another operand has to tell how often each loop runs.
    if (inversePermutation(concatAffineMaps(maps, op.getContext())))
      op.setIndexingMapsAttr(
          Builder(op.getContext()).getAffineMapArrayAttr(maps));
  });
}

/// Emits an error at each op of TOSA for which `predicate` holds.
static LogicalResult refuse(ModuleOp module,
                            function_ref<bool(Operation *)> predicate) {
  bool isLegal = true;
  module->walk([&](Operation *op) {
    if (!isTosa(op) || !predicate(op))
      return;
    op->emitOpError() << "expected an op of TOSA that MLIR lowers to linalg, "
                         "arith, tensor or scf, but got one that it does not";
    isLegal = false;
  });
  return success(isLegal);
}

/// What no pass lowers, told before the first one that fails ends the others.
static bool hasNoLowering(Operation *op) {
  return isa<tosa::CustomOp, tosa::VariableOp, tosa::VariableReadOp,
             tosa::VariableWriteOp>(op);
}

/// Casts whose folds MLIR has wrong (docs/Rationale.md), out of sight of its
/// canonicalization:
///
///   arith.truncf %x : f32 to f4E2M1FN
///   ->  builtin.unrealized_conversion_cast %x : f32 to f4E2M1FN
///
/// Only the latter bear the attribute, which holds those of the cast.
static constexpr StringLiteral kHiddenAttrName = "blockscale.truncf";

static bool isFoldedWrongly(arith::TruncFOp cast) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType,
             Float8E8M0FNUType>(getElementTypeOrSelf(cast.getType()));
}

static void hideCasts(ModuleOp module) {
  module->walk([](arith::TruncFOp cast) {
    if (!isFoldedWrongly(cast))
      return;
    OpBuilder builder(cast);
    auto hidden = UnrealizedConversionCastOp::create(
        builder, cast.getLoc(), cast.getType(), cast.getIn());
    hidden->setAttr(kHiddenAttrName,
                    builder.getDictionaryAttr(cast->getAttrs()));
    cast.replaceAllUsesWith(hidden.getResult(0));
    cast.erase();
  });
}

static void showCasts(ModuleOp module) {
  module->walk([](UnrealizedConversionCastOp hidden) {
    auto attributes = hidden->getAttrOfType<DictionaryAttr>(kHiddenAttrName);
    if (!attributes)
      return;
    OpBuilder builder(hidden);
    auto cast = arith::TruncFOp::create(builder, hidden.getLoc(),
                                        hidden.getResult(0).getType(),
                                        hidden.getOperand(0));
    cast->setAttrs(attributes);
    hidden.getResult(0).replaceAllUsesWith(cast.getResult());
    hidden.erase();
  });
}

/// Whether MLIR lowers `op` by limits that an operand of f8 does not have:
/// f8E4M3FN has no 2^31 to compare with before a cast to i32, and pooling has
/// no first value.
static bool needsF32(Operation *op) {
  bool isCast = isa<tosa::CastOp>(op) &&
                getElementTypeOrSelf(op->getResult(0).getType()).isInteger();
  return (isCast || isa<tosa::MaxPool2dOp>(op)) &&
         isa<Float8E4M3FNType, Float8E5M2Type>(
             getElementTypeOrSelf(op->getOperand(0).getType()));
}

/// tosa.max_pool2d %x : tensor<..xf8E5M2>
///   ->  %w = tosa.cast %x : tensor<..xf8E5M2> to tensor<..xf32>
///       %y = tosa.max_pool2d %w, and a cast of that back
///
/// and a cast to integers is one of %w. f32 has all numbers of f8.
static void widenFloats8(ModuleOp module) {
  module->walk([](Operation *op) {
    if (!needsF32(op))
      return;
    OpBuilder builder(op);
    auto withF32 = [&](Type type) {
      return cast<ShapedType>(type).clone(builder.getF32Type());
    };
    Value x = op->getOperand(0);
    op->setOperand(0, tosa::CastOp::create(builder, op->getLoc(),
                                           withF32(x.getType()), x));
    OpResult result = op->getResult(0);
    Type narrow = result.getType();
    if (getElementTypeOrSelf(narrow).isInteger())
      return;
    result.setType(withF32(narrow));
    builder.setInsertionPointAfter(op);
    auto back = tosa::CastOp::create(builder, op->getLoc(), narrow, result);
    result.replaceAllUsesExcept(back.getOutput(), back);
  });
}

namespace {

struct LowerTosaPass : public impl::LowerTosaBase<LowerTosaPass> {
  /// Those of the passes that it runs.
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerTosa(pm);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (!hasTosa(getOperation()))
      return markAllAnalysesPreserved();
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerTosa(pm);
    widenFloats8(getOperation());
    hideCasts(getOperation());
    if (failed(refuse(getOperation(), hasNoLowering)) ||
        failed(runPipeline(pm, getOperation())) ||
        failed(refuse(getOperation(), [](Operation *) { return true; })))
      return signalPassFailure();
    showCasts(getOperation());
    normalizeRepeatedOperands(getOperation());
    makeResources(getOperation());
  }
};

} // namespace
} // namespace blockscale

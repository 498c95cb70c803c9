//===- ResultsToOutParams.cpp - Caller-allocated results ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchResults.h"
#include "Checks/RunTimeChecks.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RESULTSTOOUTPARAMS
#include "blockscale/Transforms/Passes.h.inc"

/// The return op of a function of one block.
static func::ReturnOp getReturn(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

/// A scalar as memory holds it: the code of an f4 or f6 is in a byte.
static Value toStored(OpBuilder &builder, Location loc, Value scalar) {
  auto type = dyn_cast<FloatType>(scalar.getType());
  if (!type || type.getWidth() >= 8)
    return scalar;
  Type bits = builder.getIntegerType(type.getWidth());
  Value code = arith::BitcastOp::create(builder, loc, bits, scalar);
  return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), code);
}

/// Makes scalar results tensors of rank 0.
static void wrapScalarResults(func::FuncOp function, func::ReturnOp ret) {
  OpBuilder builder(ret);
  for (OpOperand &operand : ret->getOpOperands()) {
    if (isa<RankedTensorType>(operand.get().getType()))
      continue;
    Value scalar = toStored(builder, ret.getLoc(), operand.get());
    operand.set(tensor::FromElementsOp::create(
        builder, ret.getLoc(), RankedTensorType::get({}, scalar.getType()),
        scalar));
  }
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(),
                                                   ret.getOperandTypes()));
}

/// Adds a last argument, a buffer.
static Value addBuffer(func::FuncOp function, MemRefType type) {
  // Fails only for function types that are not builtin ones.
  (void)function.insertArgument(function.getNumArguments(), type,
                                DictionaryAttr::get(function.getContext()),
                                function.getLoc());
  return function.getArguments().back();
}

static void eraseResults(func::FuncOp function) {
  (void)function.eraseResults(BitVector(function.getNumResults(), true));
}

/// Whether sizes of results may come from a loop, a branch or an op on
/// elements.
static bool hasSizes(RewriterBase &rewriter, Operation *op) {
  return !isa<linalg::LinalgOp>(op) &&
         llvm::any_of(op->getResults(), [&](OpResult result) {
           auto shaped = dyn_cast<ShapedType>(result.getType());
           if (!shaped)
             return result.getType().isIntOrIndex();
           return !shaped.hasStaticShape() &&
                  !(isa<scf::IfOp>(op) && findBranchSizes(rewriter, result));
         });
}

/// Adds `@NAME__result_sizes`: a copy of the function that stores the dynamic
/// sizes of its results. The computation is dead in it and folds away.
static void addResultSizes(func::FuncOp function) {
  auto dynamicDims = [](Type type) {
    return cast<RankedTensorType>(type).getNumDynamicDims();
  };
  int64_t count = 0;
  for (Type type : function.getResultTypes())
    count += dynamicDims(type);
  if (count == 0)
    return;
  Location loc = function.getLoc();
  OpBuilder builder(function);
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  copy.setName((function.getName() + kResultSizesSuffix).str());
  copy->removeAttr(kSignatureAttrName);
  // Arguments that callers give away are the other function's to overwrite.
  for (auto [i, type] : llvm::enumerate(copy.getArgumentTypes()))
    if (isa<TensorType>(type))
      copy.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName,
                      builder.getBoolAttr(false));
  // What is asserted where no size is computed is asserted by the function
  // itself, and would keep the computation alive.
  IRRewriter rewriter(builder);
  SmallVector<cf::AssertOp> asserts;
  copy.walk([&](cf::AssertOp op) { asserts.push_back(op); });
  for (cf::AssertOp op : asserts) {
    Operation *around = copy.getBody().findAncestorOpInRegion(*op);
    if (around != op && !hasSizes(rewriter, around))
      op.erase();
  }
  func::ReturnOp ret = getReturn(copy);
  Value sizes = addBuffer(copy, MemRefType::get({count}, builder.getI64Type()));
  builder.setInsertionPoint(ret);
  int64_t index = 0;
  for (Value result : ret.getOperands()) {
    auto type = cast<RankedTensorType>(result.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      Value size = tensor::DimOp::create(builder, loc, result, dim);
      size =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
      Value position = arith::ConstantIndexOp::create(builder, loc, index++);
      memref::StoreOp::create(builder, loc, size, sizes, position);
    }
  }
  ret.getOperandsMutable().clear();
  eraseResults(copy);
  resolveBranchSizes(rewriter, copy);
}

/// Moves results to trailing arguments:
///
///   func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { ... return %y }
/// becomes
///   func.func @f(%x: tensor<4xf32>, %out: memref<4xf32>) {
///     ...
///     bufferization.materialize_in_destination %y in restrict writable %out
///     return
///   }
///
/// With `checkSizes` the function asserts that the caller's buffer has the
/// sizes of the result.
static LogicalResult moveResults(func::FuncOp function, bool checkSizes) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected a public function with results to "
                                "have one block, but got more");
  for (Type type : function.getResultTypes())
    if (!isa<RankedTensorType>(type) && !type.isIntOrIndexOrFloat())
      return function.emitOpError()
             << "expected ranked tensor or scalar results of a public "
                "function, but got "
             << type;
  func::ReturnOp ret = getReturn(function);
  wrapScalarResults(function, ret);
  addResultSizes(function);
  OpBuilder builder(ret);
  RunTimeChecks checks(function, /*isDevice=*/false);
  for (auto [number, result] : llvm::enumerate(ret.getOperands())) {
    auto type = cast<RankedTensorType>(result.getType());
    Value out = addBuffer(
        function, MemRefType::get(type.getShape(), type.getElementType()));
    auto op = bufferization::MaterializeInDestinationOp::create(
        builder, result.getLoc(), result, out);
    op.setRestrict(true);
    op.setWritable(true);
    checks.begin(function, op);
    for (int64_t dim = 0; checkSizes && dim < type.getRank(); ++dim)
      checks.requireEqual(
          checks.getSize(out, dim),
          "dimension " + Twine(dim) + " of result " + Twine(number),
          checks.getSize(result, dim), "what the function computes");
  }
  checks.hoist();
  ret.getOperandsMutable().clear();
  eraseResults(function);
  return success();
}

/// Forbids writing to the buffers of arguments. Bufferization would take those
/// that are dead for its own values, but callers outside may need them, or have
/// them in read-only memory. Those that callers give away are noted.
static void protectArguments(func::FuncOp function) {
  StringRef name = bufferization::BufferizationDialect::kWritableAttrName;
  Builder builder(function.getContext());
  SmallVector<int64_t> given, settled;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (!isa<TensorType>(type))
      continue;
    auto writable = function.getArgAttrOfType<BoolAttr>(i, name);
    if (!writable)
      function.setArgAttr(i, name, builder.getBoolAttr(false));
    else if (writable.getValue())
      given.push_back(static_cast<int64_t>(i));
    if (function.getArgAttr(i, kSettledAttrName))
      settled.push_back(static_cast<int64_t>(i));
  }
  // Only this pass and blockscale-reuse-arguments know what these say.
  for (StringRef known : {kWritableArgumentsAttrName, kSettledArgumentsAttrName,
                          kResultArgumentsAttrName})
    function->removeAttr(known);
  if (!given.empty())
    function->setAttr(kWritableArgumentsAttrName,
                      builder.getDenseI64ArrayAttr(given));
  if (!settled.empty())
    function->setAttr(kSettledArgumentsAttrName,
                      builder.getDenseI64ArrayAttr(settled));
}

/// Drops what was said of arguments for quantization (isWeight) and for
/// callers, which nothing later knows.
static void dropMarks(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    (void)function.removeArgAttr(i, kWeightAttrName);
    (void)function.removeArgAttr(i, kSettledAttrName);
  }
}

/// Redirects calls of `function` in the module, its own included, to a private
/// copy: the public signature is for callers outside.
static void splitFromCallers(func::FuncOp function, ModuleOp module) {
  SymbolTable table(module);
  OpBuilder builder(function);
  auto callee = cast<func::FuncOp>(builder.clone(*function));
  callee.setPrivate();
  callee->removeAttr(kSignatureAttrName);
  // The clone has the name of `function` until the table, which knows that
  // one, renames it.
  StringAttr name = table.insert(callee);
  (void)SymbolTable::replaceAllSymbolUses(function, name, module);
}

namespace {

struct ResultsToOutParamsPass
    : public impl::ResultsToOutParamsBase<ResultsToOutParamsPass> {
  using ResultsToOutParamsBase::ResultsToOutParamsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isPrivate() || function.isExternal())
        continue;
      bool hasResults = function.getNumResults() != 0;
      if (hasResults && !SymbolTable::symbolKnownUseEmpty(function, module))
        splitFromCallers(function, module);
      protectArguments(function);
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        UnitAttr::get(&getContext()));
      if (hasResults && failed(moveResults(function, checkSizes)))
        return signalPassFailure();
    }
    llvm::for_each(module.getOps<func::FuncOp>(), dropMarks);
  }
};

} // namespace
} // namespace blockscale

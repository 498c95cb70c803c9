//===- LowerKernelsToCPU.cpp - Kernels to functions of vector loops -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorReporter.h"
#include "Kernels.h"
#include "OutlinedFunctions.h"
#include "RankCalls.h"
#include "SplitKernel.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_LOWERKERNELSTOCPU
#include "blockscale/Conversion/Passes.h.inc"

using emit::CallSite;

/// Emits an error for forms of ops that the emitters do not compute.
static LogicalResult verifyForm(Operation *op) {
  if (failed(emit::verifyScaleLayouts(op)))
    return failure();
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    Type scale = quantize.getScale().getType();
    if (quantize.getOffsets() && !quantize.hasRowBlocks() &&
        !getScaleLayout(scale).isLinear() && !getGroupedLayout(scale))
      return op->emitOpError("expected groups of blocks of several rows to "
                             "have linear scales, or tiles of scales of each "
                             "group alone, but got ")
             << scale;
  }
  if (auto product = dyn_cast<ProductOpInterface>(op))
    return failed(emit::verifyRowMajor(product)) ? failure()
                                                 : emit::verifyKMajor(product);
  if (auto prepack = dyn_cast<PrepackOp>(op))
    return emit::verifyChangesLayout(prepack);
  return success();
}

/// Calls `fn` with the kernel's op as the class it is.
template <typename FnTy>
static LogicalResult dispatch(KernelOp kernel, FnTy &&fn) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(kernel.getSingleOp())
      .Case<AmaxOp, AmaxPartsOp, DequantizeOp, ExpandScaleOp, GlobalScaleOp,
            HadamardOp, PadGroupsOp, PrepackOp, QuantizeOp, ScaledMMOp,
            ScaledGroupedMMOp, ScaleSweepOp, SwizzleOp>([&](auto op) {
        fn(op);
        return success();
      })
      .Default([&](Operation *op) {
        return op->emitOpError("has no lowering to the CPU");
      });
}

namespace {

/// Moves kernels of a module to functions, one for all kernels that compute the
/// same:
///
///   blockscale.kernel ins(%x) outs(%q, %s) { quantize }
/// becomes
///   func.call @f_quantize_0(%x, %q, %s, %c0, %n) {blockscale.parallel}
/// where the checks hold, and reports what does not.
class Outliner {
public:
  Outliner(ModuleOp module, numerics::TensorCores tensorCores)
      : inserter(module), reporter(module), tensorCores(tensorCores) {}

  LogicalResult outline(KernelOp kernel) {
    if (failed(cpu::verifyKernel(kernel)) ||
        failed(verifyForm(kernel.getSingleOp())))
      return failure();
    return dispatch(kernel, [&](auto op) { outline(kernel, op); });
  }

  /// Erases the kernels that were outlined.
  void finish() {
    for (KernelOp kernel : outlined)
      kernel.erase();
  }

private:
  template <typename OpTy>
  void outline(KernelOp kernel, OpTy op) {
    func::FuncOp function = getFunction(kernel, op);
    ImplicitLocOpBuilder b(kernel.getLoc(), kernel);
    CallSite site(b, emit::KernelOperands(kernel, kernel.getOperands()),
                  op->getName().stripDialect());
    emit::requireOperands(op, site);
    Value items = cpu::countItems(op, site);
    emitGuarded(b, site.getChecks(), [&] {
      emitWithGroups(b, emit::getGroupEnds(op, site), [&] {
        cpu::emitPrologue(op, site);
        SmallVector<Value> arguments(kernel.getOperands());
        arguments.push_back(emit::getIndex(b, 0));
        arguments.push_back(items);
        auto call = func::CallOp::create(b, function, arguments);
        call->setAttr("blockscale.parallel", b.getUnitAttr());
      });
    });
    outlined.push_back(kernel);
  }

  /// The function of the first kernel that is like this one, but for the values
  /// of its operands.
  template <typename OpTy>
  func::FuncOp getFunction(KernelOp kernel, OpTy op) {
    auto types = TypeRange(kernel.getOperandTypes());
    auto &known = functions[TupleType::get(kernel.getContext(), types)];
    for (auto [other, function] : known)
      if (OperationEquivalence::isRegionEquivalentTo(
              &other.getBodyRegion(), &kernel.getBodyRegion(),
              OperationEquivalence::IgnoreLocations))
        return function;
    func::FuncOp function = createFunction(kernel, op);
    emitBody(kernel, op, function);
    known.emplace_back(kernel, function);
    return function;
  }

  func::FuncOp createFunction(KernelOp kernel, Operation *op) {
    OpBuilder builder(kernel.getContext());
    SmallVector<Type> types(kernel.getOperandTypes());
    types.append(2, builder.getIndexType());
    auto function = func::FuncOp::create(kernel.getLoc(), "outlined",
                                         builder.getFunctionType(types, {}));
    inserter.insert(function, op);
    return function;
  }

  template <typename OpTy>
  void emitBody(KernelOp kernel, OpTy op, func::FuncOp function) {
    Block *entry = function.addEntryBlock();
    auto b = ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), entry);
    ValueRange operands = entry->getArguments().drop_back(2);
    cpu::emitItems(op, {b, emit::KernelOperands(kernel, operands),
                        entry->getArguments().drop_back().back(),
                        entry->getArguments().back(), tensorCores});
    func::ReturnOp::create(b);
  }

  void emitGuarded(ImplicitLocOpBuilder &b, ArrayRef<CallSite::Check> checks,
                   function_ref<void()> emitCall) {
    if (checks.empty())
      return emitCall();
    emit::emitIf(
        b, checks.front().holds,
        [&] { emitGuarded(b, checks.drop_front(), emitCall); },
        [&] {
          reporter.emitReport(b, checks.front().rule, checks.front().found);
        });
  }

  /// Emits the call where the groups keep their rules, or where there is
  /// nothing to do, so that nobody reads them.
  void emitWithGroups(ImplicitLocOpBuilder &b,
                      const emit::GroupEndsInMemory &ends,
                      function_ref<void()> emitCall) {
    if (!ends.offsets)
      return emitCall();
    emit::FirstFault fault = emit::findFirstFault(b, ends);
    emit::Lanes isValid = emit::isEqual(emit::Lanes(b, fault.rule), 0);
    for (Value size : ends.sizes)
      isValid = isValid | emit::isEqual(emit::Lanes(b, size), 0);
    emit::emitIf(b, isValid, emitCall,
                 [&] { reporter.emitReport(b, ends.rules.op, fault); });
  }

  cpu::OutlinedFunctions inserter;
  cpu::ErrorReporter reporter;
  numerics::TensorCores tensorCores;
  /// Kernels and their functions, by the types of the operands.
  DenseMap<Type, SmallVector<std::pair<KernelOp, func::FuncOp>>> functions;
  SmallVector<KernelOp> outlined;
};

struct LowerKernelsToCPUPass
    : public impl::LowerKernelsToCPUBase<LowerKernelsToCPUPass> {
  using impl::LowerKernelsToCPUBase<
      LowerKernelsToCPUPass>::LowerKernelsToCPUBase;

  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    Outliner outliner(getOperation(), tensorCores);
    for (KernelOp kernel : kernels)
      for (KernelOp part : cpu::splitKernel(kernel))
        if (failed(outliner.outline(part)))
          return signalPassFailure();
    outliner.finish();
    if (failed(cpu::lowerRankReductions(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale

//===- LowerKernelsToGPU.cpp - Kernels to gpu.func and launches -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/ElementSource.h"
#include "Emission/OperandChecks.h"
#include "ToGPU/KernelBody.h"
#include "ToGPU/Ops/Kernels.h"
#include "ToGPU/Patches/PatchTile.h"
#include "ToGPU/RowPrograms/RowKernel.h"
#include "ToGPU/Rows/QuantizeLaunch.h"
#include "ToSM100/Kernels.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/FusionLegality.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_LOWERKERNELSTOGPU
#include "blockscale/Conversion/Passes.h.inc"

static constexpr StringLiteral kGPUModuleName = "blockscale_kernels";

/// An empty gpu.module for `chip` at the start of `module`, renamed where the
/// module has a symbol of its name.
static gpu::GPUModuleOp createGPUModule(ModuleOp module,
                                        const target::Chip &chip) {
  OpBuilder b(module.getContext());
  auto target = TargetAttr::get(module.getContext(), StringRef(chip.name),
                                /*features=*/"", /*O=*/2);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  auto created = gpu::GPUModuleOp::create(b, module.getLoc(), kGPUModuleName,
                                          ArrayRef<Attribute>(target));
  SymbolTable(module).insert(created, module.getBody()->begin());
  return created;
}

static LogicalResult lowerQuantize(KernelOp kernel, KernelTable &kernels,
                                   const target::Chip &chip) {
  QuantizeOperands operands;
  auto quantize = *kernel.getBody().getOps<QuantizeOp>().begin();
  FailureOr<QuantizeSpec> spec =
      analyzeQuantize(kernel, quantize, quantize.getX(), chip, operands);
  if (failed(spec))
    return failure();
  // Rows without elements have neither data nor scales.
  if (spec->rowElements != 0) {
    LaunchSite site(kernel, kernels, chip);
    if (spec->groupedTiles) {
      emit::requireOperands(quantize, site.call);
      site.emitAsserts();
    }
    launchQuantize(site, *spec, operands);
  }
  return success();
}

/// The value that all of `ops` read, some through a transform of it; null if
/// they read several.
static Value getCommonSource(ArrayRef<Operation *> ops) {
  Value x = getSource(ops.front());
  return llvm::all_of(ops, [&](Operation *op) { return getSource(op) == x; })
             ? x
             : Value();
}

/// Whether elementwise ops make the x of the others, which can evaluate them,
/// from what memory holds.
static LogicalResult verifyProducers(KernelOp kernel, const KernelBody &ops) {
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  SmallVector<Operation *> users(ops.producers);
  llvm::append_range(users, ops.others);
  users.push_back(yield);
  for (Operation *producer : ops.producers)
    if (std::optional<FusionObstacle> obstacle =
            findProducerObstacle(cast<linalg::LinalgOp>(producer), users,
                                 /*isKept=*/true))
      return producer->emitOpError()
             << "does not share its kernel " << *obstacle;
  if (ops.producers.empty())
    return success();
  Value x = ops.others.empty() ? Value() : getCommonSource(ops.others);
  if (ops.others.empty() && yield.getNumOperands() == 1)
    x = yield.getOperand(0);
  bool isMade = x && ElementSource(x).makes(ops.producers);
  if (!isMade)
    return ops.producers.front()->emitOpError(
        "expected elementwise ops of a kernel to make what its other ops read, "
        "or its result, from inputs of the kernel");
  return success();
}

/// Whether what ops read is not made of nothing.
static LogicalResult verifyOperands(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition && !isProduct(definition) &&
          !isa<linalg::LinalgOp, HadamardOp>(definition))
        return op->emitOpError("expected operands that are inputs of the "
                               "kernel, or of other ops that compute, on this "
                               "target, but got one of '")
               << definition->getName() << "'";
    }
  return success();
}

static std::optional<FusionObstacle>
findSharingObstacle(Operation *op, const KernelBody &body,
                    const target::Chip &chip) {
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return findOneReadObstacle(quantize, body.hasOneResultOp());
  if (auto amax = dyn_cast<AmaxOp>(op))
    return findOneReadObstacle(amax);
  return findTransformObstacle(cast<HadamardOp>(op), chip);
}

/// Several quantizations and amaxes of one x, or of transforms of it, or the
/// same of several.
static LogicalResult lowerSiblings(KernelOp kernel, const KernelBody &body,
                                   LaunchSite &site) {
  llvm::MapVector<Value, SmallVector<Operation *>> opsOf;
  for (Operation *op : body.others) {
    Value source = getSource(op);
    bool isKnown = isa_and_present<BlockArgument>(source) ||
                   (source && source.getDefiningOp<linalg::LinalgOp>());
    if (!isKnown)
      return op->emitOpError("expected a kernel of several ops to be "
                             "quantizations and amaxes of inputs or of "
                             "transforms of them on this target");
    opsOf[source].push_back(op);
  }
  for (const auto &[x, ops] : opsOf) {
    std::optional<FusionObstacle> obstacle;
    if (opsOf.size() > 1)
      obstacle = findGroupObstacle(opsOf.front().second, ops);
    for (Operation *op : ops) {
      if (!obstacle)
        obstacle = findSharingObstacle(op, body, site.getChip());
      if (obstacle)
        return op->emitOpError() << "does not share its kernel " << *obstacle;
    }
  }
  return failed(site.verify())
             ? failure()
             : lowerPatchKernel(findPatchMembers(kernel), site);
}

static LogicalResult lowerProducts(const KernelBody &ops, Operation *product,
                                   LaunchSite &site) {
  const target::Chip &chip = site.getChip();
  if (!chip.hasBlockScaledMma())
    return product->emitOpError()
           << "needs tcgen05.mma.block_scale, which " << chip.name
           << " lacks: expected the CPU, or one of "
           << target::listChips(&target::Chip::hasBlockScaledMma);
  if (failed(site.verify()))
    return failure();
  SmallVector<Operation *> all(ops.others);
  llvm::append_range(all, ops.producers);
  return sm100::lowerProducts(all, site);
}

/// Puts launches in the place of a kernel:
///
///   blockscale.kernel ins(%x) outs(%q, %s) { ... blockscale.quantize ... }
/// becomes
///   gpu.launch_func @blockscale_kernels::@quantize_...
///       blocks in (...) threads in (128, 1, 1) args(%px, %pq, %ps, %rows)
static LogicalResult lowerKernel(KernelOp kernel, KernelTable &kernels,
                                 const target::Chip &chip) {
  if (kernel.getBody().front().without_terminator().empty())
    return kernel.emitOpError("expected a body with an op, but it computes "
                              "nothing");
  if (kernel->hasAttr(kTileAttrName) && findPatchMembers(kernel).empty())
    return kernel.emitOpError()
           << "expected " << kTileAttrName
           << " on kernels for blocks of several rows, or of several results "
              "of one x, only";
  LaunchSite site(kernel, kernels, chip);
  if (isRowProgram(kernel))
    return lowerRowProgram(kernel, site);
  KernelBody ops(kernel);
  if (failed(verifyOperands(ops.others)))
    return failure();
  auto *product = llvm::find_if(ops.others, isProduct);
  if (product != ops.others.end())
    return lowerProducts(ops, *product, site);
  if (failed(verifyProducers(kernel, ops)))
    return failure();
  if (ops.others.empty())
    return failed(site.verify()) ? failure() : lowerElementwise(kernel, site);
  Operation *op = ops.others.front();
  if (ops.others.size() > 1 || (!ops.producers.empty() && !isa<QuantizeOp>(op)))
    return lowerSiblings(kernel, ops, site);
  auto quantize = dyn_cast<QuantizeOp>(op);
  if (quantize && isRowKernel(quantize))
    return lowerQuantize(kernel, kernels, chip);
  if (quantize)
    return failed(site.verify())
               ? failure()
               : lowerPatchKernel(findPatchMembers(kernel), site);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AmaxOp, DequantizeOp, ExpandScaleOp, GlobalScaleOp, HadamardOp,
            ScaleSweepOp, SwizzleOp>([&](auto op) {
        return failed(site.verify()) ? failure() : lowerKernel(op, site);
      })
      .Default([&](Operation *) {
        return site.refuse("it has a kernel on the CPU only (--target=cpu)");
      });
}

namespace {

struct LowerKernelsToGPUPass
    : public impl::LowerKernelsToGPUBase<LowerKernelsToGPUPass> {
  using LowerKernelsToGPUBase::LowerKernelsToGPUBase;

  /// What no kernel has taken stays on the host, which cannot run it.
  static LogicalResult verifyNoHostLoops(ModuleOp module,
                                         const target::Chip &chip) {
    WalkResult result = module.walk([&](linalg::LinalgOp op) {
      if (op->getParentOfType<KernelOp>())
        return WalkResult::advance();
      op.emitOpError() << "has no kernel on " << chip.name
                       << ": expected an op that meets the clauses of "
                          "producers (blockscale-form-kernels)";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target) {
      getOperation().emitError()
          << "expected the chip to be one of " << target::listChips()
          << ", but got '" << chip << "'";
      return signalPassFailure();
    }
    if (failed(verifyNoHostLoops(getOperation(), *target)))
      return signalPassFailure();
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    if (kernels.empty())
      return;
    KernelTable table(createGPUModule(getOperation(), *target));
    for (KernelOp kernel : kernels)
      if (failed(lowerKernel(kernel, table, *target)))
        return signalPassFailure();
    table.finish();
    for (KernelOp kernel : kernels)
      kernel.erase();
  }
};

} // namespace
} // namespace blockscale

//===- LowerKernelsToGPU.cpp - Kernels to gpu.func and launches -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/Kernels.h"
#include "../ToSM100/Kernels.h"
#include "ElementSource.h"
#include "Kernels.h"
#include "QuantizeLaunch.h"
#include "RowKernel.h"
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

static LogicalResult lowerQuantize(KernelOp kernel, gpu::GPUModuleOp module,
                                   const target::Chip &chip) {
  QuantizeOperands operands;
  auto quantize = *kernel.getBody().getOps<QuantizeOp>().begin();
  FailureOr<QuantizeSpec> spec =
      analyzeQuantize(kernel, quantize, quantize.getX(), chip, operands);
  if (failed(spec))
    return failure();
  // Rows without elements have neither data nor scales.
  if (spec->rowElements != 0) {
    LaunchSite site(kernel, module, chip);
    if (spec->groupedTiles) {
      cpu::prepareCall(quantize, site.call);
      site.emitAsserts();
    }
    launchQuantize(site, *spec, operands);
  }
  return success();
}

/// What a quantization, amax or transform of a kernel reads, through a
/// transform; null for other ops.
static Value getSource(Operation *op) {
  if (!isa<AmaxOp, HadamardOp, QuantizeOp>(op))
    return {};
  Value x = op->getOperand(0);
  auto hadamard = x.getDefiningOp<HadamardOp>();
  return hadamard && !isa<HadamardOp>(op) ? hadamard.getX() : x;
}

/// The ops of a kernel that need code, those that make x apart.
struct KernelOps {
  SmallVector<Operation *> producers;
  SmallVector<Operation *> others;
};

static KernelOps getOps(KernelOp kernel) {
  KernelOps ops;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (isa<linalg::LinalgOp>(op))
      ops.producers.push_back(&op);
    else if (!isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(op))
      ops.others.push_back(&op);
  return ops;
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
static LogicalResult verifyProducers(KernelOp kernel, const KernelOps &ops) {
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
      if (definition && !isa<linalg::LinalgOp, HadamardOp>(definition))
        return op->emitOpError("expected operands that are inputs of the "
                               "kernel, or of other ops that compute, on this "
                               "target, but got one of '")
               << definition->getName() << "'";
    }
  return success();
}

/// Several quantizations and amaxes of one x, or of transforms of it, or the
/// same of several.
static LogicalResult lowerSiblings(ArrayRef<Operation *> body,
                                   LaunchSite &site) {
  llvm::MapVector<Value, SmallVector<Operation *>> opsOf;
  for (Operation *op : body) {
    Value source = getSource(op);
    bool isKnown = isa_and_present<BlockArgument>(source) ||
                   (source && source.getDefiningOp<linalg::LinalgOp>());
    if (!isKnown)
      return op->emitOpError("expected a kernel of several ops to be "
                             "quantizations and amaxes of inputs or of "
                             "transforms of them on this target");
    opsOf[source].push_back(op);
  }
  bool isAlone = llvm::count_if(body, [](Operation *op) {
                   return !isa<HadamardOp>(op);
                 }) == 1;
  SmallVector<PatchMember> members;
  for (const auto &[x, ops] : opsOf) {
    std::optional<FusionObstacle> obstacle;
    if (opsOf.size() > 1)
      obstacle = findGroupObstacle(opsOf.front().second, ops);
    PatchMember &member = members.emplace_back();
    for (Operation *op : ops) {
      if (auto quantize = dyn_cast<QuantizeOp>(op)) {
        member.quantizes.push_back(quantize);
        if (!obstacle)
          obstacle = findOneReadObstacle(quantize, isAlone);
      } else if (auto amax = dyn_cast<AmaxOp>(op)) {
        member.amaxes.push_back(amax);
        if (!obstacle)
          obstacle = findOneReadObstacle(amax);
      } else if (!obstacle) {
        obstacle = findTransformObstacle(cast<HadamardOp>(op), site.getChip());
      }
      if (obstacle)
        return op->emitOpError() << "does not share its kernel " << *obstacle;
    }
  }
  return failed(site.verify()) ? failure() : lowerPatchKernel(members, site);
}

/// Whether kernels of rows compute `op`. Those divide rows of a static length;
/// what has the form of a shared kernel needs none.
static bool isRowKernel(QuantizeOp op) {
  bool isDynamic = ShapedType::isDynamic(op.getX().getType().getShape().back());
  return op.getBlock()[0] == 1 && (!isDynamic || findOneReadObstacle(op));
}

static LogicalResult lowerProduct(ScaledMMOp op, LaunchSite &site) {
  return failed(site.verify()) ? failure() : sm100::lowerKernel(op, site);
}
static LogicalResult lowerProduct(ScaledGroupedMMOp, LaunchSite &site) {
  return site.refuse("it has a kernel on the CPU only (--target=cpu)");
}

/// Puts launches in the place of a kernel:
///
///   blockscale.kernel ins(%x) outs(%q, %s) { ... blockscale.quantize ... }
/// becomes
///   gpu.launch_func @blockscale_kernels::@quantize_...
///       blocks in (...) threads in (128, 1, 1) args(%px, %pq, %ps, %rows)
static LogicalResult lowerKernel(KernelOp kernel, gpu::GPUModuleOp module,
                                 const target::Chip &chip) {
  if (kernel.getBody().front().without_terminator().empty())
    return kernel.emitOpError("expected a body with an op, but it computes "
                              "nothing");
  LaunchSite site(kernel, module, chip);
  if (isRowProgram(kernel))
    return lowerRowProgram(kernel, site);
  KernelOps ops = getOps(kernel);
  if (failed(verifyOperands(ops.others)) ||
      failed(verifyProducers(kernel, ops)))
    return failure();
  if (ops.others.empty())
    return failed(site.verify()) ? failure() : lowerElementwise(kernel, site);
  Operation *op = ops.others.front();
  if (ops.others.size() > 1 || (!ops.producers.empty() && !isa<QuantizeOp>(op)))
    return lowerSiblings(ops.others, site);
  auto quantize = dyn_cast<QuantizeOp>(op);
  if (quantize && isRowKernel(quantize))
    return lowerQuantize(kernel, module, chip);
  if (quantize)
    return failed(site.verify())
               ? failure()
               : lowerPatchKernel(PatchMember{{quantize}, {}}, site);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AmaxOp, DequantizeOp, ExpandScaleOp, GlobalScaleOp, HadamardOp,
            ScaleSweepOp, SwizzleOp>([&](auto op) {
        return failed(site.verify()) ? failure() : lowerKernel(op, site);
      })
      .Case<ScaledMMOp, ScaledGroupedMMOp>([&](auto op) -> LogicalResult {
        if (chip.hasBlockScaledMma())
          return lowerProduct(op, site);
        return op.emitOpError()
               << "needs tcgen05.mma.block_scale, which " << chip.name
               << " lacks: expected the CPU, or one of "
               << target::listChips(&target::Chip::hasBlockScaledMma);
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
    gpu::GPUModuleOp module = createGPUModule(getOperation(), *target);
    for (KernelOp kernel : kernels)
      if (failed(lowerKernel(kernel, module, *target)))
        return signalPassFailure();
    for (KernelOp kernel : kernels)
      kernel.erase();
  }
};

} // namespace
} // namespace blockscale

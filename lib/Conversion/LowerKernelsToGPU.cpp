//===- LowerKernelsToGPU.cpp - Kernels to gpu.func and launches -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/OperandChecks.h"
#include "ProductFamilies.h"
#include "ToGPU/KernelBody.h"
#include "ToGPU/Ops/Kernels.h"
#include "ToGPU/Plain/PlainKernel.h"
#include "ToGPU/RowPrograms/RowKernel.h"
#include "ToGPU/Rows/QuadKernel.h"
#include "ToGPU/Rows/QuantizeLaunch.h"
#include "ToGPU/Strips/StripChoice.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/KernelOptLevel.h"
#include "blockscale/IR/PassOptions.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
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
                                /*features=*/"", kKernelOptLevel);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  auto created = gpu::GPUModuleOp::create(b, module.getLoc(), kGPUModuleName,
                                          ArrayRef<Attribute>(target));
  SymbolTable(module).insert(created, module.getBody()->begin());
  return created;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

static LogicalResult lowerRows(KernelOp kernel, const KernelBody &body,
                               LaunchSite &site) {
  if (failed(verifyProducers(kernel, body)))
    return failure();
  QuantizeOperands operands;
  auto quantize = *kernel.getBody().getOps<QuantizeOp>().begin();
  FailureOr<QuantizeSpec> spec = analyzeQuantize(
      kernel, quantize, quantize.getX(), site.getChip(), operands);
  if (failed(spec))
    return failure();
  emit::requireOperands(quantize, site.call);
  // Blocks that are taken without their rows are whole, for all recipes.
  if (spec->takesBlocks && acceptsTails(spec->recipe))
    site.call.requireMultiple(site.call.getSizes(quantize.getX()).back(),
                              spec->blockElements, "the last dimension of x");
  site.emitAsserts();
  // Rows without elements have neither data nor scales.
  if (spec->rowElements == 0)
    return success();
  // What comes before has read x already, and x may be read before it ends.
  spec->isInQuads |= spec->globalPrologue.hasParts() && canHaveQuads(*spec) &&
                     site.canLoadBeforeWait(operands.x);
  launchQuantize(site, *spec, operands);
  return success();
}

static LogicalResult lowerStrips(KernelOp kernel, const KernelBody &,
                                 LaunchSite &site) {
  FailureOr<SmallVector<StripMembers>> sets = findStripMembers(kernel);
  if (failed(sets) || failed(site.verify()))
    return failure();
  if (sets->size() > 1 && kernel->hasAttr(kStripAttrName))
    return kernel.emitOpError()
           << "expected " << kStripAttrName
           << " on kernels of one x, or of several alike, only";
  return lowerStripKernel(*sets, site);
}

static LogicalResult lowerProgram(KernelOp kernel, const KernelBody &,
                                  LaunchSite &site) {
  return lowerRowProgram(kernel, site);
}

static LogicalResult lowerProducts(KernelOp, const KernelBody &body,
                                   LaunchSite &site) {
  if (failed(verifyOperands(body)) || failed(site.verify()))
    return failure();
  SmallVector<Operation *> all(body.others);
  llvm::append_range(all, body.producers);
  Operation *op = *llvm::find_if(body.others, isProduct);
  products::Product product(cast<ProductOpInterface>(op));
  return products::getProductFamily(product, site.getChip()).lower(all, site);
}

static LogicalResult lowerElementwise(KernelOp kernel, const KernelBody &body,
                                      LaunchSite &site) {
  if (failed(verifyProducers(kernel, body)) || failed(site.verify()))
    return failure();
  return blockscale::lowerElementwise(kernel, site);
}

static LogicalResult lowerOp(KernelOp kernel, const KernelBody &body,
                             LaunchSite &site) {
  if (body.others.empty())
    return kernel.emitOpError("expected a body with an op, but it computes "
                              "nothing");
  if (failed(verifyOperands(body)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(body.others.front())
      .Case<AmaxOp, AmaxPartsOp, DequantizeOp, ExpandScaleOp, GlobalScaleOp,
            HadamardOp, PadGroupsOp, PrepackOp, ScaleSweepOp, SwizzleOp>(
          [&](auto op) {
            return failed(site.verify()) ? failure() : lowerKernel(op, site);
          })
      .Default([&](Operation *) {
        return site.refuse("it has a kernel on the CPU only (--target=cpu)");
      });
}

using Lowering = LogicalResult (*)(KernelOp kernel, const KernelBody &body,
                                   LaunchSite &site);

/// The lowering of each family, in the order of their numbers.
static constexpr Lowering kLowerings[] = {
    lowerRows,     lowerStrips,      lowerProgram,
    lowerProducts, lowerElementwise, lowerOp,
};
static_assert(std::size(kLowerings) == getMaxEnumValForKernelFamily() + 1);

/// Puts launches in the place of a kernel, which it leaves:
///
///   blockscale.kernel ins(%x) outs(%q, %s) { ... blockscale.quantize ... }
/// becomes
///   gpu.launch_func @blockscale_kernels::@quantize_...
///       blocks in (...) threads in (128, 1, 1) args(%px, %pq, %ps, %rows)
static LogicalResult lowerKernel(KernelOp kernel, KernelTable &kernels,
                                 const target::Chip &chip) {
  KernelFamily family = getFamily(kernel);
  if (kernel->hasAttr(kStripAttrName) && family != KernelFamily::Strips)
    return kernel.emitOpError()
           << "expected " << kStripAttrName
           << " on kernels for blocks of several rows, or of several results "
              "of one x, only";
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (failed(emit::verifyScaleLayouts(&op)))
      return failure();
  DevicePlaces places(kernel);
  if (failed(places.verify()))
    return failure();
  KernelBody body(kernel);
  if (!body.joins.empty() && family != KernelFamily::Strips)
    return body.joins.front()->emitOpError(
        "expected tensors side by side in kernels for blocks of several rows, "
        "or of several results of one x, only");
  for (DequantizeOp decoder : body.decoders)
    if (std::optional<FusionObstacle> obstacle = findRoundTripObstacle(
            decoder.getQuantizer(), decoder, family,
            // Each x of a kernel of strips may have code of its own.
            family == KernelFamily::Strips ? ArrayRef<Operation *>()
                                           : ArrayRef(body.others)))
      return decoder.emitOpError() << "does not share its kernel " << *obstacle;
  SmallVector<Operation *> computed(body.producers);
  llvm::append_range(computed, body.others);
  for (PrepackOp prepack : body.prepacks)
    if (std::optional<FusionObstacle> obstacle = findPrepackObstacle(
            prepack.getSource().getDefiningOp<QuantizeOp>(), prepack, computed))
      return prepack.emitOpError() << "does not share its kernel " << *obstacle;
  LaunchSite site(kernel, kernels, chip, places);
  return success(
      succeeded(kLowerings[static_cast<size_t>(family)](kernel, body, site)) &&
      !places.hasFailed());
}

/// Puts launches in the place of a kernel or of a parallel loop.
static LogicalResult lower(Operation *op, KernelTable &kernels,
                           const target::Chip &chip) {
  if (auto loop = dyn_cast<scf::ParallelOp>(op))
    return launchPlainLoop(loop, kernels, chip);
  if (failed(lowerKernel(cast<KernelOp>(op), kernels, chip)))
    return failure();
  op->erase();
  return success();
}

namespace {

struct LowerKernelsToGPUPass
    : public impl::LowerKernelsToGPUBase<LowerKernelsToGPUPass> {
  using LowerKernelsToGPUBase::LowerKernelsToGPUBase;

  /// Emits an error for linalg ops: the host cannot run them.
  static LogicalResult verifyNoHostLoops(ModuleOp module,
                                         const target::Chip &chip) {
    WalkResult result = module.walk([&](linalg::LinalgOp op) {
      if (op->getParentOfType<KernelOp>())
        return WalkResult::advance();
      op.emitOpError() << "has no kernel on " << chip.name
                       << ": expected ops in kernels, or loops "
                          "(blockscale-plain-to-loops)";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    auto emitError = [&] { return getOperation().emitError(); };
    if (failed(verifyChip(emitError, chip)))
      return signalPassFailure();
    if (failed(verifyNoHostLoops(getOperation(), *target)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isa<KernelOp, scf::ParallelOp>(op))
        return isa<gpu::GPUModuleOp>(op) ? WalkResult::skip()
                                         : WalkResult::advance();
      ops.push_back(op);
      return WalkResult::skip();
    });
    if (ops.empty())
      return;
    if (overlapLaunches && !target->hasDependentLaunch())
      remark::missed(getOperation().getLoc(),
                     remark::RemarkOpts::name("overlap").category("gpu-launch"))
          << remark::add("launches do not overlap on {0}, which has no "
                         "griddepcontrol",
                         StringRef(target->name));
    KernelTable table(createGPUModule(getOperation(), *target),
                      overlapLaunches && target->hasDependentLaunch());
    for (Operation *op : ops)
      if (failed(lower(op, table, *target)))
        return signalPassFailure();
    table.finish();
  }
};

} // namespace
} // namespace blockscale

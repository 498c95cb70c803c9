//===- PatchLaunch.cpp - Launches of patch kernels ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/GroupedScales.h"
#include "DeviceEmission/LaunchModel.h"
#include "Emission/OperandChecks.h"
#include "PatchJob.h"
#include "PatchKernel.h"
#include "PatchScaleTable.h"
#include "PatchTile.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace blockscale {

/// CTAs on a multiprocessor, and so registers, of kernels of several results
/// with `cvt`, for which the assembler would rather spill than leave room for
/// fewer than four.
static constexpr int64_t kSharedBlocks = 3;

using emit::add;
using emit::getIndex;
using emit::mul;

/// Emits an error for forms of quantize that patch kernels do not compute.
static LogicalResult verifyFeatures(QuantizeOp op, LaunchSite &site) {
  StringRef chip(site.getChip().name);
  int64_t columns = op.getX().getType().getShape().back();
  LayoutAttr layout = getLayout(op.getScale().getType());
  if (layout && !layout.isGrouped() && op.getOffsets())
    return site.refuse("expected linear scales with offsets and blocks of "
                       "several rows, or a grouped layout, but got an "
                       "ungrouped one");
  // Numbers of CTAs are below 2^31.
  if (columns > std::numeric_limits<int32_t>::max())
    return op.emitOpError()
           << "expected the last dimension to be below 2^31 on " << chip
           << ", but got " << columns;
  return success();
}

std::string PatchJob::getKernelName(const target::Chip &chip) const {
  SmallVector<std::string> names;
  for (const PatchSpec &spec : specs)
    names.push_back(spec.getKernelName());
  for (const PatchAmax &amax : amaxes)
    names.push_back(amax.getName());
  std::string name = llvm::join(names, "_and_");
  if (members > 1)
    name += "_of" + std::to_string(members);
  if (specs.empty()) {
    llvm::raw_string_ostream os(name);
    os << '_' << shape.inputType;
    if (!shape.hasDynamicColumns())
      os << "_k" << shape.columns;
    if (shape.batched)
      os << "_batched";
  }
  if (hasOtherTile)
    name += "_tile" + std::to_string(shape.getWarpRows()) + "x" +
            std::to_string(shape.getWarpColumns());
  return name + shape.source->getName() + std::string(chip.kernelSuffix);
}

bool PatchJob::wantsRegisters(const target::Chip &chip) const {
  return chip.hasFp4Cvt() && specs.size() > 1 &&
         llvm::none_of(specs, [](const PatchSpec &spec) {
           return spec.signMask.has_value();
         });
}

Value PatchMember::getX() const {
  return quantizes.empty() ? AmaxOp(amaxes.front()).getX()
                           : QuantizeOp(quantizes.front()).getX();
}

/// The source of the x of a member.
static std::shared_ptr<const ElementSource>
getSource(const PatchMember &member) {
  Value x = member.getX();
  if (auto hadamard = x.getDefiningOp<HadamardOp>())
    x = hadamard.getX();
  return std::make_shared<const ElementSource>(x);
}

PatchJob::PatchJob(ArrayRef<PatchMember> members, const target::Chip &chip)
    : members(static_cast<int64_t>(members.size())) {
  const PatchMember &first = members.front();
  for (AmaxOp amax : first.amaxes)
    amaxes.emplace_back(amax);
  auto getSpec = [&](QuantizeOp op) { return PatchSpec(op, chip); };
  for (QuantizeOp op : first.quantizes)
    specs.push_back(getSpec(op));
  for (const PatchMember &member : members.drop_front())
    for (auto [op, spec] : llvm::zip_equal(member.quantizes, specs)) {
      // Members differ in their rows.
      PatchSpec other = getSpec(op);
      spec.rowTails |= other.rowTails;
      spec.hasPartialBlocks |= other.hasPartialBlocks;
    }
  if (members.size() == 1 && amaxes.empty() && specs.size() == 1) {
    const PatchSpec &only = specs.front();
    shape = only;
    if (!only.signMask && !only.hasRowBlocks())
      return;
  }
  auto isTransformed = [](const auto &of) { return of.signMask.has_value(); };
  shape = PatchShape(
      cast<RankedTensorType>(first.getX().getType()),
      llvm::any_of(amaxes,
                   [](const PatchAmax &amax) { return amax.perMatrix; }),
      llvm::any_of(amaxes, isTransformed));
  PatchSpec::shareShape(specs, shape);
}

void PatchJob::setLaneRows(int64_t laneRows) {
  hasOtherTile |= shape.laneRows != laneRows;
  shape.laneRows = laneRows;
  for (PatchSpec &spec : specs)
    spec.laneRows = laneRows;
}

namespace {

/// Collects the arguments and CTAs of the members of a launch.
class PatchLauncher {
public:
  PatchLauncher(LaunchSite &site, const PatchJob &job)
      : site(site), b(site.b), job(job), shape(job.shape),
        blocks(getIndex(b, 0)) {}

  void addMember(const PatchMember &member);
  void launch();

private:
  PatchOperands::Result getResult(QuantizeOp op, const PatchSpec &spec);

  LaunchSite &site;
  ImplicitLocOpBuilder &b;
  const PatchJob &job;
  const PatchShape &shape;
  SmallVector<PatchOperands> operands;
  SmallVector<AmaxBuffer> amaxes;
  /// The number of CTAs of all members so far, and the numbers of matrices and
  /// of tiles of scales of the last member, which are null where there are
  /// none.
  Value blocks, matrices, tiles;
};

} // namespace

PatchOperands::Result PatchLauncher::getResult(QuantizeOp op,
                                               const PatchSpec &spec) {
  PatchOperands::Result result;
  result.data = site.lookup(op.getData());
  result.scales = site.lookup(op.getScale());
  result.global = site.lookup(op.getGlobal());
  result.rng = site.lookup(op.getRng());
  result.offsets = site.lookup(op.getOffsets());
  if (result.offsets)
    result.groups = emit::getDim(b, result.offsets, 0);
  if (spec.groupedTiles)
    result.tiles = tiles = emit::getDim(b, result.scales, 0);
  return result;
}

void PatchOperands::addSlots(KernelSignature &signature, const PatchJob &job) {
  const PatchShape &shape = job.shape;
  shape.source->addSlots(signature, inputs, shape.loadBytes,
                         shape.getWidestLoad());
  for (auto [result, spec] : llvm::zip_equal(results, job.specs)) {
    signature.add(result.data, spec.storeBytes);
    signature.add(result.scales, PatchScaleTable::getAlignment(spec));
    signature.add(result.global, sizeof(float));
    signature.add(result.rng, sizeof(int64_t));
    signature.add(result.offsets, sizeof(int32_t));
    signature.add(result.groups);
    signature.add(result.tiles);
  }
  for (Value &amax : amaxes)
    signature.add(amax, sizeof(float));
  for (Value *size : {&rows, &columns, &matrices, &firstBlock})
    signature.add(*size);
}

void PatchLauncher::addMember(const PatchMember &member) {
  PatchOperands mine;
  Value x = site.lookup(member.getX());
  std::shared_ptr<const ElementSource> source = getSource(member);
  source->emitSizeAsserts(site);
  emit::Indices sizes =
      emit::getLeadingSizes(b, x, cast<MemRefType>(x.getType()).getRank());
  ArrayRef<Value> leading = ArrayRef<Value>(sizes).drop_back();
  mine.rows = shape.batched ? leading.back() : emit::getProduct(b, leading);
  if (shape.hasDynamicColumns())
    mine.columns = sizes.back();
  if (shape.batched)
    mine.matrices = matrices = emit::getProduct(b, leading.drop_back());
  mine.inputs = source->getOperands(site);
  for (auto [op, spec] : llvm::zip_equal(member.quantizes, job.specs))
    mine.results.push_back(getResult(op, spec));
  for (auto [each, amax] : llvm::zip_equal(member.amaxes, job.amaxes)) {
    AmaxOp op = each;
    Value buffer = site.lookup(op.getAmax());
    mine.amaxes.push_back(buffer);
    amaxes.push_back({buffer, amax.perMatrix ? matrices : getIndex(b, 1)});
  }
  if (!operands.empty())
    mine.firstBlock = blocks;
  operands.push_back(mine);

  PatchGrid grid(b, job, sizes.back());
  Value padded = emit::roundUp(b, mine.rows, grid.rowGranule);
  blocks =
      add(b, blocks,
          mul(b, getCeilDiv(b, padded, grid.blockRows), grid.blockColumns));
  if (tiles)
    blocks = add(b, blocks, GroupedScales::countBlocks(b, tiles, kPatchWarps));
}

void PatchLauncher::launch() {
  if (!amaxes.empty())
    launchClear(site, amaxes);
  // Rows without elements have neither data nor scales.
  if (shape.columns == 0)
    return;
  LaunchModel(site.getChip())
      .remarkPatch(b.getLoc(), {shape.patchRows, shape.patchColumns},
                   {shape.getWarpRows(), shape.getWarpColumns()});
  KernelSignature signature;
  for (PatchOperands &member : operands)
    member.addSlots(signature, job);
  site.launch(job.getKernelName(site.getChip()),
              {kPatchThreads, blocks, matrices,
               shape.patchRows * shape.patchColumns * shape.source->getBytes(),
               job.wantsRegisters(site.getChip()) ? kSharedBlocks : 0},
              signature, [&](KernelBuilder &b) {
                emitPatchKernel(b, job, site.getChip(), operands);
              });
}

LogicalResult lowerPatchKernel(ArrayRef<PatchMember> members,
                               LaunchSite &site) {
  auto prepare = [&](auto op) {
    if (auto hadamard = op.getX().template getDefiningOp<HadamardOp>())
      emit::requireOperands(hadamard, site.call);
    emit::requireOperands(op, site.call);
  };
  for (const PatchMember &member : members) {
    for (QuantizeOp op : member.quantizes) {
      if (failed(verifyFeatures(op, site)))
        return failure();
      prepare(op);
    }
    llvm::for_each(member.amaxes, prepare);
  }
  PatchJob job(members, site.getChip());
  job.shape.source = getSource(members.front());
  Block *body = members.front().getX().getParentBlock();
  if (failed(applyTile(cast<KernelOp>(body->getParentOp()), job)))
    return failure();
  site.emitAsserts();
  PatchLauncher launcher(site, job);
  for (const PatchMember &member : members)
    launcher.addMember(member);
  launcher.launch();
  return success();
}

} // namespace blockscale

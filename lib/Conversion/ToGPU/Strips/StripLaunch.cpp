//===- StripLaunch.cpp - Launches of strip kernels ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupedScales.h"
#include "DeviceEmission/LaunchModel.h"
#include "Emission/OperandChecks.h"
#include "StripChoice.h"
#include "StripKernel.h"
#include "StripRequest.h"
#include "StripScaleTable.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>
#include <vector>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// CTAs on a multiprocessor, and so registers, of kernels with `cvt` of several
/// results, or of f32 under the better of two scales on GPUs for games: for
/// these the assembler would rather spill than leave room for fewer than four.
static constexpr int64_t kSharedBlocks = 3;
/// The same of kernels that round elements without codes, for which the
/// assembler would take a few registers more than leave room for so many.
static constexpr int64_t kRoundingBlocks = 4;
/// The same of those with long strips, whose threads have fewer elements.
static constexpr int64_t kLongStripBlocks = 6;

using emit::getIndex;

/// Emits an error for forms of quantize that strip kernels do not compute.
LogicalResult verifyStripFeatures(QuantizeOp op, LaunchSite &site) {
  StringRef chip(site.getChip().name);
  int64_t columns = op.getX().getType().getShape().back();
  Type scale = op.getScale().getType();
  if (op.getOffsets() && !op.hasRowBlocks() &&
      !getScaleLayout(scale).isLinear() && !getGroupedLayout(scale))
    return site.refuse("expected linear scales with offsets and blocks of "
                       "several rows, or a grouped layout, but got an "
                       "ungrouped one");
  // Numbers of CTAs are below 2^31.
  if (columns > std::numeric_limits<int32_t>::max())
    return op.emitOpError()
           << "expected the last dimension to be below 2^31 on " << chip
           << ", but got " << columns;
  return verifyChain(op);
}

std::string StripRequest::getKernelName(const target::Chip &chip) const {
  SmallVector<std::string> names;
  for (const StripSpec &spec : specs)
    names.push_back(spec.getKernelName());
  for (const StripAmax &amax : amaxes)
    names.push_back(amax.getName());
  std::string name = llvm::join(names, "_and_");
  if (members > 1)
    name += "_of" + std::to_string(members);
  if (specs.empty()) {
    llvm::raw_string_ostream os(name);
    os << '_' << shape->inputType;
    if (!shape->hasDynamicColumns())
      os << "_k" << shape->columns;
    if (shape->batched)
      os << "_batched";
  }
  if (padUnit != 0)
    name += "_by" + std::to_string(padUnit);
  if (hasOtherStrip)
    name += "_strip" + std::to_string(shape->getWarpRows()) + "x" +
            std::to_string(shape->getWarpColumns());
  return name + source->getName() + std::string(chip.kernelSuffix);
}

bool StripRequest::followsGroups() const {
  return padUnit != 0 && llvm::none_of(specs, [](const StripSpec &spec) {
           return spec.swizzled || (spec.groupedTiles && !spec.hasPaddedGroups);
         });
}

bool StripRequest::wantsRegisters(const target::Chip &chip) const {
  if (!chip.hasFp4Cvt() || llvm::any_of(specs, [](const StripSpec &spec) {
        return spec.signMask.has_value();
      }))
    return false;
  if (specs.size() > 1)
    return true;
  return chip.hasBlockScaleMma() && shape->inputType.isF32() &&
         llvm::any_of(specs, [](const StripSpec &spec) {
           return numerics::isFourOverSix(spec.recipe);
         });
}

bool StripRequest::hasLongStrips() const {
  return specs.size() == 1 && amaxes.empty() && padUnit == 0 &&
         specs.front().hasLongStrips();
}

bool StripRequest::roundsRows() const {
  if (specs.size() != 1 || !shape->inputType.isBF16())
    return false;
  const StripSpec &spec = specs.front();
  bool isShort = spec.roundsPairs() || numerics::hasShortDivisions(spec.recipe);
  return spec.roundsValues && isShort && !spec.transposed && !spec.signMask;
}

Value StripMember::getX() const {
  if (!quantizes.empty())
    return QuantizeOp(quantizes.front()).getX();
  return amaxes.empty() ? AmaxPartsOp(parts.front()).getX()
                        : AmaxOp(amaxes.front()).getX();
}

/// The source of the x of a member.
static std::shared_ptr<const StripSource> getSource(const StripMember &member) {
  Value x = member.getX();
  if (auto hadamard = x.getDefiningOp<HadamardOp>())
    x = hadamard.getX();
  if (PadGroupsOp padding = member.getPadding())
    x = padding.getX();
  return std::make_shared<const StripSource>(x);
}

StripRequest::StripRequest(ArrayRef<StripMember> members,
                           const target::Chip &chip)
    : source(getSource(members.front())),
      members(static_cast<int64_t>(members.size())) {
  const StripMember &first = members.front();
  if (PadGroupsOp padding = first.getPadding())
    padUnit = static_cast<int64_t>(padding.getUnit());
  Value offsets;
  for (AmaxOp op : first.amaxes) {
    StripAmax &amax = amaxes.emplace_back(op);
    // Of several members each may have other groups.
    amax.hasSameGroups =
        amax.perGroup && members.size() == 1 && op.getOffsets() == offsets;
    if (amax.perGroup)
      offsets = op.getOffsets();
  }
  for (AmaxPartsOp op : first.parts)
    amaxes.emplace_back(op);
  SmallVector<Value> globals;
  for (QuantizeOp op : first.quantizes) {
    StripSpec &spec = specs.emplace_back(op, chip);
    Value global = op.getGlobal();
    const auto *same = llvm::find(globals, global);
    if (!spec.globalPrologue.isEmpty() && same != globals.end())
      spec.sharedGlobal = same - globals.begin();
    globals.push_back(global);
  }
  bool hasPartialBlocks = false;
  for (const StripMember &member : members.drop_front())
    for (auto [op, spec] : llvm::zip_equal(member.quantizes, specs)) {
      // Members differ in their rows.
      StripSpec other(op, chip);
      spec.rowTails |= other.rowTails;
      hasPartialBlocks |= other.shape->hasPartialBlocks;
    }
  auto followGroups = [&] {
    if (followsGroups())
      for (StripSpec &spec : specs)
        spec.followGroups(padUnit);
  };
  if (members.size() == 1 && amaxes.empty() && specs.size() == 1) {
    const StripSpec &only = specs.front();
    shape = only.shape;
    // Values have more bytes than codes: 8 of bf16 fill an access.
    if (!only.signMask && !only.hasRowBlocks() && !only.roundsValues) {
      followGroups();
      return;
    }
  }
  auto isTransformed = [](const auto &of) { return of.signMask.has_value(); };
  auto shared = std::make_shared<StripShape>(
      cast<RankedTensorType>(first.getX().getType()),
      llvm::any_of(amaxes,
                   [](const StripAmax &amax) { return amax.perMatrix; }),
      llvm::any_of(amaxes, isTransformed));
  shared->hasPartialBlocks = hasPartialBlocks;
  shape = shared;
  for (const StripSpec &spec : specs)
    spec.widen(*shared);
  if (hasLongStrips())
    specs.front().lengthen(*shared);
  for (StripSpec &spec : specs)
    spec.share(shape);
  followGroups();
}

void StripRequest::setLaneRows(int64_t laneRows) {
  if (shape->laneRows == laneRows)
    return;
  hasOtherStrip = true;
  auto changed = std::make_shared<StripShape>(*shape);
  changed->laneRows = laneRows;
  shape = changed;
  for (StripSpec &spec : specs)
    spec.shape = shape;
}

namespace {

/// Collects the arguments and CTAs of the members of a launch that have the
/// same code.
class StripLauncher {
public:
  StripLauncher(LaunchSite &site, ArrayRef<StripMember> members)
      : site(site), b(site.b), request(members, site.getChip()),
        blocks(getIndex(b, 0)) {}

  void addMember(const StripMember &member);

  LaunchSite &site;
  ImplicitLocOpBuilder &b;
  StripRequest request;
  SmallVector<StripOperands, 1> operands;
  SmallVector<AmaxBuffer> amaxes;
  /// The number of CTAs of all members so far, and that of matrices of the last
  /// member, which is null where there are none.
  Lanes blocks, matrices;
  /// The number of the first CTA of the launch; absent for the first launcher.
  Lanes firstBlock;
};

} // namespace

static StripOperands::Result getResult(LaunchSite &site, QuantizeOp op,
                                       const StripSpec &spec) {
  ImplicitLocOpBuilder &b = site.b;
  StripOperands::Result result;
  result.data = site.lookup(op.getData());
  result.scales = site.lookup(op.getScale());
  if (DequantizeOp decoder = findDecoder(op))
    result.decoded = site.lookup(decoder.getResult());
  GlobalChain chain = GlobalChain::find(op);
  if (chain.isEmpty()) {
    result.global = site.lookup(op.getGlobal());
  } else if (!spec.sharedGlobal) {
    auto getStored = [&](Operation *of) {
      return of && isStored(of->getResult(0)) ? site.lookup(of->getResult(0))
                                              : Value();
    };
    result.global = site.lookup(chain.getSource());
    result.storedAmax = getStored(chain.amax);
    result.storedScale = getStored(chain.scale);
  }
  result.rng = site.lookup(op.getRng());
  // Ends of groups that the kernel pads follow from those in x.
  if (!spec.hasPaddedGroups)
    result.offsets = site.lookup(op.getOffsets());
  if (result.offsets)
    result.groups = emit::getDim(b, result.offsets, 0);
  if (spec.groupedTiles)
    result.tiles = emit::getDim(b, result.scales, 0);
  return result;
}

void StripOperands::addSlots(KernelSignature &signature,
                             const StripRequest &request) {
  const StripShape &shape = *request.shape;
  request.source->addSlots(signature, inputs, shape.loadBytes,
                           shape.getWidestLoad());
  for (auto [result, spec] : llvm::zip_equal(results, request.specs)) {
    signature.add(result.data, spec.storeBytes);
    signature.add(result.scales, StripScaleTable::getAlignment(spec));
    if (spec.decoding)
      signature.add(result.decoded, spec.getDecodedStoreBytes());
    signature.add(result.global, spec.globalPrologue.getAlignment());
    signature.add(result.storedAmax, sizeof(float));
    signature.add(result.storedScale, sizeof(float));
    signature.add(result.rng, sizeof(int64_t));
    signature.add(result.offsets, sizeof(int32_t));
    signature.add(result.groups);
    signature.add(result.tiles);
  }
  for (Amax &amax : amaxes) {
    signature.add(amax.buffer, sizeof(float));
    signature.add(amax.offsets, sizeof(int32_t));
    signature.add(amax.groups);
  }
  signature.add(padOffsets, sizeof(int32_t));
  signature.add(padEnds, sizeof(int32_t));
  for (Lanes *size : {&padGroups, &sourceRows, &rows, &columns, &matrices,
                      &firstBlock, &workBlocks, &pieces})
    signature.add(*size);
}

StripOperands getStripOperands(LaunchSite &site, const StripRequest &request,
                               const StripMember &member) {
  ImplicitLocOpBuilder &b = site.b;
  const StripShape &shape = *request.shape;
  StripOperands mine;
  std::shared_ptr<const StripSource> source = getSource(member);
  source->emitSizeAsserts(site);
  emit::Indices sizes;
  if (PadGroupsOp padding = member.getPadding()) {
    for (OpFoldResult size : site.call.getSizes(padding.getPadded()))
      sizes.push_back(emit::toIndex(b, size));
    mine.padOffsets = site.lookup(padding.getOffsets());
    mine.padEnds = site.lookup(padding.getEnds());
    mine.padGroups = emit::getDim(b, mine.padOffsets, 0);
    mine.sourceRows = emit::getDim(b, site.lookup(padding.getX()), 0);
  } else {
    for (OpFoldResult size : site.call.getSizes(member.getX()))
      sizes.push_back(emit::toIndex(b, size));
  }
  ArrayRef<Value> leading = ArrayRef<Value>(sizes).drop_back();
  mine.rows =
      shape.batched ? Lanes(b, leading.back()) : emit::getProduct(b, leading);
  if (shape.hasDynamicColumns())
    mine.columns = {b, sizes.back()};
  if (shape.batched)
    mine.matrices = emit::getProduct(b, leading.drop_back());
  mine.inputs = source->getOperands(site);
  for (auto [op, spec] : llvm::zip_equal(member.quantizes, request.specs))
    mine.results.push_back(getResult(site, op, spec));
  return mine;
}

Lanes countFillingBlocks(ImplicitLocOpBuilder &b, const StripRequest &request,
                         const StripOperands &operands) {
  Lanes blocks = getIndex(b, 0);
  for (const StripOperands::Result &result : operands.results)
    if (result.tiles)
      blocks =
          blocks + GroupedScales::countBlocks(b, result.tiles, request.warps);
  return blocks;
}

void StripLauncher::addMember(const StripMember &member) {
  StripOperands mine = getStripOperands(site, request, member);
  matrices = mine.matrices;
  for (auto [each, amax] : llvm::zip_first(member.amaxes, request.amaxes)) {
    AmaxOp op = each;
    StripOperands::Amax &operand = mine.amaxes.emplace_back();
    operand.buffer = site.lookup(op.getAmax());
    Lanes count = amax.perMatrix ? matrices : getIndex(b, 1);
    if (amax.perGroup) {
      Value offsets = site.lookup(op.getOffsets());
      count = emit::getDim(b, offsets, 0);
      if (!amax.hasSameGroups) {
        operand.offsets = offsets;
        operand.groups = count;
      }
    }
    amaxes.push_back({operand.buffer, count});
  }
  for (AmaxPartsOp op : member.parts)
    mine.amaxes.emplace_back().buffer = site.lookup(op.getParts());
  if (!operands.empty())
    mine.firstBlock = blocks;
  operands.push_back(mine);

  StripGrid grid(b, request,
                 mine.columns ? mine.columns
                              : getIndex(b, request.shape->columns));
  Lanes padded = emit::roundUp(b, mine.rows, grid.rowGranule);
  if (request.followsGroups()) {
    // The last strip of a group, and of the rows behind all, may have rows of
    // no group.
    int64_t stripRows = request.shape->getWarpRows();
    int64_t most = stripRows - std::gcd(stripRows, request.padUnit);
    padded = (padded + (mine.padGroups + 1) * most) / stripRows * stripRows;
  }
  Lanes own = getCeilDiv(b, padded, grid.blockRows) * grid.blockColumns +
              countFillingBlocks(b, request, operands.back());
  if (int64_t parts = request.getParts()) {
    operands.back().pieces = own;
    own = getPartBlocks(b, own, parts);
  }
  // What the first CTA stores is asked for without elements, too.
  auto type = cast<RankedTensorType>(member.getX().getType());
  bool hasElements = type.hasStaticShape() && type.getNumElements() != 0;
  if (!hasElements && operands.back().storesGlobals()) {
    operands.back().workBlocks = own;
    own = emit::max(b, own, getIndex(b, 1));
    if (matrices)
      matrices = emit::max(b, matrices, getIndex(b, 1));
  }
  blocks = blocks + own;
}

/// Emits the work of CTA `block` of those of `launchers`, each of which has the
/// CTAs before the first one of the next.
static void emitLaunched(KernelBuilder &b, MutableArrayRef<StripLauncher> all,
                         Lanes block) {
  StripLauncher &first = all.front();
  auto emitFirst = [&] {
    Lanes number = block;
    if (first.firstBlock)
      number = block - toIndex(b, first.firstBlock);
    emitStripKernel(b, first.request, first.site.getChip(), first.operands,
                    number);
  };
  if (all.size() == 1)
    return emitFirst();
  MutableArrayRef<StripLauncher> rest = all.drop_front();
  emit::emitIf(b, isBelow(block, toIndex(b, rest.front().firstBlock)),
               emitFirst, [&] { emitLaunched(b, rest, block); });
}

/// Launches what `launchers`, which are not none, have collected.
static void launchStrips(LaunchSite &site,
                         MutableArrayRef<StripLauncher> launchers) {
  ImplicitLocOpBuilder &b = site.b;
  const StripRequest &first = launchers.front().request;
  Lanes blocks = getIndex(b, 0);
  std::string name;
  int64_t threadBytes = 0, residentBlocks = 0;
  KernelSignature signature;
  for (StripLauncher &each : launchers) {
    const StripShape &shape = *each.request.shape;
    LaunchModel(site.getChip())
        .remarkStrip(b.getLoc(), {shape.fragmentRows, shape.fragmentColumns},
                     {shape.getWarpRows(), shape.getWarpColumns()});
    // Where groups are padded there are ends to check, and to store.
    if (each.request.padUnit != 0)
      each.blocks = emit::max(b, each.blocks, getIndex(b, 1));
    if (!name.empty()) {
      name += "_beside_";
      each.firstBlock = blocks;
    }
    name += each.request.getKernelName(site.getChip());
    blocks = blocks + each.blocks;
    threadBytes =
        std::max(threadBytes, shape.fragmentRows * shape.fragmentColumns *
                                  each.request.source->getBytes());
    if (each.request.wantsRegisters(site.getChip()))
      residentBlocks = kSharedBlocks;
    else if (each.request.roundsRows())
      residentBlocks =
          each.request.hasLongStrips() ? kLongStripBlocks : kRoundingBlocks;
    for (StripOperands &member : each.operands)
      member.addSlots(signature, each.request);
  }
  for (StripLauncher &each : launchers)
    signature.add(each.firstBlock);
  site.launch(name,
              {first.getThreads(), blocks, launchers.front().matrices,
               threadBytes, residentBlocks},
              signature, [&](KernelBuilder &b) {
                emitLaunched(b, launchers, emitBlockNumber(b));
              });
}

template <typename OpTy>
void requireStripOperands(OpTy op, LaunchSite &site,
                          SmallVectorImpl<emit::CallSite::Check> &checks) {
  // Each op has messages of its own name.
  auto kernel = cast<KernelOp>(op->getParentOp());
  emit::CallSite call(site.b,
                      emit::KernelOperands(kernel, kernel.getOperands()),
                      op->getName().stripDialect());
  emit::requireOperands(op, call);
  llvm::append_range(checks, call.getChecks());
}
template void requireStripOperands(QuantizeOp, LaunchSite &,
                                   SmallVectorImpl<emit::CallSite::Check> &);

/// Adds the rule that the values of what `op` quantizes have the sizes of its
/// data.
static void requireDecoded(QuantizeOp op, DequantizeOp decoder,
                           LaunchSite &site,
                           SmallVectorImpl<emit::CallSite::Check> &checks) {
  auto kernel = cast<KernelOp>(op->getParentOp());
  emit::CallSite call(site.b,
                      emit::KernelOperands(kernel, kernel.getOperands()),
                      decoder->getName().stripDialect());
  call.requireSizes("the result", decoder.getResult(),
                    emit::getDataSizes(op, call.getSizes(op.getX())), "x");
  llvm::append_range(checks, call.getChecks());
}

/// Adds the rules that the run-time sizes of the ops of `member` must keep.
/// Emits an error where one has no such kernel.
static LogicalResult
requireMember(const StripMember &member, LaunchSite &site,
              SmallVectorImpl<emit::CallSite::Check> &checks) {
  auto require = [&](auto op) { requireStripOperands(op, site, checks); };
  auto prepare = [&](auto op) {
    if (PadGroupsOp padding = getPadding(op.getX()))
      require(padding);
    if (auto hadamard = op.getX().template getDefiningOp<HadamardOp>())
      require(hadamard);
    require(op);
  };
  for (QuantizeOp op : member.quantizes) {
    if (failed(verifyStripFeatures(op, site)))
      return failure();
    prepare(op);
    if (DequantizeOp decoder = findDecoder(op))
      requireDecoded(op, decoder, site, checks);
  }
  llvm::for_each(member.amaxes, prepare);
  for (AmaxPartsOp op : member.parts) {
    if (op.getX().getType().getShape().back() == 0)
      return op.emitOpError("expected elements where several amaxes are taken "
                            "in parts, but got ")
             << op.getX().getType();
    if (auto hadamard = op.getX().getDefiningOp<HadamardOp>())
      require(hadamard);
  }
  return success();
}

LogicalResult lowerStripKernel(ArrayRef<StripMembers> sets, LaunchSite &site) {
  Block *body = sets.front().front().getX().getParentBlock();
  auto kernel = cast<KernelOp>(body->getParentOp());
  SmallVector<emit::CallSite::Check> checks;
  for (const StripMembers &members : sets)
    for (const StripMember &member : members)
      if (failed(requireMember(member, site, checks)))
        return failure();
  std::vector<StripLauncher> launchers;
  for (const StripMembers &members : sets)
    launchers.emplace_back(site, members);
  if (sets.size() == 1 && failed(applyStrip(kernel, launchers.front().request)))
    return failure();
  for (const emit::CallSite::Check &check : checks)
    emit::createAssert(site.b, check);
  SmallVector<AmaxBuffer> amaxes;
  for (auto [launcher, members] : llvm::zip_equal(launchers, sets)) {
    for (const StripMember &member : members)
      launcher.addMember(member);
    llvm::append_range(amaxes, launcher.amaxes);
  }
  if (!amaxes.empty())
    launchClear(site, amaxes);
  // Rows without elements have neither data nor scales; no others are beside
  // them.
  if (launchers.front().request.shape->columns != 0)
    launchStrips(site, launchers);
  return success();
}

} // namespace blockscale

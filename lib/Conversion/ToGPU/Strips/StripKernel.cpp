//===- StripKernel.cpp - Quantization in blocks of several rows -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StripSpec.h says how threads divide x. A warp loads its fragments; for each
// result it computes the amaxes of blocks by shuffles, and stores codes and
// scales. The warps of a CTA lie side by side as far as x is wide enough.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "Emission/OperandChecks.h"
#include "StripData.h"
#include "StripRequest.h"
#include "StripScales.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

using emit::getIndex;

/// Bytes that the tables of a warp are aligned to.
static constexpr int64_t kTableAlignment = 4;

StripGrid::StripGrid(ImplicitLocOpBuilder &b, const StripRequest &request,
                     Lanes columns) {
  const StripShape &shape = *request.shape;
  int64_t columnGranule = 1;
  for (const StripSpec &spec : request.specs) {
    rowGranule = std::max(rowGranule, spec.getRowGranule());
    columnGranule = std::max(columnGranule, spec.getColumnGranule());
  }
  if (!shape.hasDynamicColumns()) {
    int64_t covered = llvm::alignTo(shape.columns, columnGranule);
    int64_t warps = llvm::divideCeil(covered, shape.getWarpColumns());
    warpColumns = std::gcd(warps, kStripWarps);
  }
  blockColumns = emit::ceilDiv(b, emit::roundUp(b, columns, columnGranule),
                               warpColumns * shape.getWarpColumns());
  blockRows = kStripWarps / warpColumns * shape.getWarpRows();
}

namespace {

/// A result of the member that a CTA works for.
struct StripResult : StripOperands::Result {
  StripResult(const StripOperands::Result &operands, const StripSpec &spec)
      : StripOperands::Result(operands), spec(spec) {}

  const StripSpec &spec;
};

class StripKernelEmitter {
public:
  StripKernelEmitter(KernelBuilder &b, const StripRequest &request,
                     const target::Chip &chip, const StripOperands &operands);

  void emit(Lanes block);

private:
  void emitPosition(Lanes blockNumber);
  void emitCheckEnds(Value block);
  void emitBlock(Lanes blockNumber, const GroupedScales *grouped);
  SmallVector<Value> emitStrip(MutableArrayRef<StripScaleTable> tables);
  void emitRaises(ValueRange bits);
  void emitResult(const StripResult &result, const FragmentElements &elements,
                  StripScaleTable &table, PartVisitor afterPart);
  std::optional<uint64_t> getNextMask(const StripResult &result) const;
  std::vector<StripScaleTable> createTables(const GroupedScales *grouped);

  KernelBuilder &b;
  const StripRequest &request;
  const StripShape &shape;
  const target::Chip &chip;
  std::unique_ptr<CvtEmitter> cvt;
  SmallVector<Value> inputs;
  Lanes rows, columns, matrices;
  SmallVector<StripResult> results;
  /// The buffers of the results of the amaxes.
  SmallVector<Value> amaxes;
  StripPosition position;
  Lanes thread, warp;
};

} // namespace

StripKernelEmitter::StripKernelEmitter(KernelBuilder &b,
                                       const StripRequest &request,
                                       const target::Chip &chip,
                                       const StripOperands &operands)
    : b(b), request(request), shape(*request.shape), chip(chip),
      cvt(createCvtEmitter(chip)), inputs(operands.inputs),
      amaxes(operands.amaxes) {
  for (auto [values, spec] : llvm::zip_equal(operands.results, request.specs)) {
    StripResult &result = results.emplace_back(values, spec);
    if (result.tiles)
      result.tiles = toIndex(b, result.tiles);
  }
  rows = toIndex(b, operands.rows);
  columns = operands.columns ? toIndex(b, operands.columns)
                             : getIndex(b, shape.columns);
  if (operands.matrices)
    matrices = toIndex(b, operands.matrices);
}

/// `blockNumber` is that of the CTA along x.
void StripKernelEmitter::emitPosition(Lanes blockNumber) {
  StripGrid grid(b, request, columns);
  auto cast = [&](Lanes value, Type type) -> Lanes {
    return {b, arith::IndexCastUIOp::create(b, type, value)};
  };
  // The number of CTAs is below 2^31.
  Lanes block = cast(blockNumber, b.getI32Type());
  Lanes blockColumns = cast(grid.blockColumns, b.getI32Type());
  Lanes blockRow = cast(block / blockColumns, b.getIndexType());
  Lanes blockColumn = cast(block % blockColumns, b.getIndexType());
  auto [rowInBlock, columnInBlock] = numerics::split(warp, grid.warpColumns);
  Lanes warpRow = blockRow * (kStripWarps / grid.warpColumns) + rowInBlock;
  Lanes warpColumn = blockColumn * grid.warpColumns + columnInBlock;

  position.rows = rows;
  position.columns = columns;
  position.matrix = shape.batched ? emitMatrixNumber(b) : getIndex(b, 0);
  std::tie(position.laneRow, position.laneColumn) =
      numerics::split(position.lane, shape.getLaneColumns());
  position.warpRow = warpRow * shape.getWarpRows();
  position.warpColumn = warpColumn * shape.getWarpColumns();
  position.row = position.warpRow + position.laneRow * shape.fragmentRows;
  position.column =
      position.warpColumn + position.laneColumn * shape.fragmentColumns;
}

/// The tables of this warp in shared memory, one for each result.
std::vector<StripScaleTable>
StripKernelEmitter::createTables(const GroupedScales *grouped) {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (const StripSpec &spec : request.specs) {
    offsets.push_back(bytes);
    bytes += llvm::alignTo(StripScaleTable::getBytes(spec), kTableAlignment);
  }
  if (request.specs.empty())
    return {};
  Value all =
      createSharedArray(b, "tables", b.getI8Type(), kStripWarps * bytes);
  Value first = emitAddress(b, all, b.getI8Type(), warp * bytes);
  std::vector<StripScaleTable> tables;
  for (auto [result, offset] : llvm::zip_equal(results, offsets))
    tables.emplace_back(
        b, result.spec, position,
        emitAddress(b, first, b.getI8Type(), getIndex(b, offset)),
        result.scales, grouped);
  return tables;
}

void StripKernelEmitter::emitResult(const StripResult &result,
                                    const FragmentElements &elements,
                                    StripScaleTable &table,
                                    PartVisitor afterPart) {
  const StripSpec &spec = result.spec;
  std::optional<StripGroups> groups;
  if (result.offsets)
    groups.emplace(b, spec, position, result.offsets, result.groups);
  StripScales scales(b, spec, position, elements, *cvt, result.global,
                     groups ? &*groups : nullptr, table);
  std::optional<StripRandom> random;
  if (result.rng)
    random.emplace(b, spec, position, result.rng);
  emitStripData(
      b, spec, position, *cvt, result.data, random ? &*random : nullptr,
      [&](int64_t row, int64_t part) {
        return scales.getScaledPart(row, part);
      },
      afterPart);
  table.emitStore();
}

/// The transform that another result needs and that can be computed along with
/// the codes of this one.
std::optional<uint64_t>
StripKernelEmitter::getNextMask(const StripResult &result) const {
  // Codes that arithmetic makes take the registers that a transform needs.
  if (result.spec.signMask || !result.spec.encodesRowsAhead() ||
      !chip.hasFp4Cvt())
    return std::nullopt;
  for (const StripSpec &spec : request.specs)
    if (spec.signMask)
      return spec.signMask;
  return std::nullopt;
}

/// Makes the results of a fragment of a warp that has elements. Gives the bits
/// of its amaxes.
SmallVector<Value>
StripKernelEmitter::emitStrip(MutableArrayRef<StripScaleTable> tables) {
  SmallVector<Value> bits(amaxes.size());
  auto takeAmaxes = [&](const FragmentElements &source,
                        std::optional<uint64_t> mask) {
    bool hasRowAmaxes = llvm::any_of(request.specs, [&](const StripSpec &spec) {
      return spec.signMask == mask && spec.hasRowBlocks();
    });
    for (auto [value, amax] : llvm::zip_equal(bits, request.amaxes))
      if (amax.signMask == mask)
        value = emitStripAmax(b, source, shape, hasRowAmaxes);
  };
  FragmentElements elements(b, *cvt, *request.source, shape, position, inputs);
  takeAmaxes(elements, std::nullopt);
  llvm::SmallMapVector<uint64_t, FragmentElements, 2> transformed;
  auto getSource =
      [&](std::optional<uint64_t> mask) -> const FragmentElements & {
    if (!mask)
      return elements;
    auto found = transformed.find(*mask);
    if (found != transformed.end())
      return found->second;
    const FragmentElements &source =
        transformed.insert({*mask, elements.transformColumns(*mask)})
            .first->second;
    takeAmaxes(source, mask);
    return source;
  };
  bool isFirst = true;
  for (auto [result, table] : llvm::zip_equal(results, tables)) {
    // f32 of all elements have no place beside their words.
    if (!isFirst)
      elements.hide();
    isFirst = false;
    std::optional<uint64_t> mask = getNextMask(result);
    if (!mask || transformed.count(*mask)) {
      emitResult(result, getSource(result.spec.signMask), table, {});
      continue;
    }
    // f32 of a part serve both the codes of rows and the transform.
    FragmentElements &next =
        transformed.insert({*mask, elements}).first->second;
    emitResult(result, elements, table, [&](int64_t part) {
      elements.transformPart(part, *mask, next);
    });
    takeAmaxes(next, mask);
  }
  for (const StripAmax &amax : request.amaxes)
    getSource(amax.signMask);
  return bits;
}

/// The work of a CTA on x.
void StripKernelEmitter::emitBlock(Lanes blockNumber,
                                   const GroupedScales *grouped) {
  emitPosition(blockNumber);
  std::vector<StripScaleTable> tables = createTables(grouped);
  // These conditions are the same in all threads of a warp.
  auto emitWarp = [&] {
    Lanes hasData = isBelow(position.warpRow, rows);
    bool hasPadding = shape.columnUnit % shape.getWarpColumns() != 0;
    if (hasPadding)
      hasData = hasData & isBelow(position.warpColumn, columns);
    SmallVector<Type> types(amaxes.size(), b.getI32Type());
    SmallVector<Value> bits = emitIfElse(
        b, hasData, types, [&] { return emitStrip(tables); },
        [&] {
          for (auto [spec, table] : llvm::zip_equal(request.specs, tables))
            if (spec.swizzled)
              table.emitStoreZeros();
          return SmallVector<Value>(amaxes.size(), b.i32(0));
        });
    emitRaises(bits);
  };
  if (shape.batched)
    emit::emitIf(b, isBelow(position.matrix, matrices), emitWarp);
  else
    emitWarp();
}

/// Raises the amaxes by what each thread has of them, once a CTA.
void StripKernelEmitter::emitRaises(ValueRange bits) {
  if (amaxes.empty())
    return;
  SmallVector<AmaxPart> parts;
  for (auto [value, buffer, amax] :
       llvm::zip_equal(bits, amaxes, request.amaxes)) {
    Lanes index = amax.perMatrix ? position.matrix : getIndex(b, 0);
    parts.push_back(
        {Lanes(b, value), emitAddress(b, buffer, b.getI32Type(), index)});
  }
  int64_t words = kStripWarps * static_cast<int64_t>(parts.size());
  emitRaise(b, parts, thread, kStripWarps,
            createSharedArray(b, "partial", b.getI32Type(), words));
}

/// Checks the ends of all results that have groups, those of several results
/// once where they are the same.
void StripKernelEmitter::emitCheckEnds(Value block) {
  SmallVector<std::tuple<Value, GroupDim, int64_t>> checked;
  for (const StripResult &result : results) {
    const StripSpec &spec = result.spec;
    std::tuple ends(result.offsets, spec.groupDim, spec.getGroupUnit());
    if (!result.offsets || llvm::is_contained(checked, ends))
      continue;
    checked.push_back(ends);
    emitCheckGroups(b, {runtime::ErrorOp::Quantize, spec.getGroupUnit()},
                    result.offsets, result.groups,
                    spec.groupDim == GroupDim::Rows ? rows : columns, block);
  }
}

void StripKernelEmitter::emit(Lanes block) {
  thread = emitThreadNumber(b, kStripThreads);
  std::tie(warp, position.lane) = numerics::split(thread, kWarpThreads);
  emitCheckEnds(block);
  if (results.empty() || !results.front().spec.groupedTiles)
    return emitBlock(block, /*grouped=*/nullptr);
  const StripResult &result = results.front();
  const StripSpec &spec = result.spec;
  GroupedScales grouped(b, {spec.scaleForm, spec.groupDim == GroupDim::Columns,
                            spec.getGroupUnit(), result.scales, result.offsets,
                            toIndex(b, result.groups), rows, columns,
                            result.tiles});
  grouped.emitBlocks(block, warp, position.lane, kStripWarps,
                     [&](Lanes other) { emitBlock(other, &grouped); });
}

/// The operands of the member that a CTA works for, whose number becomes that
/// among those of the member.
static StripOperands selectMember(KernelBuilder &b, const StripRequest &request,
                                  MutableArrayRef<StripOperands> members,
                                  Lanes &block) {
  StripOperands selected = members.front();
  if (members.size() == 1)
    return selected;
  Lanes first = getIndex(b, 0);
  for (StripOperands &member : members.drop_front()) {
    Lanes begin = toIndex(b, member.firstBlock);
    Lanes isBefore = isBelow(block, begin);
    KernelSignature mySlots, otherSlots;
    selected.addSlots(mySlots, request);
    member.addSlots(otherSlots, request);
    // The first member has a slot less, for its first CTA.
    for (auto [mine, other] :
         llvm::zip_first(mySlots.getSlots(), otherSlots.getSlots()))
      mine.set(b,
               arith::SelectOp::create(b, isBefore, mine.get(), other.get()));
    first = select(isBefore, first, begin);
  }
  block = block - first;
  return selected;
}

void emitStripKernel(KernelBuilder &b, const StripRequest &request,
                     const target::Chip &chip,
                     MutableArrayRef<StripOperands> members) {
  Lanes block = emitBlockNumber(b);
  StripOperands operands = selectMember(b, request, members, block);
  StripKernelEmitter(b, request, chip, operands).emit(block);
}

} // namespace blockscale

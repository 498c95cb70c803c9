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
// Where groups are padded, strips begin where groups do, so that tiles of
// scales, which begin anew in each group, are those of strips:
//
//   group 0: | strip 0 | strip 1 | strip 2 (a part) |
//   group 1: | strip 3 | strip 4 (a part) |
//   behind:  | strip 5 | ...
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "DeviceEmission/GroupScan.h"
#include "DeviceEmission/PaddedGroups.h"
#include "Emission/OperandChecks.h"
#include "StripData.h"
#include "StripRequest.h"
#include "StripScales.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

using emit::getIndex;

/// Bytes that the tables of a warp are aligned to.
static constexpr int64_t kTableAlignment = 4;

StripGrid::StripGrid(ImplicitLocOpBuilder &b, const StripRequest &request,
                     Lanes columns)
    : warpColumns(request.warps) {
  const StripShape &shape = *request.shape;
  int64_t columnGranule = 1;
  for (const StripSpec &spec : request.specs) {
    rowGranule = std::max(rowGranule, spec.getRowGranule());
    columnGranule = std::max(columnGranule, spec.getColumnGranule());
  }
  if (!shape.hasDynamicColumns()) {
    int64_t covered = llvm::alignTo(shape.columns, columnGranule);
    int64_t warps = llvm::divideCeil(covered, shape.getWarpColumns());
    warpColumns = std::gcd(warps, request.warps);
  }
  blockColumns = emit::ceilDiv(b, emit::roundUp(b, columns, columnGranule),
                               warpColumns * shape.getWarpColumns());
  blockRows = request.warps / warpColumns * shape.getWarpRows();
}

namespace {

/// A result of the member that a CTA works for.
struct StripResult : StripOperands::Result {
  StripResult(const StripOperands::Result &operands, const StripSpec &spec)
      : StripOperands::Result(operands), spec(spec) {}

  const StripSpec &spec;
  /// The scale of the amax that the kernel quantizes under, where codes are
  /// decoded by it; null where these take the same global value.
  Value globalScale;
};

class StripKernelEmitter {
public:
  StripKernelEmitter(KernelBuilder &b, const StripRequest &request,
                     const target::Chip &chip, const StripOperands &operands);

  void emit(Lanes block);
  void emitRows(Lanes block, RowInputs getInputs);
  void emitAmaxParts();

private:
  void emitThread();
  void emitGlobals(Lanes block);
  SmallVector<GroupedScales *> emitGroups(Lanes block);
  void emitPosition(Lanes blockNumber);
  /// Finds strip `number` of all, that of the warp, of which the CTA has
  /// `warpColumns` side by side.
  void findStrip(Lanes number, int64_t warpColumns);
  /// The words of a strip that one warp finds for all of the CTA.
  SmallVector<Value> shareStrip(Lanes number, ArrayRef<int64_t> tileRows);
  void emitPaddedGroup();
  void emitCheckEnds(Value block);
  void emitBlocks(Lanes blockNumber, ArrayRef<GroupedScales *> tiled,
                  function_ref<void(Lanes)> emitOnX);
  bool goesBack(ArrayRef<GroupedScales *> tiled) const;
  Lanes countBlocks();
  void emitRow(Lanes rowOfBlocks);
  void emitBlock(Lanes blockNumber);
  SmallVector<Value> emitWarp(MutableArrayRef<StripScaleTable> tables);
  SmallVector<Value> emitStrip(MutableArrayRef<StripScaleTable> tables);
  int64_t countBits() const;
  void emitRaises(ValueRange bits);
  void emitGroupRaises(ArrayRef<SmallVector<Value>> bits, Value partial);
  void emitResult(const StripResult &result, const FragmentElements &elements,
                  StripScaleTable &table, PartVisitor afterPart);
  std::optional<uint64_t> getNextMask(const StripResult &result) const;
  std::vector<StripScaleTable> createTables();

  KernelBuilder &b;
  const StripRequest &request;
  const StripShape &shape;
  const target::Chip &chip;
  std::unique_ptr<CvtEmitter> cvt;
  SmallVector<Value> inputs;
  /// Where groups are padded, these, their ends in x, and the buffer of their
  /// ends afterwards.
  std::optional<emit::GroupedDim> padded;
  Value padOffsets, padEnds;
  Lanes padGroups, sourceRows;
  Lanes rows, columns, matrices, workBlocks, pieces;
  SmallVector<StripResult> results;
  /// For each result the tiles of its groups, where its scales are in such.
  SmallVector<std::unique_ptr<GroupedScales>> grouped;
  SmallVector<StripOperands::Amax> amaxes;
  StripPosition position;
  /// Where strips begin where groups do, that of the warp.
  std::optional<GroupStrip> strip;
  /// The first row of the CTA.
  Lanes blockRow;
  Lanes thread, warp;
};

} // namespace

StripKernelEmitter::StripKernelEmitter(KernelBuilder &b,
                                       const StripRequest &request,
                                       const target::Chip &chip,
                                       const StripOperands &operands)
    : b(b), request(request), shape(*request.shape), chip(chip),
      cvt(createCvtEmitter(chip)), inputs(operands.inputs),
      workBlocks(operands.workBlocks), pieces(operands.pieces),
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
  if (request.padUnit == 0)
    return;
  padOffsets = operands.padOffsets;
  padEnds = operands.padEnds;
  padGroups = operands.padGroups;
  sourceRows = toIndex(b, operands.sourceRows);
  padded = getPaddedDim(b, padOffsets, toIndex(b, padGroups), rows, sourceRows,
                        request.padUnit);
  if (request.followsGroups())
    padded->tileSize = shape.getWarpRows();
}

SmallVector<Value> StripKernelEmitter::shareStrip(Lanes number,
                                                  ArrayRef<int64_t> tileRows) {
  size_t count = GroupStrip::countWords(tileRows.size());
  Value shared = createSharedArray(b, "strip", b.getI32Type(),
                                   static_cast<int64_t>(count));
  auto getAddress = [&](size_t i) {
    return b.offset(shared, b.getI32Type(), b.i64(i));
  };
  emit::emitIf(b, isBelow(warp, 1), [&] {
    SmallVector<Value> words =
        emitFindStripInWarp(b, *padded, position.lane, number, tileRows);
    emit::emitIf(b, isBelow(position.lane, 1), [&] {
      for (auto [i, word] : llvm::enumerate(words))
        b.store(word, getAddress(i), kWordBytes);
    });
  });
  gpu::BarrierOp::create(b);
  SmallVector<Value> words;
  for (size_t i = 0; i < count; ++i)
    words.push_back(b.load(b.getI32Type(), getAddress(i), kWordBytes));
  return words;
}

void StripKernelEmitter::findStrip(Lanes number, int64_t warpColumns) {
  SmallVector<int64_t> tileRows;
  for (const StripSpec &spec : request.specs)
    if (spec.groupedTiles)
      tileRows.push_back(GroupedScales::getTileElements(
          spec.scaleForm, spec.groupDim == GroupDim::Columns));
  // Warps side by side have the same strip.
  strip = getStrip(b, warpColumns == request.warps
                          ? shareStrip(number, tileRows)
                          : emitFindStripInWarp(b, *padded, position.lane,
                                                number, tileRows));
  position.warpRow = strip->firstRow;
  position.rowEnd = strip->group.end;
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
  Lanes rowOfBlocks = cast(block / blockColumns, b.getIndexType());
  Lanes blockColumn = cast(block % blockColumns, b.getIndexType());
  auto [rowInBlock, columnInBlock] = numerics::split(warp, grid.warpColumns);
  Lanes warpRow = rowOfBlocks * (request.warps / grid.warpColumns) + rowInBlock;
  Lanes warpColumn = blockColumn * grid.warpColumns + columnInBlock;

  blockRow = rowOfBlocks * grid.blockRows;
  position.rows = rows;
  position.columns = columns;
  position.matrix = shape.batched ? emitMatrixNumber(b) : getIndex(b, 0);
  std::tie(position.laneRow, position.laneColumn) =
      numerics::split(position.lane, shape.getLaneColumns());
  position.warpRow = warpRow * shape.getWarpRows();
  position.rowEnd = rows;
  if (request.followsGroups())
    findStrip(warpRow, grid.warpColumns);
  position.warpColumn = warpColumn * shape.getWarpColumns();
  position.row = position.warpRow + position.laneRow * shape.fragmentRows;
  position.column =
      position.warpColumn + position.laneColumn * shape.fragmentColumns;
}

/// Finds the padded group that has the fragment. All threads of the warp do.
void StripKernelEmitter::emitPaddedGroup() {
  emit::Group group;
  if (strip) {
    group = strip->group;
    position.hasGroup = strip->hasGroup() & position.hasRow(0);
  } else {
    group = emitFindGroupsInWarp(b, *padded, position.lane, Value(position.row))
                .front();
    position.hasGroup = isBelow(group.begin, group.end);
  }
  position.group =
      select(position.hasGroup, group.index, toIndex(b, padGroups));
  position.source = group.source + (position.row - group.begin);
  position.sourceEnd = group.sourceEnd;
}

/// The tables of this warp in shared memory, one for each result.
std::vector<StripScaleTable> StripKernelEmitter::createTables() {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (const StripSpec &spec : request.specs) {
    offsets.push_back(bytes);
    bytes += llvm::alignTo(StripScaleTable::getBytes(spec), kTableAlignment);
  }
  if (request.specs.empty())
    return {};
  Value all =
      createSharedArray(b, "tables", b.getI8Type(), request.warps * bytes);
  Value first = emitAddress(b, all, b.getI8Type(), warp * bytes);
  std::vector<StripScaleTable> tables;
  size_t kind = 0;
  for (auto [result, tiles, own] : llvm::zip_equal(results, grouped, offsets)) {
    auto getTable = [&, offset = own](Value ofWarp) {
      return emitAddress(b, ofWarp, b.getI8Type(), getIndex(b, offset));
    };
    StripScaleTable &table = tables.emplace_back(
        b, result.spec, position, getTable(first), result.scales, tiles.get());
    if (strip && tiles)
      table.setGroup(
          tiles->getGroup(*strip, strip->tilesBefore[kind++]),
          {getTable(all), bytes, warp, request.warps, strip->hasGroup()});
  }
  return tables;
}

void StripKernelEmitter::emitResult(const StripResult &result,
                                    const FragmentElements &elements,
                                    StripScaleTable &table,
                                    PartVisitor afterPart) {
  const StripSpec &spec = result.spec;
  std::optional<StripGroups> groups;
  if (spec.hasPaddedGroups)
    groups.emplace(b, spec, position, padGroups);
  else if (result.offsets)
    groups.emplace(b, spec, position, result.offsets, result.groups);
  StripScales scales(b, spec, position, elements, *cvt,
                     {result.global, result.globalScale},
                     groups ? &*groups : nullptr, table);
  std::optional<StripRandom> random;
  if (result.rng)
    random.emplace(b, spec, position, result.rng);
  StripBuffers buffers = {result.data, result.decoded, {}};
  if (spec.sharesColumns()) {
    int64_t bytes = spec.getStageBytes();
    Value all = getSharedArray(b, "values", b.getI8Type(),
                               request.warps * bytes, numerics::kSwizzleLine);
    buffers.stage = emitAddress(b, all, b.getI8Type(), warp * bytes);
  }
  emitStripData(b, spec, position, *cvt, buffers, scales,
                random ? &*random : nullptr, afterPart);
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

/// Words of the amaxes of a fragment: one for the whole, or one for each row
/// where rows have groups.
int64_t StripKernelEmitter::countBits() const {
  int64_t count = 0;
  for (const StripAmax &amax : request.amaxes)
    count += amax.perGroup ? shape.fragmentRows : 1;
  return count;
}

/// Makes the results of a fragment of a warp that has elements. Gives the bits
/// of its amaxes.
SmallVector<Value>
StripKernelEmitter::emitStrip(MutableArrayRef<StripScaleTable> tables) {
  SmallVector<SmallVector<Value>> bits(amaxes.size());
  auto takeAmaxes = [&](const FragmentElements &source,
                        std::optional<uint64_t> mask) {
    bool hasRowAmaxes = llvm::any_of(request.specs, [&](const StripSpec &spec) {
      return spec.signMask == mask && spec.hasRowBlocks();
    });
    for (auto [values, amax] : llvm::zip_equal(bits, request.amaxes)) {
      if (amax.signMask != mask)
        continue;
      if (amax.perGroup)
        values = emitRowAmaxes(b, source);
      else
        values = {emitStripAmax(b, source, shape, hasRowAmaxes)};
    }
  };
  if (padded)
    emitPaddedGroup();
  FragmentElements elements(b, *cvt, *request.source, shape, position, inputs);
  takeAmaxes(elements, std::nullopt);
  llvm::SmallMapVector<uint64_t, FragmentElements, 2> transformed;
  auto getSource =
      [&](std::optional<uint64_t> mask) -> const FragmentElements & {
    if (!mask)
      return elements;
    auto *found = transformed.find(*mask);
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
  SmallVector<Value> all;
  for (ArrayRef<Value> values : bits)
    llvm::append_range(all, values);
  return all;
}

/// Makes the results of a CTA whose place is known. Gives the bits of amaxes
/// that each thread has.
SmallVector<Value>
StripKernelEmitter::emitWarp(MutableArrayRef<StripScaleTable> tables) {
  // These conditions are the same in all threads of a warp.
  Lanes hasData = isBelow(position.warpRow, position.rowEnd);
  bool hasPadding = shape.columnUnit % shape.getWarpColumns() != 0;
  if (hasPadding)
    hasData = hasData & isBelow(position.warpColumn, columns);
  SmallVector<Type> types(countBits(), b.getI32Type());
  return emitIfElse(
      b, hasData, types, [&] { return emitStrip(tables); },
      [&] {
        for (auto [spec, table] : llvm::zip_equal(request.specs, tables))
          if (spec.swizzled)
            table.emitStoreZeros();
        return SmallVector<Value>(countBits(), b.i32(0));
      });
}

/// The work of a CTA on x.
void StripKernelEmitter::emitBlock(Lanes blockNumber) {
  emitPosition(blockNumber);
  std::vector<StripScaleTable> tables = createTables();
  auto emitAll = [&] { emitRaises(emitWarp(tables)); };
  if (shape.batched)
    emit::emitIf(b, isBelow(position.matrix, matrices), emitAll);
  else
    emitAll();
}

/// The work of a CTA that stores parts of amaxes: those of the pieces of x that
/// it has, each of which one CTA would have else.
void StripKernelEmitter::emitAmaxParts() {
  emitThread();
  SmallVector<Value> buffers;
  for (const StripOperands::Amax &amax : amaxes)
    buffers.push_back(amax.buffer);
  emitParts(b, pieces, buffers, request.getParts(), thread, request.warps,
            [&](Lanes piece) {
              emitPosition(piece);
              return emitWarp({});
            });
}

/// Raises the amaxes by what each thread has of them, once a CTA.
void StripKernelEmitter::emitRaises(ValueRange bits) {
  if (amaxes.empty())
    return;
  SmallVector<AmaxPart> parts;
  SmallVector<SmallVector<Value>> ofRows(amaxes.size());
  for (auto [operand, amax, rowBits] :
       llvm::zip_equal(amaxes, request.amaxes, ofRows)) {
    ValueRange mine = bits.take_front(amax.perGroup ? shape.fragmentRows : 1);
    bits = bits.drop_front(mine.size());
    if (amax.perGroup) {
      llvm::append_range(rowBits, mine);
      continue;
    }
    Lanes index = amax.perMatrix ? position.matrix : getIndex(b, 0);
    parts.push_back({Lanes(b, mine.front()),
                     emitAddress(b, operand.buffer, b.getI32Type(), index)});
  }
  int64_t words = request.warps * static_cast<int64_t>(amaxes.size());
  Value partial = createSharedArray(b, "partial", b.getI32Type(), words);
  if (!parts.empty())
    emitRaise(b, parts, thread, request.warps, partial);
  if (parts.size() == amaxes.size())
    return;
  if (!parts.empty())
    gpu::BarrierOp::create(b);
  emitGroupRaises(ofRows, partial);
}

/// Raises the amaxes of those groups that the CTA has rows of. `bits` are those
/// of the rows of the fragment, for each amax that groups have.
void StripKernelEmitter::emitGroupRaises(ArrayRef<SmallVector<Value>> bits,
                                         Value partial) {
  StripGrid grid(b, request, columns);
  Lanes blockEnd = blockRow + grid.blockRows;
  for (size_t i = 0; i < amaxes.size(); ++i) {
    if (!amaxes[i].offsets)
      continue;
    // Those that follow with the same groups are raised together with this one.
    SmallVector<size_t> together = {i};
    for (size_t j = i + 1; j < amaxes.size() && !amaxes[j].offsets; ++j)
      if (request.amaxes[j].hasSameGroups)
        together.push_back(j);
    emit::GroupedDim groups =
        getGroupedDim(b, amaxes[i].offsets, toIndex(b, amaxes[i].groups), rows);
    emit::emitGroupLoop(b, groups, [&](const emit::Group &group) {
      Lanes begin = emit::max(b, group.begin, blockRow);
      Lanes end = emit::min(b, group.end, blockEnd);
      emit::emitIf(b, isBelow(b, begin, end), [&] {
        SmallVector<AmaxPart> parts;
        for (size_t j : together) {
          Lanes most(b, b.i32(0));
          for (auto [row, value] : llvm::enumerate(bits[j])) {
            Lanes number = position.row + static_cast<int64_t>(row);
            Lanes mine(b, value);
            most = maxUnsigned(
                most, select(isIn(b, number, begin, end), mine, mine.like(0)));
          }
          parts.push_back({most, emitAddress(b, amaxes[j].buffer,
                                             b.getI32Type(), group.index)});
        }
        emitRaise(b, parts, thread, request.warps, partial);
        gpu::BarrierOp::create(b);
      });
    });
  }
}

/// Checks the ends of all results that have groups, those of several results
/// once where they are the same.
void StripKernelEmitter::emitCheckEnds(Value block) {
  SmallVector<std::tuple<Value, GroupDim, int64_t>> checked;
  for (const StripResult &result : results) {
    const StripSpec &spec = result.spec;
    std::tuple ends(result.offsets, spec.groupDim, spec.getGroupUnit());
    if (!spec.checksEnds || llvm::is_contained(checked, ends))
      continue;
    checked.push_back(ends);
    emitCheckGroups(b, {runtime::ErrorOp::Quantize, spec.getGroupUnit()},
                    result.offsets, result.groups,
                    spec.groupDim == GroupDim::Rows ? rows : columns, block);
  }
  for (const StripOperands::Amax &amax : amaxes)
    if (amax.offsets)
      emitCheckGroups(b, {runtime::ErrorOp::Amax}, amax.offsets, amax.groups,
                      rows, block);
  if (padded)
    emitCheckGroups(b, {runtime::ErrorOp::PadGroups}, padOffsets, padGroups,
                    sourceRows, block);
}

void StripKernelEmitter::emitThread() {
  thread = emitThreadNumber(b, request.getThreads());
  std::tie(warp, position.lane) = numerics::split(thread, kWarpThreads);
}

/// Computes the global operands that the kernel computes itself.
void StripKernelEmitter::emitGlobals(Lanes block) {
  for (StripResult &result : results) {
    const StripSpec &spec = result.spec;
    if (spec.sharedGlobal) {
      result.global = results[*spec.sharedGlobal].global;
      result.globalScale = results[*spec.sharedGlobal].globalScale;
    } else if (!spec.globalPrologue.isEmpty()) {
      GlobalPrologue::Values values = spec.globalPrologue.emit(
          b, {b, arith::IndexCastUIOp::create(b, b.getI32Type(), thread)},
          block, request.warps,
          {result.global, result.storedAmax, result.storedScale});
      result.global = values.operand;
      if (spec.decodesByScale)
        result.globalScale = values.scale;
    }
  }
}

/// Finds what the thread has to know of groups, whose ends it checks. Gives the
/// tiles of groups that CTAs fill up.
SmallVector<GroupedScales *> StripKernelEmitter::emitGroups(Lanes block) {
  emitCheckEnds(block);
  if (padEnds)
    emitStoreEnds(b, *padded, padEnds, block, thread, request.getThreads());
  SmallVector<GroupedScales *> tiled;
  for (const StripResult &result : results) {
    const StripSpec &spec = result.spec;
    std::unique_ptr<GroupedScales> &tiles = grouped.emplace_back();
    if (!spec.groupedTiles)
      continue;
    GroupedScales::Operands own{spec.scaleForm,
                                spec.groupDim == GroupDim::Columns,
                                spec.getGroupUnit(),
                                result.scales,
                                result.offsets,
                                result.groups ? toIndex(b, result.groups)
                                              : Lanes(),
                                rows,
                                columns,
                                result.tiles};
    if (spec.hasPaddedGroups) {
      own.offsets = padOffsets;
      own.groups = toIndex(b, padGroups);
      own.padUnit = request.padUnit;
      own.sourceRows = sourceRows;
      if (spec.groupRows != 0)
        own.storedColumns = StripScaleTable::getStoredColumns(spec);
    }
    tiles = std::make_unique<GroupedScales>(b, own);
    tiled.push_back(tiles.get());
  }
  return tiled;
}

/// Whether the CTAs go through x from its end: the kernel before, which took
/// the parts of an amax that this one begins with, read the end last, so that
/// caches have that.
bool StripKernelEmitter::goesBack(ArrayRef<GroupedScales *> tiled) const {
  return request.members == 1 && tiled.empty() && !padded &&
         llvm::any_of(request.specs, [](const StripSpec &spec) {
           return spec.globalPrologue.hasParts();
         });
}

/// The number of CTAs that work on x, where no groups are padded.
Lanes StripKernelEmitter::countBlocks() {
  StripGrid grid(b, request, columns);
  Lanes padded = emit::roundUp(b, rows, grid.rowGranule);
  return emit::ceilDiv(b, padded, grid.blockRows) * grid.blockColumns;
}

void StripKernelEmitter::emit(Lanes block) {
  emitThread();
  emitGlobals(block);
  SmallVector<GroupedScales *> tiled = emitGroups(block);
  auto emitAll = [&] {
    emitBlocks(block, tiled, [&](Lanes other) {
      emitBlock(goesBack(tiled) ? countBlocks() - 1 - other : other);
    });
  };
  // The only CTA without rows had ends, or a global operand, to store.
  Lanes hasWork;
  if (padded)
    hasWork = isBelow(getIndex(b, 0), rows);
  if (workBlocks) {
    Lanes isWorking = isBelow(block, toIndex(b, workBlocks));
    hasWork = hasWork ? hasWork & isWorking : isWorking;
  }
  if (hasWork)
    emit::emitIf(b, hasWork, emitAll);
  else
    emitAll();
}

/// The work of CTA `blockNumber` of those that fill up the tiles of `tiled`,
/// one result after the other, and of those on x behind them.
void StripKernelEmitter::emitBlocks(Lanes blockNumber,
                                    ArrayRef<GroupedScales *> tiled,
                                    function_ref<void(Lanes)> emitOnX) {
  if (tiled.empty())
    return emitOnX(blockNumber);
  tiled.front()->emitBlocks(
      blockNumber, warp, position.lane, request.warps,
      [&](Lanes other) { emitBlocks(other, tiled.drop_front(), emitOnX); });
}

void StripKernelEmitter::emitRows(Lanes block, RowInputs getInputs) {
  emitThread();
  emitBlocks(block, emitGroups(block), [&](Lanes rowOfBlocks) {
    inputs = getInputs(rowOfBlocks);
    emitRow(rowOfBlocks);
  });
}

/// The work of the CTAs side by side of a number, one after the other.
void StripKernelEmitter::emitRow(Lanes rowOfBlocks) {
  Lanes blockColumns = StripGrid(b, request, columns).blockColumns;
  emit::emitLoop(b, getIndex(b, 0), blockColumns, [&](Lanes column) {
    // Places and values of rows are computed again: to keep them takes more
    // registers than there are.
    auto cast = [&](Lanes number, Type type) -> Lanes {
      return {b, arith::IndexCastUIOp::create(b, type, number)};
    };
    Lanes row =
        b.hide(cast(rowOfBlocks, b.getI32Type()), cast(column, b.getI32Type()));
    emitBlock(cast(row, b.getIndexType()) * blockColumns + column);
    // The next one takes the tables of this one.
    gpu::BarrierOp::create(b);
  });
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

void emitStripRows(KernelBuilder &b, const StripRequest &request,
                   const target::Chip &chip, const StripOperands &operands,
                   Lanes block, RowInputs getInputs) {
  StripKernelEmitter(b, request, chip, operands).emitRows(block, getInputs);
}

void emitStripKernel(KernelBuilder &b, const StripRequest &request,
                     const target::Chip &chip,
                     MutableArrayRef<StripOperands> members, Lanes block) {
  StripOperands operands = selectMember(b, request, members, block);
  StripKernelEmitter emitter(b, request, chip, operands);
  if (request.getParts() != 0)
    emitter.emitAmaxParts();
  else
    emitter.emit(block);
}

} // namespace blockscale

//===- PatchKernel.cpp - Quantization in blocks of several rows -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PatchSpec.h says how threads divide x. A warp loads its patches; for each
// result it computes the amaxes of blocks by shuffles, and stores codes and
// scales. The warps of a thread block lie side by side as far as x is wide
// enough.
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/Kernels.h"
#include "AmaxRaise.h"
#include "DeviceCode.h"
#include "Kernels.h"
#include "LaunchModel.h"
#include "PatchAmax.h"
#include "PatchData.h"
#include "PatchScales.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using cpu::add;
using cpu::getIndex;
using cpu::mul;

static constexpr int64_t kWarps = 4;
static constexpr int64_t kThreads = kWarps * kWarpThreads;
/// Of the tables of a warp.
static constexpr int64_t kTableAlignment = 4;

namespace {

/// What a kernel makes of x.
struct PatchJob {
  std::string getKernelName(const target::Chip &chip) const;

  PatchShape shape;
  SmallVector<PatchSpec> specs;
  SmallVector<PatchAmax> amaxes;
};

/// Warps of a thread block, and thread blocks side by side.
struct PatchGrid {
  /// `columns` is the number of those of x.
  PatchGrid(ImplicitLocOpBuilder &b, const PatchJob &job, Value columns) {
    const PatchShape &shape = job.shape;
    int64_t columnGranule = 1;
    for (const PatchSpec &spec : job.specs) {
      rowGranule = std::max(rowGranule, spec.getRowGranule());
      columnGranule = std::max(columnGranule, spec.getColumnGranule());
    }
    if (!shape.hasDynamicColumns()) {
      int64_t covered = llvm::alignTo(shape.columns, columnGranule);
      int64_t warps = llvm::divideCeil(covered, shape.getWarpColumns());
      warpColumns = std::gcd(warps, kWarps);
    }
    blockColumns = cpu::ceilDiv(b, cpu::roundUp(b, columns, columnGranule),
                                warpColumns * shape.getWarpColumns());
    blockRows = kWarps / warpColumns * shape.getWarpRows();
  }

  int64_t warpColumns = kWarps;
  Value blockColumns;
  /// Rows of x of a thread block.
  int64_t blockRows;
  /// What rows are padded to: powers of two, of which the largest serves all.
  int64_t rowGranule = 1;
};

/// Where a result goes.
struct PatchResult {
  explicit PatchResult(const PatchSpec &spec) : spec(spec) {}

  const PatchSpec &spec;
  Value data, scales, global, rng, offsets;
  /// Numbers of groups, i64, and of their tiles.
  Value groups, tiles;
};

class PatchKernelEmitter {
public:
  PatchKernelEmitter(KernelBuilder &b, const PatchJob &job,
                     const target::Chip &chip, ValueRange arguments);

  void emit();

private:
  void emitPosition(Value blockNumber);
  void emitBlock(Value blockNumber, const GroupedScales *grouped);
  SmallVector<Value> emitPatch(MutableArrayRef<PatchScaleTable> tables);
  void emitRaises(ValueRange bits);
  void emitResult(const PatchResult &result, const PatchElements &elements,
                  PatchScaleTable &table);
  std::vector<PatchScaleTable> createTables(const GroupedScales *grouped);

  KernelBuilder &b;
  const PatchJob &job;
  const PatchShape &shape;
  std::unique_ptr<CvtEmitter> cvt;
  ValueRange inputs;
  Value rows, columns, matrices;
  SmallVector<PatchResult> results;
  /// Of each amax.
  SmallVector<Value> amaxes;
  PatchPosition position;
  Value thread, warp;
};

} // namespace

PatchKernelEmitter::PatchKernelEmitter(KernelBuilder &b, const PatchJob &job,
                                       const target::Chip &chip,
                                       ValueRange arguments)
    : b(b), job(job), shape(job.shape), cvt(createCvtEmitter(chip)) {
  size_t count = shape.source->countArguments();
  inputs = arguments.take_front(count);
  auto next = arguments.begin() + count;
  for (const PatchSpec &spec : job.specs) {
    PatchResult result(spec);
    result.data = *next++;
    result.scales = *next++;
    if (spec.globalKind != GlobalKind::Absent)
      result.global = *next++;
    if (spec.stochastic)
      result.rng = *next++;
    if (spec.groupDim != GroupDim::None) {
      result.offsets = *next++;
      result.groups = *next++;
    }
    if (spec.groupedTiles)
      result.tiles = toIndex(b, *next++);
    results.push_back(result);
  }
  for (size_t i = 0; i < job.amaxes.size(); ++i)
    amaxes.push_back(*next++);
  rows = toIndex(b, *next++);
  columns = shape.hasDynamicColumns() ? toIndex(b, *next++)
                                      : getIndex(b, shape.columns);
  if (shape.batched)
    matrices = toIndex(b, *next++);
}

/// `blockNumber` is that of the thread block along x.
void PatchKernelEmitter::emitPosition(Value blockNumber) {
  PatchGrid grid(b, job, columns);
  Value block = arith::IndexCastUIOp::create(b, b.getI32Type(), blockNumber);
  // The number of thread blocks is below 2^31.
  Value blockColumns =
      arith::IndexCastUIOp::create(b, b.getI32Type(), grid.blockColumns);
  auto widen = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  };
  Value blockRow = widen(arith::DivUIOp::create(b, block, blockColumns));
  Value blockColumn = widen(arith::RemUIOp::create(b, block, blockColumns));
  Value warpRow = add(b, mul(b, blockRow, kWarps / grid.warpColumns),
                      cpu::div(b, warp, grid.warpColumns));
  Value warpColumn = add(b, mul(b, blockColumn, grid.warpColumns),
                         cpu::rem(b, warp, grid.warpColumns));

  position.rows = rows;
  position.columns = columns;
  position.matrix = shape.batched ? emitMatrixNumber(b) : getIndex(b, 0);
  position.laneRow = cpu::div(b, position.lane, shape.getLaneColumns());
  position.laneColumn = cpu::rem(b, position.lane, shape.getLaneColumns());
  position.warpRow = mul(b, warpRow, shape.getWarpRows());
  position.warpColumn = mul(b, warpColumn, shape.getWarpColumns());
  position.row =
      add(b, position.warpRow, mul(b, position.laneRow, shape.patchRows));
  position.column = add(b, position.warpColumn,
                        mul(b, position.laneColumn, shape.patchColumns));
}

/// The tables of this warp in shared memory, one for each result.
std::vector<PatchScaleTable>
PatchKernelEmitter::createTables(const GroupedScales *grouped) {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (const PatchSpec &spec : job.specs) {
    offsets.push_back(bytes);
    bytes += llvm::alignTo(PatchScaleTable::getBytes(spec), kTableAlignment);
  }
  if (job.specs.empty())
    return {};
  Value all = createSharedArray(b, "tables", b.getI8Type(), kWarps * bytes);
  Value first = emitAddress(b, all, b.getI8Type(), mul(b, warp, bytes));
  std::vector<PatchScaleTable> tables;
  for (auto [result, offset] : llvm::zip_equal(results, offsets))
    tables.emplace_back(
        b, result.spec, position,
        emitAddress(b, first, b.getI8Type(), getIndex(b, offset)),
        result.scales, grouped);
  return tables;
}

void PatchKernelEmitter::emitResult(const PatchResult &result,
                                    const PatchElements &elements,
                                    PatchScaleTable &table) {
  const PatchSpec &spec = result.spec;
  std::optional<PatchGroups> groups;
  if (result.offsets)
    groups.emplace(b, spec, position, result.offsets, result.groups);
  PatchScales scales(b, spec, position, elements, *cvt, result.global,
                     groups ? &*groups : nullptr, table);
  std::optional<PatchRandom> random;
  if (result.rng)
    random.emplace(b, spec, position, result.rng);
  emitPatchData(b, spec, position, *cvt, result.data,
                random ? &*random : nullptr,
                [&](int64_t row) { return scales.getScaledRow(row); });
  table.emitStore();
}

/// Makes the results of a patch of a warp that has elements. Gives the bits of
/// its amaxes.
SmallVector<Value>
PatchKernelEmitter::emitPatch(MutableArrayRef<PatchScaleTable> tables) {
  SmallVector<Value> bits(amaxes.size());
  auto takeAmaxes = [&](const PatchElements &source,
                        std::optional<uint64_t> mask) {
    bool hasRowAmaxes = llvm::any_of(job.specs, [&](const PatchSpec &spec) {
      return spec.signMask == mask && spec.block[0] == 1;
    });
    for (auto [value, amax] : llvm::zip_equal(bits, job.amaxes))
      if (amax.signMask == mask)
        value = emitPatchAmax(b, *cvt, source, shape, hasRowAmaxes);
  };
  PatchElements elements(b, shape, position, inputs);
  takeAmaxes(elements, std::nullopt);
  llvm::SmallMapVector<uint64_t, PatchElements, 2> transformed;
  auto getSource = [&](std::optional<uint64_t> mask) -> const PatchElements & {
    if (!mask)
      return elements;
    auto found = transformed.find(*mask);
    if (found != transformed.end())
      return found->second;
    const PatchElements &source =
        transformed.insert({*mask, elements.transformColumns(*mask)})
            .first->second;
    takeAmaxes(source, mask);
    return source;
  };
  for (auto [result, table] : llvm::zip_equal(results, tables))
    emitResult(result, getSource(result.spec.signMask), table);
  for (const PatchAmax &amax : job.amaxes)
    getSource(amax.signMask);
  return bits;
}

/// The work of a thread block on x.
void PatchKernelEmitter::emitBlock(Value blockNumber,
                                   const GroupedScales *grouped) {
  emitPosition(blockNumber);
  std::vector<PatchScaleTable> tables = createTables(grouped);
  // These conditions are the same in all threads of a warp.
  auto emitWarp = [&] {
    Value hasData = isBelow(b, position.warpRow, rows);
    bool hasPadding = shape.columnUnit % shape.getWarpColumns() != 0;
    if (hasPadding)
      hasData = arith::AndIOp::create(b, hasData,
                                      isBelow(b, position.warpColumn, columns));
    SmallVector<Type> types(amaxes.size(), b.getI32Type());
    SmallVector<Value> bits = emitIfElse(
        b, hasData, types, [&] { return emitPatch(tables); },
        [&] {
          for (auto [spec, table] : llvm::zip_equal(job.specs, tables))
            if (spec.swizzled)
              table.emitStoreZeros();
          return SmallVector<Value>(amaxes.size(), b.i32(0));
        });
    emitRaises(bits);
  };
  if (shape.batched)
    cpu::emitIf(b, isBelow(b, position.matrix, matrices), emitWarp);
  else
    emitWarp();
}

/// Raises the amaxes by what each thread has of them, once a thread block.
void PatchKernelEmitter::emitRaises(ValueRange bits) {
  if (amaxes.empty())
    return;
  SmallVector<AmaxPart> parts;
  for (auto [value, buffer, amax] : llvm::zip_equal(bits, amaxes, job.amaxes)) {
    Value index = amax.perMatrix ? position.matrix : getIndex(b, 0);
    parts.push_back(
        {cpu::Lanes(b, value), emitAddress(b, buffer, b.getI32Type(), index)});
  }
  int64_t words = kWarps * static_cast<int64_t>(parts.size());
  emitRaise(b, parts, thread, kWarps,
            createSharedArray(b, "partial", b.getI32Type(), words));
}

void PatchKernelEmitter::emit() {
  thread = emitThreadNumber(b, kThreads);
  warp = cpu::div(b, thread, kWarpThreads);
  position.lane = cpu::rem(b, thread, kWarpThreads);
  Value block = emitBlockNumber(b);
  if (results.empty() || !results.front().spec.groupedTiles)
    return emitBlock(block, /*grouped=*/nullptr);
  const PatchResult &result = results.front();
  const PatchSpec &spec = result.spec;
  GroupedScales grouped(b, {spec.scaleForm, spec.groupDim == GroupDim::Columns,
                            spec.getGroupUnit(), result.scales, result.offsets,
                            toIndex(b, result.groups), rows, columns,
                            result.tiles});
  grouped.emitBlocks(block, warp, position.lane, kWarps,
                     [&](Value other) { emitBlock(other, &grouped); });
}

/// Forms of quantize that patch kernels do not compute.
static LogicalResult verifyFeatures(QuantizeOp op, LaunchSite &site) {
  StringRef chip(site.getChip().name);
  int64_t columns = op.getX().getType().getShape().back();
  LayoutAttr layout = getLayout(op.getScale().getType());
  if (layout && !layout.isGrouped() && op.getOffsets())
    return site.refuse("expected linear scales with offsets and blocks of "
                       "several rows, or a grouped layout, but got an "
                       "ungrouped one");
  // Numbers of thread blocks are below 2^31.
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
  if (specs.empty()) {
    llvm::raw_string_ostream os(name);
    os << '_' << shape.inputType;
    if (!shape.hasDynamicColumns())
      os << "_k" << shape.columns;
    if (shape.batched)
      os << "_batched";
  }
  return name + shape.source->getName() + std::string(chip.kernelSuffix);
}

/// The global scale or amax; null if there is neither.
static Value getGlobal(QuantizeOp op) {
  return op.getGlobalScale() ? op.getGlobalScale() : op.getGlobalAmax();
}

/// The x, or a transform of it, of ops that are not all absent.
static Value getX(ArrayRef<QuantizeOp> ops, ArrayRef<AmaxOp> amaxes) {
  return ops.empty() ? AmaxOp(amaxes.front()).getX()
                     : QuantizeOp(ops.front()).getX();
}

static PatchJob createJob(ArrayRef<QuantizeOp> ops, ArrayRef<AmaxOp> amaxes,
                          LaunchSite &site) {
  PatchJob job;
  Value x = getX(ops, amaxes);
  auto hadamard = x.getDefiningOp<HadamardOp>();
  auto source =
      std::make_shared<const ElementSource>(hadamard ? hadamard.getX() : x);
  for (QuantizeOp op : ops)
    job.specs.emplace_back(op, site.lookup(getGlobal(op)), site.getChip());
  for (AmaxOp amax : amaxes)
    job.amaxes.emplace_back(amax);
  if (amaxes.empty() && ops.size() == 1) {
    const PatchSpec &only = job.specs.front();
    job.shape = only;
    job.shape.source = source;
    if (!only.signMask && only.block[0] != 1)
      return job;
  }
  auto isTransformed = [](const auto &of) { return of.signMask.has_value(); };
  job.shape = PatchShape(
      cast<RankedTensorType>(x.getType()),
      llvm::any_of(job.amaxes,
                   [](const PatchAmax &amax) { return amax.perMatrix; }),
      llvm::any_of(job.amaxes, isTransformed));
  job.shape.source = source;
  PatchSpec::shareShape(job.specs, job.shape);
  return job;
}

LogicalResult lowerPatchKernel(ArrayRef<QuantizeOp> ops,
                               ArrayRef<AmaxOp> amaxes, LaunchSite &site) {
  auto prepare = [&](auto op) {
    if (auto hadamard = op.getX().template getDefiningOp<HadamardOp>())
      cpu::prepareCall(hadamard, site.call);
    cpu::prepareCall(op, site.call);
  };
  for (QuantizeOp op : ops) {
    if (failed(verifyFeatures(op, site)))
      return failure();
    prepare(op);
  }
  llvm::for_each(amaxes, prepare);
  PatchJob job = createJob(ops, amaxes, site);
  const PatchShape &shape = job.shape;
  site.emitAsserts();

  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(getX(ops, amaxes));
  shape.source->emitSizeAsserts(site);
  cpu::Indices sizes =
      cpu::getLeadingSizes(b, x, cast<MemRefType>(x.getType()).getRank());
  ArrayRef<Value> leading = ArrayRef<Value>(sizes).drop_back();
  Value rows = shape.batched ? leading.back() : cpu::getProduct(b, leading);
  Value matrices =
      shape.batched ? cpu::getProduct(b, leading.drop_back()) : Value();
  SmallVector<LaunchSite::Argument> arguments =
      shape.source->getArguments(site, shape.loadBytes, shape.getWidestLoad());
  Value tiles;
  for (auto [each, spec] : llvm::zip_equal(ops, job.specs)) {
    QuantizeOp op = each;
    arguments.push_back({site.lookup(op.getData()), spec.storeBytes});
    arguments.push_back(
        {site.lookup(op.getScale()), PatchScaleTable::getAlignment(spec)});
    if (Value global = site.lookup(getGlobal(op)))
      arguments.push_back(
          {global,
           static_cast<int64_t>(spec.globalByValue ? 0 : sizeof(float))});
    if (spec.stochastic)
      arguments.push_back({site.lookup(op.getRng()), sizeof(int64_t)});
    if (Value offsets = site.lookup(op.getOffsets())) {
      arguments.push_back({offsets, sizeof(int32_t)});
      arguments.push_back({cpu::getDim(b, offsets, 0)});
    }
    if (spec.groupedTiles) {
      tiles = cpu::getDim(b, site.lookup(op.getScale()), 0);
      arguments.push_back({tiles});
    }
  }
  SmallVector<AmaxBuffer> buffers;
  for (auto [each, amax] : llvm::zip_equal(amaxes, job.amaxes)) {
    Value buffer = site.lookup(AmaxOp(each).getAmax());
    arguments.push_back({buffer, sizeof(float)});
    buffers.push_back({buffer, amax.perMatrix ? matrices : getIndex(b, 1)});
  }
  if (!buffers.empty())
    launchClear(site, buffers);
  // Rows without elements have neither data nor scales.
  if (shape.columns == 0)
    return success();
  arguments.push_back({rows});
  if (shape.hasDynamicColumns())
    arguments.push_back({sizes.back()});
  if (shape.batched)
    arguments.push_back({matrices});
  LaunchModel(site.getChip())
      .remarkPatch(b.getLoc(), {shape.patchRows, shape.patchColumns},
                   {shape.getWarpRows(), shape.getWarpColumns()});
  PatchGrid grid(b, job, sizes.back());
  Value padded = cpu::roundUp(b, rows, grid.rowGranule);
  Value blocks =
      mul(b, getCeilDiv(b, padded, grid.blockRows), grid.blockColumns);
  if (tiles)
    blocks = add(b, blocks, GroupedScales::countBlocks(b, tiles, kWarps));
  site.launch(job.getKernelName(site.getChip()),
              {kThreads, blocks, matrices,
               shape.patchRows * shape.patchColumns * shape.source->getBytes()},
              arguments, [&](KernelBuilder &b, ValueRange arguments) {
                PatchKernelEmitter(b, job, site.getChip(), arguments).emit();
              });
  return success();
}

} // namespace blockscale

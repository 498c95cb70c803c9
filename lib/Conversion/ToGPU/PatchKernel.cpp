//===- PatchKernel.cpp - Quantization in blocks of several rows -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PatchSpec.h says how threads divide x. A warp loads its patches, computes the
// amaxes of blocks by shuffles, and stores codes and scales. The warps of a
// thread block lie side by side as far as x is wide enough.
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/Kernels.h"
#include "DeviceCode.h"
#include "Kernels.h"
#include "PatchData.h"
#include "PatchScaleTable.h"
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
/// Blocks whose scales a leaf computes together, and words of a vector.
static constexpr int64_t kLeafBlocks = 4;

namespace {

/// Warps of a thread block, and thread blocks side by side.
struct PatchGrid {
  explicit PatchGrid(const PatchSpec &spec) {
    int64_t covered = llvm::alignTo(spec.columns, spec.getColumnGranule());
    int64_t warps = llvm::divideCeil(covered, spec.getWarpColumns());
    warpColumns = std::gcd(warps, kWarps);
    blockColumns = warps / warpColumns;
    blockRows = kWarps / warpColumns * spec.getWarpRows();
  }

  int64_t warpColumns;
  int64_t blockColumns;
  /// Rows of x of a thread block.
  int64_t blockRows;
};

class PatchKernelEmitter {
public:
  PatchKernelEmitter(KernelBuilder &b, const PatchSpec &spec,
                     const target::Chip &chip, ValueRange arguments);

  void emit();

private:
  void emitPosition();
  void emitPatch(PatchScaleTable &table);
  std::unique_ptr<QuantizeLeaf> createLeaf();
  SmallVector<BlockElements> getColumnBlocks(const PatchElements &elements,
                                             int64_t row, int64_t span);
  void emitColumnScales(QuantizeLeaf &leaf, const PatchElements &elements,
                        PatchScaleTable &table);
  void emitTileScales(QuantizeLeaf &leaf, const PatchElements &elements,
                      PatchScaleTable &table);
  /// Scale bytes as they are stored: zero in padding.
  SmallVector<Value> keepPairs(ValueRange pairs, Value exists);
  Value loadGlobal();
  Value createTables();

  KernelBuilder &b;
  const PatchSpec &spec;
  std::unique_ptr<CvtEmitter> cvt;
  std::string name;
  Value x, data, scales, global, rows, matrices;
  PatchPosition position;
  Value warp;
  /// The factor of each element of a row of the patch, by blocks of rows: one
  /// vector for each that PatchElements maps.
  SmallVector<SmallVector<Value>> factors;
};

} // namespace

PatchKernelEmitter::PatchKernelEmitter(KernelBuilder &b, const PatchSpec &spec,
                                       const target::Chip &chip,
                                       ValueRange arguments)
    : b(b), spec(spec), cvt(createCvtEmitter(chip)),
      name(spec.getKernelName(chip)) {
  auto next = arguments.begin();
  x = *next++;
  data = *next++;
  scales = *next++;
  if (spec.globalKind != GlobalKind::Absent)
    global = *next++;
  rows = toIndex(b, *next++);
  if (spec.batched)
    matrices = toIndex(b, *next++);
}

void PatchKernelEmitter::emitPosition() {
  PatchGrid grid(spec);
  Value thread = emitThreadNumber(b, kThreads);
  warp = cpu::div(b, thread, kWarpThreads);
  Value block =
      arith::IndexCastUIOp::create(b, b.getI32Type(), emitBlockNumber(b));
  // The number of thread blocks is below 2^31.
  Value columns = b.i32(grid.blockColumns);
  auto widen = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  };
  Value blockRow = widen(arith::DivUIOp::create(b, block, columns));
  Value blockColumn = widen(arith::RemUIOp::create(b, block, columns));
  Value warpRow = add(b, mul(b, blockRow, kWarps / grid.warpColumns),
                      cpu::div(b, warp, grid.warpColumns));
  Value warpColumn = add(b, mul(b, blockColumn, grid.warpColumns),
                         cpu::rem(b, warp, grid.warpColumns));

  position.rows = rows;
  position.matrix = spec.batched ? emitMatrixNumber(b) : getIndex(b, 0);
  position.lane = cpu::rem(b, thread, kWarpThreads);
  position.laneRow = cpu::div(b, position.lane, spec.getLaneColumns());
  position.laneColumn = cpu::rem(b, position.lane, spec.getLaneColumns());
  position.warpRow = mul(b, warpRow, spec.getWarpRows());
  position.warpColumn = mul(b, warpColumn, spec.getWarpColumns());
  position.row =
      add(b, position.warpRow, mul(b, position.laneRow, spec.patchRows));
  position.column = add(b, position.warpColumn,
                        mul(b, position.laneColumn, spec.patchColumns));
}

/// The place in shared memory of the tables of all warps.
Value PatchKernelEmitter::createTables() {
  auto function = cast<gpu::GPUFuncOp>(b.getBlock()->getParentOp());
  int64_t bytes = kWarps * PatchScaleTable::getBytes(spec);
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes);
  OpBuilder outside(function);
  LLVM::GlobalOp::create(outside, b.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::Internal, name + "_tables", Attribute(),
                         /*alignment=*/16, /*addrSpace=*/3);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  return LLVM::AddressOfOp::create(b, pointer, name + "_tables");
}

Value PatchKernelEmitter::loadGlobal() {
  if (!global || spec.globalByValue)
    return global;
  Value index = spec.globalPerMatrix ? position.matrix : getIndex(b, 0);
  return b.load(b.getF32Type(), emitAddress(b, global, b.getF32Type(), index),
                sizeof(float));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

SmallVector<Value> PatchKernelEmitter::keepPairs(ValueRange pairs,
                                                 Value exists) {
  SmallVector<Value> kept(pairs);
  if (spec.swizzled)
    for (Value &pair : kept) {
      Value zero = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
      pair = arith::SelectOp::create(b, exists, pair, zero);
    }
  return kept;
}

/// Emits `body` in the first of the threads that share a block.
static void emitInFirst(KernelBuilder &b, Value lane, int64_t sharing,
                        function_ref<void()> body) {
  if (sharing <= 1)
    return body();
  Value isFirst = isBelow(b, cpu::rem(b, lane, sharing), getIndex(b, 1));
  cpu::emitIf(b, isFirst, body);
}

/// Blocks of one column as recipes ask for them, none where they do not.
SmallVector<BlockElements>
PatchKernelEmitter::getColumnBlocks(const PatchElements &elements, int64_t row,
                                    int64_t span) {
  SmallVector<BlockElements> blocks;
  if (!numerics::isFourOverSix(spec.recipe))
    return blocks;
  SmallVector<SmallVector<Value>> columns(spec.patchColumns);
  for (int64_t i = row; i < row + span; ++i)
    for (auto [column, element] : llvm::zip_equal(
             columns, elements.mapRow(i, [](Value x, int64_t) { return x; })))
      column.push_back(element);
  auto words = VectorType::get({kLeafBlocks}, b.getI32Type());
  for (ArrayRef<Value> column : columns) {
    SmallVector<Value> vectors;
    for (; !column.empty(); column = column.drop_front(kLeafBlocks))
      vectors.push_back(
          b.bitcast(words, b.pack(column.take_front(kLeafBlocks))));
    blocks.push_back(BlockElements::fromWords(vectors, b.getF32Type()));
  }
  return blocks;
}

/// Blocks of one column.
void PatchKernelEmitter::emitColumnScales(QuantizeLeaf &leaf,
                                          const PatchElements &elements,
                                          PatchScaleTable &table) {
  int64_t span = std::min(spec.patchRows, spec.block[0]);
  int64_t sharing = spec.block[0] / span;
  for (int64_t row = 0; row * span < spec.patchRows; ++row) {
    SmallVector<Value> amaxes =
        elements.computeColumnAmaxes(row * span, (row + 1) * span);
    for (int64_t mask = 1; mask < sharing; mask *= 2)
      elements.exchangeColumnAmaxes(amaxes, mask * spec.getLaneColumns());
    SmallVector<Value> columns = elements.extractColumns(amaxes);
    SmallVector<BlockElements> blocks =
        getColumnBlocks(elements, row * span, span);
    SmallVector<Value> ofColumns;
    SmallVector<SmallVector<Value, 2>> pairs;
    for (int64_t j = 0; j < spec.patchColumns; j += kLeafBlocks) {
      ArrayRef<BlockElements> some(blocks);
      QuantizeLeaf::Scales part =
          leaf.computeScales(b, ArrayRef<Value>(columns).slice(j, kLeafBlocks),
                             some.empty() ? some : some.slice(j, kLeafBlocks));
      llvm::append_range(ofColumns, part.factors);
      pairs.push_back(part.pairs);
    }
    Value exists = position.hasRow(b, row * span);
    emitInFirst(b, position.laneRow, sharing, [&] {
      for (auto [j, part] : llvm::enumerate(pairs))
        table.put(keepPairs(part, exists), kLeafBlocks, row, j * kLeafBlocks,
                  /*down=*/false);
    });
    factors.emplace_back();
    for (int64_t v = 0; v < elements.getVectorsPerRow(); ++v) {
      SmallVector<Value> vector;
      for (int64_t i = 0; i < kLeafBlocks; ++i)
        vector.push_back(ofColumns[elements.getColumn(v, i)]);
      factors.back().push_back(b.pack(vector));
    }
  }
}

/// Square blocks.
void PatchKernelEmitter::emitTileScales(QuantizeLeaf &leaf,
                                        const PatchElements &elements,
                                        PatchScaleTable &table) {
  int64_t height = std::min(spec.patchRows, spec.block[0]);
  int64_t width = std::min(spec.patchColumns, spec.block[1]);
  int64_t sharingRows = spec.block[0] / height;
  int64_t sharingColumns = spec.block[1] / width;
  int64_t tileRows = spec.patchRows / height;
  int64_t tileColumns = spec.patchColumns / width;
  SmallVector<Value> amaxes;
  for (int64_t row = 0; row < tileRows; ++row) {
    SmallVector<Value> columns =
        elements.computeColumnAmaxes(row * height, (row + 1) * height);
    for (int64_t column = 0; column < tileColumns; ++column) {
      Value amax = elements.reduceColumns(columns, column * width, width);
      for (int64_t mask = 1; mask < sharingColumns; mask *= 2)
        amax = emitExchangeMaximum(b, amax, mask);
      for (int64_t mask = 1; mask < sharingRows; mask *= 2)
        amax = emitExchangeMaximum(b, amax, mask * spec.getLaneColumns());
      amaxes.push_back(amax);
    }
  }
  // One tile, or two beside or below each other.
  QuantizeLeaf::Scales tiles = leaf.computeScales(b, amaxes, {});
  bool down = tileRows > 1;
  emitInFirst(b, position.laneRow, sharingRows, [&] {
    emitInFirst(b, position.laneColumn, sharingColumns, [&] {
      Value eight = arith::ConstantOp::create(b, b.getI16IntegerAttr(8));
      for (int64_t i = 0; i < tileRows * tileColumns; ++i) {
        Value byte = tiles.pairs[i / 2];
        if (i % 2 != 0)
          byte = arith::ShRUIOp::create(b, byte, eight);
        Value exists = spec.hasScalesAlongRows()
                           ? position.hasColumn(b, spec, down ? 0 : i * width)
                           : position.hasRow(b, down ? i * height : 0);
        table.put(keepPairs(byte, exists), 1, down ? i : 0, down ? 0 : i, down);
      }
    });
  });
  for (int64_t row = 0; row < tileRows; ++row) {
    factors.emplace_back();
    for (int64_t v = 0; v < elements.getVectorsPerRow(); ++v) {
      int64_t column = elements.getColumn(v, 0) / width;
      factors.back().push_back(
          b.splat(tiles.factors[row * tileColumns + column], kLeafBlocks));
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

std::unique_ptr<QuantizeLeaf> PatchKernelEmitter::createLeaf() {
  if (numerics::isFourOverSix(spec.recipe))
    return createFourOverSixLeaf(*cvt, spec.recipe, spec.globalKind);
  if (numerics::isNvfp4(spec.recipe))
    return createNvfp4Leaf(*cvt, spec.recipe, spec.globalKind,
                           /*amaxIsGiven=*/false);
  return createMxLeaf(*cvt, spec.recipe, spec.format);
}

void PatchKernelEmitter::emitPatch(PatchScaleTable &table) {
  PatchElements elements(b, spec, position, x);
  std::unique_ptr<QuantizeLeaf> leaf = createLeaf();
  leaf->setGlobal(b, loadGlobal());
  if (spec.isSquare())
    emitTileScales(*leaf, elements, table);
  else
    emitColumnScales(*leaf, elements, table);
  int64_t height = std::min(spec.patchRows, spec.block[0]);
  emitPatchData(b, spec, position, *cvt, data, [&](int64_t row) {
    return elements.mapRow(row, [&](Value vector, int64_t v) {
      return leaf->scale(b, vector, factors[row / height][v]);
    });
  });
  table.emitStore();
}

void PatchKernelEmitter::emit() {
  Value tables = createTables();
  emitPosition();
  Value base = emitAddress(b, tables, b.getI8Type(),
                           mul(b, warp, PatchScaleTable::getBytes(spec)));
  PatchScaleTable table(b, spec, position, base, scales);
  // These conditions are the same in all threads of a warp.
  auto emitWarp = [&] {
    Value hasData = isBelow(b, position.warpRow, rows);
    bool hasPadding = spec.columns % spec.getWarpColumns() != 0;
    if (hasPadding) {
      Value hasColumn =
          isBelow(b, position.warpColumn, getIndex(b, spec.columns));
      hasData = arith::AndIOp::create(b, hasData, hasColumn);
    }
    auto emitData = [&] { emitPatch(table); };
    if (spec.swizzled)
      cpu::emitIf(b, hasData, emitData, [&] { table.emitStoreZeros(); });
    else
      cpu::emitIf(b, hasData, emitData);
  };
  if (spec.batched)
    cpu::emitIf(b, isBelow(b, position.matrix, matrices), emitWarp);
  else
    emitWarp();
}

/// Forms of quantize that patch kernels do not compute.
static LogicalResult verifyFeatures(QuantizeOp op, LaunchSite &site) {
  StringRef chip(site.getChip().name);
  int64_t columns = op.getX().getType().getShape().back();
  if (op.getRng() || op.getOffsets())
    return site.refuse(
        "expected no rng or offsets with blocks of several rows");
  if (ShapedType::isDynamic(columns))
    return op.emitOpError() << "expected a static last dimension on " << chip
                            << ", but got " << op.getX().getType();
  // Numbers of thread blocks are below 2^31.
  if (columns > std::numeric_limits<int32_t>::max())
    return op.emitOpError()
           << "expected the last dimension to be below 2^31 on " << chip
           << ", but got " << columns;
  return success();
}

LogicalResult lowerPatchKernel(QuantizeOp op, LaunchSite &site) {
  if (failed(verifyFeatures(op, site)))
    return failure();
  Value global = site.lookup(op.getGlobalScale() ? op.getGlobalScale()
                                                 : op.getGlobalAmax());
  PatchSpec spec(op, global, site.getChip());
  cpu::prepareCall(op, site.call);
  site.emitAsserts();
  // Rows without elements have neither data nor scales.
  if (spec.columns == 0)
    return success();

  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX());
  cpu::Indices sizes =
      cpu::getLeadingSizes(b, x, cast<MemRefType>(x.getType()).getRank());
  ArrayRef<Value> leading = ArrayRef<Value>(sizes).drop_back();
  Value rows = spec.batched ? leading.back() : cpu::getProduct(b, leading);
  SmallVector<LaunchSite::Argument> arguments = {
      {x, spec.loadBytes},
      {site.lookup(op.getData()), spec.storeBytes},
      {site.lookup(op.getScale()), PatchScaleTable::getAlignment(spec)}};
  if (global)
    arguments.push_back(
        {global, static_cast<int64_t>(spec.globalByValue ? 0 : sizeof(float))});
  arguments.push_back({rows});
  Value matrices;
  if (spec.batched) {
    matrices = cpu::getProduct(b, leading.drop_back());
    arguments.push_back({matrices});
  }
  PatchGrid grid(spec);
  Value padded = cpu::roundUp(b, rows, spec.getRowGranule());
  Value blocks =
      mul(b, getCeilDiv(b, padded, grid.blockRows), grid.blockColumns);
  site.launch(spec.getKernelName(site.getChip()), {kThreads, blocks, matrices},
              arguments, [&](KernelBuilder &b, ValueRange arguments) {
                PatchKernelEmitter(b, spec, site.getChip(), arguments).emit();
              });
  return success();
}

} // namespace blockscale

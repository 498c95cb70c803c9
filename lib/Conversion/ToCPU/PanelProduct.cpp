//===- PanelProduct.cpp - Products of panels of rows ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PanelProduct.h"
#include "Emission/KernelOperands.h"
#include "Panel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <utility>

using namespace mlir;

namespace blockscale::cpu {

/// Elements of K, or pairs of them, whose products are added without a branch
/// between them.
static constexpr int64_t kUnrolledDepth = 2;

/// The products that a register may add up for each `kDepthOfBound` elements of
/// K, and at least. They divide blocks and chunks.
static constexpr int64_t kRegisterDepth = 16;
static constexpr int64_t kDepthOfBound = 256;

static_assert(kPanelRows % kRegisterRows == 0);

/// The part of K that a register of pairs adds up, and the elements of K from
/// which on that is as much as a register adds up at least. From there on it is
/// added to another register for a chunk, rather than to a sum in f64.
static constexpr int64_t kPartOfPairs = 32,
                         kDepthOfChunks = kPartOfPairs * kRegisterDepth;

/// Results that are stored at a time.
static constexpr int64_t kStoredCols = 16;

Span getPanel(ImplicitLocOpBuilder &b, Value index, int64_t panelSize,
              Value size) {
  Value first = mul(b, index, panelSize);
  return {first, getExtent(b, size, first, panelSize)};
}

/// Whether a panel may have few rows, and more.
static std::pair<bool, bool> getRowCounts(ProductOpInterface op) {
  int64_t rows = getTensorType(op.getA()).getShape().end()[-2];
  bool isDynamic = ShapedType::isDynamic(rows);
  bool hasMany = isDynamic || rows > kFewRows;
  auto grouped = dyn_cast<ScaledGroupedMMOp>(op.getOperation());
  if (isDynamic || (grouped && !grouped.isKGrouped()))
    return {true, hasMany};
  int64_t ofLast = rows % kPanelRows;
  return {ofLast != 0 && ofLast <= kFewRows, hasMany};
}

PanelProduct::PanelProduct(ImplicitLocOpBuilder &b, ProductOpInterface op,
                           numerics::TensorCores tensorCores, Value blocks,
                           const ProductEpilogue &epilogue)
    : b(b), numbers(op, tensorCores), tileCols(numbers.getTileCols()),
      epilogue(epilogue) {
  auto [hasFew, hasMany] = getRowCounts(op);
  if (hasFew && op.getScaleB() && !numbers.chain)
    dots.emplace(b, numbers, op, blocks);
  if (hasMany || !dots)
    decoder.emplace(b, numbers, op, blocks);
  if (decoder && decoder->hasPairs()) {
    hasBF16Products = CpuFunction::createHasBF16Products(b);
    addBF16Products = CpuFunction::createAddBF16Products(b);
  }
  sums = allocate(b, {kPanelRows, kPanelCols}, b.getF64Type());
  if (numbers.scalesElements)
    elementGlobal =
        std::exchange(op.getScaleA() ? this->epilogue.a : this->epilogue.b, {});
}

void PanelProduct::emitFree() {
  if (dots)
    dots->emitFree();
  if (decoder)
    decoder->emitFree();
  memref::DeallocOp::create(b, sums);
}

/// The products that a register adds up in a sum over `blocks`.
Value PanelProduct::getRegisterDepth(Value blocks) {
  int64_t most = numbers.scalesSums ? numbers.blockSize : kChunkDepth;
  Value times = div(b, mul(b, blocks, numbers.blockSize), kDepthOfBound);
  times =
      max(b, getIndex(b, 1), min(b, times, getIndex(b, most / kRegisterDepth)));
  return mul(b, times, kRegisterDepth);
}

/// Keeps LLVM from unrolling the loop over `i`. LLVM takes a body that fills
/// memory for one instruction until it has unrolled the loop, and then time
/// that grows with the square of the stores.
static void keepLoop(Value i) {
  MLIRContext *context = i.getContext();
  auto isOff = BoolAttr::get(context, true);
  auto unroll =
      LLVM::LoopUnrollAttr::get(context, isOff, {}, {}, {}, {}, {}, {});
  // A loop's attributes become those of its branch.
  OperationName branch(LLVM::BrOp::getOperationName(), context);
  i.getParentBlock()->getParentOp()->setAttr(
      LLVM::BrOp::getLoopAnnotationAttrName(branch),
      LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {},
                                    {}, {}, {}, {}, {}, {}, {}));
}

void PanelProduct::emitClearSums(const PanelTask &task) {
  auto type = VectorType::get({tileCols}, b.getF64Type());
  Lanes zeros(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  Value zero = getIndex(b, 0);
  emitLoop(b, zero, roundUp(b, task.rows.count, kRegisterRows), [&](Value row) {
    keepLoop(row);
    emitLoop(
        b, zero, roundUp(b, task.cols.count, kPairTileCols),
        [&](Value col) { storeLanes(toBits(zeros), sums, {row, col}); },
        tileCols);
  });
}

/// Adds the products of the decoded numbers of a tile.
void PanelProduct::emitTile(const ChunkTile &at, Value registerDepth) {
  Value row = at.row, tile = at.tile;
  auto registerType = VectorType::get({tileCols}, numbers.type);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(registerType));
  SmallVector<Value> rows;
  for (int64_t i = 0; i < kRegisterRows; ++i)
    rows.push_back(add(b, row, getIndex(b, i)));

  auto addProducts = [&](Value k, ValueRange carried) {
    SmallVector<Value> next(carried);
    for (int64_t i = 0; i < kUnrolledDepth; ++i) {
      Value element = add(b, k, getIndex(b, i));
      Lanes right = decoder->loadCols(tile, element);
      for (auto [row, sum] : llvm::zip_equal(rows, next))
        sum = addExactProduct(broadcast(decoder->loadRow(row, element), right),
                              right, Lanes(b, sum));
    }
    return next;
  };
  Value col = mul(b, tile, tileCols);
  auto sumType = VectorType::get({tileCols}, b.getF64Type());
  auto emitRegisters = [&](Value first) {
    Value end = min(b, add(b, first, registerDepth), at.end);
    SmallVector<Value> registers =
        emitReduction(b, first, end, SmallVector<Value>(kRegisterRows, zeros),
                      addProducts, kUnrolledDepth);
    Value block = add(b, at.firstBlock, div(b, first, numbers.blockSize));
    for (auto [row, partial] : llvm::zip_equal(rows, registers)) {
      Lanes sum(b,
                vector::LoadOp::create(b, sumType, sums, ValueRange{row, col}));
      Lanes wide = extendToF64(Lanes(b, partial));
      sum = numbers.scalesSums
                ? addExactProduct(
                      wide, decoder->emitScaleProduct(row, tile, block), sum)
                : sum + wide;
      storeLanes(toBits(sum), sums, {row, col});
    }
  };
  emitLoop(b, at.first, at.end, emitRegisters, registerDepth);
}

/// The same of a tile of one row, whose sums are those of a chain.
void PanelProduct::emitChain(const ChunkTile &at) {
  Value row = at.row, tile = at.tile;
  Value col = mul(b, tile, tileCols);
  auto sumType = VectorType::get({tileCols}, b.getF64Type());
  Lanes sum(b, vector::LoadOp::create(b, sumType, sums, ValueRange{row, col}));
  Lanes last = emitReduction(
      b, at.first, at.end, toBits(roundToF32(sum)),
      [&](Value k, Lanes accumulators) {
        SmallVector<Lanes> left, right;
        for (int64_t i = 0; i < numbers.chain->getProducts(); ++i) {
          Value element = add(b, k, getIndex(b, i));
          left.push_back(decoder->loadRow(row, element));
          right.push_back(decoder->loadCols(tile, element));
        }
        return numbers.chain->add(left, right, accumulators);
      },
      numbers.chain->getProducts());
  storeLanes(toBits(extendToF64(fromBits(last))), sums, {row, col});
}

/// As emitTile, with pairs of bf16. The registers of a row follow each other.
void PanelProduct::emitPairTile(const ChunkTile &at, Value registerDepth) {
  constexpr int64_t kVectors = kPairTileCols / kPairCols;
  auto registerType = VectorType::get({kPairCols}, b.getF32Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(registerType));
  SmallVector<Value> noSums(kRegisterRows * kVectors, zeros), rows, vectors;
  for (int64_t i = 0; i < kRegisterRows; ++i)
    rows.push_back(add(b, at.row, getIndex(b, i)));
  for (int64_t i = 0; i < kVectors; ++i)
    vectors.push_back(add(b, mul(b, at.tile, kVectors), getIndex(b, i)));
  auto addPair = [&](Value pair, ValueRange carried) {
    SmallVector<Lanes> right;
    for (Value vector : vectors)
      right.push_back(
          bitcastLanes(decoder->loadColPairs(vector, pair), b.getI16Type()));
    SmallVector<Value> next;
    for (Value row : rows) {
      Lanes left(b, vector::BroadcastOp::create(
                        b, VectorType::get({kPairCols}, b.getI32Type()),
                        decoder->loadRowPair(row, pair)));
      for (const Lanes &numbers : right)
        next.push_back(addBF16Products->emitCall(
            b, {carried[next.size()], bitcastLanes(left, b.getI16Type()),
                numbers}));
    }
    return next;
  };
  auto addRegisters = [&](Value first, Value end, ValueRange carried) {
    SmallVector<Value> registers = emitReduction(
        b, div(b, first, 2), div(b, end, 2), noSums,
        [&](Value pair, ValueRange carried) {
          SmallVector<Value> next(carried);
          for (int64_t i = 0; i < kUnrolledDepth; ++i)
            next = addPair(add(b, pair, getIndex(b, i)), next);
          return next;
        },
        kUnrolledDepth);
    SmallVector<Value> next;
    for (auto [sum, part] : llvm::zip_equal(carried, registers))
      next.push_back(Lanes(b, sum) + Lanes(b, part));
    return next;
  };
  auto sumType = VectorType::get({kPairCols}, b.getF64Type());
  SmallVector<Value> parts = emitReduction(
      b, at.first, at.end, noSums,
      [&](Value k, ValueRange carried) {
        Value next = min(b, add(b, k, registerDepth), at.end);
        return addRegisters(k, next, carried);
      },
      registerDepth);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value row = rows[i / kVectors],
          col = mul(b, vectors[i % kVectors], kPairCols);
    Lanes sum(b,
              vector::LoadOp::create(b, sumType, sums, ValueRange{row, col}));
    storeLanes(toBits(sum + extendToF64(Lanes(b, part))), sums, {row, col});
  }
}

/// How many products registers of pairs add up in a sum over `blocks`: with the
/// sums over a chunk there are at most as many roundings as there are products
/// in a register of f32.
PanelProduct::PairDepths PanelProduct::getPairDepths(Value blocks) {
  Value depth = mul(b, blocks, numbers.blockSize);
  Value least = getIndex(b, kRegisterDepth), chunk = getIndex(b, kChunkDepth);
  Value part = mul(b, div(b, depth, kDepthOfChunks), kRegisterDepth);
  Lanes isLong =
      compare(arith::CmpIPredicate::uge, Lanes(b, depth), kDepthOfChunks);
  return {max(b, least, min(b, part, chunk)),
          select(isLong, Lanes(b, chunk), least)};
}

/// For each chunk of the task, which begins at a block that is counted within
/// it: decodes the chunk, and adds it tile by tile; all of it at once, or
/// `depthOfSum` elements at a time. A loop over these within a tile would keep
/// all sums of the tile, for which there are not enough registers.
void PanelProduct::emitChunks(
    const PanelTask &task, int64_t rowsOfTile, int64_t colsOfTile,
    Value depthOfSum,
    function_ref<void(const Span &chunk, Value firstBlock)> decode,
    function_ref<void(const ChunkTile &tile)> addTile) {
  Value zero = getIndex(b, 0);
  int64_t most = kChunkDepth / numbers.blockSize;
  emitLoop(
      b, zero, task.blocks.count,
      [&](Value firstBlock) {
        Span chunk = {
            add(b, task.blocks.first, firstBlock),
            min(b, getIndex(b, most), sub(b, task.blocks.count, firstBlock))};
        decode(chunk, firstBlock);
        Value depth = mul(b, chunk.count, numbers.blockSize);
        auto addTiles = [&](Value first, Value end) {
          Value tiles = ceilDiv(b, task.cols.count, colsOfTile);
          emitLoop(b, zero, tiles, [&](Value tile) {
            emitLoop(
                b, zero, task.rows.count,
                [&](Value row) {
                  addTile({row, tile, firstBlock, first, end});
                },
                rowsOfTile);
          });
        };
        if (!depthOfSum)
          return addTiles(zero, depth);
        emitLoop(
            b, zero, depth,
            [&](Value first) {
              addTiles(first, min(b, add(b, first, depthOfSum), depth));
            },
            depthOfSum);
      },
      most);
}

void PanelProduct::emitPairChunks(const PanelTask &task) {
  PairDepths depths = getPairDepths(task.blocks.count);
  emitChunks(
      task, kRegisterRows, kPairTileCols, depths.ofSum,
      [&](const Span &chunk, Value firstBlock) {
        decoder->emitRowPairs(task.a, task.rows, chunk, firstBlock);
        decoder->emitColPairs(task.b, task.cols, chunk, firstBlock);
      },
      [&](const ChunkTile &tile) { emitPairTile(tile, depths.ofRegister); });
}

void PanelProduct::emitNumberChunks(const PanelTask &task) {
  auto decode = [&](const Span &chunk, Value firstBlock) {
    decoder->emitRows(task.a, task.rows, chunk, firstBlock);
    decoder->emitCols(task.b, task.cols, chunk, firstBlock);
  };
  if (numbers.chain)
    return emitChunks(task, 1, tileCols, /*depthOfSum=*/{}, decode,
                      [&](const ChunkTile &tile) { emitChain(tile); });
  Value registerDepth = getRegisterDepth(task.blocks.count);
  emitChunks(task, kRegisterRows, tileCols, /*depthOfSum=*/{}, decode,
             [&](const ChunkTile &tile) { emitTile(tile, registerDepth); });
}

void PanelProduct::emitStoreRow(const PanelTask &task, Value bufferRow) {
  Value row = add(b, task.rows.first, bufferRow);
  emitUnitSteps(b, task.cols.count, kStoredCols, [&](Value i, int64_t count) {
    auto type = VectorType::get({count}, b.getF64Type());
    Lanes sum(b, vector::LoadOp::create(b, type, sums, {bufferRow, i}));
    emitStoreResults(
        b, epilogue, roundToF32(sum),
        {task.resultPrefix, task.element, row, add(b, task.cols.first, i)});
  });
}

void PanelProduct::emitTiles(const PanelTask &task) {
  decoder->emitRowScales(task.a, task.rows, task.blocks);
  decoder->emitColScales(task.b, task.cols, task.blocks);
  emitClearSums(task);
  if (!hasBF16Products)
    return emitNumberChunks(task);
  // Numbers are looked at where there are instructions.
  auto arePairs = scf::IfOp::create(
      b, hasBF16Products->emitCall(b),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(
            b, Value(decoder->emitAreOrdinary(task.a, task.rows, task.cols,
                                              task.blocks)));
      },
      [&](OpBuilder &, Location) {
        Value isFalse = arith::ConstantOp::create(b, b.getBoolAttr(false));
        scf::YieldOp::create(b, isFalse);
      });
  emitIf(
      b, arePairs.getResult(0), [&] { emitPairChunks(task); },
      [&] { emitNumberChunks(task); });
}

void PanelProduct::emitDots(const PanelTask &task) {
  Value zero = getIndex(b, 0);
  dots->emitScales(task.b, task.cols, task.blocks);
  emitLoop(b, zero, task.rows.count, [&](Value i) {
    dots->emitRow(task.a, add(b, task.rows.first, i), task.blocks);
    emitLoop(b, zero, task.cols.count, [&](Value j) {
      dots->emitDot(task.b, add(b, task.cols.first, j), j, task.blocks,
                    [&](Lanes sum) { storeBits(toBits(sum), sums, {i, j}); });
    });
  });
}

void PanelProduct::emit(const PanelTask &given) {
  PanelTask task = given;
  (task.a.scales ? task.a : task.b).global =
      loadGlobal(b, elementGlobal.value, task.element);
  if (dots && decoder)
    emitIf(
        b,
        compare(arith::CmpIPredicate::ule, Lanes(b, task.rows.count), kFewRows),
        [&] { emitDots(task); }, [&] { emitTiles(task); });
  else if (dots)
    emitDots(task);
  else
    emitTiles(task);
  emitLoop(b, getIndex(b, 0), task.rows.count,
           [&](Value row) { emitStoreRow(task, row); });
}

} // namespace blockscale::cpu

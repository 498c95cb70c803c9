//===- ScaledMmaProducts.cpp - Fragments into sums ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/MatrixLoads.h"
#include "ScaledMmaRoles.h"
#include "blockscale/Numerics/OperandFragments.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Instructions along columns whose operands a load of four matrices brings.
static constexpr int64_t kLoadedCols = 2;

namespace {

/// A thread's words of the fragments, or of the scales, of one operand.
using Words = SmallVector<Value>;

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const ScaledMmaContext &context,
                 const ScaledMmaThread &thread);

  void emit();

private:
  /// Adds the products of the first `steps` steps of a stage to `sums`.
  /// `number` (i32) is that of the stage along K, and `left` (i32) are the
  /// elements of K that it has; null where it is full.
  Words emitStage(Value slot, Lanes number, int64_t steps, Value left,
                  ValueRange sums);
  /// The fragments of a step: for each instruction along the rows of an operand
  /// those of A, and for each two along its columns those of B.
  Words loadFragments(Value stage, Value offset, int64_t repeats,
                      int64_t distance, int64_t step);
  /// Words of scales of each instruction along rows, or along columns.
  Words loadScales(Value slot, Lanes number, int64_t step, bool isA);
  /// The bits of a word of the scales of a step that belong to the first `left`
  /// (i32) elements of K of a stage, i32.
  Lanes getScaleMask(Value left, int64_t step);
  Value emitMma(ValueRange a, ValueRange b, ValueRange sums, Value scaleA,
                Value scaleB, int64_t step);
  void emitRelease(Value slot);
  Words emitTile(const TileCoord &tile, ValueRange carried,
                 ScaledMmaResults &results);

  KernelBuilder &b;
  const ScaledMmaContext &context;
  const ScaledMmaThread &thread;
  const ScaledGemmSpec &spec;
  const GemmFormat &format;
  /// Places of the thread in a stage, in bytes: of the rows of matrices whose
  /// addresses it gives, and of the words of its scales, i32.
  Value dataA, dataB, scaleA, scaleB;
  /// Whether a tile has the second half of the columns that share scales, i32;
  /// null where it has all of them.
  Value half;
};

} // namespace

ProductEmitter::ProductEmitter(KernelBuilder &b,
                               const ScaledMmaContext &context,
                               const ScaledMmaThread &thread)
    : b(b), context(context), thread(thread), spec(context.spec),
      format(spec.format) {
  Lanes lane = thread.lane, row = thread.row, col = thread.col;
  // Stages are as TMA fills them.
  auto [rowOfA, pieceOfA] = numerics::kMatrixRowsOfA.getElement({lane});
  dataA = numerics::getSwizzledByte(row + rowOfA, pieceOfA, kStageRowBytes);
  auto [colOfB, pieceOfB] =
      numerics::getMatrixRowsOfB(llvm::ConstantLog2<kRepeatRows>())
          .getElement({lane});
  dataB = numerics::getSwizzledByte(col + colOfB, pieceOfB, kStageRowBytes);
  constexpr int64_t lineBytes = kTileCols * kWordBytes;
  scaleA = (row + numerics::kMmaScalesOfA.getElement({lane}).row) * lineBytes;
  scaleB = (col + numerics::kMmaScalesOfB.getElement({lane}).row) * lineBytes;
}

Words ProductEmitter::loadFragments(Value stage, Value offset, int64_t repeats,
                                    int64_t distance, int64_t step) {
  // Both steps of a row differ in the second bit of the numbers of pieces.
  Lanes place = Lanes(b, offset) ^ Lanes(b, b.i32(step * kStepBytes));
  Value base = b.offset(stage, b.getI8Type(), place);
  Words words;
  for (int64_t i = 0; i < repeats; ++i) {
    Value row =
        b.offset(base, b.getI8Type(), b.i32(i * distance * kStageRowBytes));
    llvm::append_range(words, loadMatrices(b, row, NVVM::MMALayout::row));
  }
  return words;
}

Words ProductEmitter::loadScales(Value slot, Lanes number, int64_t step,
                                 bool isA) {
  const ScaledMmaLayout &shared = context.shared;
  int64_t tile = format.getScaleTile(step) * kTileBytes;
  Words words;
  auto load = [&](int64_t offset, int64_t stageBytes, Value place,
                  int64_t count) {
    Value address = b.offset(context.getShared(b, offset, slot, stageBytes),
                             b.getI8Type(), place);
    for (Lanes word :
         emitLoadWords(b, address, count * kWordBytes, count * kWordBytes))
      words.push_back(word);
  };
  if (isA) {
    load(shared.scaleA + tile, shared.scaleBytesA, scaleA, kRowRepeats);
  } else {
    int64_t count = kColRepeats / spec.products;
    Lanes place(b, scaleB);
    if (half)
      place = place + Lanes(b, half) * (count * kWordBytes);
    for (int64_t i = 0; i < spec.products; ++i)
      load(shared.scaleB + i * shared.scaleBytesA + tile, shared.scaleBytesB,
           place, count);
  }
  // A stage that needs less than a tile of scales has a part of their bytes.
  int64_t stageScales = format.stageSteps * format.stepScales;
  if (stageScales < kTileCols)
    for (Value &word : words)
      word = Lanes(b, word) >>
             (number & (kTileCols / stageScales - 1)) * (stageScales * 8);
  return words;
}

Lanes ProductEmitter::getScaleMask(Value left, int64_t step) {
  int64_t tileElements = kTileCols * format.block;
  Lanes inTile = Lanes(b, left) - format.getScaleTile(step) * tileElements;
  Lanes bits = (inTile >> llvm::Log2_64(format.block)) << 3;
  constexpr int64_t all = 8 * kTileCols;
  Lanes some = (bits.like(1) << minUnsigned(bits, bits.like(all - 1))) - 1;
  return select(compare(Predicate::uge, bits, all), bits.like(-1), some);
}

static NVVM::MMATypes getType(numerics::ElementFormat format) {
  switch (format) {
  case numerics::ElementFormat::E4M3:
    return NVVM::MMATypes::e4m3;
  case numerics::ElementFormat::E5M2:
    return NVVM::MMATypes::e5m2;
  case numerics::ElementFormat::E2M3:
    return NVVM::MMATypes::e2m3;
  case numerics::ElementFormat::E3M2:
    return NVVM::MMATypes::e3m2;
  default:
    return NVVM::MMATypes::e2m1;
  }
}

static NVVM::ScaleVecSize getVectorSize(const GemmFormat &format) {
  switch (format.stepScales) {
  case 4:
    return NVVM::ScaleVecSize::X4;
  case 2:
    return NVVM::ScaleVecSize::X2;
  default:
    return NVVM::ScaleVecSize::X1;
  }
}

Value ProductEmitter::emitMma(ValueRange dataA, ValueRange dataB,
                              ValueRange sums, Value scaleA, Value scaleB,
                              int64_t step) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(kMmaSums, b.getF32Type()));
  auto getId = [&](int64_t id) -> Value {
    return arith::ConstantOp::create(b, b.getI16IntegerAttr(id));
  };
  Value byte = getId(step * format.stepScales % kTileCols), zero = getId(0);
  std::array<NVVM::MMATypes, 2> types = {getType(format.a), getType(format.b)};
  bool hasE4M3 = format.scale == numerics::ScaleFormat::E4M3;
  return NVVM::MmaBlockScaleOp::create(
      b, type, dataA, dataB, sums, scaleA, byte, zero, scaleB, byte, zero,
      {kMmaRows, kMmaCols, format.stepElements}, types, getVectorSize(format),
      hasE4M3 ? NVVM::BlockScaleFormat::UE4M3 : NVVM::BlockScaleFormat::UE8M0,
      format.kind);
}

void ProductEmitter::emitRelease(Value slot) {
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emit::emitIf(b, compare(Predicate::eq, thread.lane, 0), [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(),
                                   context.stageEmpty.get(b, slot),
                                   /*count=*/Value(), NVVM::MemScopeKind::CTA);
  });
}

Words ProductEmitter::emitStage(Value slot, Lanes number, int64_t steps,
                                Value left, ValueRange sums) {
  const ScaledMmaLayout &shared = context.shared;
  Value stageA = context.getShared(b, shared.dataA, slot, shared.dataBytesA);
  Value stageB = context.getShared(b, shared.dataB, slot, shared.dataBytesB);
  Words all(sums);
  for (int64_t step = 0; step < steps; ++step) {
    Words a = loadFragments(stageA, dataA, kRowRepeats, kRepeatRows, step);
    Words ofB = loadFragments(stageB, dataB, kColRepeats / kLoadedCols,
                              kLoadedCols * kRepeatRows, step);
    Words scalesA = loadScales(slot, number, step, /*isA=*/true);
    Words scalesB = loadScales(slot, number, step, /*isA=*/false);
    // K can end in the last step, where blocks behind it have any scales.
    if (left && step + 1 == steps && format.stepScales > 1) {
      Lanes mask = getScaleMask(left, step);
      for (Words *scales : {&scalesA, &scalesB})
        for (Value &word : *scales)
          word = Lanes(b, word) & mask;
    }
    // All of the stage is in registers.
    if (step + 1 == steps)
      emitRelease(slot);
    for (int64_t i = 0; i < kRowRepeats; ++i)
      for (int64_t j = 0; j < kColRepeats; ++j) {
        MutableArrayRef<Value> own = MutableArrayRef(all).slice(
            (i * kColRepeats + j) * kMmaSums, kMmaSums);
        Value result =
            emitMma(ArrayRef(a).slice(i * 4, 4), ArrayRef(ofB).slice(j * 2, 2),
                    own, scalesA[i], scalesB[j], step);
        for (auto [k, sum] : llvm::enumerate(own))
          sum = LLVM::ExtractValueOp::create(b, result, k);
      }
  }
  return all;
}

Words ProductEmitter::emitTile(const TileCoord &tile, ValueRange carried,
                               ScaledMmaResults &results) {
  Words inits(carried);
  inits.append(kRowRepeats * kColRepeats * kMmaSums, b.f32(0));
  if (spec.products > 1)
    half = tile.col & 1;
  Lanes begin = tile.begin, end = tile.end;
  auto emitOne = [&](Lanes number, int64_t steps, Value left,
                     ValueRange values) {
    RingSlot slot = RingSlot::of(values);
    context.stageFull.emitWaitFull(b, slot);
    Words next = slot.getNext(b, spec.schedule.getStages()).get();
    llvm::append_range(
        next, emitStage(slot.index, number, steps, left, values.drop_front(2)));
    return next;
  };
  // Steps that lie behind K are not multiplied: what is in memory in the place
  // of their scales can be NaN, and so can codes of the next group.
  Lanes depth = tile.product.depth;
  int64_t stageBits = llvm::Log2_64(format.getStageElements());
  Lanes whole = minUnsigned(maxUnsigned(depth >> stageBits, begin), end);
  Words values =
      emitCount(b, whole - begin, inits, [&](Lanes step, ValueRange values) {
        return emitOne(begin + step, format.stageSteps,
                       /*left=*/Value(), values);
      });
  TypeRange types = ValueRange(values).getTypes();
  auto emitTail = [&] {
    Lanes left = depth - (whole << stageBits);
    if (format.stepScales == 1)
      return emitOne(whole, /*steps=*/1, left, values);
    static_assert(kStageSteps == 2);
    return emitIfElse(
        b, compare(Predicate::ugt, left, format.stepElements), types,
        [&] { return emitOne(whole, /*steps=*/2, left, values); },
        [&] { return emitOne(whole, /*steps=*/1, left, values); });
  };
  values = emitIfElse(b, compare(Predicate::ult, whole, end), types, emitTail,
                      [&] { return values; });
  results.emitSums(tile, ValueRange(values).drop_front(2));
  values.truncate(2);
  return values;
}

void ProductEmitter::emit() {
  ScaledMmaResults results(b, context, thread);
  context.order.emitTiles(
      b, RingSlot::getFirst(b).get(),
      [&](const TileCoord &tile, ValueRange carried) {
        return emitTile(tile, carried, results);
      },
      &results);
}

void emitProducts(KernelBuilder &b, const ScaledMmaContext &context,
                  const ScaledMmaThread &thread) {
  ProductEmitter(b, context, thread).emit();
}

} // namespace blockscale::products

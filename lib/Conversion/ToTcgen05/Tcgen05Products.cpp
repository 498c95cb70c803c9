//===- Tcgen05Products.cpp - Stages into accumulators ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.cp and tcgen05.mma of one thread run in the order in which they are
// issued, so scales of a stage may replace those of the one before without a
// wait. A step of K that begins beyond the product is not multiplied. A step of
// codes of 4 bits that K ends in has blocks behind it, whose scales in memory
// can be anything: the whole warp sets them to 0 in shared memory before the
// copy, so that what they scale adds nothing.
//
// Chips with K = 96 take eight steps of 48 bytes of each row from three full
// stages; what is left goes by steps of 32 bytes. Step 2 begins in one stage
// and ends in the next, and so does step 5. Scales are copied three tiles at a
// time, which two steps (NVFP4) or four (MXFP4) use up: six scales a row begin
// at byte 0 or 2 of a word of four, three at any byte.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Tcgen05Roles.h"
#include "blockscale/IR/Upstream.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// `kDataDescriptor` of a tile whose rows go on in another one, whose address
/// is not there yet.
static constexpr uint64_t kLongDescriptor =
    uint64_t(1024 / kDescriptorUnit) << 32 | uint64_t(1) << 46 |
    uint64_t(1) << 52 | uint64_t(2) << 61;
static constexpr int64_t kNextAddressShift = 16;
/// Descriptor of a tile of scales, which has rows of 16 bytes and is not
/// swizzled: groups of eight rows are 128 bytes apart.
static constexpr uint64_t kScaleDescriptor =
    uint64_t(128 / kDescriptorUnit) << 32 | uint64_t(1) << 46;

/// The format of an operand. The kinds of 4 bits have fewer bits for it, but
/// the same place.
static uint32_t getOperandCode(const GemmFormat &format,
                               numerics::ElementFormat operand) {
  if (format.kind != NVVM::MMABlockScaleKind::MXF8F6F4)
    return 1;
  switch (operand) {
  case numerics::ElementFormat::E4M3:
    return 0;
  case numerics::ElementFormat::E5M2:
    return 1;
  case numerics::ElementFormat::E2M3:
    return 3;
  case numerics::ElementFormat::E3M2:
    return 4;
  default:
    return 5; // E2M1
  }
}

/// The instruction descriptor of a step (PTX ISA, "Instruction descriptor")
/// whose scales begin with this one of a row.
static uint32_t getDescriptor(const GemmFormat &format,
                              GemmScheduleAttr schedule, int64_t scale,
                              bool isLong) {
  // Which scale of a word of four is the first.
  auto scaleId = static_cast<uint32_t>(scale % kTileCols);
  uint32_t hasE8M0 = format.scale == numerics::ScaleFormat::E8M0;
  return scaleId << 4 | getOperandCode(format, format.a) << 7 |
         getOperandCode(format, format.b) << 10 |
         static_cast<uint32_t>(schedule.getCols() >> 3) << 17 | hasE8M0 << 23 |
         static_cast<uint32_t>(schedule.getRows() >> 4) << 24 | scaleId << 29 |
         static_cast<uint32_t>(isLong) << 31;
}

/// The kind of a format, in the enumeration that the instruction has.
static auto getInstructionKind(NVVM::MMABlockScaleKind kind) {
  using Kind = upstream::KindOf<NVVM::Tcgen05MMABlockScaleOp>;
  switch (kind) {
  case NVVM::MMABlockScaleKind::MXF8F6F4:
    return Kind::MXF8F6F4;
  case NVVM::MMABlockScaleKind::MXF4:
    return Kind::MXF4;
  case NVVM::MMABlockScaleKind::MXF4NVF4:
    return Kind::MXF4NVF4;
  }
  llvm_unreachable("unknown kind");
}

static NVVM::Tcgen05MMABlockScale getBlockScale(const GemmFormat &format) {
  return format.block == 16 ? NVVM::Tcgen05MMABlockScale::BLOCK16
                            : NVVM::Tcgen05MMABlockScale::BLOCK32;
}

namespace {

/// One of the two operands.
struct Operand {
  /// The number of rows of the operand whose scales the CTA has.
  int64_t rows;
  /// Descriptors of stage 0, i64; the second is a null without long steps.
  Lanes data, longData, scales;
  int64_t dataBytes, scaleBytes;
  /// The offset of the data of stage 0 in shared memory.
  int64_t offset;
  /// The first column of tensor memory that the scales are copied to.
  int64_t columns;
};

class ProductEmitter {
public:
  /// `issuer` (i1) says which thread of the warp that runs the role issues
  /// instructions; null where only one runs it.
  ProductEmitter(KernelBuilder &b, const Tcgen05Context &context, Lanes thread,
                 Lanes issuer);

  /// Whether K can end in a step.
  static bool hasPartialSteps(const GemmFormat &format) {
    return format.stepElements > format.block;
  }

  void emit();

private:
  /// Adds the product of a stage. `left` (i32) are the elements of K that it
  /// has; null where it is full.
  void emitStage(Value slot, Lanes left, Value accumulator, Lanes isFirst);
  /// Adds the product of three full stages, for which it waits and of which it
  /// says that they are empty.
  void emitLongStages(ArrayRef<RingSlot> slots, Value accumulator,
                      Lanes isFirst);
  /// Copies tile `scaleTile` along K of all rows of an operand to place `place`
  /// of tensor memory.
  void emitScales(const Operand &operand, Lanes descriptor, int64_t scaleTile,
                  int64_t place);
  /// The descriptor of what stage `slot` has of an operand, of which `first` is
  /// that of stage 0.
  Lanes getStage(Lanes first, Value slot, int64_t bytes);
  /// Adds the product of data whose scales begin with this one in tensor
  /// memory.
  void emitProduct(Value accumulator, Value adds, ArrayRef<Value> data,
                   int64_t scale, bool isLong);
  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);
  /// Emits the products of `steps` full stages from `first` on.
  SmallVector<Value> emitFullStages(const RingSlot &first, Lanes steps,
                                    Value accumulator);
  /// Waits for the stage at `slot`, adds its product, and gives it back.
  void emitRingStage(const RingSlot &slot, Lanes left, Value accumulator,
                     Lanes isFirst);
  /// Emits `body` for the thread that issues instructions.
  void emitInIssuer(function_ref<void()> body);
  /// Sets scales behind the `left` (i32) elements of K that a stage has to 0,
  /// in the step that K ends in. The warp runs it.
  void emitClearScales(const RingSlot &slot, Lanes left);

  Lanes getDescriptor(int64_t offset, uint64_t rest);

  KernelBuilder &b;
  const Tcgen05Context &context;
  const ScaledGemmSpec &spec;
  Lanes thread, issuer;
  SmallVector<Operand, 2> operands;
};

} // namespace

ProductEmitter::ProductEmitter(KernelBuilder &b, const Tcgen05Context &context,
                               Lanes thread, Lanes issuer)
    : b(b), context(context), spec(context.spec), thread(thread),
      issuer(issuer) {
  auto add = [&](int64_t dataRows, int64_t data, int64_t scaleRows,
                 int64_t scales, int64_t columns) {
    bool isLong = spec.format.hasLongSteps;
    operands.push_back({scaleRows, getDescriptor(data, kDataDescriptor),
                        isLong ? getDescriptor(data, kLongDescriptor) : Lanes(),
                        getDescriptor(scales, kScaleDescriptor),
                        SharedLayout::getDataBytes(dataRows),
                        SharedLayout::getScaleBytes(spec.format, scaleRows),
                        data, columns});
  };
  add(context.mine.dataA, context.shared.dataA, context.mine.scaleA,
      context.shared.scaleA, context.tensor.scaleA);
  add(context.mine.dataB, context.shared.dataB, context.mine.scaleB,
      context.shared.scaleB, context.tensor.scaleB);
}

Lanes ProductEmitter::getDescriptor(int64_t offset, uint64_t rest) {
  return {b, emitDescriptor(b, context.getShared(b, offset), rest)};
}

void ProductEmitter::emitScales(const Operand &operand, Lanes descriptor,
                                int64_t scaleTile, int64_t place) {
  int64_t bands = operand.rows / kTileRows;
  for (int64_t band = 0; band < bands; ++band) {
    int64_t source = band * spec.format.getScaleTiles() + scaleTile;
    int64_t target = place * bands + band;
    NVVM::Tcgen05CpOp::create(
        b, NVVM::Tcgen05CpShape::SHAPE_32x128b, context.cluster.getGroup(),
        NVVM::Tcgen05CpMulticast::WARPX4, NVVM::Tcgen05CpSrcFormatAttr(),
        getTensorPointer(b, context.tensorMemory,
                         operand.columns + target * kScaleTileColumns),
        descriptor + source * (kTileBytes / kDescriptorUnit));
  }
}

void ProductEmitter::emitProduct(Value accumulator, Value adds,
                                 ArrayRef<Value> data, int64_t scale,
                                 bool isLong) {
  SmallVector<Value> scales;
  for (const Operand &operand : operands) {
    int64_t columns =
        scale / kTileCols * (operand.rows / kTileRows) * kScaleTileColumns;
    scales.push_back(
        getTensorPointer(b, context.tensorMemory, operand.columns + columns));
  }
  uint32_t descriptor =
      products::getDescriptor(spec.format, spec.schedule, scale, isLong);
  NVVM::Tcgen05MMABlockScaleOp::create(
      b, getInstructionKind(spec.format.kind), context.cluster.getGroup(),
      getBlockScale(spec.format), NVVM::Tcgen05MMACollectorOp::DISCARD,
      accumulator, data[0], data[1], b.i32(descriptor), adds, scales[0],
      scales[1]);
}

Lanes ProductEmitter::getStage(Lanes first, Value slot, int64_t bytes) {
  Lanes stage(b, b.zext64(slot));
  return first + stage * (bytes / kDescriptorUnit);
}

void ProductEmitter::emitStage(Value slot, Lanes left, Value accumulator,
                               Lanes isFirst) {
  SmallVector<Lanes> data, scales;
  for (const Operand &operand : operands) {
    data.push_back(getStage(operand.data, slot, operand.dataBytes));
    scales.push_back(getStage(operand.scales, slot, operand.scaleBytes));
  }
  auto emitScaleTile = [&](int64_t scaleTile) {
    for (auto [operand, descriptor] : llvm::zip_equal(operands, scales))
      emitScales(operand, descriptor, scaleTile, scaleTile);
  };
  auto emitStep = [&](Value adds, int64_t step) {
    SmallVector<Value> parts;
    for (Lanes descriptor : data)
      parts.push_back(descriptor + step * (kStepBytes / kDescriptorUnit));
    emitProduct(accumulator, adds, parts, step * spec.format.stepScales,
                /*isLong=*/false);
  };
  auto isNewScaleTile = [&](int64_t step) {
    return step == 0 ||
           spec.format.getScaleTile(step) != spec.format.getScaleTile(step - 1);
  };
  Value yes = isFirst.like(1), adds = isFirst ^ isFirst.like(1);
  if (!left) {
    for (int64_t scaleTile = 0; scaleTile < spec.format.getScaleTiles();
         ++scaleTile)
      emitScaleTile(scaleTile);
    for (int64_t step = 0; step < kTileSteps; ++step)
      emitStep(step == 0 ? adds : yes, step);
    return;
  }
  for (int64_t step = 0; step < kTileSteps; ++step) {
    Lanes exists = compare(arith::CmpIPredicate::ugt, left,
                           step * spec.format.stepElements);
    emit::emitIf(b, exists, [&] {
      if (isNewScaleTile(step))
        emitScaleTile(spec.format.getScaleTile(step));
      emitStep(step == 0 ? adds : yes, step);
    });
  }
}

void ProductEmitter::emitLongStages(ArrayRef<RingSlot> slots, Value accumulator,
                                    Lanes isFirst) {
  int64_t stepScales = 2 * kLongStepBytes / spec.format.block;
  int64_t copySteps = kLongScaleTiles * kTileCols / stepScales;
  Value yes = isFirst.like(1), adds = isFirst ^ isFirst.like(1);
  int64_t arrived = 0;
  auto waitFor = [&](int64_t stage) {
    for (; arrived <= stage; ++arrived)
      context.stageFull.emitWaitFull(b, slots[arrived]);
  };
  auto emitScaleTile = [&](int64_t scaleTile) {
    int64_t stage = scaleTile / spec.format.getScaleTiles();
    waitFor(stage);
    for (const Operand &operand : operands)
      emitScales(
          operand,
          getStage(operand.scales, slots[stage].index, operand.scaleBytes),
          scaleTile % spec.format.getScaleTiles(), scaleTile % kLongScaleTiles);
  };
  for (int64_t step = 0; step < kLongSteps; ++step) {
    int64_t begin = step * kLongStepBytes, end = begin + kLongStepBytes;
    int64_t stage = begin / kRowBytes, last = (end - 1) / kRowBytes;
    waitFor(last);
    if (step % copySteps == 0)
      for (int64_t i = 0; i < kLongScaleTiles; ++i)
        emitScaleTile(step / copySteps * kLongScaleTiles + i);
    SmallVector<Value> data;
    for (const Operand &operand : operands) {
      Lanes next = getStage(getDescriptor(operand.offset, /*rest=*/0),
                            slots[last].index, operand.dataBytes);
      data.push_back(
          (getStage(operand.longData, slots[stage].index, operand.dataBytes) +
           begin % kRowBytes / kDescriptorUnit) |
          next << kNextAddressShift);
    }
    emitProduct(accumulator, step == 0 ? adds : yes, data,
                step % copySteps * stepScales, /*isLong=*/true);
    if (end / kRowBytes > stage)
      context.cluster.emitCommitToAll(
          b, context.stageEmpty.get(b, slots[stage].index));
  }
}

void ProductEmitter::emitInIssuer(function_ref<void()> body) {
  if (issuer)
    emit::emitIf(b, issuer, body);
  else
    body();
}

void ProductEmitter::emitClearScales(const RingSlot &slot, Lanes left) {
  Lanes inStep = left & (spec.format.stepElements - 1);
  Lanes isPartial = compare(arith::CmpIPredicate::ne, inStep, 0);
  emit::emitIf(b, isPartial, [&] {
    const Cluster &cluster = context.cluster;
    // A thread that is a turn of the ring ahead of the one that issues would
    // take the phase before for this one.
    NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
    context.stageFull.emitWaitFull(b, slot,
                                   cluster.isPair()
                                       ? NVVM::MemScopeKind::CLUSTER
                                       : NVVM::MemScopeKind::CTA);
    // Rows of four scales, of which a thread has four (Numerics, section 12).
    Lanes scales = left >> llvm::Log2_64(spec.format.block);
    Lanes scaleTile = scales >> llvm::Log2_64(kTileCols);
    Lanes bits = (scales & (kTileCols - 1)) << 3;
    Lanes mask = (bits.like(1) << bits) - 1;
    Lanes lane = numerics::getLane(thread);
    constexpr int64_t threadBytes = kTileBytes / kWarpThreads;
    Lanes place = scaleTile * kTileBytes + lane * threadBytes;
    auto clear = [&](Value address) {
      SmallVector<Lanes> words =
          emitLoadWords(b, address, threadBytes, threadBytes);
      for (Lanes &word : words)
        word = word & mask;
      emitStoreWords(b, words, address, threadBytes);
    };
    const int64_t offsets[] = {context.shared.scaleA, context.shared.scaleB};
    for (auto [operand, offset] : llvm::zip_equal(operands, offsets))
      for (int64_t band = 0; band < operand.rows / kTileRows; ++band) {
        Value memory = context.getShared(
            b, offset + band * spec.format.getScaleTiles() * kTileBytes,
            slot.index, operand.scaleBytes);
        Value address = b.offset(memory, b.getI8Type(), place);
        clear(address);
        if (cluster.isPair())
          clear(cluster.toPeer(b, address));
      }
    NVVM::FenceProxyOp::create(
        b, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(
            b.getContext(), cluster.isPair() ? NVVM::SharedSpace::shared_cluster
                                             : NVVM::SharedSpace::shared_cta));
    NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  });
}

void ProductEmitter::emitRingStage(const RingSlot &slot, Lanes left,
                                   Value accumulator, Lanes isFirst) {
  context.stageFull.emitWaitFull(b, slot);
  emitStage(slot.index, left, accumulator, isFirst);
  context.cluster.emitCommitToAll(b, context.stageEmpty.get(b, slot.index));
}

SmallVector<Value> ProductEmitter::emitFullStages(const RingSlot &first,
                                                  Lanes steps,
                                                  Value accumulator) {
  using Predicate = arith::CmpIPredicate;
  int64_t stages = spec.schedule.getStages();
  SmallVector<Value> slots = first.get();
  Lanes done(b, b.i32(0));
  if (spec.format.hasLongSteps) {
    Lanes groups(b, arith::DivUIOp::create(b, steps, b.i32(kLongStages)));
    done = groups * kLongStages;
    slots = emitCount(b, groups, slots, [&](Value group, ValueRange carried) {
      SmallVector<RingSlot> three = {RingSlot::of(carried)};
      while (three.size() < kLongStages)
        three.push_back(three.back().getNext(b, stages));
      emitLongStages(three, accumulator,
                     compare(Predicate::eq, Lanes(b, group), 0));
      return three.back().getNext(b, stages).get();
    });
  }
  Lanes others = spec.format.hasLongSteps ? steps - done : steps;
  return emitCount(b, others, slots, [&](Value step, ValueRange carried) {
    Lanes number = Lanes(b, step);
    if (spec.format.hasLongSteps)
      number = number + done;
    RingSlot slot = RingSlot::of(carried);
    emitRingStage(slot, /*left=*/Lanes(), accumulator,
                  compare(Predicate::eq, number, 0));
    return slot.getNext(b, stages).get();
  });
}

/// Emits the products of a tile. `carried` are the slots of the rings of
/// stages, of full and of empty accumulators.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  RingSlot stage = RingSlot::of(carried);
  RingSlot full = RingSlot::of(carried.drop_front(2));
  RingSlot empty = RingSlot::of(carried.drop_front(4));
  emitInIssuer([&] {
    context.sumEmpty.emitWaitEmpty(b, empty);
    NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  });

  int64_t distance = context.tensor.sums[1] - context.tensor.sums[0];
  Value accumulator = getTensorPointer(b, Lanes(b, context.tensorMemory) +
                                              Lanes(b, full.index) * distance);
  int64_t tileElements = spec.format.getStageElements();
  int64_t stages = spec.schedule.getStages();
  Lanes depth = tile.product.depth, begin = tile.begin, end = tile.end;
  // A part of K without elements can begin behind the last full stage.
  Lanes whole = depth >> llvm::Log2_64(tileElements);
  Lanes steps = minUnsigned(maxUnsigned(whole, begin), end) - begin;
  Lanes left = depth & (tileElements - 1);
  Type types[] = {b.getI32Type(), b.getI32Type()};
  auto emitFull = [&] { return emitFullStages(stage, steps, accumulator); };
  SmallVector<Value> slots =
      issuer
          ? emitIfElse(b, issuer, types, emitFull,
                       [&] { return stage.getAfter(b, stages, steps).get(); })
          : emitFull();
  using Predicate = arith::CmpIPredicate;
  slots = emitIfElse(
      b, compare(Predicate::ugt, end - begin, steps), types,
      [&] {
        Lanes isFirst = compare(Predicate::eq, steps, 0);
        RingSlot slot = RingSlot::of(slots);
        if (issuer)
          emitClearScales(slot, left);
        emitInIssuer([&] { emitRingStage(slot, left, accumulator, isFirst); });
        return slot.getNext(b, stages).get();
      },
      [&] { return slots; });
  emitInIssuer([&] {
    context.cluster.emitCommitToPair(b, context.sumFull.get(b, full.index));
  });
  llvm::append_range(slots, full.getNext(b, kAccumulators).get());
  llvm::append_range(slots, empty.getNext(b, context.sumEmptySlots).get());
  return slots;
}

void ProductEmitter::emit() {
  SmallVector<Value> inits;
  for (int i = 0; i < 3; ++i)
    llvm::append_range(inits, RingSlot::getFirst(b).get());
  context.order.emitTiles(b, inits,
                          [&](const TileCoord &tile, ValueRange carried) {
                            return emitTile(tile, carried);
                          });
}

void emitProducts(KernelBuilder &b, const Tcgen05Context &context,
                  Value thread) {
  if (!ProductEmitter::hasPartialSteps(context.spec.format))
    return emitInOneThread(b, [&] {
      ProductEmitter(b, context, {b, thread}, /*issuer=*/Lanes()).emit();
    });
  Value issuer = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  ProductEmitter(b, context, {b, thread}, {b, issuer}).emit();
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

} // namespace blockscale::products

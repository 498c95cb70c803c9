//===- PlainTcgen05Products.cpp - Steps into accumulators ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoded stage says that plain rows are there, too: whoever decodes has
// waited for both operands.
//
// An instruction that begins beyond K is not issued: elements there can be
// those of another group, or have scales that are no numbers. Blocks are 16
// elements or 32, so that K never ends in an instruction.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainTcgen05Roles.h"
#include "Products/Arithmetic.h"
#include "blockscale/IR/Upstream.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// The instruction descriptor (PTX ISA, "Instruction descriptor"): sums are
/// f32, and both operands bf16 or f16, with K along their rows.
static uint32_t getDescriptor(const PlainTcgen05Spec &spec) {
  uint32_t code = spec.format.plain.isBF16();
  const DecodedFormat &format = spec.format;
  return 1u << 4 | code << 7 | code << 10 |
         static_cast<uint32_t>(format.isOtherMnMajor()) << 15 |
         static_cast<uint32_t>(format.isPlainMnMajor()) << 16 |
         static_cast<uint32_t>(spec.getPlainRows() >> 3) << 17 |
         static_cast<uint32_t>(kLaneRows >> 4) << 24;
}

static void emitCommit(KernelBuilder &b, Value barrier) {
  NVVM::Tcgen05CommitOp::create(b, barrier, /*multicastMask=*/Value(),
                                NVVM::CTAGroupKind::CTA_1);
}

namespace {

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const PlainTcgen05Context &context)
      : b(b), context(context), spec(context.spec),
        plain(emitDescriptor(b, context.getShared(b, context.shared.plain),
                             getDataDescriptor(spec.format.isPlainMnMajor()))) {
    if (!spec.format.hasScales)
      laneRows =
          emitDescriptor(b, context.getShared(b, context.shared.codes),
                         getDataDescriptor(spec.format.isOtherMnMajor()));
  }

  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

private:
  /// Adds the product of a step, whose first operand `getFirst` gives for each
  /// of its instructions.
  void emitStep(function_ref<Value(int64_t)> getFirst, Lanes plain, Lanes left,
                Value accumulator, Lanes adds);
  /// Adds the product of the steps of a full stage that begin before K ends, of
  /// which `left` (i32) elements are left. `slot` is that of the stage in its
  /// ring or, with scales, in that of decoded stages; `plain` (i64) describes
  /// its plain rows.
  void emitStage(Value slot, Lanes plain, Lanes left, Value accumulator,
                 Lanes adds);

  KernelBuilder &b;
  const PlainTcgen05Context &context;
  const PlainTcgen05Spec &spec;
  /// The descriptors of the plain rows of the first stage and, without scales,
  /// of the rows of the other operand, i64.
  Value plain, laneRows;
};

} // namespace

void ProductEmitter::emitStep(function_ref<Value(int64_t)> getFirst,
                              Lanes plain, Lanes left, Value accumulator,
                              Lanes adds) {
  for (int64_t i = 0; i < kStepProducts; ++i) {
    auto emitProduct = [&] {
      NVVM::Tcgen05MMAOp::create(
          b, upstream::KindOf<NVVM::Tcgen05MMAOp>::F16,
          NVVM::CTAGroupKind::CTA_1, NVVM::Tcgen05MMACollectorOp::DISCARD,
          /*aShift=*/false, accumulator, getFirst(i),
          plain + i * getInstructionUnits(spec.format.isPlainMnMajor()),
          b.i32(getDescriptor(spec)), i == 0 ? adds : adds.like(1),
          /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
    };
    if (i == 0)
      emitProduct();
    else
      emit::emitIf(b, compare(Predicate::ugt, left, i * kTcgen05Elements),
                   emitProduct);
  }
}

void ProductEmitter::emitStage(Value slot, Lanes plain, Lanes left,
                               Value accumulator, Lanes adds) {
  const PlainTcgen05Layout &shared = context.shared;
  int64_t each = getInstructionUnits(spec.format.isOtherMnMajor());
  Lanes first = spec.format.hasScales
                    ? Lanes(b, context.tensorMemory) + spec.getDecodedColumn() +
                          Lanes(b, slot) * spec.getDecodedColumns()
                    : Lanes(b, laneRows) +
                          toI64(b, slot) * (shared.codeBytes / kDescriptorUnit);
  for (int64_t step = 0; step < spec.getStageSteps(); ++step) {
    auto emitProductsOfStep = [&] {
      // LLVM 22 writes a descriptor with a constant as an address is written.
      Lanes inStage(b, b.hide(b.i32(step)));
      Lanes units = toI64(b, inStage) * (kPlainStepBytes / kDescriptorUnit);
      auto getFirst = [&](int64_t i) -> Value {
        if (spec.format.hasScales)
          return getTensorPointer(b, first + step * kDecodedColumns,
                                  i * kDecodedColumns / kStepProducts);
        return (step == 0 ? first : first + units * kLaneRows) + i * each;
      };
      emitStep(getFirst,
               step == 0 ? plain : plain + units * spec.getPlainRows(),
               left - step * kDecodedStep, accumulator,
               step == 0 ? adds : adds.like(1));
    };
    if (step == 0)
      emitProductsOfStep();
    else
      emit::emitIf(b, compare(Predicate::ugt, left, step * kDecodedStep),
                   emitProductsOfStep);
  }
}

/// `carried` are the slots of the rings of stages, of decoded stages and of
/// accumulators.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  RingSlot sum = RingSlot::of(carried.drop_front(4));
  // The fence behind the wait for each stage stands behind this wait, too.
  context.sumEmpty.emitWaitEmpty(b, sum);
  Value accumulator =
      getTensorPointer(b, Lanes(b, context.tensorMemory) +
                              Lanes(b, sum.index) * spec.getPlainRows());
  Lanes tileStep = tile.begin * spec.getStageSteps();
  SmallVector<Value> next = context.emitStages(
      b, tile, carried.take_front(4),
      [&](const RingSlot &stage, Lanes firstStep, Lanes left,
          ValueRange carried) {
        bool isDecoded = spec.format.hasScales;
        RingSlot decoded = RingSlot::of(carried);
        if (isDecoded)
          context.decodedFull.emitWaitFull(b, decoded);
        else
          context.stageFull.emitWaitFull(b, stage);
        NVVM::Tcgen05FenceOp::create(b,
                                     NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
        emitStage(
            isDecoded ? decoded.index : stage.index,
            Lanes(b, plain) + toI64(b, stage.index) *
                                  (context.shared.plainBytes / kDescriptorUnit),
            left, accumulator, compare(Predicate::ne, firstStep, tileStep));
        if (isDecoded)
          emitCommit(b, context.decodedEmpty.get(b, decoded.index));
        emitCommit(b, context.stageEmpty.get(b, stage.index));
        return isDecoded ? decoded.getNext(b, spec.getDecodedStages()).get()
                         : SmallVector<Value>(carried);
      });
  emitCommit(b, context.sumFull.get(b, sum.index));
  llvm::append_range(next, sum.getNext(b, spec.getAccumulators()).get());
  return next;
}

void emitProducts(KernelBuilder &b, const PlainTcgen05Context &context) {
  ProductEmitter emitter(b, context);
  SmallVector<Value> inits;
  for (int i = 0; i < 3; ++i)
    llvm::append_range(inits, RingSlot::getFirst(b).get());
  context.order.emitTiles(b, inits,
                          [&](const TileCoord &tile, ValueRange carried) {
                            return emitter.emitTile(tile, carried);
                          });
}

} // namespace blockscale::products

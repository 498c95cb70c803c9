//===- PlainTcgen05Products.cpp - Steps into accumulators ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain rows have a ring of their own. Tiles of many of them have parts of
// stages there: of a decoded stage, whose parts are multiplied one after the
// other.
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
        plainRows(
            emitDescriptor(b, context.getShared(b, context.shared.plain),
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
  /// Adds the product of the steps of part `part` of a full stage that begin
  /// before K ends, of which `left` (i32) elements are left behind the stage's
  /// first one. `slot` is that of the stage in its ring or, with scales, in
  /// that of decoded stages. Waits for the plain rows at `plain`, and returns
  /// the slot after it.
  RingSlot emitPart(int64_t part, Value slot, const RingSlot &plain, Lanes left,
                    Value accumulator, Lanes adds);

  KernelBuilder &b;
  const PlainTcgen05Context &context;
  const PlainTcgen05Spec &spec;
  /// The descriptors of the plain rows of the first stage and, without scales,
  /// of the rows of the other operand, i64.
  Value plainRows, laneRows;
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

RingSlot ProductEmitter::emitPart(int64_t part, Value slot,
                                  const RingSlot &plain, Lanes left,
                                  Value accumulator, Lanes adds) {
  const PlainTcgen05Layout &shared = context.shared;
  context.plainFull.emitWaitFull(b, plain);
  Lanes rows = Lanes(b, plainRows) +
               toI64(b, plain.index) * (shared.plainBytes / kDescriptorUnit);
  int64_t each = getInstructionUnits(spec.format.isOtherMnMajor());
  Lanes first = spec.format.hasScales
                    ? Lanes(b, context.tensorMemory) + spec.getDecodedColumn() +
                          Lanes(b, slot) * spec.getDecodedColumns()
                    : Lanes(b, laneRows) +
                          toI64(b, slot) * (shared.codeBytes / kDescriptorUnit);
  for (int64_t inPart = 0; inPart < spec.getPlainSteps(); ++inPart) {
    int64_t step = part * spec.getPlainSteps() + inPart;
    auto emitProductsOfStep = [&] {
      // LLVM 22 writes a descriptor with a constant as an address is written.
      Lanes number(b, b.hide(b.i32(inPart)));
      Lanes units = toI64(b, number) * (kPlainStepBytes / kDescriptorUnit);
      auto getFirst = [&](int64_t i) -> Value {
        if (spec.format.hasScales)
          return getTensorPointer(b, first + step * kDecodedColumns,
                                  i * kDecodedColumns / kStepProducts);
        return (inPart == 0 ? first : first + units * kLaneRows) + i * each;
      };
      emitStep(getFirst,
               inPart == 0 ? rows : rows + units * spec.getPlainRows(),
               left - step * kDecodedStep, accumulator,
               step == 0 ? adds : adds.like(1));
    };
    if (inPart == 0)
      emitProductsOfStep();
    else
      emit::emitIf(b, compare(Predicate::ugt, left, step * kDecodedStep),
                   emitProductsOfStep);
  }
  emitCommit(b, context.plainEmpty.get(b, plain.index));
  return plain.getNext(b, spec.schedule.getStages());
}

/// `carried` are the slots of the rings of stages, of decoded stages, of plain
/// rows and of accumulators.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  RingSlot sum = RingSlot::of(carried.take_back(2));
  // The fence behind the wait for each stage stands behind this wait, too.
  context.sumEmpty.emitWaitEmpty(b, sum);
  Value accumulator =
      getTensorPointer(b, Lanes(b, context.tensorMemory) +
                              Lanes(b, sum.index) * spec.getPlainRows());
  Lanes tileStep = tile.begin * spec.getStageSteps();
  SmallVector<Value> next = context.emitStages(
      b, tile, carried.drop_back(2),
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
        SmallVector<Value> plain(carried.take_back(2));
        for (int64_t part = 0; part < spec.plainParts; ++part) {
          auto emitOwn = [&, slot = RingSlot::of(plain)] {
            return emitPart(part, isDecoded ? decoded.index : stage.index, slot,
                            left, accumulator,
                            compare(Predicate::ne, firstStep, tileStep))
                .get();
          };
          if (part == 0 || *spec.hasWholeStages) {
            plain = emitOwn();
            continue;
          }
          int64_t before = part * spec.getPlainSteps() * kDecodedStep;
          SmallVector<Value> kept = plain;
          plain = emitIfElse(b, compare(Predicate::ugt, left, before),
                             TypeRange(ValueRange(kept)), emitOwn,
                             [&] { return kept; });
        }
        emitCommit(b, isDecoded ? context.decodedEmpty.get(b, decoded.index)
                                : context.stageEmpty.get(b, stage.index));
        SmallVector<Value> next =
            isDecoded ? decoded.getNext(b, spec.getDecodedStages()).get()
                      : SmallVector<Value>(carried.take_front(2));
        llvm::append_range(next, plain);
        return next;
      });
  emitCommit(b, context.sumFull.get(b, sum.index));
  llvm::append_range(next, sum.getNext(b, spec.getAccumulators()).get());
  return next;
}

void emitProducts(KernelBuilder &b, const PlainTcgen05Context &context) {
  ProductEmitter emitter(b, context);
  SmallVector<Value> inits;
  for (int i = 0; i < 4; ++i)
    llvm::append_range(inits, RingSlot::getFirst(b).get());
  context.order.emitTiles(b, inits,
                          [&](const TileCoord &tile, ValueRange carried) {
                            return emitter.emitTile(tile, carried);
                          });
}

} // namespace blockscale::products

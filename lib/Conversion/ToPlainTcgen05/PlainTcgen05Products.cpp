//===- PlainTcgen05Products.cpp - Steps into accumulators ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoded step says that its stage is there, plain rows, too: whoever decodes
// has waited for both operands.
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
  return 1u << 4 | code << 7 | code << 10 |
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
                             kDataDescriptor)) {}

  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

private:
  /// Adds the product of a decoded step at `slot` and the plain rows that
  /// `plain` (i64) describes. Of K `left` (i32) elements are left.
  void emitStep(const RingSlot &slot, Lanes plain, Lanes left,
                Value accumulator, Lanes adds);

  KernelBuilder &b;
  const PlainTcgen05Context &context;
  const PlainTcgen05Spec &spec;
  /// The descriptor of the plain rows of the first stage, i64.
  Value plain;
};

} // namespace

void ProductEmitter::emitStep(const RingSlot &slot, Lanes plain, Lanes left,
                              Value accumulator, Lanes adds) {
  context.decodedFull.emitWaitFull(b, slot);
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Lanes decoded = Lanes(b, context.tensorMemory) + spec.getDecodedColumn() +
                  Lanes(b, slot.index) * kDecodedColumns;
  for (int64_t i = 0; i < kStepProducts; ++i) {
    auto emitProduct = [&] {
      NVVM::Tcgen05MMAOp::create(
          b, upstream::KindOf<NVVM::Tcgen05MMAOp>::F16,
          NVVM::CTAGroupKind::CTA_1, NVVM::Tcgen05MMACollectorOp::DISCARD,
          /*aShift=*/false, accumulator,
          getTensorPointer(b, decoded, i * kDecodedColumns / kStepProducts),
          plain + i * (kPlainStepBytes / kStepProducts / kDescriptorUnit),
          b.i32(getDescriptor(spec)), i == 0 ? adds : adds.like(1),
          /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
    };
    if (i == 0)
      emitProduct();
    else
      emit::emitIf(b, compare(Predicate::ugt, left, i * kTcgen05Elements),
                   emitProduct);
  }
  emitCommit(b, context.decodedEmpty.get(b, slot.index));
}

/// `carried` are the slots of the rings of stages, of decoded steps and of
/// accumulators.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  RingSlot sum = RingSlot::of(carried.drop_front(4));
  context.sumEmpty.emitWaitEmpty(b, sum);
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Value accumulator =
      getTensorPointer(b, Lanes(b, context.tensorMemory) +
                              Lanes(b, sum.index) * spec.getPlainRows());
  Lanes tileStep = tile.begin * spec.getStageSteps();
  SmallVector<Value> next = context.emitStages(
      b, tile, carried.take_front(4),
      [&](const RingSlot &stage, Lanes firstStep, Lanes left,
          ValueRange carried) {
        Lanes ofStage =
            Lanes(b, plain) + toI64(b, stage.index) *
                                  (context.shared.plainBytes / kDescriptorUnit);
        SmallVector<Value> next = emitCount(
            b, context.getSteps(b, left), carried,
            [&](Lanes inStage, ValueRange carried) {
              RingSlot slot = RingSlot::of(carried);
              int64_t stepBytes = spec.getPlainRows() * kPlainStepBytes;
              emitStep(slot,
                       ofStage +
                           toI64(b, inStage) * (stepBytes / kDescriptorUnit),
                       left - inStage * kDecodedStep, accumulator,
                       compare(Predicate::ne, firstStep + inStage, tileStep));
              return slot.getNext(b, kDecodedSteps).get();
            });
        emitCommit(b, context.stageEmpty.get(b, stage.index));
        return next;
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

//===- WgmmaProducts.cpp - Stages into sums -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's nvvm.wgmma.mma_async has no form whose first operand is in registers,
// so the instructions of a step are inline PTX. Those of a stage run while the
// elements of the next step are decoded: of the same stage, or the first one of
// the next. Until the stage is complete nothing but these instructions uses
// their registers, which the wait takes as operands, so that they are not used
// again before.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/MatrixDescriptor.h"
#include "WgmmaRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Descriptor of a tile whose rows of 128 bytes are swizzled (PTX ISA,
/// "Asynchronous Warpgroup Level Matrix Shared Memory Layout"): groups of eight
/// rows are 1024 bytes apart.
static constexpr uint64_t kPlainDescriptor =
    uint64_t(1) << 16 | uint64_t(1024 / kDescriptorUnit) << 32 |
    uint64_t(1) << 62;

namespace {

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const WgmmaContext &context,
                 const WgmmaThread &thread)
      : b(b), context(context), thread(thread), results(b, context, thread),
        count(kWarpgroupRows * context.tile.plainRows / kWarpgroupThreads) {}

  void emit();

private:
  /// Begins to add the products of instructions [first, first + number) of a
  /// step to the sums. `registers` has the elements of the scaled operand.
  SmallVector<Value> emitMma(ValueRange sums, ArrayRef<Value> registers,
                             Value descriptor, int64_t first, int64_t number);
  /// Waits until the sums are complete, which use `registers`.
  SmallVector<Value> emitWait(ValueRange sums, ArrayRef<Value> registers);
  /// The descriptor of the plain operand of a step.
  Value getDescriptor(const WgmmaStep &step);
  SmallVector<Value> emitDecode(const TileCoord &tile, const WgmmaStep &step) {
    return gemm::emitDecode(b, context, thread, step, tile.col);
  }
  /// Waits for the first step of a stage and decodes it.
  SmallVector<Value> emitFirstStep(const TileCoord &tile, const RingSlot &slot,
                                   Value stage);
  /// Gives the stage back to the one who fills it.
  void emitRelease(Value slot);
  /// Adds the product of a full stage. Values are the slot, the sums and the
  /// elements of the first step; those of the next stage are given if
  /// `hasNext` (i1).
  SmallVector<Value> emitStage(const TileCoord &tile, Value stage,
                               Value hasNext, ValueRange values);
  SmallVector<Value> emitStages(const TileCoord &tile, Value stages,
                                ValueRange values);
  /// Adds the product of a stage that has `left` (i32) elements of K.
  SmallVector<Value> emitLastStage(const TileCoord &tile, Value stage,
                                   Lanes left, ValueRange values);
  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

  KernelBuilder &b;
  const WgmmaContext &context;
  const WgmmaThread &thread;
  WgmmaResults results;
  /// Sums that a thread has.
  int64_t count;
  /// The descriptor of the plain operand of stage 0, i64.
  Value plain;
};

} // namespace

/// The operands of inline PTX that has the sums as results and, in the same
/// registers, as its first operands.
static std::string getSumConstraints(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += "=f,";
  for (int64_t i = 0; i < count; ++i)
    text += std::to_string(i) + ",";
  return text;
}

/// Emits inline PTX whose results are sums.
static SmallVector<Value> emitOnSums(KernelBuilder &b, int64_t count,
                                     ValueRange operands, StringRef text,
                                     StringRef constraints) {
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value all = LLVM::InlineAsmOp::create(
                  b, result, operands, text,
                  getSumConstraints(count) + constraints.str() + "~{memory}",
                  /*has_side_effects=*/true, /*is_align_stack=*/false,
                  LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                  /*operand_attrs=*/ArrayAttr())
                  .getRes();
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return values;
}

SmallVector<Value> ProductEmitter::emitMma(ValueRange sums,
                                           ArrayRef<Value> registers,
                                           Value descriptor, int64_t first,
                                           int64_t number) {
  StringRef type = context.spec.format.plain.isBF16() ? "bf16" : "f16";
  std::string text, constraints;
  llvm::raw_string_ostream os(text);
  SmallVector<Value> operands(sums);
  os << "{ .reg .pred adds; setp.eq.u32 adds, 0, 0; "
        "wgmma.fence.sync.aligned; ";
  // Operands are results, what they were before, registers and descriptors.
  int64_t next = 2 * count;
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(i);
  for (int64_t i = first; i < first + number; ++i) {
    os << "wgmma.mma_async.sync.aligned.m64n" << context.tile.plainRows
       << "k16.f32." << type << "." << type << " {" << list << "}, {";
    for (int64_t j = 0; j < 4; ++j) {
      os << (j ? ", $" : "$") << next++;
      operands.push_back(registers[4 * i + j]);
    }
    os << "}, $" << next++ << ", adds, 1, 1, 0; ";
    operands.push_back(Lanes(b, descriptor) +
                       i * (kWgmmaElements * 2 / kDescriptorUnit));
    constraints += "r,r,r,r,l,";
  }
  os << "wgmma.commit_group.sync.aligned; }";
  return emitOnSums(b, count, operands, text, constraints);
}

SmallVector<Value> ProductEmitter::emitWait(ValueRange sums,
                                            ArrayRef<Value> registers) {
  SmallVector<Value> operands(sums);
  std::string constraints;
  for (Value each : registers) {
    operands.push_back(each);
    constraints += "r,";
  }
  return emitOnSums(b, count, operands, "wgmma.wait_group.sync.aligned 0;",
                    constraints);
}

Value ProductEmitter::getDescriptor(const WgmmaStep &step) {
  int64_t stepBytes = context.tile.plainRows * kPlainRowBytes;
  return Lanes(b, plain) +
         toI64(b, step.slot) * (context.shared.plainBytes / kDescriptorUnit) +
         toI64(b, step.inStage) * (stepBytes / kDescriptorUnit);
}

SmallVector<Value> ProductEmitter::emitFirstStep(const TileCoord &tile,
                                                 const RingSlot &slot,
                                                 Value stage) {
  context.stageFull.emitWaitFull(b, slot);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  Lanes number = Lanes(b, stage) * context.spec.getStageSteps();
  return emitDecode(tile, {slot.index, b.i32(0), number});
}

void ProductEmitter::emitRelease(Value slot) {
  // One thread arrives for all of a warp, whose reads come before.
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitInOneThread(b, [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(),
                                   context.stageEmpty.get(b, slot),
                                   /*count=*/Value(), NVVM::MemScopeKind::CTA);
  });
}

SmallVector<Value> ProductEmitter::emitStage(const TileCoord &tile, Value stage,
                                             Value hasNext, ValueRange values) {
  int64_t steps = context.spec.getStageSteps();
  RingSlot slot = RingSlot::of(values);
  SmallVector<Value> sums(values.drop_front(2).take_front(count));
  SmallVector<Value> next(values.drop_front(2 + count)), used;
  for (int64_t i = 0; i < steps; ++i) {
    WgmmaStep step{slot.index, b.i32(i), Lanes(b, stage) * steps + i};
    if (i > 0)
      next = emitDecode(tile, step);
    llvm::append_range(used, next);
    sums = emitMma(sums, next, getDescriptor(step), 0, kStepProducts);
  }
  RingSlot after = slot.getNext(b, context.spec.schedule.getStages());
  next = emitIfElse(
      b, hasNext, TypeRange(ValueRange(next)),
      [&] { return emitFirstStep(tile, after, Lanes(b, stage) + 1); },
      [&] { return SmallVector<Value>(kStepRegisters, b.i32(0)); });
  sums = emitWait(sums, used);
  emitRelease(slot.index);
  SmallVector<Value> results = after.get();
  llvm::append_range(results, sums);
  llvm::append_range(results, next);
  return results;
}

SmallVector<Value> ProductEmitter::emitStages(const TileCoord &tile,
                                              Value stages, ValueRange values) {
  SmallVector<Value> carried(values);
  llvm::append_range(carried,
                     emitFirstStep(tile, RingSlot::of(values), tile.begin));
  carried = emitCount(b, stages, carried, [&](Value number, ValueRange values) {
    Lanes next = Lanes(b, number) + 1;
    return emitStage(tile, Lanes(b, tile.begin) + Lanes(b, number),
                     isBelow(b, next, stages), values);
  });
  carried.truncate(values.size());
  return carried;
}

SmallVector<Value> ProductEmitter::emitLastStage(const TileCoord &tile,
                                                 Value stage, Lanes left,
                                                 ValueRange values) {
  RingSlot slot = RingSlot::of(values);
  context.stageFull.emitWaitFull(b, slot);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  Value steps = emitCeilDiv(b, left, kStepElements);
  SmallVector<Value> sums = emitCount(
      b, steps, values.drop_front(2), [&](Value number, ValueRange values) {
        Lanes inProduct =
            Lanes(b, stage) * context.spec.getStageSteps() + Lanes(b, number);
        WgmmaStep step{slot.index, number, inProduct};
        SmallVector<Value> registers = emitDecode(tile, step);
        Value descriptor = getDescriptor(step);
        Lanes ofStep = left - Lanes(b, number) * kStepElements;
        // Elements of K beyond the product can be those of another group, or
        // have scales that are no numbers.
        SmallVector<Value> sums(values);
        for (int64_t i = 0; i < kStepProducts; ++i)
          sums = emitIfElse(
              b, compare(Predicate::sgt, ofStep, i * kWgmmaElements),
              TypeRange(ValueRange(sums)),
              [&] {
                return emitWait(emitMma(sums, registers, descriptor, i, 1),
                                registers);
              },
              [&] { return sums; });
        return sums;
      });
  emitRelease(slot.index);
  SmallVector<Value> results =
      slot.getNext(b, context.spec.schedule.getStages()).get();
  llvm::append_range(results, sums);
  return results;
}

/// Emits the products of a tile. `carried` is the slot of the ring, and the
/// parity of parts of results.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  int64_t stageElements = context.spec.stageElements;
  Lanes depth(b, tile.product.depth);
  Lanes begin(b, tile.begin), end(b, tile.end);
  Lanes stages =
      minUnsigned(end, depth >> llvm::Log2_64(stageElements)) - begin;
  SmallVector<Value> values(carried.take_front(2));
  values.append(count, b.f32(0));
  values = emitIfElse(
      b, compare(Predicate::sgt, stages, 0), TypeRange(ValueRange(values)),
      [&] { return emitStages(tile, stages, values); }, [&] { return values; });
  values = emitIfElse(
      b, compare(Predicate::ugt, end - begin, stages),
      TypeRange(ValueRange(values)),
      [&] {
        return emitLastStage(tile, begin + stages, depth & (stageElements - 1),
                             values);
      },
      [&] { return values; });
  Value parity =
      results.emitSums(tile, ValueRange(values).drop_front(2), carried.back());
  return {values[0], values[1], parity};
}

void ProductEmitter::emit() {
  plain = emitDescriptor(b, context.getShared(b, context.shared.plain),
                         kPlainDescriptor);
  SmallVector<Value> first = RingSlot::getFirst(b).get();
  first.push_back(b.i32(0));
  context.order.emitTiles(
      b, first,
      [&](const TileCoord &tile, ValueRange carried) {
        return emitTile(tile, carried);
      },
      &results);
}

void emitProducts(KernelBuilder &b, const WgmmaContext &context,
                  const WgmmaThread &thread) {
  ProductEmitter(b, context, thread).emit();
}

} // namespace blockscale::gemm

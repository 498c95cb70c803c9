//===- WgmmaProducts.cpp - Stages into sums -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's nvvm.wgmma.mma_async has no form whose first operand is in registers,
// so the instructions of a step are inline PTX. It waits for them, too: sums
// are values of the code around it only when they are complete, and nothing can
// move them to other registers before. The other warpgroup multiplies in the
// meantime.
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
  /// Adds the products of instructions [first, first + number) of a step.
  SmallVector<Value> emitMma(ValueRange sums, ArrayRef<Value> registers,
                             Value descriptor, int64_t first, int64_t number);
  /// Adds the product of a stage. `left` (i32) are the elements of K that it
  /// has; null where it is full. Values are the slot and the sums.
  SmallVector<Value> emitStage(const TileCoord &tile, Value step, Value left,
                               ValueRange values);
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

SmallVector<Value> ProductEmitter::emitMma(ValueRange sums,
                                           ArrayRef<Value> registers,
                                           Value descriptor, int64_t first,
                                           int64_t number) {
  StringRef type = context.spec.format.plain.isBF16() ? "bf16" : "f16";
  std::string text, constraints;
  llvm::raw_string_ostream os(text), cs(constraints);
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
  }
  os << "wgmma.commit_group.sync.aligned; "
        "wgmma.wait_group.sync.aligned 0; }";
  for (int64_t i = 0; i < count; ++i)
    cs << "=f,";
  for (int64_t i = 0; i < count; ++i)
    cs << i << ",";
  for (int64_t i = 0; i < number; ++i)
    cs << "r,r,r,r,l,";
  cs << "~{memory}";
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value all = LLVM::InlineAsmOp::create(
                  b, result, operands, text, constraints,
                  /*has_side_effects=*/true, /*is_align_stack=*/false,
                  LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                  /*operand_attrs=*/ArrayAttr())
                  .getRes();
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return values;
}

SmallVector<Value> ProductEmitter::emitStage(const TileCoord &tile, Value step,
                                             Value left, ValueRange values) {
  RingSlot slot = RingSlot::of(values);
  SmallVector<Value> sums(values.drop_front(2));
  context.stageFull.emitWaitFull(b, slot);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  Value tileStep = Lanes(b, step) & (context.spec.format.getTileSteps() - 1);
  SmallVector<Value> registers =
      emitDecode(b, context, thread, slot.index, tileStep, tile.col);
  Value descriptor =
      Lanes(b, plain) +
      toI64(b, slot.index) * (context.shared.plainBytes / kDescriptorUnit);
  if (!left)
    sums = emitMma(sums, registers, descriptor, 0, kStepProducts);
  for (int64_t i = 0; left && i < kStepProducts; ++i)
    sums = emitIfElse(
        b, compare(Predicate::ugt, Lanes(b, left), i * kWgmmaElements),
        TypeRange(ValueRange(sums)),
        [&] { return emitMma(sums, registers, descriptor, i, 1); },
        [&] { return sums; });
  // One thread arrives for all of a warp, whose reads come before.
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitInOneThread(b, [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(),
                                   context.stageEmpty.get(b, slot.index),
                                   /*count=*/Value(), NVVM::MemScopeKind::CTA);
  });
  SmallVector<Value> next =
      slot.getNext(b, context.spec.schedule.getStages()).get();
  llvm::append_range(next, sums);
  return next;
}

/// Emits the products of a tile. `carried` is the slot of the ring.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  Lanes depth(b, tile.product.depth);
  Lanes begin(b, tile.begin), end(b, tile.end);
  Lanes steps = minUnsigned(end, depth >> llvm::Log2_64(kStepElements)) - begin;
  SmallVector<Value> values(carried);
  values.append(count, b.f32(0));
  values = emitCount(b, steps, values, [&](Value number, ValueRange values) {
    return emitStage(tile, begin + Lanes(b, number), /*left=*/{}, values);
  });
  // Elements of K beyond the product can be those of another group, or scales
  // that are no numbers.
  values = emitIfElse(
      b, compare(Predicate::ugt, end - begin, steps),
      TypeRange(ValueRange(values)),
      [&] {
        return emitStage(tile, begin + steps, depth & (kStepElements - 1),
                         values);
      },
      [&] { return values; });
  results.emitSums(tile, ValueRange(values).drop_front(2));
  return {values[0], values[1]};
}

void ProductEmitter::emit() {
  plain = emitDescriptor(b, context.getShared(b, context.shared.plain),
                         kPlainDescriptor);
  context.order.emitTiles(
      b, RingSlot::getFirst(b).get(),
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

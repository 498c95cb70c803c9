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
// Teams that hand over sums (`order chain`) take turns at the stages of a tile,
// as others do. Each decodes its stage into registers, all steps of it, waits
// for the sums of the stage before, which the team before it has stored in
// shared memory, adds its products to them, and stores what the next team waits
// for. So teams decode at the same time, and instructions follow each other
// along K. There is one place for them, which a thread reads and writes for its
// own number in each team. The team of the last stage has the sums in the end,
// and stores them for the results, which all teams make.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/MatrixDescriptor.h"
#include "WgmmaRoles.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/SplitFactor.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Descriptor of a tile whose rows of 128 bytes are swizzled (PTX ISA,
/// "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
static constexpr uint64_t getTileDescriptor(bool isMnMajor) {
  return getTileOffsets(isMnMajor) | uint64_t(1) << 62;
}

/// No slot of the ring.
static constexpr int64_t kNoSlot = -1;

/// The barrier in hardware by which the first team gets sums from another one.
/// Those of other teams follow. Results have the ones before.
static constexpr int64_t kHandOverBarrier = 1 + kTeamWarpgroups;

namespace {

/// What the stages of a tile hand on: the slot of the next stage, the sums, and
/// the elements of its first step; or without scales, the slot of the stage
/// before, which may still be multiplied, or kNoSlot.
struct Pipeline {
  Pipeline(ValueRange values, int64_t sums)
      : slot(RingSlot::of(values)), sums(values.drop_front(2).take_front(sums)),
        next(values.drop_front(2 + sums)) {}

  SmallVector<Value> get() const {
    SmallVector<Value> values = slot.get();
    llvm::append_range(values, sums);
    llvm::append_range(values, next);
    return values;
  }

  RingSlot slot;
  SmallVector<Value> sums, next;
};

/// What instructions of a step read in shared memory: the plain operand, and
/// without scales the rows that the warpgroup has of the other one.
struct StepDescriptors {
  Value plain, first;
};

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const WgmmaContext &context,
                 const WgmmaThread &thread)
      : b(b), context(context), thread(thread), results(b, context, thread),
        count(kWarpgroupRows * context.tile.plainRows / kWarpgroupThreads),
        steps(context.spec.getStageSteps()), teams(context.spec.getTeams()) {}

  void emit();

private:
  /// Begins to add the products of instructions [first, first + number) of a
  /// step to the sums. `registers` has the elements of the scaled operand; it
  /// is empty where they lie in shared memory.
  SmallVector<Value> emitMma(ValueRange sums, ArrayRef<Value> registers,
                             const StepDescriptors &descriptors, int64_t first,
                             int64_t number);
  /// Waits until the sums are complete but for the last `pending` steps, and
  /// `registers` are read.
  SmallVector<Value> emitWait(ValueRange sums, ArrayRef<Value> registers,
                              int64_t pending = 0);
  StepDescriptors getDescriptors(const WgmmaStep &step);
  SmallVector<Value> emitDecode(const TileCoord &tile, const WgmmaStep &step) {
    if (!context.spec.format.hasScales)
      return {};
    return products::emitDecode(
        b, context, thread, step,
        context.spec.format.isScaledA ? tile.row : tile.col, global);
  }
  void emitWaitFull(const RingSlot &slot);
  /// Waits for the first step of a stage and decodes it. Where nothing is
  /// decoded, gives that no stage before is being multiplied.
  SmallVector<Value> emitFirstStep(const TileCoord &tile, const RingSlot &slot,
                                   Lanes stage);
  /// Gives the stage back to the one who fills it.
  void emitRelease(Value slot);
  /// Adds the product of a full stage, and decodes the first step of the next
  /// one if there is one.
  void emitStage(const TileCoord &tile, Lanes stage, bool hasNext,
                 Pipeline &pipeline);
  /// The same of operands without scales. Its instructions run on while those
  /// of the next stage begin, so that the stage before is given back.
  void emitPlainStage(bool hasNext, Pipeline &pipeline);
  /// Adds the products of `stages` full stages (i32) of the team, from stage
  /// `first` on. Values are the slot of that, and the sums.
  SmallVector<Value> emitStages(const TileCoord &tile, Lanes first,
                                Lanes stages, ValueRange values);
  /// Adds the product of a stage that has `left` (i32) elements of K.
  SmallVector<Value> emitLastStage(const TileCoord &tile, Lanes stage,
                                   Lanes left, const RingSlot &slot,
                                   ValueRange sums);
  /// The sums that the team before has stored for stage `stage` (i32) of the
  /// tile; zeros for the first one.
  SmallVector<Value> emitTakeSums(Lanes stage);
  /// Stores sums for the next team if stage `stage` (i32) of `stages` is not
  /// the last one.
  void emitHandOver(Lanes stage, Lanes stages, ValueRange sums);
  /// The place of number `sum` among the sums of the thread.
  Value getHandedSum(int64_t sum);
  /// Adds the product of stage `stage` (i32) of the tile's `stages` to what the
  /// team before hands over. Values are the slot and the sums.
  SmallVector<Value> emitHandedStage(const TileCoord &tile, Lanes stage,
                                     Lanes stages, ValueRange values);
  /// The sums of the stages that the team has of a tile: `full` whole ones
  /// (i32) of all teams, and maybe a last one. `slot` is that of the first.
  SmallVector<Value> emitTeamStages(const TileCoord &tile, Lanes full,
                                    const RingSlot &slot);
  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

  KernelBuilder &b;
  const WgmmaContext &context;
  const WgmmaThread &thread;
  WgmmaResults results;
  /// Sums that a thread has, steps of a stage, and teams.
  int64_t count, steps, teams;
  /// The descriptors of the plain operand of stage 0 and, without scales, of
  /// the rows of the warpgroup, i64.
  Value plain, firstRows;
  /// That of the tile.
  ElementScale global;
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
                                           const StepDescriptors &descriptors,
                                           int64_t first, int64_t number) {
  const DecodedFormat &format = context.spec.format;
  bool hasScales = format.hasScales;
  StringRef type = format.plain.isBF16() ? "bf16" : "f16";
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
       << "k16.f32." << type << "." << type << " {" << list << "}, ";
    if (hasScales) {
      os << "{";
      for (int64_t j = 0; j < 4; ++j) {
        os << (j ? ", $" : "$") << next++;
        operands.push_back(registers[4 * i + j]);
      }
      os << "}";
      constraints += "r,r,r,r,";
    } else {
      os << "$" << next++;
      operands.push_back(Lanes(b, descriptors.first) +
                         i * getInstructionUnits(format.isOtherMnMajor()));
      constraints += "l,";
    }
    os << ", $" << next++ << ", adds, 1, 1, ";
    if (!hasScales)
      os << format.isOtherMnMajor() << ", ";
    os << format.isPlainMnMajor() << "; ";
    operands.push_back(Lanes(b, descriptors.plain) +
                       i * getInstructionUnits(format.isPlainMnMajor()));
    constraints += "l,";
  }
  os << "wgmma.commit_group.sync.aligned; }";
  return emitOnSums(b, count, operands, text, constraints);
}

SmallVector<Value> ProductEmitter::emitWait(ValueRange sums,
                                            ArrayRef<Value> registers,
                                            int64_t pending) {
  SmallVector<Value> operands(sums);
  std::string constraints;
  for (Value each : registers) {
    operands.push_back(each);
    constraints += "r,";
  }
  std::string text =
      "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  return emitOnSums(b, count, operands, text, constraints);
}

StepDescriptors ProductEmitter::getDescriptors(const WgmmaStep &step) {
  auto getOfStep = [&](Value base, int64_t stageBytes, int64_t stepBytes) {
    return Lanes(b, base) +
           toI64(b, step.slot) * (stageBytes / kDescriptorUnit) +
           toI64(b, step.inStage) * (stepBytes / kDescriptorUnit);
  };
  StepDescriptors descriptors;
  descriptors.plain = getOfStep(plain, context.shared.plainBytes,
                                context.tile.plainRows * kPlainStepBytes);
  if (!context.spec.format.hasScales)
    descriptors.first = getOfStep(firstRows, context.shared.codeBytes,
                                  context.tile.scaledRows * kPlainStepBytes);
  return descriptors;
}

void ProductEmitter::emitWaitFull(const RingSlot &slot) {
  context.stageFull.emitWaitFull(b, slot);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

SmallVector<Value> ProductEmitter::emitFirstStep(const TileCoord &tile,
                                                 const RingSlot &slot,
                                                 Lanes stage) {
  emitWaitFull(slot);
  if (!context.spec.format.hasScales)
    return {b.i32(kNoSlot)};
  Lanes number = stage * steps;
  return emitDecode(tile, {{b, slot.index}, b.i32(0), number});
}

void ProductEmitter::emitRelease(Value slot) {
  if (context.cluster.sharers > 1)
    return context.cluster.emitArrive(b, context.stageEmpty.get(b, slot),
                                      thread.lane, NVVM::MemScopeKind::CTA);
  // One thread arrives for all of a warp, whose reads come before.
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitInOneThread(b, [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(),
                                   context.stageEmpty.get(b, slot),
                                   /*count=*/Value(), NVVM::MemScopeKind::CTA);
  });
}

void ProductEmitter::emitStage(const TileCoord &tile, Lanes stage, bool hasNext,
                               Pipeline &pipeline) {
  if (!context.spec.format.hasScales)
    return emitPlainStage(hasNext, pipeline);
  RingSlot slot = pipeline.slot;
  for (int64_t i = 0; i < teams; ++i)
    pipeline.slot = pipeline.slot.getNext(b, context.spec.schedule.getStages());
  SmallVector<Value> used;
  for (int64_t i = 0; i < steps; ++i) {
    WgmmaStep step{{b, slot.index}, b.i32(i), stage * steps + i};
    if (i > 0)
      pipeline.next = emitDecode(tile, step);
    llvm::append_range(used, pipeline.next);
    pipeline.sums = emitMma(pipeline.sums, pipeline.next, getDescriptors(step),
                            0, kStepProducts);
  }
  pipeline.next.clear();
  if (hasNext)
    pipeline.next = emitFirstStep(tile, pipeline.slot, stage + teams);
  pipeline.sums = emitWait(pipeline.sums, used);
  emitRelease(slot.index);
}

void ProductEmitter::emitPlainStage(bool hasNext, Pipeline &pipeline) {
  RingSlot slot = pipeline.slot;
  for (int64_t i = 0; i < teams; ++i)
    pipeline.slot = pipeline.slot.getNext(b, context.spec.schedule.getStages());
  for (int64_t i = 0; i < steps; ++i)
    pipeline.sums = emitMma(pipeline.sums, {},
                            getDescriptors({{b, slot.index}, b.i32(i), {}}), 0,
                            kStepProducts);
  pipeline.sums = emitWait(pipeline.sums, {}, hasNext ? steps : 0);
  Lanes before(b, pipeline.next.front());
  emit::emitIf(b, compare(Predicate::ne, before, kNoSlot),
               [&] { emitRelease(before); });
  pipeline.next = {slot.index};
  if (hasNext)
    emitWaitFull(pipeline.slot);
  else
    emitRelease(slot.index);
}

SmallVector<Value> ProductEmitter::emitStages(const TileCoord &tile,
                                              Lanes first, Lanes stages,
                                              ValueRange values) {
  SmallVector<Value> carried(values);
  llvm::append_range(carried, emitFirstStep(tile, RingSlot::of(values), first));
  // Two steps have elements in two sets of registers. An iteration has both, so
  // that none are copied for the next one.
  int64_t each = steps == 1 && context.spec.format.hasScales ? 2 : 1;
  Lanes last = stages - 1;
  Lanes iterations = last >> llvm::Log2_64(each);
  carried =
      emitCount(b, iterations, carried, [&](Lanes number, ValueRange values) {
        Pipeline pipeline(values, count);
        for (int64_t i = 0; i < each; ++i)
          emitStage(tile, first + (number * each + i) * teams,
                    /*hasNext=*/true, pipeline);
        return pipeline.get();
      });
  if (each > 1)
    carried = emitIfElse(
        b, compare(Predicate::ne, iterations * each, last),
        TypeRange(ValueRange(carried)),
        [&] {
          Pipeline pipeline(carried, count);
          emitStage(tile, first + (last - 1) * teams, /*hasNext=*/true,
                    pipeline);
          return pipeline.get();
        },
        [&] { return carried; });
  Pipeline pipeline(carried, count);
  emitStage(tile, first + last * teams, /*hasNext=*/false, pipeline);
  return pipeline.sums;
}

SmallVector<Value> ProductEmitter::emitLastStage(const TileCoord &tile,
                                                 Lanes stage, Lanes left,
                                                 const RingSlot &slot,
                                                 ValueRange sums) {
  emitWaitFull(slot);
  Value stepsLeft = emitCeilDiv(b, left, kDecodedStep);
  SmallVector<Value> results =
      emitCount(b, stepsLeft, sums, [&](Lanes number, ValueRange values) {
        Lanes inProduct = stage * steps + number;
        WgmmaStep step{{b, slot.index}, {b, number}, inProduct};
        SmallVector<Value> registers = emitDecode(tile, step);
        StepDescriptors descriptors = getDescriptors(step);
        Lanes ofStep = left - number * kDecodedStep;
        // Elements of K beyond the product can be those of another group, or
        // have scales that are no numbers.
        SmallVector<Value> sums(values);
        for (int64_t i = 0; i < kStepProducts; ++i)
          sums = emitIfElse(
              b, compare(Predicate::sgt, ofStep, i * kWgmmaElements),
              TypeRange(ValueRange(sums)),
              [&] {
                return emitWait(emitMma(sums, registers, descriptors, i, 1),
                                registers);
              },
              [&] { return sums; });
        return sums;
      });
  emitRelease(slot.index);
  return results;
}

Value ProductEmitter::getHandedSum(int64_t sum) {
  // The words of a thread are as far apart as all threads have one each.
  return b.offset(context.getShared(b, context.shared.sums), b.getF32Type(),
                  thread.number + sum * kWarpgroupThreads);
}

SmallVector<Value> ProductEmitter::emitTakeSums(Lanes stage) {
  SmallVector<Value> zeros(count, b.f32(0));
  return emitIfElse(
      b, compare(Predicate::ne, stage, 0), TypeRange(ValueRange(zeros)),
      [&] {
        upstream::createBarrier<NVVM::BarrierOp>(
            b, thread.team + kHandOverBarrier, b.i32(2 * kWarpgroupThreads));
        SmallVector<Value> sums;
        for (int64_t i = 0; i < count; ++i)
          sums.push_back(b.load(b.getF32Type(), getHandedSum(i), kWordBytes));
        return sums;
      },
      [&] { return zeros; });
}

void ProductEmitter::emitHandOver(Lanes stage, Lanes stages, ValueRange sums) {
  emit::emitIf(b, compare(Predicate::ult, stage + 1, stages), [&] {
    Lanes next = (thread.team + 1) & (teams - 1);
    for (int64_t i = 0; i < count; ++i)
      b.store(sums[i], getHandedSum(i), kWordBytes);
    NVVM::BarrierArriveOp::create(b, next + kHandOverBarrier,
                                  b.i32(2 * kWarpgroupThreads));
  });
}

SmallVector<Value> ProductEmitter::emitHandedStage(const TileCoord &tile,
                                                   Lanes stage, Lanes stages,
                                                   ValueRange values) {
  RingSlot slot = RingSlot::of(values);
  emitWaitFull(slot);
  SmallVector<SmallVector<Value>> registers;
  SmallVector<WgmmaStep> numbers;
  for (int64_t i = 0; i < steps; ++i) {
    numbers.push_back(
        {{b, slot.index}, b.i32(i), (tile.begin + stage) * steps + i});
    registers.push_back(emitDecode(tile, numbers.back()));
  }
  SmallVector<Value> sums = emitTakeSums(stage), used;
  for (auto [step, elements] : llvm::zip_equal(numbers, registers)) {
    sums = emitMma(sums, elements, getDescriptors(step), 0, kStepProducts);
    llvm::append_range(used, elements);
  }
  sums = emitWait(sums, used);
  emitHandOver(stage, stages, sums);
  emitRelease(slot.index);
  SmallVector<Value> next =
      slot.getAfter(b, context.spec.schedule.getStages(), b.i32(teams)).get();
  llvm::append_range(next, sums);
  return next;
}

SmallVector<Value> ProductEmitter::emitTeamStages(const TileCoord &tile,
                                                  Lanes full,
                                                  const RingSlot &slot) {
  int64_t slots = context.spec.schedule.getStages();
  bool handsOver = context.spec.handsOverSums();
  Lanes begin = tile.begin, end = tile.end;
  // Teams take turns. A slot is always that of the same one, which so sees each
  // phase of its barriers.
  Lanes distance = (thread.team - Lanes(b, slot.index)) & (teams - 1);
  Lanes ofTeam = (full + (teams - 1) - distance) >> llvm::Log2_64(teams);
  Lanes hasAny = compare(Predicate::sgt, full, 0);
  Lanes hasOwn = hasAny & compare(Predicate::ugt, ofTeam, 0);
  SmallVector<Value> sums(count, b.f32(0));
  sums = emitIfElse(
      b, hasOwn, TypeRange(ValueRange(sums)),
      [&] {
        SmallVector<Value> values = slot.getAfter(b, slots, distance).get();
        llvm::append_range(values, sums);
        if (!handsOver)
          return emitStages(tile, begin + distance, ofTeam, values);
        values =
            emitCount(b, ofTeam, values, [&](Lanes number, ValueRange carried) {
              return emitHandedStage(tile, distance + number * teams,
                                     end - begin, carried);
            });
        return SmallVector<Value>(ArrayRef(values).take_back(count));
      },
      [&] { return sums; });
  // Where sums are handed over, those so far come with the last stage.
  Lanes hasLast = compare(Predicate::ugt, end - begin, full);
  Lanes isOwn = compare(Predicate::eq, full & (teams - 1), distance);
  return emitIfElse(
      b, hasLast & isOwn, TypeRange(ValueRange(sums)),
      [&] {
        Lanes left = tile.product.depth & (context.spec.stageElements - 1);
        return emitLastStage(tile, begin + full, left,
                             slot.getAfter(b, slots, full),
                             handsOver ? emitTakeSums(full) : sums);
      },
      [&] { return sums; });
}

/// Emits the products of a tile. `carried` is the slot of the ring, and the
/// parity of parts of results.
SmallVector<Value> ProductEmitter::emitTile(const TileCoord &tile,
                                            ValueRange carried) {
  int64_t stageElements = context.spec.stageElements;
  int64_t slots = context.spec.schedule.getStages();
  Lanes depth = tile.product.depth;
  Lanes begin = tile.begin, end = tile.end;
  // Full stages; a last one with fewer elements may follow.
  Lanes full = minUnsigned(end, depth >> llvm::Log2_64(stageElements)) - begin;
  RingSlot slot = RingSlot::of(carried);
  Value scale = loadElementFactor(b, context.spec, context.arguments,
                                  tile.product.number, thread.warpgroup);
  Value canSplit;
  if (scale)
    canSplit = numerics::canSplit(Lanes(b, scale));
  SmallVector<Value> sums =
      emitSumsOfTile(b, context.spec.format, scale, canSplit, count,
                     [&](const ElementScale &ofTile) {
                       global = ofTile;
                       return emitTeamStages(tile, full, slot);
                     });
  // The team of the last stage has the sums that were handed over.
  if (context.spec.handsOverSums())
    results.setOwner((Lanes(b, slot.index) + (end - begin - 1)) & (teams - 1));
  Value parity = results.emitSums(tile, sums, carried.back()).front();
  SmallVector<Value> next = slot.getAfter(b, slots, end - begin).get();
  next.push_back(parity);
  return next;
}

void ProductEmitter::emit() {
  const DecodedFormat &format = context.spec.format;
  plain = emitDescriptor(b, context.getShared(b, context.shared.plain),
                         getTileDescriptor(format.isPlainMnMajor()));
  if (!format.hasScales) {
    Lanes warpgroup = thread.warpgroup;
    firstRows = emitDescriptor(
        b,
        b.offset(context.getShared(b, context.shared.codes), b.getI8Type(),
                 warpgroup * (kWarpgroupRows * kPlainStepBytes)),
        getTileDescriptor(format.isOtherMnMajor()));
  }
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

} // namespace blockscale::products

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
// their registers: the sums are registers with names of their own
// (SumRegisters), and the wait takes the elements as operands, so that they are
// not used again before.
//
// Teams that hand over sums (`order chain`) take turns at the stages of a tile,
// as others do. Each decodes its stage into registers, all steps of it, waits
// for the plain rows and for its turn, takes the sums of the stage before,
// which the team before it has stored in shared memory, adds its products to
// them, and stores what the next team waits for. So teams decode at the same
// time, and instructions follow each other along K. There is one place for
// sums, which a thread reads and writes for its own number in each team. The
// team of the last stage has the sums in the end, and stores them for the
// results. All teams make these, or it alone does. Turns go on from one tile to
// the next, so that a team that goes on finds the place free.
//
// Plain rows may be results of the launch before, for which only the thread
// that loads them waits. Others decode meanwhile, and wait before they make
// results.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/MatrixDescriptor.h"
#include "Products/MatrixLoads.h"
#include "WgmmaRoles.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/OperandFragments.h"
#include "blockscale/Numerics/SharedSwizzle.h"
#include "blockscale/Numerics/SplitFactor.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"
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

/// The barrier in hardware by which the first team gets sums from another one,
/// or its first warps do. Those of other teams follow, then those of the warps
/// behind. Results have the ones before, or after them.
static constexpr int64_t kHandOverBarrier = 1 + kTeamWarpgroups;

/// Sums that a thread hands over by one access.
static constexpr int64_t kPieceSums = kCopyBytes / kWordBytes;

namespace {

/// What the stages of a tile hand on: the slot of the next stage, and the
/// elements of its first step; or without scales, the slot of the stage before,
/// which may still be multiplied, or kNoSlot.
struct Pipeline {
  explicit Pipeline(ValueRange values)
      : slot(RingSlot::of(values)), next(values.drop_front(2)) {}

  SmallVector<Value> get() const {
    SmallVector<Value> values = slot.get();
    llvm::append_range(values, next);
    return values;
  }

  RingSlot slot;
  SmallVector<Value> next;
};

/// What instructions of a step read in shared memory: the plain operand, and
/// without scales the rows that the warpgroup has of the other one. Where warps
/// multiply by themselves, the registers of the plain operand, i32.
struct StepDescriptors {
  Value plain, first;
  SmallVector<Value> words;
};

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const WgmmaContext &context,
                 const WgmmaThread &thread)
      : b(b), context(context), thread(thread), results(b, context, thread),
        sums(context.sums), steps(context.spec.getStageSteps()),
        teams(context.spec.getTeams()) {}

  void emit();

private:
  /// Begins to add the products of instructions [first, first + number) of a
  /// step to the sums. `registers` has the elements of the scaled operand; it
  /// is empty where they lie in shared memory.
  void emitMma(ArrayRef<Value> registers, const StepDescriptors &descriptors,
               int64_t first, int64_t number);
  /// The same of a warp by itself.
  void emitWarpMma(ArrayRef<Value> registers, ArrayRef<Value> words,
                   int64_t first, int64_t number);
  /// The registers of the plain operand of all instructions of a step.
  SmallVector<Value> loadPlain(const WgmmaStep &step);
  /// Waits until the sums are complete but for the last `pending` steps, and
  /// `registers` are read.
  void emitWait(ArrayRef<Value> registers, int64_t pending = 0);
  StepDescriptors getDescriptors(const WgmmaStep &step);
  SmallVector<Value> emitDecode(const TileCoord &tile, const WgmmaStep &step) {
    if (!context.spec.format.hasScales)
      return {};
    return products::emitDecode(
        b, context, thread, step,
        context.spec.format.isScaledA ? tile.row : tile.col, global);
  }
  void emitWaitFull(const RingSlot &slot);
  /// Waits for the plain rows of a stage that is full besides.
  void emitWaitPlain(const RingSlot &slot);
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
  /// `first` on, whose slot is `slot`.
  void emitStages(const TileCoord &tile, Lanes first, Lanes stages,
                  const RingSlot &slot);
  /// Adds the product of a stage that has `left` (i32) elements of K.
  void emitLastStage(const TileCoord &tile, Lanes stage, Lanes left,
                     const RingSlot &slot);
  /// Waits for the turn of the team, and makes the sums those that the team
  /// before has stored for stage `stage` (i32) of the tile; zeros for the first
  /// one.
  void emitTakeSums(Lanes stage);
  /// Stores sums for the next team if stage `stage` (i32) of `stages` is not
  /// the last one, and ends the turn.
  void emitHandOver(Lanes stage, Lanes stages);
  /// Lets the next team have its turn.
  void emitEndTurn();
  /// The place of piece `piece` of the sums of the thread.
  Value getHandedSums(int64_t piece);
  /// The barrier by which the warps of `team` (i32) with the rows of the thread
  /// get sums.
  Lanes getHandOverBarrier(Lanes team) const;
  /// Waits until the turn of the team before has ended.
  void emitWaitHanded();
  /// Adds the product of stage `stage` (i32) of the tile's `stages` to what the
  /// team before hands over, and gives the slot of the team's next stage.
  SmallVector<Value> emitHandedStage(const TileCoord &tile, Lanes stage,
                                     Lanes stages, const RingSlot &slot);
  /// Computes the sums of the stages that the team has of a tile: `full` whole
  /// ones (i32) of all teams, and maybe a last one. `slot` is that of the
  /// first.
  void emitTeamStages(const TileCoord &tile, Lanes full, const RingSlot &slot);
  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

  KernelBuilder &b;
  const WgmmaContext &context;
  const WgmmaThread &thread;
  WgmmaResults results;
  const SumRegisters &sums;
  /// Steps of a stage, and teams.
  int64_t steps, teams;
  /// The descriptors of the plain operand of stage 0 and, without scales, of
  /// the rows of the warpgroup, i64.
  Value plain, firstRows;
  /// That of the tile.
  ElementScale global;
};

} // namespace

SmallVector<Value> ProductEmitter::loadPlain(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value stage =
      context.getShared(b, shared.plain, step.slot, shared.plainBytes);
  Lanes ofStep = step.inStage * (kWarpTileRows * kPlainStepBytes);
  auto [row, piece] = numerics::kMatrixRowsOfLongB.getElement({thread.lane});
  // Pieces of eight elements, of which the instructions of a load have four.
  constexpr int64_t pieces = kPlainStepBytes / numerics::kSwizzlePiece;
  SmallVector<Value> words;
  for (int64_t i = 0; i < pieces; i += pieces / 2)
    llvm::append_range(
        words, loadMatrices(b,
                            b.offset(stage, b.getI8Type(),
                                     ofStep + numerics::getSwizzledByte(
                                                  row, piece ^ row.like(i),
                                                  kPlainStepBytes)),
                            NVVM::MMALayout::row));
  return words;
}

void ProductEmitter::emitWarpMma(ArrayRef<Value> registers,
                                 ArrayRef<Value> words, int64_t first,
                                 int64_t number) {
  constexpr int64_t ofScaled = 4, ofPlain = 2;
  StringRef type = context.spec.format.plain.isBF16() ? "bf16" : "f16";
  std::string names = sums.getNames();
  std::string text = llvm::formatv("mma.sync.aligned.m16n8k16.row.col.f32.{0}."
                                   "{0}.f32 {{{1}}, {{$0, $1, $2, $3}, {{$4, "
                                   "$5}, {{{1}};",
                                   type, names);
  for (int64_t i = first; i < first + number; ++i) {
    SmallVector<Value> operands(registers.slice(ofScaled * i, ofScaled));
    llvm::append_range(operands, words.slice(ofPlain * i, ofPlain));
    emitInlinePtx(b, operands, text, "r,r,r,r,r,r,");
  }
}

void ProductEmitter::emitMma(ArrayRef<Value> registers,
                             const StepDescriptors &descriptors, int64_t first,
                             int64_t number) {
  if (context.spec.multipliesByWarp())
    return emitWarpMma(registers, descriptors.words, first, number);
  const DecodedFormat &format = context.spec.format;
  bool hasScales = format.hasScales;
  StringRef type = format.plain.isBF16() ? "bf16" : "f16";
  std::string text, constraints;
  llvm::raw_string_ostream os(text);
  SmallVector<Value> operands;
  os << "{ .reg .pred adds; setp.eq.u32 adds, 0, 0; "
        "wgmma.fence.sync.aligned; ";
  int64_t next = 0;
  for (int64_t i = first; i < first + number; ++i) {
    os << "wgmma.mma_async.sync.aligned.m64n" << context.tile.plainRows
       << "k16.f32." << type << "." << type << " {" << sums.getNames() << "}, ";
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
  emitInlinePtx(b, operands, text, constraints);
}

void ProductEmitter::emitWait(ArrayRef<Value> registers, int64_t pending) {
  if (context.spec.multipliesByWarp())
    return;
  std::string constraints;
  for (size_t i = 0; i < registers.size(); ++i)
    constraints += "r,";
  emitInlinePtx(b, registers,
                "wgmma.wait_group.sync.aligned " + std::to_string(pending) +
                    ";",
                constraints);
}

StepDescriptors ProductEmitter::getDescriptors(const WgmmaStep &step) {
  if (context.spec.multipliesByWarp())
    return {Value(), Value(), loadPlain(step)};
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

void ProductEmitter::emitWaitPlain(const RingSlot &slot) {
  if (!context.spec.decodesEarly())
    return;
  context.plainFull.emitWaitFull(b, slot);
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
    if (i > 0 && context.spec.format.isAcross())
      emitWait(std::exchange(used, {}));
    SmallVector<Value> operand = emitFirstOperand(b, context, pipeline.next);
    llvm::append_range(used, operand);
    emitMma(operand, getDescriptors(step), 0, kStepProducts);
  }
  pipeline.next.clear();
  if (hasNext)
    pipeline.next = emitFirstStep(tile, pipeline.slot, stage + teams);
  emitWait(used);
  emitRelease(slot.index);
}

void ProductEmitter::emitPlainStage(bool hasNext, Pipeline &pipeline) {
  RingSlot slot = pipeline.slot;
  for (int64_t i = 0; i < teams; ++i)
    pipeline.slot = pipeline.slot.getNext(b, context.spec.schedule.getStages());
  for (int64_t i = 0; i < steps; ++i)
    emitMma({}, getDescriptors({{b, slot.index}, b.i32(i), {}}), 0,
            kStepProducts);
  emitWait({}, hasNext ? steps : 0);
  Lanes before(b, pipeline.next.front());
  emit::emitIf(b, compare(Predicate::ne, before, kNoSlot),
               [&] { emitRelease(before); });
  pipeline.next = {slot.index};
  if (hasNext)
    emitWaitFull(pipeline.slot);
  else
    emitRelease(slot.index);
}

void ProductEmitter::emitStages(const TileCoord &tile, Lanes first,
                                Lanes stages, const RingSlot &slot) {
  SmallVector<Value> carried = slot.get();
  llvm::append_range(carried, emitFirstStep(tile, slot, first));
  // Two steps have elements in two sets of registers. An iteration has both, so
  // that none are copied for the next one.
  int64_t each = steps == 1 && context.spec.format.hasScales ? 2 : 1;
  Lanes last = stages - 1;
  Lanes iterations = last >> llvm::Log2_64(each);
  carried =
      emitCount(b, iterations, carried, [&](Lanes number, ValueRange values) {
        Pipeline pipeline(values);
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
          Pipeline pipeline(carried);
          emitStage(tile, first + (last - 1) * teams, /*hasNext=*/true,
                    pipeline);
          return pipeline.get();
        },
        [&] { return carried; });
  Pipeline pipeline(carried);
  emitStage(tile, first + last * teams, /*hasNext=*/false, pipeline);
}

void ProductEmitter::emitLastStage(const TileCoord &tile, Lanes stage,
                                   Lanes left, const RingSlot &slot) {
  emitWaitFull(slot);
  emitWaitPlain(slot);
  Value stepsLeft = emitCeilDiv(b, left, kDecodedStep);
  emitCount(b, stepsLeft, {}, [&](Lanes number, ValueRange) {
    Lanes inProduct = stage * steps + number;
    WgmmaStep step{{b, slot.index}, {b, number}, inProduct};
    SmallVector<Value> registers =
        emitFirstOperand(b, context, emitDecode(tile, step));
    StepDescriptors descriptors = getDescriptors(step);
    Lanes ofStep = left - number * kDecodedStep;
    // Elements of K beyond the product can be those of another group, or have
    // scales that are no numbers.
    for (int64_t i = 0; i < kStepProducts; ++i)
      emit::emitIf(b, compare(Predicate::sgt, ofStep, i * kWgmmaElements), [&] {
        emitMma(registers, descriptors, i, 1);
        emitWait(registers);
      });
    return SmallVector<Value>();
  });
  emitRelease(slot.index);
}

Value ProductEmitter::getHandedSums(int64_t piece) {
  // The pieces of a thread are as far apart as all threads have one each.
  Lanes place = thread.number + piece * getTeamThreads(context.spec);
  return b.offset(context.getShared(b, context.shared.handedSums),
                  b.getF32Type(), place * kPieceSums);
}

Lanes ProductEmitter::getHandOverBarrier(Lanes team) const {
  Lanes barrier = team + kHandOverBarrier;
  int64_t threads = context.spec.getHandingWarps() * kWarpThreads;
  if (threads == getTeamThreads(context.spec))
    return barrier;
  return numerics::splitBits(thread.number, threads).first * teams + barrier;
}

void ProductEmitter::emitWaitHanded() {
  Lanes barrier = getHandOverBarrier(thread.team);
  int64_t threads = 2 * context.spec.getHandingWarps() * kWarpThreads;
  if (!context.spec.multipliesByWarp()) {
    upstream::createBarrier<NVVM::BarrierOp>(b, barrier, b.i32(threads));
    return;
  }
  // ptxas would decode behind the barrier, between the instructions that other
  // teams wait for. It moves nothing into or out of a loop, and does not know
  // that this one has one turn: there is no such barrier.
  emitInlinePtx(b, {barrier},
                "{ .reg .pred again; setp.gt.u32 again, $0, " +
                    std::to_string(kHandOverBarrier + kHandOverBarriers) +
                    "; wait: bar.sync $0, " + std::to_string(threads) +
                    "; @again bra wait; }",
                "r,");
}

void ProductEmitter::emitTakeSums(Lanes stage) {
  emitWaitHanded();
  emit::emitIf(
      b, compare(Predicate::ne, stage, 0),
      [&] {
        SmallVector<Value> handed;
        for (int64_t i = 0; i < sums.count / kPieceSums; ++i)
          for (Lanes word :
               emitLoadWords(b, getHandedSums(i), kCopyBytes, kCopyBytes))
            handed.push_back(b.bitcast(b.getF32Type(), word));
        sums.emitSet(b, handed);
      },
      [&] { sums.emitClear(b); });
}

void ProductEmitter::emitHandOver(Lanes stage, Lanes stages) {
  emit::emitIf(b, compare(Predicate::ult, stage + 1, stages), [&] {
    SmallVector<Value> all = sums.emitGet(b);
    for (int64_t i = 0; i < sums.count / kPieceSums; ++i)
      b.store(b.pack(ArrayRef(all).slice(i * kPieceSums, kPieceSums)),
              getHandedSums(i), kCopyBytes);
  });
  emitEndTurn();
}

void ProductEmitter::emitEndTurn() {
  Lanes next = (thread.team + 1) & (teams - 1);
  NVVM::BarrierArriveOp::create(
      b, getHandOverBarrier(next),
      b.i32(2 * context.spec.getHandingWarps() * kWarpThreads));
}

SmallVector<Value> ProductEmitter::emitHandedStage(const TileCoord &tile,
                                                   Lanes stage, Lanes stages,
                                                   const RingSlot &slot) {
  emitWaitFull(slot);
  SmallVector<SmallVector<Value>> registers;
  SmallVector<WgmmaStep> numbers;
  for (int64_t i = 0; i < steps; ++i) {
    numbers.push_back(
        {{b, slot.index}, b.i32(i), (tile.begin + stage) * steps + i});
    registers.push_back(
        emitFirstOperand(b, context, emitDecode(tile, numbers.back())));
  }
  emitWaitPlain(slot);
  emitTakeSums(stage);
  SmallVector<Value> used;
  for (auto [step, elements] : llvm::zip_equal(numbers, registers)) {
    emitMma(elements, getDescriptors(step), 0, kStepProducts);
    llvm::append_range(used, elements);
  }
  emitWait(used);
  emitHandOver(stage, stages);
  emitRelease(slot.index);
  return slot.getAfter(b, context.spec.schedule.getStages(), b.i32(teams))
      .get();
}

void ProductEmitter::emitTeamStages(const TileCoord &tile, Lanes full,
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
  sums.emitClear(b);
  emit::emitIf(b, hasOwn, [&] {
    RingSlot own = slot.getAfter(b, slots, distance);
    if (!handsOver)
      return emitStages(tile, begin + distance, ofTeam, own);
    emitCount(b, ofTeam, own.get(), [&](Lanes number, ValueRange carried) {
      return emitHandedStage(tile, distance + number * teams, end - begin,
                             RingSlot::of(carried));
    });
  });
  // Where sums are handed over, those so far come with the last stage.
  Lanes hasLast = compare(Predicate::ugt, end - begin, full);
  Lanes isOwn = compare(Predicate::eq, full & (teams - 1), distance);
  emit::emitIf(b, hasLast & isOwn, [&] {
    Lanes left = tile.product.depth & (context.spec.stageElements - 1);
    RingSlot last = slot.getAfter(b, slots, full);
    if (handsOver)
      emitTakeSums(full);
    emitLastStage(tile, begin + full, left, last);
    if (handsOver)
      emitEndTurn();
  });
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
  SmallVector<Value> sumsOfTile =
      emitSumsOfTile(b, context.spec.format, scale, canSplit, sums.count,
                     [&](const ElementScale &ofTile) {
                       global = ofTile;
                       emitTeamStages(tile, full, slot);
                       return sums.emitGet(b);
                     });
  // The team of the last stage has the sums that were handed over.
  if (context.spec.handsOverSums())
    results.setOwner((Lanes(b, slot.index) + (end - begin - 1)) & (teams - 1));
  Value parity = results.emitTileSums(tile, sumsOfTile, carried.back());
  SmallVector<Value> next = slot.getAfter(b, slots, end - begin).get();
  next.push_back(parity);
  return next;
}

void ProductEmitter::emit() {
  const DecodedFormat &format = context.spec.format;
  if (!context.spec.multipliesByWarp())
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
  // The first team has its turn.
  if (context.spec.handsOverSums())
    emit::emitIf(b, compare(Predicate::eq, thread.team, teams - 1),
                 [&] { emitEndTurn(); });
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

//===- PlainMmaKernel.cpp - Stages into sums ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainMmaRoles.h"
#include "Products/Arithmetic.h"
#include "Products/DepthSteps.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/Accumulators.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

PlainMmaContext::PlainMmaContext(KernelBuilder &b, const PlainMmaSpec &spec,
                                 const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), tile(spec),
      shared(spec), order(b, spec, arguments,
                          {/*blocks=*/1, /*tiles=*/1, /*tile=*/b.i32(0)}) {}

PlainMmaThread::PlainMmaThread(const PlainMmaSpec &spec, Lanes number)
    : number(number) {
  Lanes warp = numerics::getWarp(number);
  lane = numerics::getLane(number);
  auto [others, rowWarp] = numerics::splitBits(warp, spec.getRowWarps());
  auto [ofTeam, plainWarp] = numerics::splitBits(others, spec.getPlainWarps());
  team = ofTeam;
  warpRow = rowWarp * spec.getWarpScaledRows();
  warpPlain = plainWarp * spec.getWarpPlainRows();
  loader = spec.hasTeamLoads()
               ? numerics::splitBits(number, spec.getLoaders()).second
               : number;
  auto [sumRow, pair] = numerics::getPairs(numerics::kMmaAccumulator)
                            .getElementOf(numerics::kSumThread, lane);
  row = sumRow;
  member = pair;
}

namespace {

/// What a stage hands on to the next one: the slot of the ring that is read
/// next, the sums, and of its first step the factors, the codes, and of the
/// first part all elements with scales and those plain ones that are loaded
/// ahead.
struct PlainMmaPipeline {
  Value slot;
  SmallVector<Value> sums, factors, codes, elements, plain;

  SmallVector<Value> get() const {
    SmallVector<Value> values = {slot};
    for (const SmallVector<Value> *each :
         {&sums, &factors, &codes, &elements, &plain})
      llvm::append_range(values, *each);
    return values;
  }
  /// The same with `values`, which a loop carries.
  PlainMmaPipeline with(ValueRange values) const {
    PlainMmaPipeline next;
    next.slot = values.front();
    values = values.drop_front();
    auto take = [&](SmallVector<Value> &to, size_t count) {
      llvm::append_range(to, values.take_front(count));
      values = values.drop_front(count);
    };
    take(next.sums, sums.size());
    take(next.factors, factors.size());
    take(next.codes, codes.size());
    take(next.elements, elements.size());
    take(next.plain, plain.size());
    return next;
  }
};

/// Fragments of plain rows that are loaded together.
constexpr int64_t kTogether = 2;
/// Registers of an instruction of its first and of its second operand.
constexpr int64_t kScaledRegisters = 4;
constexpr int64_t kPlainRegisters = 2;

/// Instructions of a stage whose plain elements are loaded together: those of a
/// part of one of the team's steps, for `kTogether` fragments of plain rows
/// from `fragment` on. The groups of a stage are in the order of their steps,
/// parts and fragments.
struct PlainMmaGroup {
  int64_t step, part, fragment;
};

/// The barrier in hardware of the first team; those of others follow.
constexpr int64_t kTeamBarrier = 1;

class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &b, const PlainMmaContext &context,
                 const PlainMmaThread &thread)
      : b(b), context(context), thread(thread), spec(context.spec),
        decoder(b, context, thread), matrices(b, context, thread) {}

  void emitTile(const TileCoord &given, PlainMmaResults &results);

private:
  /// A *part* of a step is what is in registers at a time, for so many
  /// instructions along K. Codes and plain elements are read for two, and
  /// ldmatrix loads for one.
  int64_t getPartInstructions() const { return spec.format.hasScales ? 2 : 1; }
  int64_t getParts() const {
    return kDecodedStep / (kPlainMmaDepth * getPartInstructions());
  }
  /// Groups of a part.
  int64_t getPartGroups() const {
    return spec.getWarpPlainRows() / (kPlainFragment * kTogether);
  }
  /// Registers of a group for plain elements.
  int64_t getGroupRegisters() const {
    return kTogether * kPlainRegisters * getPartInstructions();
  }
  /// Whether all elements are loaded a part before they are multiplied, so that
  /// a stage has been read when its last part is multiplied, and the wait for
  /// the next one comes there.
  bool readsPartAhead() const { return !spec.format.hasScales; }
  /// How many groups plain elements are loaded before they are multiplied:
  /// those of a part; beside codes of 4 bits two, for which registers are left
  /// but as ptxas assigns them for sm_120a; beside others none.
  int64_t getAhead() const {
    if (readsPartAhead())
      return getPartGroups();
    return spec.format.getBits() == 4 && !spec.chip->hasBlockScaleMma()
               ? std::min<int64_t>(2, getPartGroups())
               : 0;
  }
  PlainMmaGroup getGroup(int64_t number) const {
    int64_t parts = number / getPartGroups();
    return {parts / getParts(), parts % getParts(),
            number % getPartGroups() * kTogether};
  }
  /// What the elements with scales of a part are made of, one after another:
  /// rows that are decoded, or fragments that are loaded.
  int64_t getUnits() const {
    return spec.format.hasScales ? PlainMmaDecoder::kThreadRows
                                 : spec.getWarpFragments();
  }
  /// The elements of unit `unit` of part `part` of step `step` of a stage.
  SmallVector<Value> makeUnit(Value slot, int64_t step, int64_t part,
                              int64_t unit, const PlainMmaPipeline &pipeline);
  /// Those of all units as instructions take them: of each fragment the
  /// registers of one instruction after another.
  SmallVector<Value> joinUnits(ArrayRef<SmallVector<Value>> units);
  /// The plain elements that the thread has of group `group` of a stage.
  SmallVector<Value> loadPlain(Value slot, const PlainMmaGroup &group);
  /// The same of a chain: in the order of K beside elements that are decoded.
  SmallVector<Value> loadOrderedPlain(Value slot, const PlainMmaGroup &group);
  /// Adds the products of a group.
  void emitGroup(const PlainMmaGroup &group, ArrayRef<Value> elements,
                 ArrayRef<Value> plain, MutableArrayRef<Value> sums);
  void emitMma(ArrayRef<Value> scaled, ArrayRef<Value> plain,
               MutableArrayRef<Value> sums);
  /// Loads codes and scales of the thread's step `number` of a stage.
  void loadStep(const TileCoord &tile, Value slot, Lanes stage, int64_t number,
                PlainMmaPipeline &pipeline);
  /// The number of the thread's step `number` in a stage, i32.
  Lanes getInStage(int64_t number) {
    return thread.team * spec.getOwnSteps() + number;
  }
  PlainMmaPipeline emitStage(const TileCoord &tile, Lanes stage,
                             PlainMmaLoads &loads,
                             const PlainMmaPipeline &pipeline);
  /// The `count` sums that the thread has of a tile.
  SmallVector<Value> emitStages(const TileCoord &tile, int64_t count);
  /// The slots of the ring after and before `slot` (i32).
  Value getNext(Value slot);
  Value getPrevious(Value slot);
  /// Waits until all but the last `pending` stages are there for those who load
  /// together, and until these have read what they read before.
  void emitWait(int64_t pending) {
    NVVM::CpAsyncWaitGroupOp::create(b, pending);
    if (spec.hasTeamLoads())
      upstream::createBarrier<NVVM::BarrierOp>(b, thread.team + kTeamBarrier,
                                               b.i32(spec.getLoaders()));
    else
      gpu::BarrierOp::create(b);
  }

  KernelBuilder &b;
  const PlainMmaContext &context;
  const PlainMmaThread &thread;
  const PlainMmaSpec &spec;
  PlainMmaDecoder decoder;
  PlainMmaMatrices matrices;
};

} // namespace

Value ProductEmitter::getNext(Value slot) {
  Lanes next = Lanes(b, slot) + 1;
  return select(compare(Predicate::eq, next, spec.schedule.getStages()),
                next.like(0), next);
}

Value ProductEmitter::getPrevious(Value slot) {
  Lanes number(b, slot);
  return select(compare(Predicate::eq, number, 0),
                number.like(spec.schedule.getStages() - 1), number - 1);
}

void ProductEmitter::emitMma(ArrayRef<Value> scaled, ArrayRef<Value> plain,
                             MutableArrayRef<Value> sums) {
  bool isBF16 = spec.format.plain.isBF16();
  auto pair = VectorType::get({2}, spec.format.plain);
  auto toOperands = [&](ArrayRef<Value> words) {
    return llvm::map_to_vector(words, [&](Value word) {
      return isBF16 ? word : b.bitcast(pair, word);
    });
  };
  NVVM::MMATypes type = isBF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(kFragmentSums, b.getF32Type()));
  Value all = NVVM::MmaOp::create(
      b, result, toOperands(scaled), toOperands(plain), ValueRange(sums),
      ArrayRef<int64_t>{kScaledFragment, kPlainFragment, kPlainMmaDepth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, all, i);
}

SmallVector<Value> ProductEmitter::loadPlain(Value slot,
                                             const PlainMmaGroup &group) {
  const PlainMmaLayout &shared = context.shared;
  if (!spec.format.hasScales)
    return matrices.load(slot, getInStage(group.step), /*isPlain=*/true,
                         group.fragment / kTogether, group.part);
  if (spec.format.keepsChain)
    return loadOrderedPlain(slot, group);
  // A thread has two pieces of a row, one for each part of a step.
  Lanes row = thread.row;
  Lanes first =
      (thread.member * 2) ^ numerics::getExchange(row, kPlainStepBytes);
  Lanes own =
      row * kPlainStepBytes + (first ^ group.part) * kCopyBytes +
      getInStage(group.step) * (context.tile.plainRows * kPlainStepBytes);
  Value base =
      b.offset(context.getShared(b, shared.plain, slot, shared.plainBytes),
               b.getI8Type(), own);
  SmallVector<Value> words;
  for (int64_t i = group.fragment; i < group.fragment + kTogether; ++i) {
    Value address = b.offset(base, b.getI8Type(),
                             b.i32(i * kPlainFragment * kPlainStepBytes));
    for (Lanes word : emitLoadWords(b, address, kCopyBytes, kCopyBytes))
      words.push_back(word);
  }
  return words;
}

SmallVector<Value>
ProductEmitter::loadOrderedPlain(Value slot, const PlainMmaGroup &group) {
  int64_t instructions = getPartInstructions();
  SmallVector<SmallVector<Value>> loaded;
  for (int64_t i = 0; i < instructions; ++i)
    loaded.push_back(matrices.load(slot, getInStage(group.step),
                                   /*isPlain=*/true, group.fragment / kTogether,
                                   group.part * instructions + i));
  SmallVector<Value> words;
  for (int64_t fragment = 0; fragment < kTogether; ++fragment)
    for (const SmallVector<Value> &each : loaded)
      llvm::append_range(words, ArrayRef(each).slice(fragment * kPlainRegisters,
                                                     kPlainRegisters));
  return words;
}

void ProductEmitter::emitGroup(const PlainMmaGroup &group,
                               ArrayRef<Value> elements, ArrayRef<Value> plain,
                               MutableArrayRef<Value> sums) {
  int64_t instructions = getPartInstructions();
  int64_t fragments = spec.getWarpFragments();
  for (int64_t j = 0; j < instructions; ++j)
    for (int64_t i = 0; i < kTogether; ++i)
      for (int64_t m = 0; m < fragments; ++m)
        emitMma(
            elements.slice((m * instructions + j) * kScaledRegisters,
                           kScaledRegisters),
            plain.slice((i * instructions + j) * kPlainRegisters,
                        kPlainRegisters),
            sums.slice(((group.fragment + i) * fragments + m) * kFragmentSums,
                       kFragmentSums));
}

SmallVector<Value> ProductEmitter::makeUnit(Value slot, int64_t step,
                                            int64_t part, int64_t unit,
                                            const PlainMmaPipeline &pipeline) {
  if (spec.format.hasScales)
    return decoder.decodeRow(pipeline.codes, pipeline.factors, part, unit);
  return matrices.load(slot, getInStage(step), /*isPlain=*/false, unit, part);
}

SmallVector<Value>
ProductEmitter::joinUnits(ArrayRef<SmallVector<Value>> units) {
  if (spec.format.hasScales)
    return PlainMmaDecoder::getRegisters(units);
  SmallVector<Value> registers;
  for (const SmallVector<Value> &unit : units)
    llvm::append_range(registers, unit);
  return registers;
}

void ProductEmitter::loadStep(const TileCoord &tile, Value slot, Lanes stage,
                              int64_t number, PlainMmaPipeline &pipeline) {
  if (!spec.format.hasScales)
    return;
  Lanes inStage = getInStage(number);
  Lanes step = stage * spec.getStageSteps() + inStage;
  pipeline.factors =
      decoder.loadFactors(tile, slot, inStage, step, tile.product.depth);
  pipeline.codes = decoder.loadCodes(slot, inStage);
}

PlainMmaPipeline ProductEmitter::emitStage(const TileCoord &tile, Lanes stage,
                                           PlainMmaLoads &loads,
                                           const PlainMmaPipeline &pipeline) {
  int64_t steps = spec.getOwnSteps();
  int64_t stages = spec.schedule.getStages();
  int64_t partGroups = getPartGroups(), ahead = getAhead();
  int64_t groups = steps * getParts() * partGroups;
  PlainMmaPipeline next = pipeline;
  SmallVector<SmallVector<Value>> units;
  int64_t number = 0;
  auto emitNext = [&] {
    PlainMmaGroup group = getGroup(number);
    int64_t inPart = number % partGroups;
    // The next part, and where it is.
    int64_t part = (group.part + 1) % getParts();
    int64_t step = (group.step + (part == 0)) % steps;
    bool isNext = part == 0 && step == 0;
    Value slot = isNext ? next.slot : pipeline.slot;
    if (inPart == 0 && part == 0)
      loadStep(tile, slot, isNext ? stage + 1 : stage, step, next);
    int64_t other = number + ahead;
    llvm::append_range(next.plain,
                       other < groups
                           ? loadPlain(pipeline.slot, getGroup(other))
                           : loadPlain(next.slot, getGroup(other - groups)));
    // Elements of the next part are made between instructions of this one.
    // Where they are loaded, that is in its first half: the first instructions
    // of the next part want those of all units.
    int64_t share = (inPart + 1) * (readsPartAhead() ? 2 : 1);
    for (auto unit = static_cast<int64_t>(units.size());
         unit < getUnits() && unit * partGroups < getUnits() * share; ++unit)
      units.push_back(makeUnit(slot, step, part, unit, next));
    emitGroup(group, next.elements, next.plain, next.sums);
    next.plain.erase(next.plain.begin(),
                     next.plain.begin() + getGroupRegisters());
    if (++number % partGroups == 0) {
      next.elements = joinUnits(units);
      units.clear();
    }
  };
  int64_t waits = readsPartAhead() ? groups - partGroups : 0;
  while (number < groups) {
    // The next stage is there, and the one that copies replace has been read.
    if (number == waits) {
      emitWait(stages - (readsPartAhead() ? 2 : kLeastPlainMmaStages));
      next.slot = getNext(pipeline.slot);
    }
    emitNext();
    if (number > 1)
      continue;
    // The first instructions, whose operands are there, do not wait for copies.
    // No load from shared memory comes before a copy that it follows here, so
    // that parts which are loaded before the wait have a share of copies each.
    int64_t copies = 0, all = loads.countCopies();
    loads.emitStage(stage + (stages - 1), getPrevious(pipeline.slot), [&] {
      int64_t parts = ++copies * (waits / partGroups) / all;
      while (number < waits && number <= parts * partGroups)
        emitNext();
    });
  }
  return next;
}

SmallVector<Value> ProductEmitter::emitStages(const TileCoord &tile,
                                              int64_t count) {
  int64_t stages = spec.schedule.getStages();
  Lanes begin = tile.begin, end = tile.end;
  PlainMmaLoads loads(b, context, thread, tile);
  for (int64_t i = 0; i < stages - 1; ++i)
    loads.emitStage(begin + i, b.i32(i));
  emitWait(stages - 2);
  PlainMmaPipeline first;
  first.slot = b.i32(0);
  first.sums.append(count, b.f32(0));
  loadStep(tile, first.slot, begin, 0, first);
  SmallVector<SmallVector<Value>> units;
  for (int64_t unit = 0; unit < getUnits(); ++unit)
    units.push_back(makeUnit(first.slot, /*step=*/0, /*part=*/0, unit, first));
  first.elements = joinUnits(units);
  for (int64_t i = 0; i < getAhead(); ++i)
    llvm::append_range(first.plain, loadPlain(first.slot, getGroup(i)));
  SmallVector<Value> last = emitCount(
      b, end - begin, first.get(), [&](Lanes number, ValueRange values) {
        return emitStage(tile, begin + number, loads, first.with(values)).get();
      });
  // Sums take the place of stages.
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
  gpu::BarrierOp::create(b);
  return first.with(last).sums;
}

void ProductEmitter::emitTile(const TileCoord &given,
                              PlainMmaResults &results) {
  TileCoord tile = given;
  // All tiles of a group of K have its size. Where plain elements are loaded
  // ahead, what follows from it is computed again for each tile: kept from one
  // to the next, it takes registers that sums need.
  if (spec.groups == GroupDim::Columns && getAhead() > 0) {
    Lanes depth(b, b.hide(tile.product.depth, tile.col));
    tile.product.depth = depth;
    tile.product.bandTiles = getScaleTiles(b, spec, depth);
    tile.end = getSteps(b, spec, depth);
  }
  auto [scale, canSplit] = decoder.loadGlobal(tile);
  int64_t count = spec.getWarpPlainRows() / kPlainFragment *
                  spec.getWarpFragments() * kFragmentSums;
  results.emitSums(tile, emitSumsOfTile(b, spec.format, scale, canSplit, count,
                                        [&](const ElementScale &ofTile) {
                                          decoder.setGlobal(ofTile);
                                          return emitStages(tile, count);
                                        }));
}

void emitPlainMma(KernelBuilder &b, const PlainMmaSpec &spec,
                  GemmArguments arguments) {
  arguments.narrowSizes(b);
  if (spec.depth)
    arguments.depth = b.i32(*spec.depth);
  PlainMmaContext context(b, spec, arguments);
  Lanes number = emitThreadNumber32(b, spec.getThreads());
  context.order.emitCheckGroups(b, emit::isBelow(number, kWarpThreads), number);
  PlainMmaThread thread(spec, number);
  PlainMmaResults results(b, context, thread);
  ProductEmitter products(b, context, thread);
  context.order.emitTiles(
      b, {},
      [&](const TileCoord &tile, ValueRange) {
        products.emitTile(tile, results);
        return SmallVector<Value>();
      },
      &results);
}

} // namespace blockscale::products

//===- WarpgroupMma.cpp - Products of a warpgroup (wgmma) -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". All four warps
// execute each of them (`.aligned`), and a product is done once the part of
// each warp is: one that has waited knows that all have. That they execute the
// same ones is not checked.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/WarpgroupProduct.h"
#include "Emulator/Matrix/MatrixFootprint.h"

#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

static constexpr llvm::StringLiteral kAdvice =
    "wait with wgmma.commit_group and wait_group before its registers are "
    "touched";

namespace {
struct WaitData : OpData {
  uint64_t kept = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// The value that all lanes have; none, and a fault, where they differ.
static std::optional<uint64_t> getUniformValue(Warp &warp, const Op &op,
                                               const Source &source,
                                               llvm::StringRef role) {
  if (warp.require(op, source, kAllLanes, role) != kAllLanes)
    return std::nullopt;
  LaneValues scratch;
  const uint64_t *values = warp.read(source, scratch);
  for (unsigned lane = 1; lane < kWarpSize; ++lane)
    if (values[lane] != values[0]) {
      warp.report(op, lane,
                  Fault{FaultKind::Hazard,
                        llvm::formatv("expected {0} to be the same in all "
                                      "threads, but lanes 0 and {1} differ",
                                      role, lane),
                        "compute it from what the warpgroup shares"});
      return std::nullopt;
    }
  return values[0];
}

static std::optional<uint64_t> getDescriptor(Warp &warp, const Op &op,
                                             const Source &source) {
  std::optional<uint64_t> bits =
      getUniformValue(warp, op, source, "the descriptor");
  if (!bits)
    return std::nullopt;
  llvm::SmallVector<Fault, 1> faults;
  std::optional<uint64_t> descriptor = translateDescriptor(*bits, faults);
  warp.report(op, 0, faults);
  return descriptor;
}

static std::optional<WarpgroupSources> readWarpgroupSources(Warp &warp,
                                                            const Op &op) {
  const auto &data = op.get<WarpgroupData>();
  WarpgroupSources sources;
  llvm::ArrayRef<Source> rest = op.sources;
  if (data.registersA.empty()) {
    std::optional<uint64_t> a = getDescriptor(warp, op, rest.front());
    if (!a)
      return std::nullopt;
    unsigned row = warp.getIndex() % kWarpsOfGroup * kRowsOfWarp;
    sources.descriptorA = selectRows(*a, data.majorA, row);
    rest = rest.drop_front();
  }
  for (const Source &source : data.registersA) {
    warp.require(op, source, kAllLanes, "A");
    LaneValues scratch;
    llvm::copy(llvm::ArrayRef(warp.read(source, scratch), kWarpSize),
               sources.a.emplace_back().begin());
  }
  std::optional<uint64_t> b = getDescriptor(warp, op, rest[0]);
  std::optional<uint64_t> scaleD =
      getUniformValue(warp, op, rest[1], "scale-d");
  if (!b || !scaleD)
    return std::nullopt;
  sources.descriptorB = *b;
  sources.accumulates = *scaleD != 0;
  return sources;
}

/// Products of one shape may follow each other in the same accumulators.
static bool isChained(const Op &op, const Op &other) {
  if (other.instruction->form->name != op.instruction->form->name)
    return false;
  const auto &data = op.get<WarpgroupData>();
  const auto &before = other.get<WarpgroupData>();
  auto isSame = [](const Result &a, const Result &b) {
    return a.isSink == b.isSink && a.slot == b.slot;
  };
  return data.shape.n == before.shape.n &&
         data.accumulator.type == before.accumulator.type &&
         llvm::equal(data.accumulators, before.accumulators, isSame);
}

static void checkRegisters(const Issuer &issuer, uint32_t depth) {
  const auto &data = issuer.op.get<WarpgroupData>();
  auto check = [&](uint32_t slot, bool isAccumulator) {
    for (const InFlight &other : issuer.warp.inFlight) {
      if (other.depth != depth || other.slot != slot)
        continue;
      // A may be read by any number of products.
      bool isOfA = false;
      if (other.op->instruction->form->name == "wgmma.mma_async")
        isOfA = llvm::any_of(other.op->get<WarpgroupData>().registersA,
                             [&](const Source &a) { return a.index == slot; });
      if (isAccumulator ? isChained(issuer.op, *other.op) : isOfA)
        continue;
      return issuer.report(
          {FaultKind::Hazard,
           llvm::formatv("{0} a register that the {1} of line {2} may still "
                         "be writing or reading",
                         isAccumulator ? "accumulates in" : "takes A from",
                         other.op->instruction->form->name,
                         other.op->instruction->location.line),
           other.advice.str()});
    }
  };
  for (const Result &result : data.accumulators)
    if (!result.isSink)
      check(result.slot, /*isAccumulator=*/true);
  for (const Source &source : data.registersA)
    if (source.kind == Source::Register)
      check(source.index, /*isAccumulator=*/false);
}

static bool checkWarpgroup(const Issuer &issuer) {
  unsigned index = issuer.warp.getIndex();
  unsigned warps = issuer.warp.getCta().getWarps().size();
  if (index / kWarpsOfGroup * kWarpsOfGroup + kWarpsOfGroup <= warps)
    return true;
  issuer.report({FaultKind::Hazard,
                 llvm::formatv("expected the four warps of a warpgroup, but "
                               "warp {0} is in a CTA of {1}",
                               index, warps),
                 "launch a multiple of 128 threads"});
  return false;
}

/// PTX ISA, "wgmma.fence": it stands before the first product, and between an
/// access to a register and a product that reads A from it. A register that
/// was written with the value that it had counts as not written.
static void checkFence(const Issuer &issuer, uint32_t depth) {
  WarpgroupWork &state = issuer.warp.warpgroup;
  auto report = [&](llvm::StringRef what) {
    issuer.report({FaultKind::Hazard, ("missing wgmma.fence: " + what).str(),
                   "execute wgmma.fence behind the last access to the "
                   "registers, and before the first wgmma.mma_async"});
  };
  if (!state.hasFenced) {
    report("its registers were written before");
    state.hasFenced = true;
  }
  if (state.fencedDepth != depth)
    return;
  for (const Source &source : issuer.op.get<WarpgroupData>().registersA) {
    auto fenced = llvm::find_if(state.fenced, [&](const FencedRegister &each) {
      return source.kind == Source::Register && each.slot == source.index;
    });
    if (fenced == state.fenced.end())
      continue;
    llvm::ArrayRef<uint64_t> values(
        issuer.warp.getFrame(depth).getSlot(fenced->slot), kWarpSize);
    if (llvm::equal(values, fenced->values))
      continue;
    llvm::copy(values, fenced->values.begin());
    return report("a register of A was written behind the last one");
  }
}

/// Registers of a product, from now until the wait.
static void addInFlight(Warp &warp, const WarpgroupMma &mma) {
  const auto &data = mma.op->get<WarpgroupData>();
  auto add = [&](uint32_t slot) {
    auto isSame = [&](const InFlight &other) {
      return other.depth == mma.depth && other.slot == slot;
    };
    if (llvm::none_of(warp.inFlight, isSame))
      warp.inFlight.push_back({mma.depth, slot, kAllLanes, mma.op, kAdvice});
  };
  for (const Result &result : data.accumulators)
    if (!result.isSink)
      add(result.slot);
  for (const Source &source : data.registersA)
    if (source.kind == Source::Register)
      add(source.index);
}

static AsyncWork getFootprint(const Warp &warp, const Op &op,
                              const WarpgroupSources &sources, unsigned rank) {
  const auto &data = op.get<WarpgroupData>();
  AsyncWork work;
  unsigned bytesOfK = data.shape.k * data.b.bits / 8;
  auto add = [&](uint64_t descriptor, Major major, unsigned rows) {
    llvm::append_range(
        work.reads,
        major == Major::K
            ? getMatrixRanges(descriptor, major, rank, rows, bytesOfK)
            : getMatrixRanges(descriptor, major, rank, rows * data.b.bits / 8,
                              data.shape.k));
  };
  if (data.registersA.empty())
    add(sources.descriptorA, data.majorA, kRowsOfWarp);
  add(sources.descriptorB, data.majorB, data.shape.n);
  return work;
}

static Step executeProduct(Warp &warp, const Op &op, LaneMask active) {
  Issuer issuer{warp, op, /*lane=*/0};
  if (!checkWholeWarp(warp, op, active) || !checkWarpgroup(issuer))
    return Step::Next;
  uint32_t depth = warp.getDepth();
  checkFence(issuer, depth);
  checkRegisters(issuer, depth);
  std::optional<WarpgroupSources> sources = readWarpgroupSources(warp, op);
  if (!sources)
    return Step::Next;
  Cluster &cluster = warp.getCluster();
  ++cluster.getProfile().mmas;
  WarpgroupWork &state = warp.warpgroup;
  WarpgroupMma mma = {
      issuer.begin(AsyncWork::Matrix,
                   getFootprint(warp, op, *sources, warp.getCta().getRank())),
      &op, depth};
  addInFlight(warp, mma);
  if (!state.stream)
    state.stream = cluster.getQueue().makeStream();
  cluster.getQueue().push(*state.stream, [issuer, depth, work = mma.work,
                                          sources = std::move(*sources)] {
    runWarpgroupProduct(issuer, sources, depth);
    work->isDone = true;
    issuer.getCluster().noteChange();
  });
  state.open.push_back(std::move(mma));
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Fences and groups
//===----------------------------------------------------------------------===//

/// The registers that products of a function read A from.
static std::vector<FencedRegister>
findRegistersOfA(const Program &program, const ProgramFunction &function) {
  std::vector<FencedRegister> found;
  for (const Op &op :
       program.getOps().slice(function.entry, function.end - function.entry)) {
    if (op.handler != executeProduct)
      continue;
    for (const Source &source : op.get<WarpgroupData>().registersA)
      if (source.kind == Source::Register &&
          llvm::none_of(found, [&](const FencedRegister &other) {
            return other.slot == source.index;
          }))
        found.push_back({source.index, {}});
  }
  return found;
}

static Step executeFence(Warp &warp, const Op &op, LaneMask active) {
  WarpgroupWork &state = warp.warpgroup;
  const Program &program = warp.getCluster().getContext().program;
  const ProgramFunction &function = program.getFunctionOf(warp.getPlace());
  if (state.fencedFunction != &function)
    state.fenced = findRegistersOfA(program, function);
  state.fencedFunction = &function;
  state.fencedDepth = warp.getDepth();
  for (FencedRegister &each : state.fenced)
    llvm::copy(llvm::ArrayRef(warp.getFrame().getSlot(each.slot), kWarpSize),
               each.values.begin());
  state.hasFenced = true;
  return Step::Next;
}

static Step executeCommit(Warp &warp, const Op &op, LaneMask active) {
  WarpgroupWork &state = warp.warpgroup;
  Cluster &cluster = warp.getCluster();
  state.closed.push_back(std::exchange(state.open, {}));
  ++state.closedCount;
  state.clocks.push_back(cluster.getClocks().start(warp.getClusterIndex()));
  cluster.noteChange();
  return Step::Next;
}

/// The warps of the warpgroup that have not exited.
static llvm::SmallVector<Warp *, kWarpsOfGroup> getWarpgroup(Warp &warp) {
  auto warps = warp.getCta().getWarps();
  unsigned first = warp.getIndex() / kWarpsOfGroup * kWarpsOfGroup;
  llvm::SmallVector<Warp *, kWarpsOfGroup> group;
  for (size_t i = first;
       i < std::min<size_t>(first + kWarpsOfGroup, warps.size()); ++i)
    if (warps[i]->getLive())
      group.push_back(warps[i].get());
  return group;
}

/// Whether the warp's first `count` groups have happened.
static bool areDone(const WarpgroupWork &state, uint64_t count) {
  if (state.closedCount < count)
    return false;
  for (uint64_t i = state.releasedCount; i < count; ++i)
    for (const WarpgroupMma &mma : state.closed[i - state.releasedCount])
      if (!mma.work->isDone)
        return false;
  return true;
}

static std::string describeWait(Warp &, const Op &, unsigned) {
  return "other warps of the warpgroup have not closed the same groups";
}

static Step executeWait(Warp &warp, const Op &op, LaneMask active) {
  uint64_t kept = op.get<WaitData>().kept;
  WarpgroupWork &state = warp.warpgroup;
  auto &closed = state.closed;
  if (closed.size() <= kept)
    return Step::Next;
  uint64_t count = state.closedCount - kept;
  Cluster &cluster = warp.getCluster();
  llvm::SmallVector<Warp *, kWarpsOfGroup> warpgroup = getWarpgroup(warp);
  for (Warp *other : warpgroup)
    if (!areDone(other->warpgroup, count))
      return Step::Blocked;
  for (Warp *other : warpgroup) {
    const WarpgroupWork &part = other->warpgroup;
    for (uint64_t i = part.releasedCount; i < count; ++i)
      for (const WarpgroupMma &mma : part.closed[i - part.releasedCount])
        cluster.getHazards().release(mma.work, cluster.getTime());
    cluster.getClocks().acquire(
        warp.getClusterIndex(),
        part.clocks[count - 1 - (part.closedCount - part.clocks.size())]);
  }
  closed.erase(closed.begin(), closed.end() - kept);
  state.releasedCount = count;
  // The clocks that one of the warps may still ask for.
  uint64_t seen = count;
  for (Warp *other : warpgroup)
    seen = std::min(seen, other->warpgroup.releasedCount);
  for (Warp *other : warpgroup) {
    WarpgroupWork &part = other->warpgroup;
    while (part.closedCount - part.clocks.size() < seen)
      part.clocks.pop_front();
  }
  // The registers that others still use.
  llvm::erase_if(warp.inFlight, [](const InFlight &load) {
    return load.op->instruction->form->name == "wgmma.mma_async";
  });
  for (const std::vector<WarpgroupMma> &group : closed)
    for (const WarpgroupMma &mma : group)
      addInFlight(warp, mma);
  for (const WarpgroupMma &mma : warp.warpgroup.open)
    addInFlight(warp, mma);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static FragmentFormat getWarpgroupFormat(MmaFormat format) {
  switch (format) {
  case MmaFormat::F16:
  case MmaFormat::BF16:
    return {format, 16};
  case MmaFormat::TF32:
    return {format, 32};
  default:
    return {format, 8};
  }
}

/// imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b, as many as there are.
static llvm::Error decodeImmediates(const Op &op,
                                    llvm::ArrayRef<Operand> operands,
                                    WarpgroupData &data) {
  for (auto [i, operand] : llvm::enumerate(operands)) {
    llvm::Expected<uint64_t> value = getImmediate(operand);
    if (!value)
      return value.takeError();
    bool isScale = i < 2;
    bool isSet = *value == (isScale ? ~uint64_t(0) : 1);
    if (!isSet && *value != (isScale ? 1 : 0))
      return makeError(operand.location, isScale
                                             ? "expected a scale to be 1 or -1"
                                             : "expected a transposition to be "
                                               "0 or 1");
    // A in registers has no transposition.
    bool isOfB = i == 1 || i == 3 || !data.registersA.empty();
    if (isScale)
      (i == 1 ? data.negateB : data.negateA) = isSet;
    else if (isSet)
      (isOfB ? data.majorB : data.majorA) = Major::MN;
  }
  return llvm::Error::success();
}

static llvm::Error decodeWarpgroupProduct(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<Operand> operands = instruction.operands;
  llvm::SmallVector<llvm::StringRef, 5> types = getElementTypes(instruction);
  auto data = std::make_unique<WarpgroupData>();
  data->shape = getMatrixShape(instruction);
  data->accumulator = {*findAccumulator(types[0]),
                       instruction.has("satfinite")};
  data->a = getWarpgroupFormat(*findMmaFormat(types[1]));
  data->b = getWarpgroupFormat(*findMmaFormat(types[2]));
  for (const Operand &element : decoder.getElements(operands[0])) {
    llvm::Expected<Result> result = decoder.getResult(element);
    if (!result)
      return result.takeError();
    data->accumulators.push_back(*result);
  }
  bool hasRegisters = operands[1].kind == OperandKind::Vector;
  for (unsigned i = 1; i <= 3; ++i) {
    Type type = i == 3                   ? Type::Pred
                : i == 1 && hasRegisters ? Type::B32
                                         : Type::B64;
    for (const Operand &element : decoder.getElements(operands[i])) {
      llvm::Expected<Source> source = decoder.getSource(element, type);
      if (!source)
        return source.takeError();
      (i == 1 && hasRegisters ? data->registersA : op.sources)
          .push_back(*source);
    }
  }
  if (llvm::Error error = decodeImmediates(op, operands.drop_front(4), *data))
    return error;
  op.data = std::move(data);
  op.handler = executeProduct;
  return llvm::Error::success();
}

llvm::Error decodeWarpgroup(Decoder &decoder, Op &op) {
  llvm::StringRef name = op.instruction->form->name;
  op.convergence = Convergence::Warp;
  if (name == "wgmma.mma_async")
    return decodeWarpgroupProduct(decoder, op);
  if (name == "wgmma.wait_group") {
    llvm::Expected<uint64_t> kept =
        getImmediate(op.instruction->operands.front());
    if (!kept)
      return kept.takeError();
    auto data = std::make_unique<WaitData>();
    data->kept = *kept;
    op.data = std::move(data);
    op.handler = executeWait;
    op.describeWait = describeWait;
    return llvm::Error::success();
  }
  op.handler = name == "wgmma.fence" ? executeFence : executeCommit;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

//===- TensorMma.cpp - Instructions of the tensor core --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them go through one pipe of the CTA (or the pair of CTAs), in order.
// PTX promises this of mma behind mma and behind cp; of cp behind mma it does
// not, but CUTLASS relies on it, so that the pipe keeps that order, too.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/TensorInstructions.h"
#include "Emulator/Matrix/MatrixFootprint.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

namespace {
struct TensorMmaData : OpData {
  MmaVariant variant;
  bool isAInTensorMemory = false;
  CollectorUse collectorUse = CollectorUse::Discard;
  unsigned blockSize = 0;
  /// Words of disable-output-lane; 0 where it is not there.
  unsigned maskWords = 0;
};

struct CopyData : OpData {
  CopyShape shape = CopyShape::L128x256b;
};

/// The values of an operand in all lanes; those of an address in `scratch`.
struct Values {
  LaneValues scratch;
  const uint64_t *values = nullptr;
};
} // namespace

/// The stream of the pipe that the CTA or its pair has.
static uint64_t getPipe(const Issuer &issuer) {
  Cluster &cluster = issuer.getCluster();
  auto [it, isNew] =
      cluster.matrixStreams.try_emplace(issuer.warp.getCta().getRank() & ~1u);
  if (isNew)
    it->second = cluster.getQueue().makeStream();
  return it->second;
}

/// Work of the thread that its commits have to wait for: PTX has them wait for
/// what the executing thread has started, not for that of other threads.
static std::vector<WorkRef> &getWorks(const Issuer &issuer) {
  std::vector<WorkRef> &works =
      issuer.getCluster().matrixWorks[issuer.getAgent()];
  llvm::erase_if(works, [](const WorkRef &old) { return old->isReleased; });
  return works;
}

/// Does `work` in the pipe's order.
template <typename Work>
static void pushMatrix(const Issuer &issuer, AsyncWork footprint,
                       const Work &work) {
  WorkRef begun = issuer.begin(AsyncWork::Matrix, std::move(footprint));
  getWorks(issuer).push_back(begun);
  issuer.getCluster().getQueue().push(getPipe(issuer), [=] {
    llvm::SmallVector<Fault, 1> faults;
    work(faults);
    issuer.report(faults);
    begun->isDone = true;
    issuer.getCluster().noteChange();
  });
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

static void issueMma(const Issuer &issuer, const MmaInstruction &instruction) {
  llvm::SmallVector<unsigned, 2> group = getGroup(issuer);
  if (group.empty())
    return;
  pushMatrix(issuer, getMmaFootprint(instruction, group), [=](Faults &faults) {
    Cluster &cluster = issuer.getCluster();
    llvm::SmallVector<MmaCta, 2> ctas;
    for (unsigned rank : group) {
      Cta &cta = *cluster.getCtas()[rank];
      ctas.push_back(
          {cta.getShared(), rank, cta.getTensorMemory(), cta.collector});
    }
    runMma(instruction, ctas, faults);
    ++cluster.getProfile().mmas;
  });
}

static Step runMmaOp(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<TensorMmaData>();
  LaneMask known = active;
  llvm::SmallVector<Values, 5> addresses(op.addresses.size());
  for (auto [address, read] : llvm::zip(op.addresses, addresses))
    known = warp.readAddresses(op, address, known, read.scratch);
  llvm::SmallVector<Values, 5> sources(op.sources.size());
  for (auto [source, read] : llvm::zip(op.sources, sources)) {
    known = warp.require(op, source, known, "the operand");
    read.values = warp.read(source, read.scratch);
  }
  // A descriptor of A is a source, an address of A the second address. That of
  // a sparse A's metadata is behind it.
  unsigned b = data.isAInTensorMemory ? 0 : 1;
  unsigned metadata = data.isAInTensorMemory ? 2 : 1;
  unsigned scales = metadata + (data.variant.isSparse ? 1 : 0);
  unsigned mask = b + 2, accumulate = mask + data.maskWords;
  LaneMask accumulates = warp.getPredicate(op.sources[accumulate], known);
  for (unsigned lane : lanesOf(known)) {
    MmaInstruction instruction = {};
    instruction.variant = data.variant;
    instruction.sums = warp.getCluster().getContext().sums;
    instruction.d = uint32_t(addresses[0].scratch[lane]);
    instruction.isAInTensorMemory = data.isAInTensorMemory;
    instruction.collectorUse = data.collectorUse;
    instruction.a = data.isAInTensorMemory
                        ? uint32_t(addresses[1].scratch[lane])
                        : sources[0].values[lane];
    instruction.b = sources[b].values[lane];
    if (data.variant.isSparse)
      instruction.metadata = uint32_t(addresses[metadata].scratch[lane]);
    instruction.descriptor = uint32_t(sources[b + 1].values[lane]);
    instruction.accumulate = accumulates >> lane & 1;
    for (unsigned i = 0; i < data.maskWords; ++i)
      instruction.disabledLanes[i] = uint32_t(sources[mask + i].values[lane]);
    if (sources.size() > accumulate + 1)
      instruction.scaleInputD = unsigned(sources[accumulate + 1].values[lane]);
    if (isBlockScaled(data.variant.kind)) {
      instruction.scaleA = uint32_t(addresses[scales].scratch[lane]);
      instruction.scaleB = uint32_t(addresses[scales + 1].scratch[lane]);
      instruction.blockSize = data.blockSize;
    }
    issueMma({warp, op, lane}, instruction);
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// cp and commit
//===----------------------------------------------------------------------===//

static Step runMatrixCopy(Warp &warp, const Op &op, LaneMask active) {
  CopyShape shape = op.get<CopyData>().shape;
  LaneValues addresses, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  known = warp.require(op, op.sources[0], known, "the descriptor");
  const uint64_t *descriptors = warp.read(op.sources[0], scratch);
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    uint64_t descriptor = descriptors[lane];
    auto address = uint32_t(addresses[lane]);
    llvm::SmallVector<unsigned, 2> group = getGroup(issuer);
    if (group.empty())
      continue;
    pushMatrix(issuer, getCopyFootprint(shape, descriptor, address, group),
               [=](Faults &faults) {
                 for (unsigned rank : group) {
                   Cta &cta = *issuer.getCluster().getCtas()[rank];
                   copyToTensorMemory(shape, descriptor, cta.getShared(), rank,
                                      cta.getTensorMemory(), address, faults);
                 }
               });
  }
  return Step::Next;
}

/// Barriers in shared memory of the cluster.
static llvm::SmallVector<uint64_t, 2>
getBarriers(const Issuer &issuer, uint64_t barrier, const uint64_t *masks) {
  if (!masks)
    return {barrier};
  llvm::SmallVector<uint64_t, 2> barriers;
  for (unsigned rank = 0; rank < kMaxClusterSize; ++rank)
    if (masks[issuer.lane] >> rank & 1)
      barriers.push_back((barrier & 0xFFFFFF) | getSharedBase(rank));
  return barriers;
}

/// Arrives at a barrier once `works` are done. What a mask names is on its way
/// to each CTA by itself, and may come there at any later time.
static void arrive(const Issuer &issuer, uint64_t barrier,
                   std::vector<WorkRef> works, const ClockRef &started,
                   bool isMasked) {
  if (!isMasked)
    return issuer.arrive(barrier, works, started);
  AsyncQueue &queue = issuer.getCluster().getQueue();
  queue.push(queue.makeStream(), [=, works = std::move(works)] {
    issuer.arrive(barrier, works, started);
  });
}

static Step runMatrixCommit(Warp &warp, const Op &op, LaneMask active) {
  LaneValues addresses, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  const uint64_t *masks = nullptr;
  if (!op.sources.empty()) {
    known = warp.require(op, op.sources[0], known, "the mask");
    masks = warp.read(op.sources[0], scratch);
  }
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    std::optional<uint64_t> barrier =
        issuer.toShared(addresses[lane], isGeneric(*op.instruction));
    if (!barrier)
      continue;
    llvm::SmallVector<uint64_t, 2> barriers =
        getBarriers(issuer, *barrier, masks);
    std::vector<WorkRef> works = getWorks(issuer);
    std::vector<std::pair<uint64_t, std::vector<WorkRef>>> arrivals;
    for (uint64_t target : barriers) {
      issuer.noteAsyncBarrier(target);
      arrivals.push_back({target, works});
      if (getCtaRank(target) == warp.getCta().getRank())
        continue;
      AsyncWork arrival;
      arrival.barrier = target;
      arrivals.back().second.push_back(
          issuer.begin(AsyncWork::Arrival, std::move(arrival)));
    }
    AsyncQueue &queue = issuer.getCluster().getQueue();
    // A thread that has started nothing has nothing to wait for.
    uint64_t stream = works.empty() ? queue.makeStream() : getPipe(issuer);
    queue.push(stream, [issuer, arrivals = std::move(arrivals),
                        started = issuer.start(), isMasked = masks != nullptr] {
      for (const auto &[barrier, works] : arrivals)
        arrive(issuer, barrier, works, started, isMasked);
    });
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static MmaKind getKind(const Instruction &instruction) {
  for (MmaKind kind : {MmaKind::F16, MmaKind::TF32, MmaKind::F8F6F4,
                       MmaKind::I8, MmaKind::MXF8F6F4, MmaKind::MXF4})
    if (instruction.has(("kind::" + getName(kind)).str()))
      return kind;
  return MmaKind::MXF4NVF4;
}

static CollectorUse getCollectorUse(const Instruction &instruction) {
  if (instruction.has("collector::a::fill"))
    return CollectorUse::Fill;
  if (instruction.has("collector::a::use"))
    return CollectorUse::Use;
  return instruction.has("collector::a::lastuse") ? CollectorUse::LastUse
                                                  : CollectorUse::Discard;
}

static llvm::Error decodeMma(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  auto refuse = [&](llvm::StringRef what) {
    return makeError(instruction.location, "'" + instruction.getSpelling() +
                                               "' with " + what +
                                               " is not modelled");
  };
  if (instruction.has("ashift"))
    return refuse("a shift of A");
  auto data = std::make_unique<TensorMmaData>();
  data->variant.kind = getKind(instruction);
  data->variant.mayHaveLongK =
      decoder.getProgram().getModule().target == "sm_103a";
  data->variant.isSparse = instruction.form->name == "tcgen05.mma.sp";
  data->variant.ctaGroup = instruction.has("cta_group::2") ? 2 : 1;
  data->isAInTensorMemory =
      instruction.operands[1].kind == OperandKind::Address;
  data->collectorUse = getCollectorUse(instruction);
  data->blockSize =
      instruction.has("block16") || instruction.has("scale_vec::4X") ? 16 : 32;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Vector)
      data->maskWords = decoder.getElements(operand).size();
  if (unsigned words = 4 * data->variant.ctaGroup;
      data->maskWords != 0 && data->maskWords != words)
    return makeError(instruction.location,
                     llvm::formatv("expected {0} words of disable-output-lane, "
                                   "32 lanes each, but got {1}",
                                   words, data->maskWords));
  op.data = std::move(data);
  op.handler = runMmaOp;
  return addOperands(decoder, op, 0, Type::B64);
}

static llvm::Error decodeMatrixCopy(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  if (instruction.has("b8x16"))
    return makeError(instruction.location,
                     "tcgen05.cp that expands its values is not modelled");
  auto data = std::make_unique<CopyData>();
  if (instruction.has("4x256b"))
    data->shape = CopyShape::L4x256b;
  else if (instruction.has("128x128b"))
    data->shape = CopyShape::L128x128b;
  else if (instruction.has("32x128b"))
    data->shape = CopyShape::L32x128bAllWarps;
  else if (instruction.has("warpx2::02_13"))
    data->shape = CopyShape::L64x128bWarps02And13;
  else if (instruction.has("warpx2::01_23"))
    data->shape = CopyShape::L64x128bWarps01And23;
  op.data = std::move(data);
  op.handler = runMatrixCopy;
  return addOperands(decoder, op, 0, Type::B64);
}

llvm::Error decodeTensorMma(Decoder &decoder, Op &op) {
  llvm::StringRef word = op.instruction->form->words[1];
  if (word == "mma")
    return decodeMma(decoder, op);
  if (word == "cp")
    return decodeMatrixCopy(decoder, op);
  op.handler = runMatrixCommit;
  return addOperands(decoder, op, 0, Type::B16);
}

} // namespace blockscale::emulator

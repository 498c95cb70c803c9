//===- WarpAccess.cpp - Memory accesses of a warp -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Memory/AddressWindow.h"
#include "Emulator/Ptx/SpecialRegisters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

const uint64_t *Warp::read(const Source &source, LaneValues &scratch) {
  switch (source.kind) {
  case Source::Register:
    return frame->getSlot(source.index);
  case Source::Constant:
    return getCluster().getContext().program.getConstant(source.index);
  case Source::Special: {
    auto special = static_cast<SpecialRegister>(source.index / 4);
    // A clock that ticks with every instruction of the cluster.
    if (special >= SpecialRegister::Clock &&
        special <= SpecialRegister::GlobalTimerHi) {
      uint64_t time = getCluster().getTime();
      bool isHigh = special == SpecialRegister::ClockHi ||
                    special == SpecialRegister::GlobalTimerHi;
      bool isWhole = special == SpecialRegister::Clock64 ||
                     special == SpecialRegister::GlobalTimer;
      specials[source.index].fill(isHigh    ? time >> 32
                                  : isWhole ? time
                                            : uint32_t(time));
    }
    return specials[source.index].data();
  }
  case Source::Shared:
    std::fill_n(scratch, kWarpSize,
                getSharedBase(cta.getRank()) + source.value +
                    (source.isDynamic ? cta.getDynamicOffset() : 0));
    return scratch;
  case Source::Local:
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      scratch[lane] = frame->local[lane] + source.value;
    return scratch;
  }
  return scratch;
}

LaneMask Warp::getPredicate(const Source &source, LaneMask active) {
  LaneValues scratch;
  const uint64_t *values = read(source, scratch);
  LaneMask mask = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    mask |= LaneMask(values[lane] & 1) << lane;
  return active & (source.isNegated ? ~mask : mask);
}

LaneMask Warp::require(const Op &op, const Source &source, LaneMask active,
                       llvm::StringRef role) {
  LaneMask undefined = active & ~getDefined(source);
  if (!undefined)
    return active;
  report(op, llvm::countr_zero(undefined),
         Fault{FaultKind::Uninitialised,
               llvm::formatv("expected {0} to be defined, but it comes from a "
                             "register that was never written",
                             role),
               "write the register on every path that leads here"});
  return active & ~undefined;
}

void Warp::setSpecials() {
  Cluster &cluster = getCluster();
  const LaunchContext &context = cluster.getContext();
  const LaunchRequest &request = context.request;
  specials.resize(getSpecialRegisters().size() * 4);
  auto get = [&](SpecialRegister name,
                 unsigned component) -> std::array<uint64_t, kWarpSize> & {
    return specials[static_cast<unsigned>(name) * 4 + component];
  };
  const Dim3 &block = request.block;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint32_t thread = getThread(lane);
    uint32_t tid[3] = {thread % block[0], thread / block[0] % block[1],
                       thread / block[0] / block[1]};
    for (unsigned i = 0; i < 3; ++i)
      get(SpecialRegister::Tid, i)[lane] = tid[i];
    get(SpecialRegister::LaneId, 0)[lane] = lane;
    uint32_t bit = 1u << lane;
    get(SpecialRegister::LaneMaskEq, 0)[lane] = bit;
    get(SpecialRegister::LaneMaskLt, 0)[lane] = bit - 1;
    get(SpecialRegister::LaneMaskLe, 0)[lane] = (bit - 1) | bit;
    get(SpecialRegister::LaneMaskGe, 0)[lane] = ~(bit - 1);
    get(SpecialRegister::LaneMaskGt, 0)[lane] = ~(bit - 1) & ~bit;
    for (auto name : {SpecialRegister::LaneMaskGe, SpecialRegister::LaneMaskGt})
      get(name, 0)[lane] &= 0xFFFFFFFF;
  }
  const Dim3 &grid = request.grid, &shape = request.cluster;
  unsigned size = shape[0] * shape[1] * shape[2];
  uint64_t linear = 0;
  for (unsigned i = 3; i-- > 0;) {
    uint32_t id = cta.getId()[i];
    linear = linear * grid[i] + id;
    get(SpecialRegister::NTid, i).fill(block[i]);
    get(SpecialRegister::CtaId, i).fill(id);
    get(SpecialRegister::NCtaId, i).fill(grid[i]);
    get(SpecialRegister::ClusterId, i).fill(id / shape[i]);
    get(SpecialRegister::NClusterId, i).fill(grid[i] / shape[i]);
    get(SpecialRegister::ClusterCtaId, i).fill(id % shape[i]);
    get(SpecialRegister::ClusterNCtaId, i).fill(shape[i]);
  }
  uint32_t threads = block[0] * block[1] * block[2];
  uint64_t sharedBytes = cta.getSharedBytes();
  get(SpecialRegister::ClusterCtaRank, 0).fill(cta.getRank());
  get(SpecialRegister::ClusterNCtaRank, 0).fill(size);
  get(SpecialRegister::IsExplicitCluster, 0).fill(size > 1);
  get(SpecialRegister::WarpId, 0).fill(index);
  get(SpecialRegister::NWarpId, 0).fill((threads + 31) / 32);
  // The number of multiprocessors of an SM100 device.
  constexpr unsigned kMultiprocessors = 148;
  get(SpecialRegister::SmId, 0).fill(linear % kMultiprocessors);
  get(SpecialRegister::NSmId, 0).fill(kMultiprocessors);
  get(SpecialRegister::TotalSmemSize, 0).fill(sharedBytes);
  get(SpecialRegister::AggrSmemSize, 0).fill(sharedBytes);
  get(SpecialRegister::DynamicSmemSize, 0).fill(request.dynamicSharedBytes);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LaneMask Warp::readAddresses(const Op &op, const AddressOperand &address,
                             LaneMask active, LaneValues &addresses) {
  LaneValues scratch;
  active = require(op, address.base, active, "the address");
  const uint64_t *base = read(address.base, scratch);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    addresses[lane] = (base[lane] + address.offset) & address.mask;
  return active;
}

Memory *Warp::getMemory(const Op &op, unsigned lane, SpaceAddress where) {
  LaunchContext &context = getCluster().getContext();
  switch (where.space) {
  case StateSpace::Global:
    return &context.device.global;
  case StateSpace::Const:
    return &context.device.constant;
  case StateSpace::Param:
    return &context.parameters;
  case StateSpace::Local:
    if (!local[lane])
      local[lane] = std::make_unique<Memory>(StateSpace::Local, /*first=*/0);
    return local[lane].get();
  case StateSpace::Shared:
    break;
  }
  unsigned rank = getCtaRank(where.address);
  auto ctas = getCluster().getCtas();
  if (rank >= ctas.size()) {
    report(op, lane,
           Fault{FaultKind::WrongSpace,
                 llvm::formatv("expected an address of one of the {0} CTAs of "
                               "the cluster, but {1:x} belongs to rank {2}",
                               ctas.size(), where.address, rank),
                 "take the rank modulo %cluster_nctarank, or launch larger "
                 "clusters"});
    return nullptr;
  }
  return &ctas[rank]->getShared();
}

llvm::ArrayRef<uint8_t> Warp::load(const Op &op, unsigned lane,
                                   SpaceAddress from, uint64_t size,
                                   uint64_t alignment) {
  Memory *memory = getMemory(op, lane, from);
  if (!memory)
    return {};
  llvm::SmallVector<Fault, 1> faults;
  llvm::ArrayRef<uint8_t> bytes =
      memory->read(from.address, size, alignment, faults);
  getCluster().getProfile().bytesRead[unsigned(from.space)] += bytes.size();
  if (from.space == StateSpace::Shared) {
    getCluster().getCtas()[getCtaRank(from.address)]->getBarriers().checkAccess(
        from.address, size, faults);
    if (HazardLog &hazards = getCluster().getHazards(); hazards.isActive())
      hazards.checkLoad({from.address, size}, faults);
    if (!op.isStrong && !bytes.empty())
      noteLoad(op, lane, {from.address, size}, faults);
  }
  if (op.isStrong && from.space == StateSpace::Global && !bytes.empty())
    noteOverlap(op, {from.address, size}, AccessKind::StrongLoad, faults);
  if (op.isStrong)
    getCluster().getClocks().acquire(clusterIndex, from, size, op.scope,
                                     /*isRelaxed=*/!op.acquires);
  else if (from.space == StateSpace::Global && !bytes.empty())
    addPiece(globalLoads, {from.address, size}, lane);
  if (!faults.empty())
    report(op, lane, faults);
  return bytes;
}

llvm::MutableArrayRef<uint8_t> Warp::store(const Op &op, unsigned lane,
                                           SpaceAddress to, uint64_t size,
                                           uint64_t alignment) {
  Memory *memory = getMemory(op, lane, to);
  if (!memory)
    return {};
  llvm::SmallVector<Fault, 1> faults;
  llvm::MutableArrayRef<uint8_t> bytes =
      memory->write(to.address, size, alignment, faults);
  getCluster().getProfile().bytesWritten[unsigned(to.space)] += bytes.size();
  getCluster().noteChange();
  if (to.space == StateSpace::Shared && !bytes.empty()) {
    getCluster().getCtas()[getCtaRank(to.address)]->getBarriers().checkAccess(
        to.address, size, faults);
    if (HazardLog &hazards = getCluster().getHazards(); hazards.isActive())
      hazards.noteStore({to.address, size}, getAgent(lane),
                        getCluster().getTime(), faults);
    if (!op.isStrong)
      noteStore(op, lane, {to.address, size}, StoreKind::Plain, faults);
  }
  if (op.isStrong && to.space == StateSpace::Global && !bytes.empty())
    noteOverlap(op, {to.address, size}, AccessKind::StrongStore, faults);
  if (op.isStrong)
    release(op, to, size);
  else if (to.space == StateSpace::Global && !bytes.empty())
    addPiece(globalStores, {to.address, size}, lane);
  if (!faults.empty())
    report(op, lane, faults);
  return bytes;
}

void Warp::noteLoad(const Op &op, unsigned lane, const SharedRange &range,
                    Faults &faults) {
  const ClockLog &clocks = getCluster().getClocks();
  if (!clocks.isActive() || range.size == 0)
    return;
  Cta &owner = *getCluster().getCtas()[getCtaRank(range.address)];
  owner.getSharedRaces().noteLoad(
      {range.address, range.size, clusterIndex, clocks.get(clusterIndex)},
      faults);
  if (&owner != &cta)
    owner.noteRemoteUse(*this, op, lane, faults);
}

/// Up to four bytes; none where they are not initialised.
static std::optional<uint32_t> readWord(const Memory &memory,
                                        const DoubleStore &store) {
  llvm::SmallVector<Fault, 1> faults;
  llvm::ArrayRef<uint8_t> bytes =
      memory.read(store.address, store.size, /*alignment=*/1, faults);
  if (!faults.empty())
    return std::nullopt;
  uint32_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

void Warp::noteStore(const Op &op, unsigned lane, const SharedRange &range,
                     StoreKind kind, Faults &faults) {
  const ClockLog &clocks = getCluster().getClocks();
  if (!clocks.isActive() || range.size == 0)
    return;
  Cta &owner = *getCluster().getCtas()[getCtaRank(range.address)];
  RaceAccess access = {range.address, range.size, clusterIndex,
                       clocks.get(clusterIndex)};
  std::vector<DoubleStore> doubles;
  owner.getSharedRaces().noteStore(access, faults, doubles);
  if (kind == StoreKind::Exclusive && !doubles.empty())
    owner.getSharedRaces().reportDouble(access, doubles.front(), faults);
  if (kind == StoreKind::Plain)
    for (const DoubleStore &store : doubles)
      openStores.push_back({lane, store, readWord(owner.getShared(), store)});
  if (&owner != &cta)
    owner.noteRemoteUse(*this, op, lane, faults);
}

/// Stores that another warp has done before without a wait in between must have
/// changed nothing.
void Warp::checkOpenStores(const Op &op) {
  for (const OpenStore &open : openStores) {
    Cta &owner = *getCluster().getCtas()[getCtaRank(open.store.address)];
    std::optional<uint32_t> value = readWord(owner.getShared(), open.store);
    if (!value || !open.value || *value == *open.value)
      continue;
    llvm::SmallVector<Fault, 1> faults;
    owner.getSharedRaces().reportDouble(
        {open.store.address, open.store.size, clusterIndex,
         getCluster().getClocks().get(clusterIndex)},
        open.store, faults);
    report(op, open.lane, faults);
    break;
  }
  openStores.clear();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void Warp::addPiece(GlobalPieces &pieces, const GlobalRange &range,
                    unsigned lane) {
  if (!pieces.empty()) {
    GlobalRange &last = pieces.back().range;
    uint64_t offset = range.address - last.address;
    if (offset <= last.size) {
      last.size = std::max(last.size, offset + range.size);
      return;
    }
  }
  pieces.push_back({range, lane, clock[clusterIndex]});
}

GlobalAccess Warp::getGlobalAccess() {
  return {getCluster().getClocks().getCluster(), clusterIndex, clock,
          clock[clusterIndex]};
}

void Warp::noteOverlap(const Op &op, const GlobalRange &range, AccessKind kind,
                       Faults &faults) {
  LaunchContext &context = getCluster().getContext();
  if (context.overlap)
    context.overlap->note(clock, range, kind,
                          uint32_t(&op - context.program.getOps().data()),
                          context.device.global, faults);
}

void Warp::noteGlobalLoad(const Op &op, const GlobalRange &range, bool isAsync,
                          Faults &faults) {
  noteOverlap(op, range, AccessKind::Load, faults);
  LaunchContext &context = getCluster().getContext();
  context.globalRaces.noteLoad(
      getGlobalAccess(), range, isAsync,
      [&](uint32_t cluster, unsigned warp) {
        return context.describeWarp(cluster, warp);
      },
      faults);
}

void Warp::beginGlobalStore(const Op &op, const GlobalRange &range,
                            PendingStore store, bool isReduction,
                            Faults &faults) {
  noteOverlap(op, range,
              isReduction ? AccessKind::StrongStore : AccessKind::Store,
              faults);
  LaunchContext &context = getCluster().getContext();
  context.globalRaces.beginStore(
      getGlobalAccess(), range, store, isReduction,
      [&](uint32_t cluster, unsigned warp) {
        return context.describeWarp(cluster, warp);
      },
      faults);
}

void Warp::endGlobalStore(const AsyncWork &work) {
  uint32_t epoch = getGlobalAccess().epoch;
  for (const GlobalRange &range : work.globalWrites)
    getCluster().getContext().globalRaces.endStore(range, work.store, epoch);
}

/// Behind the handler, for what it has stored.
void Warp::checkGlobalAccesses(const Op &op) {
  LaunchContext &context = getCluster().getContext();
  GlobalRaceLog &races = context.globalRaces;
  auto describe = [&](uint32_t cluster, unsigned warp) {
    return context.describeWarp(cluster, warp);
  };
  GlobalAccess access = getGlobalAccess();
  auto visit = [&](GlobalPieces &pieces, auto note) {
    for (const GlobalPiece &piece : pieces) {
      llvm::SmallVector<Fault, 1> faults;
      access.epoch = piece.epoch;
      note(piece.range, faults);
      if (!faults.empty())
        report(op, piece.lane, faults);
    }
    pieces.clear();
  };
  visit(globalLoads, [&](const GlobalRange &range, Faults &faults) {
    noteOverlap(op, range, AccessKind::Load, faults);
    races.noteLoad(access, range, /*isAsync=*/false, describe, faults);
  });
  visit(globalStores, [&](const GlobalRange &range, Faults &faults) {
    noteOverlap(op, range, AccessKind::Store, faults);
    llvm::SmallVector<Fault, 1> known;
    races.noteStore(access, range.address,
                    context.device.global.read(range.address, range.size,
                                               /*alignment=*/1, known),
                    describe, faults);
  });
}

void Warp::release(const Op &op, SpaceAddress where, uint64_t size) {
  getCluster().getClocks().release(clusterIndex, where, size, op.scope,
                                   /*isRelaxed=*/!op.releases);
}

void Warp::forget(const Op &op, unsigned lane, SpaceAddress where,
                  uint64_t size) {
  if (Memory *memory = getMemory(op, lane, where))
    memory->forget(where.address, size);
}

void Warp::noteBanks(const LaneValues &addresses, LaneMask active,
                     std::optional<StateSpace> space, uint64_t size) {
  Cluster &cluster = getCluster();
  if (!cluster.getContext().options.profile || space != StateSpace::Shared ||
      !active)
    return;
  // 32 banks of 4 bytes; lanes that want the same word share a turn. Wide
  // accesses go by halves or quarters of a warp, each with turns of its own.
  constexpr unsigned kBanks = 32;
  unsigned lanesAtOnce = size > 4 ? uint64_t(kWarpSize) * 4 / size : kWarpSize;
  uint64_t turns = 0, least = 0;
  for (unsigned first = 0; first < kWarpSize; first += lanesAtOnce) {
    std::array<llvm::SmallVector<uint64_t, 4>, kBanks> words;
    unsigned most = 0;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane) {
      if (!(active >> lane & 1))
        continue;
      for (uint64_t word = addresses[lane] / 4;
           word <= (addresses[lane] + size - 1) / 4; ++word) {
        auto &bank = words[word % kBanks];
        if (!llvm::is_contained(bank, word))
          bank.push_back(word);
        most = std::max<unsigned>(most, bank.size());
      }
    }
    turns += most;
    least += most != 0;
  }
  cluster.getProfile().bankConflicts += turns - least;
}

void Warp::noteSectors(const LaneValues &addresses, LaneMask active,
                       std::optional<StateSpace> space, uint64_t size,
                       uint64_t Profile::*count) {
  if (!getCluster().getContext().options.profile)
    return;
  llvm::SmallVector<uint64_t, 2 * kWarpSize> sectors;
  for (unsigned lane : lanesOf(active)) {
    SpaceAddress where = space ? SpaceAddress{*space, addresses[lane]}
                               : resolveGeneric(addresses[lane]);
    if (where.space != StateSpace::Global)
      continue;
    for (uint64_t sector = where.address / kSectorBytes;
         sector <= (where.address + size - 1) / kSectorBytes; ++sector)
      sectors.push_back(sector);
  }
  llvm::sort(sectors);
  getCluster().getProfile().*count += llvm::unique(sectors) - sectors.begin();
}

Agent Warp::getAgent(unsigned lane) const {
  return makeAgent(cta.getRank(), getThread(lane));
}

void Warp::noteSynchronised(unsigned lane, uint64_t time) {
  getCluster().getHazards().noteSync(getAgent(lane), time);
}

void Warp::noteProxyFence(LaneMask lanes) {
  Cluster &cluster = getCluster();
  for (unsigned lane : lanesOf(lanes))
    cluster.getHazards().noteProxyFence(getAgent(lane), cluster.getTime());
}

void Warp::writeTrace(llvm::raw_ostream &os, uint32_t place, LaneMask active) {
  const Op &op = getCluster().getContext().program.getOps()[place];
  if (!op.instruction)
    return;
  const Dim3 &id = cta.getId();
  os << llvm::formatv("cta ({0}, {1}, {2}) warp {3} lanes {4:x-8} line {5}: "
                      "{6}",
                      id[0], id[1], id[2], index, active,
                      op.instruction->location.line,
                      op.instruction->getSpelling());
  unsigned lane = llvm::countr_zero(active);
  for (const Result &result : op.results)
    if (!result.isSink)
      os << llvm::formatv(" {0:x}", frame->getSlot(result.slot)[lane]);
  os << "\n";
}

} // namespace blockscale::emulator

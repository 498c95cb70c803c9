//===- Warp.h - A warp and its registers ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp: its lanes, their registers and their accesses to memory.
//
// A warp is a set of groups of lanes, each at a place of the program. Lanes
// that part at a branch form groups, groups that meet are one again. Of those
// that can go on, the deepest call and then the earliest instruction runs
// first, so that structured code comes together behind a branch; the
// adversarial schedule draws instead.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MACHINE_WARP_H
#define BLOCKSCALE_LIB_EMULATOR_MACHINE_WARP_H

#include "Emulator/Async/WarpgroupWork.h"
#include "Emulator/Hazards/GlobalRaceLog.h"
#include "Emulator/Hazards/LaunchAccesses.h"
#include "Emulator/Hazards/RaceLog.h"
#include "Emulator/Hazards/SyncLog.h"
#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/Memory.h"
#include "blockscale/Emulator/Op.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace blockscale::emulator {

struct Profile;

class Cta;
class Cluster;
struct AsyncWork;
struct ProgramFunction;

/// The lanes of a mask, from the lowest: `for (unsigned lane : lanesOf(mask))`.
class LaneRange {
public:
  class Iterator {
  public:
    explicit Iterator(LaneMask rest) : rest(rest) {}
    unsigned operator*() const { return llvm::countr_zero(rest); }
    Iterator &operator++() {
      rest &= rest - 1;
      return *this;
    }
    bool operator!=(Iterator other) const { return rest != other.rest; }

  private:
    LaneMask rest;
  };
  explicit LaneRange(LaneMask mask) : mask(mask) {}
  Iterator begin() const { return Iterator(mask); }
  Iterator end() const { return Iterator(0); }

private:
  LaneMask mask;
};
inline LaneRange lanesOf(LaneMask mask) { return LaneRange(mask); }

/// Registers, `.param` variables and local memory of one depth of calls. Lanes
/// may be in different functions.
struct Frame {
  std::vector<uint64_t> values;
  std::vector<LaneMask> defined;
  /// `.param` space of each lane: `bytesPerLane` each.
  std::vector<uint8_t> bytes;
  uint64_t bytesPerLane = 0;
  /// First address of the function's local variables.
  std::array<uint64_t, kWarpSize> local = {};
  /// Where the lane goes on in the frame above: the call's op.
  std::array<uint32_t, kWarpSize> call = {};
  /// The local memory that the lane needs for its calls, this one and those
  /// around it. A kernel's own is checked at its launch.
  std::array<uint64_t, kWarpSize> callBytes = {};

  uint64_t *getSlot(uint32_t slot) {
    return values.data() + size_t(slot) * kWarpSize;
  }
};

struct LaneGroup {
  LaneMask lanes = 0;
  /// Index of the next op.
  uint32_t place = 0;
  uint32_t depth = 0;
  /// Whether the group could not go on when it was last tried.
  bool isBlocked = false;
  /// The place where the group last looked in vain at what others change.
  std::optional<uint32_t> polled = std::nullopt;
};

/// Registers that an asynchronous load will still write.
struct InFlight {
  uint32_t depth;
  uint32_t slot;
  LaneMask lanes;
  /// The load.
  const Op *op;
  /// What to do before the register is touched.
  llvm::StringLiteral advice;
};

/// What a thread waits for at a barrier.
struct BarrierTicket {
  enum State : uint8_t { None, Waiting, Passed };
  State state = None;
  uint8_t barrier = 0;
  /// What the instructions with `.red` give, once the barrier has passed.
  uint32_t trues = 0;
  uint32_t count = 0;
  /// The time when the last thread arrived.
  uint64_t passed = 0;
  /// barrier.cluster: it has arrived in `clusterRound`, and not waited yet.
  bool hasArrived = false;
  uint64_t clusterRound = 0;
};

class Warp {
public:
  Warp(Cta &cta, unsigned index, LaneMask lanes);

  enum class Turn : uint8_t {
    /// The turn is over; it could go on.
    Running,
    /// It could go on, but has told others something, and the schedule lets
    /// them overtake it.
    Overtaken,
    /// No group can go on until something changes.
    Waiting,
    /// All lanes have exited.
    Done,
  };
  /// Executes at most `steps` instructions. Groups that could not go on are
  /// tried once more.
  Turn run(uint64_t steps);

  //===--------------------------------------------------------------------===//
  // For handlers: the group that executes
  //===--------------------------------------------------------------------===//

  /// The 32 values of a source; `scratch` holds them where they are computed.
  const uint64_t *read(const Source &source, LaneValues &scratch);
  /// Lanes in which a source is defined.
  LaneMask getDefined(const Source &source) const {
    return source.kind == Source::Register ? frame->defined[source.index]
                                           : kAllLanes;
  }
  /// Lanes of `active` where a predicate holds.
  LaneMask getPredicate(const Source &source, LaneMask active);

  /// Lanes of `active` where a source is defined; the others are a fault of
  /// `op`. `role` completes "expected ... to be defined".
  LaneMask require(const Op &op, const Source &source, LaneMask active,
                   llvm::StringRef role);

  /// The 32 places of a result, to write those of active lanes; nobody reads
  /// those of a sink.
  uint64_t *write(const Result &result) {
    return result.isSink ? sink : frame->getSlot(result.slot);
  }
  /// Marks the lanes of `active` as defined where `defined` says so.
  void define(const Result &result, LaneMask active,
              LaneMask defined = kAllLanes) {
    if (result.isSink)
      return;
    LaneMask &mask = frame->defined[result.slot];
    mask = (mask & ~active) | (defined & active);
  }

  /// The addresses of `active` lanes, undefined ones left out with a fault.
  LaneMask readAddresses(const Op &op, const AddressOperand &address,
                         LaneMask active, LaneValues &addresses);

  /// Bytes of a space that a lane of `op` reads or writes; generic addresses
  /// are resolved first. Empty, and reported, where they are not there. Shared
  /// addresses may be another CTA's of the cluster.
  llvm::ArrayRef<uint8_t> load(const Op &op, unsigned lane, SpaceAddress from,
                               uint64_t size, uint64_t alignment);
  llvm::MutableArrayRef<uint8_t> store(const Op &op, unsigned lane,
                                       SpaceAddress to, uint64_t size,
                                       uint64_t alignment);

  /// Plain accesses at a shared address, for the logs of races.
  void noteLoad(const Op &op, unsigned lane, const SharedRange &range,
                Faults &faults);
  enum class StoreKind : uint8_t {
    /// The handler stores next: what is stored may be there already.
    Plain,
    /// No other thread stores the same value there.
    Exclusive,
    /// Other threads may store the same value there.
    Repeated,
  };
  void noteStore(const Op &op, unsigned lane, const SharedRange &range,
                 StoreKind kind, Faults &faults);
  /// Plain accesses to global memory by what the warp starts now.
  GlobalAccess getGlobalAccess();
  void noteGlobalLoad(const Op &op, const GlobalRange &range, bool isAsync,
                      Faults &faults);
  void beginGlobalStore(const Op &op, const GlobalRange &range,
                        PendingStore store, bool isReduction, Faults &faults);
  /// An access to global memory, plain or strong, for launches that may
  /// overlap.
  void noteOverlap(const Op &op, const GlobalRange &range, AccessKind kind,
                   Faults &faults);
  /// The thread that started the work has waited for it.
  void endGlobalStore(const AsyncWork &work);
  /// A strong store, which others that see it come behind.
  void release(const Op &op, SpaceAddress where, uint64_t size);
  /// Makes bytes that a lane wrote uninitialised again.
  void forget(const Op &op, unsigned lane, SpaceAddress where, uint64_t size);

  /// Counts the turns that an access of `size` bytes a lane takes in the banks
  /// of shared memory, for the profile.
  void noteBanks(const LaneValues &addresses, LaneMask active,
                 std::optional<StateSpace> space, uint64_t size);
  /// Adds the sectors of global memory that an access of `size` bytes a lane
  /// touches to a count of the profile.
  void noteSectors(const LaneValues &addresses, LaneMask active,
                   std::optional<StateSpace> space, uint64_t size,
                   uint64_t Profile::*count);

  void report(const Op &op, std::optional<unsigned> lane,
              llvm::ArrayRef<Fault> faults);

  /// Moves the executing lanes of `lanes` to `place`; for handlers that return
  /// Step::Moved, once for every lane of theirs.
  void moveTo(LaneMask lanes, uint32_t place);
  void exit(LaneMask lanes);
  /// Into a new frame of `function`, and from there back behind the call.
  void enter(LaneMask lanes, const ProgramFunction &function);
  void leave(LaneMask lanes);

  /// A wait for others that these lanes did has succeeded.
  void noteSynchronised(LaneMask lanes) {
    for (unsigned lane : lanesOf(lanes))
      noteSynchronised(lane, getTime());
  }
  /// The wait was over at a time that may be long ago: what others have done
  /// since is not ordered before the lane.
  void noteSynchronised(unsigned lane, uint64_t time);
  /// The lanes have executed fence.proxy.async.
  void noteProxyFence(LaneMask lanes);
  std::array<BarrierTicket, kWarpSize> tickets = {};

  /// Reading or writing one of these registers is a fault.
  std::vector<InFlight> inFlight;
  /// The warp's wgmma.
  WarpgroupWork warpgroup;

  Cta &getCta() { return cta; }
  Cluster &getCluster();
  /// The time of the cluster.
  uint64_t getTime();
  unsigned getIndex() const { return index; }
  /// The number of the warp in its cluster.
  unsigned getClusterIndex() const { return clusterIndex; }
  /// A lane among the threads of the cluster.
  Agent getAgent(unsigned lane) const;
  uint32_t getThread(unsigned lane) const { return index * kWarpSize + lane; }
  /// Lanes that have not exited.
  LaneMask getLive() const { return live; }
  /// Lanes of the executing group, whatever their guards.
  LaneMask getLanes() const { return current.lanes; }
  /// The frame of a depth: of the executing group's own by default.
  Frame &getFrame() { return *frame; }
  Frame &getFrame(uint32_t depth) { return *frames[depth]; }
  /// Index of the executing op.
  uint32_t getPlace() const { return current.place; }
  uint32_t getDepth() const { return current.depth; }
  /// Calls `visit` with each group; between turns.
  template <typename Visit>
  void forEachGroup(Visit visit) const {
    if (current.lanes)
      visit(current);
    for (const LaneGroup &group : groups)
      visit(group);
  }
  /// Whether a group has not been found waiting; between turns.
  bool couldGoOn() const {
    return current.lanes || llvm::any_of(groups, [](const LaneGroup &group) {
             return !group.isBlocked;
           });
  }
  /// Where its lanes are and what their registers hold, as a number; `bytes`
  /// rises by what that took. Between turns.
  uint64_t hashState(uint64_t &bytes) const;
  /// Calls `function` with the registers of a group in place; between turns.
  template <typename Function>
  auto inGroup(const LaneGroup &group, Function function) {
    frame = frames[group.depth].get();
    auto result = function();
    if (current.lanes)
      frame = frames[current.depth].get();
    return result;
  }

private:
  void setSpecials();
  bool selectGroup();
  Step execute(const Op &op);
  LaneMask converge(const Op &op, LaneMask active);
  void checkInFlight(const Op &op, LaneMask active);
  void checkOpenStores(const Op &op);
  void checkGlobalAccesses(const Op &op);
  void setBlocked(LaneMask lanes);
  Memory *getMemory(const Op &op, unsigned lane, SpaceAddress where);
  void writeTrace(llvm::raw_ostream &os, uint32_t place, LaneMask active);

  Cta &cta;
  unsigned index;
  unsigned clusterIndex;
  /// The warp's clock.
  const VectorClock &clock;
  LaneMask live;
  /// The group that executes, taken out of `groups`.
  LaneGroup current;
  llvm::SmallVector<LaneGroup, 2> groups;
  /// Whether the handler moved all lanes of the executing group.
  bool hasMovedAll = false;
  /// Changes of the cluster when it last looked at what others change, and
  /// instructions since.
  uint64_t changesAtYield = ~uint64_t(0);
  uint64_t stepsSinceYield = 0;
  /// Lanes whose group goes first in this turn.
  LaneMask preferred = 0;
  Frame *frame = nullptr;
  std::vector<std::unique_ptr<Frame>> frames;
  std::array<std::unique_ptr<Memory>, kWarpSize> local;
  /// SpecialRegister * 4 + component; those that change are written on reading.
  std::vector<std::array<uint64_t, kWarpSize>> specials;
  LaneValues sink;
  /// A store of the executing instruction, with the value before it.
  struct OpenStore {
    unsigned lane;
    DoubleStore store;
    std::optional<uint32_t> value;
  };
  std::vector<OpenStore> openStores;
  /// Bytes of global memory that lanes of the executing instruction access,
  /// the first of them `lane`: neighbours are one piece.
  struct GlobalPiece {
    GlobalRange range;
    unsigned lane;
    uint32_t epoch;
  };
  using GlobalPieces = llvm::SmallVector<GlobalPiece, 0>;
  void addPiece(GlobalPieces &pieces, const GlobalRange &range, unsigned lane);
  GlobalPieces globalLoads;
  GlobalPieces globalStores;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MACHINE_WARP_H

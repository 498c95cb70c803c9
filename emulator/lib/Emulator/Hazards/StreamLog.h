//===- StreamLog.h - Launches that may overlap ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of a stream that may still run when a later one begins. CUDA
// Programming Guide, "Programmatic Dependent Launch and Synchronization", and
// PTX ISA, "griddepcontrol".
//
// A launch begins when all before it have ended, or, with programmatic stream
// serialization, once each CTA of the launch before it has executed
// griddepcontrol.launch_dependents or has ended. That orders nothing: what it
// does, and the launch before, may happen in any order up to a
// griddepcontrol.wait. Behind that the launch before has ended, and what it
// stored is there.
//
// A launch whose threads do not wait may end before the one before it does. So
// whoever waits for a launch has waited for
//
//   * that launch,
//   * the one before that, if a thread of that launch has waited, and so on.
//
// And a launch begins behind the end of the one before the last, if every CTA
// of the last one had waited when it let its dependents go.
//
// In the emulator launches run one behind the other. An access of a launch that
// does not come behind the end of an earlier one is looked for among those of
// that one, which is kept for that.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_STREAMLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_STREAMLOG_H

#include "Emulator/Hazards/LaunchAccesses.h"
#include "Emulator/Hazards/VectorClock.h"

#include <set>

namespace blockscale::emulator {

/// A launch, from its begin until no later one may overlap it.
struct LoggedLaunch {
  /// Its number in the stream.
  uint64_t number;
  std::string kernel;
  /// The line of each instruction of its program.
  std::vector<unsigned> lines;
  LaunchAccesses accesses;
  /// The numbers of the launches that have ended once it has.
  std::set<uint64_t> ended;
};

class StreamLog {
public:
  void clear() { launches.clear(); }

private:
  friend class LaunchOverlap;
  uint64_t count = 0;
  /// Those that may run when the next launch begins before they have ended.
  std::vector<std::unique_ptr<LoggedLaunch>> launches;
};

/// A launch that runs, beside those that may do so too.
class LaunchOverlap {
public:
  /// Begins a launch. Without `isProgrammatic` all before it have ended.
  LaunchOverlap(StreamLog &stream, llvm::StringRef kernel,
                std::vector<unsigned> lines, bool isProgrammatic);
  /// Ends it.
  ~LaunchOverlap();
  LaunchOverlap(const LaunchOverlap &) = delete;
  LaunchOverlap &operator=(const LaunchOverlap &) = delete;

  /// An access of a warp that has this clock, by an instruction; a fault where
  /// one of a launch that may still run races with it.
  void note(const VectorClock &clock, const GlobalRange &range, AccessKind kind,
            uint32_t op, const Memory &global, Faults &faults);

  /// A thread waits. Who knows the clock that this returns, or of its
  /// threads one that does, has waited.
  const VectorClock &wait();
  /// A CTA lets the dependents go, or ends without.
  void noteStart(bool hasWaited) {
    if (!hasWaited)
      startsEarly = true;
  }
  static bool hasWaited(const VectorClock &clock);

private:
  /// How a launch that may still run is named.
  std::string describe(const LoggedLaunch &launch,
                       const LaunchAccesses::Found &found) const;

  StreamLog &stream;
  std::unique_ptr<LoggedLaunch> launch;
  /// What has ended once the launch before has.
  std::set<uint64_t> endedByWait;
  /// Those that run before a wait, and those that do behind it.
  std::vector<const LoggedLaunch *> before, behind;
  VectorClock waited;
  std::atomic<bool> waits{false};
  std::atomic<bool> startsEarly{false};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_STREAMLOG_H

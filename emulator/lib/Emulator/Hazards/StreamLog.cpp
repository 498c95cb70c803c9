//===- StreamLog.cpp - Launches that may overlap --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/StreamLog.h"

#include "blockscale/Emulator/Stream.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

namespace blockscale::emulator {

Stream::Stream() : log(std::make_unique<StreamLog>()) {}
Stream::~Stream() = default;
Stream::Stream(Stream &&) noexcept = default;
Stream &Stream::operator=(Stream &&) noexcept = default;

void Stream::synchronize() { log->clear(); }

/// The number of a cluster that no grid has: clocks that know its warp have
/// waited for the launch before.
static constexpr uint32_t kLaunchBefore = std::numeric_limits<uint32_t>::max();

static VectorClock makeWaitedClock() {
  auto grid = std::make_shared<GridEpochs>();
  (*grid)[kLaunchBefore].happened = Epochs(1);
  (*grid)[kLaunchBefore].happened[0] = 1;
  VectorClock clock;
  clock.joinGrid(grid, /*cluster=*/0);
  return clock;
}

LaunchOverlap::LaunchOverlap(StreamLog &stream, llvm::StringRef kernel,
                             std::vector<unsigned> lines, bool isProgrammatic)
    : stream(stream), launch(std::make_unique<LoggedLaunch>()),
      waited(makeWaitedClock()) {
  launch->number = stream.count++;
  launch->kernel = kernel.str();
  launch->lines = std::move(lines);
  if (!isProgrammatic)
    stream.clear();
  if (stream.launches.empty())
    return;
  const LoggedLaunch &last = *stream.launches.back();
  endedByWait = last.ended;
  endedByWait.insert(last.number);
  for (const std::unique_ptr<LoggedLaunch> &earlier : stream.launches) {
    before.push_back(earlier.get());
    if (!endedByWait.count(earlier->number))
      behind.push_back(earlier.get());
  }
}

LaunchOverlap::~LaunchOverlap() {
  if (waits)
    launch->ended = endedByWait;
  if (!startsEarly)
    llvm::erase_if(stream.launches,
                   [&](const std::unique_ptr<LoggedLaunch> &earlier) {
                     return endedByWait.count(earlier->number) != 0;
                   });
  stream.launches.push_back(std::move(launch));
}

bool LaunchOverlap::hasWaited(const VectorClock &clock) {
  return clock.findOther(kLaunchBefore) != nullptr;
}

const VectorClock &LaunchOverlap::wait() {
  waits = true;
  return waited;
}

/// "kernel 'scale' of the launch before stores (line 12)".
std::string LaunchOverlap::describe(const LoggedLaunch &earlier,
                                    const LaunchAccesses::Found &found) const {
  uint64_t distance = launch->number - earlier.number;
  return llvm::formatv(
      "kernel '{0}' of the launch {1}before {2} (line {3})", earlier.kernel,
      distance == 1 ? std::string() : llvm::formatv("{0} ", distance).str(),
      isStore(found.kind) ? "stores" : "loads", earlier.lines[found.op]);
}

/// "byte 16 of 'x' in global memory".
static std::string describePlace(const Memory &global, uint64_t address) {
  for (const Buffer &buffer : global.getBuffers())
    if (address - buffer.base < buffer.bytes.size())
      return llvm::formatv("{0:x}, byte {1} of '{2}' in global memory", address,
                           address - buffer.base, buffer.name);
  return llvm::formatv("{0:x} in global memory", address);
}

void LaunchOverlap::note(const VectorClock &clock, const GlobalRange &range,
                         AccessKind kind, uint32_t op, const Memory &global,
                         Faults &faults) {
  launch->accesses.note(range, kind, op);
  bool isBehind = !before.empty() && hasWaited(clock);
  for (const LoggedLaunch *earlier : isBehind ? behind : before) {
    std::optional<LaunchAccesses::Found> found =
        earlier->accesses.findRace(range, kind);
    if (!found)
      continue;
    faults.push_back(
        {FaultKind::Hazard,
         llvm::formatv("{0} {1}, which {2}, and that launch may still run: {3}",
                       isStore(kind) ? "stores to" : "loads",
                       describePlace(global, found->address),
                       describe(*earlier, *found),
                       isBehind ? "those that this one has waited for have not "
                                  "waited for it"
                                : "no griddepcontrol.wait comes before"),
         isBehind ? "let the launches in between execute griddepcontrol.wait"
                  : "execute griddepcontrol.wait before, in this thread or in "
                    "one that it waits for, or launch without programmatic "
                    "stream serialization"});
    return;
  }
}

} // namespace blockscale::emulator

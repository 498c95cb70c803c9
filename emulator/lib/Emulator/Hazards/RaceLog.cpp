//===- RaceLog.cpp - Races between warps ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/RaceLog.h"

#include "Emulator/Memory/TensorMemory.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscale::emulator {

static constexpr unsigned kLanes = 16;

template <typename T>
static void repeatEach(std::vector<T> &values, size_t group) {
  std::vector<T> twice;
  twice.reserve(2 * values.size());
  for (size_t i = 0; i < values.size(); i += group)
    for (unsigned copy = 0; copy < 2; ++copy)
      twice.insert(twice.end(), values.begin() + i, values.begin() + i + group);
  values = std::move(twice);
}

/// Halves the words.
void RaceLog::refine() {
  wordBytes /= 2;
  repeatEach(stores, 1);
  repeatEach(loads, warps);
  repeatEach(remoteLoads, 1);
}

RaceLog::Words RaceLog::getWords(const RaceAccess &access) {
  size_t first = 0, end = 0;
  if (space == Space::Shared) {
    while ((access.address | access.size) % wordBytes != 0)
      refine();
    uint64_t offset = access.address & 0xFFFFFF;
    first = offset / wordBytes;
    end = first + access.size / wordBytes;
  } else {
    first = (access.address >> 16) / kLanes * TensorMemory::kColumns +
            (access.address & 0xFFFF);
    end = first + access.size;
  }
  if (stores.size() < end) {
    stores.resize(std::max(end, 2 * stores.size()));
    loads.resize(stores.size() * warps);
  }
  return {first, end};
}

/// The address of word `word` of an access.
uint64_t RaceLog::getAddress(const RaceAccess &access, size_t word) const {
  return access.address + word * (space == Space::Shared ? wordBytes : 1);
}

/// A load of the word by another warp that has not happened before the access.
std::optional<unsigned> RaceLog::findLoad(const RaceAccess &access,
                                          size_t word) const {
  const uint32_t *epochs = &loads[word * warps];
  const uint32_t *known = access.clock.data() + firstWarp;
  bool isRace = false;
  for (unsigned i = 0; i < warps; ++i)
    isRace |= epochs[i] > known[i];
  if (isRace)
    return firstWarp + (std::mismatch(epochs, epochs + warps, known,
                                      std::less_equal<uint32_t>())
                            .first -
                        epochs);
  if (word < remoteLoads.size())
    for (const Event &load : remoteLoads[word])
      if (load.epoch > access.clock[load.warp])
        return load.warp;
  return std::nullopt;
}

void RaceLog::report(const RaceAccess &access, uint64_t address, unsigned warp,
                     llvm::StringRef verb, llvm::StringRef earlier,
                     Faults &faults) const {
  // With its CTA where that is another one than that of the access.
  auto describe = [&](unsigned which) -> std::string {
    std::string text = llvm::formatv("warp {0}", which % warps);
    if (which / warps != access.warp / warps)
      text += llvm::formatv(" of the CTA of rank {0}", which / warps);
    return text;
  };
  std::string where = llvm::formatv("lane {0}, column {1} of tensor memory",
                                    address >> 16, address & 0xFFFF);
  if (space == Space::Shared)
    where = llvm::formatv("byte {0:x} of shared memory", address);
  faults.push_back({FaultKind::Hazard,
                    llvm::formatv("{0} {1} {2}, which {3} {4}, and has not "
                                  "waited for it since",
                                  describe(access.warp), verb, where,
                                  describe(warp), earlier),
                    "put a barrier between the accesses of the two warps"});
}

void RaceLog::noteLoad(const RaceAccess &access, Faults &faults) {
  Words words = getWords(access);
  uint32_t now = access.clock[access.warp];
  bool isTold = false;
  for (size_t i = words.first; i < words.end; ++i) {
    const Event &store = stores[i];
    if (!isTold && store.epoch > access.clock[store.warp]) {
      report(access, getAddress(access, i - words.first), store.warp, "loads",
             "has stored", faults);
      isTold = true;
    }
    if (isOwn(access.warp)) {
      loads[i * warps + access.warp - firstWarp] = now;
      continue;
    }
    if (remoteLoads.size() < words.end)
      remoteLoads.resize(stores.size());
    auto &[latest, other] = remoteLoads[i];
    if (latest.warp != access.warp)
      other = latest;
    latest = {now, access.warp};
  }
}

void RaceLog::noteStore(const RaceAccess &access, Faults &faults,
                        std::vector<DoubleStore> &doubles) {
  Words words = getWords(access);
  Event event = {access.clock[access.warp], access.warp};
  bool isTold = false;
  for (size_t i = words.first; i < words.end; ++i) {
    uint64_t address = getAddress(access, i - words.first);
    if (!isTold)
      if (std::optional<unsigned> warp = findLoad(access, i)) {
        report(access, address, *warp, "stores to", "has loaded", faults);
        isTold = true;
      }
    if (stores[i].epoch > access.clock[stores[i].warp])
      doubles.push_back({address, wordBytes, stores[i].warp});
    stores[i] = event;
  }
}

void RaceLog::reportDouble(const RaceAccess &access, const DoubleStore &store,
                           Faults &faults) const {
  report(access, store.address, store.warp, "stores to", "has stored", faults);
}

} // namespace blockscale::emulator

//===- RaceLog.cpp - Races between warps ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/RaceLog.h"

#include "Emulator/Hazards/RacePages.h"
#include "Emulator/Memory/TensorMemory.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscale::emulator {

static constexpr unsigned kLanes = 16;

/// Halves the words.
void RaceLog::refine(Page &page) const {
  page.wordUnits /= 2;
  repeatEach(page.stores);
  repeatEach(page.loads, warps);
  repeatEach(page.remoteLoads);
}

RaceLog::Page &RaceLog::getPage(size_t number) {
  if (pages.size() <= number)
    pages.resize(number + 1);
  std::unique_ptr<Page> &page = pages[number];
  if (!page) {
    page = std::make_unique<Page>();
    page->wordUnits = space == Space::Shared ? 4 : 1;
    page->stores.resize(kPageUnits / page->wordUnits);
    page->loads.resize(page->stores.size() * warps);
  }
  return *page;
}

/// Calls `visit` with the words of an access, page by page.
template <typename Visit>
void RaceLog::forEachPage(const RaceAccess &access, Visit visit) {
  uint64_t begin = access.address & 0xFFFFFF;
  if (space == Space::Tensor)
    begin = (access.address >> 16) / kLanes * TensorMemory::kColumns +
            (access.address & 0xFFFF);
  uint64_t address = access.address;
  forEachPagePart(begin, begin + access.size, kPageUnits,
                  [&](uint64_t number, uint64_t first, uint64_t last) {
                    Page &page = getPage(number);
                    while ((first | last) % page.wordUnits != 0)
                      refine(page);
                    visit(Words{page, first / page.wordUnits,
                                last / page.wordUnits, address});
                    address += last - first;
                  });
}

/// A load of the word by another warp that has not happened before the access.
std::optional<unsigned> RaceLog::findLoad(const RaceAccess &access,
                                          const Page &page, size_t word) const {
  const uint32_t *epochs = &page.loads[word * warps];
  const uint32_t *known = access.clock.data() + firstWarp;
  bool isRace = false;
  for (unsigned i = 0; i < warps; ++i)
    isRace |= epochs[i] > known[i];
  if (isRace)
    return firstWarp + (std::mismatch(epochs, epochs + warps, known,
                                      std::less_equal<uint32_t>())
                            .first -
                        epochs);
  if (!page.remoteLoads.empty())
    for (const Event &load : page.remoteLoads[word])
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
  uint32_t now = access.clock[access.warp];
  bool isTold = false;
  forEachPage(access, [&](const Words &words) {
    Page &page = words.page;
    for (size_t i = words.first; i < words.end; ++i) {
      const Event &store = page.stores[i];
      if (!isTold && store.epoch > access.clock[store.warp]) {
        report(access, words.address + (i - words.first) * page.wordUnits,
               store.warp, "loads", "has stored", faults);
        isTold = true;
      }
      if (isOwn(access.warp)) {
        page.loads[i * warps + access.warp - firstWarp] = now;
        continue;
      }
      if (page.remoteLoads.empty())
        page.remoteLoads.resize(page.stores.size());
      auto &[latest, other] = page.remoteLoads[i];
      if (latest.warp != access.warp)
        other = latest;
      latest = {now, access.warp};
    }
  });
}

void RaceLog::noteStore(const RaceAccess &access, Faults &faults,
                        std::vector<DoubleStore> &doubles) {
  Event event = {access.clock[access.warp], access.warp};
  bool isTold = false;
  forEachPage(access, [&](const Words &words) {
    Page &page = words.page;
    for (size_t i = words.first; i < words.end; ++i) {
      uint64_t address = words.address + (i - words.first) * page.wordUnits;
      if (!isTold)
        if (std::optional<unsigned> warp = findLoad(access, page, i)) {
          report(access, address, *warp, "stores to", "has loaded", faults);
          isTold = true;
        }
      Event &store = page.stores[i];
      if (store.epoch > access.clock[store.warp])
        doubles.push_back({address, page.wordUnits, store.warp});
      store = event;
    }
  });
}

void RaceLog::reportDouble(const RaceAccess &access, const DoubleStore &store,
                           Faults &faults) const {
  report(access, store.address, store.warp, "stores to", "has stored", faults);
}

} // namespace blockscale::emulator

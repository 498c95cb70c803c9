//===- GlobalRaceLog.cpp - Races in global memory -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/GlobalRaceLog.h"

#include "Emulator/Hazards/RacePages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscale::emulator {

GlobalRaceLog::GlobalRaceLog(const Memory &memory, unsigned warpsOfCluster)
    : warpsOfCluster(warpsOfCluster) {
  for (const Buffer &buffer : memory.getBuffers()) {
    if (buffer.readOnly)
      continue;
    auto shadow = std::make_unique<Shadow>();
    shadow->name = buffer.name;
    shadow->base = buffer.base;
    shadow->size = buffer.bytes.size();
    shadow->pages = std::vector<std::atomic<Page *>>(
        llvm::divideCeil(shadow->size, kPageBytes));
    shadows.push_back(std::move(shadow));
  }
}

GlobalRaceLog::~GlobalRaceLog() {
  for (const std::unique_ptr<Shadow> &shadow : shadows)
    for (std::atomic<Page *> &page : shadow->pages)
      delete page.load();
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Halves the words.
void GlobalRaceLog::refine(Page &page) {
  page.wordBytes /= 2;
  repeatEach(page.stores);
  repeatEach(page.loads);
}

/// Calls `visit` with each part of a range, whose page is locked.
template <typename Visit>
void GlobalRaceLog::forEachPart(const GlobalRange &range, Visit visit) {
  auto it = llvm::upper_bound(
      shadows, range.address,
      [](uint64_t value, const std::unique_ptr<Shadow> &shadow) {
        return value < shadow->base;
      });
  if (it == shadows.begin())
    return;
  Shadow &shadow = **std::prev(it);
  uint64_t begin = range.address - shadow.base;
  uint64_t end = std::min(begin + range.size, shadow.size);
  forEachPagePart(
      begin, end, kPageBytes,
      [&](uint64_t number, uint64_t first, uint64_t last) {
        std::atomic<Page *> &slot = shadow.pages[number];
        Page *page = slot.load();
        if (!page) {
          auto made = std::make_unique<Page>();
          if (slot.compare_exchange_strong(page, made.get()))
            page = made.release();
        }
        std::lock_guard<std::mutex> lock(page->mutex);
        while ((first | last) % page->wordBytes != 0)
          refine(*page);
        visit(Part{shadow, *page, shadow.base + number * kPageBytes + first,
                   first / page->wordBytes, last / page->wordBytes});
      });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

GlobalRaceLog::Event
GlobalRaceLog::makeEvent(const GlobalAccess &access) const {
  Event event;
  event.epoch = access.epoch;
  event.warp = access.cluster * warpsOfCluster + access.warp;
  return event;
}

/// What the clock of an access knows of the cluster of an event; null where it
/// knows nothing. `warp` becomes the event's warp in there.
static const ClusterEpochs *findEpochs(const GlobalAccess &access,
                                       unsigned warpsOfCluster,
                                       uint32_t &warp) {
  uint32_t own = warp - access.cluster * warpsOfCluster;
  if (own < warpsOfCluster) {
    warp = own;
    return &access.clock.getOwn();
  }
  if (!access.clock.getOthers())
    return nullptr;
  uint32_t cluster = warp / warpsOfCluster;
  warp %= warpsOfCluster;
  return access.clock.findOther(cluster);
}

bool GlobalRaceLog::hasHappened(const Event &event,
                                const GlobalAccess &access) const {
  if (event.epoch == 0)
    return true;
  if (event.epoch & kPending)
    return false;
  uint32_t warp = event.warp;
  const ClusterEpochs *epochs = findEpochs(access, warpsOfCluster, warp);
  return epochs && epochs->happened.get(warp) >= event.epoch;
}

/// Whether the async proxy sees a store that has happened before.
bool GlobalRaceLog::isVisible(const Event &event,
                              const GlobalAccess &access) const {
  if (event.epoch == 0 || event.isAsync)
    return true;
  uint32_t warp = event.warp;
  const ClusterEpochs *epochs = findEpochs(access, warpsOfCluster, warp);
  return epochs && epochs->visible.get(warp) >= event.epoch;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "0x700000000010, byte 16 of 'x' in global memory".
std::string GlobalRaceLog::describePlace(const Part &part, size_t word) const {
  uint64_t address = part.address + (word - part.first) * part.page.wordBytes;
  return llvm::formatv("{0:x}, byte {1} of '{2}' in global memory", address,
                       address - part.shadow.base, part.shadow.name);
}

void GlobalRaceLog::reportRace(const GlobalAccess &access, const Part &part,
                               size_t word, const Event &earlier,
                               llvm::StringRef verb, bool isLoad,
                               DescribeWarp describe, Faults &faults) const {
  uint32_t cluster = earlier.warp / warpsOfCluster;
  std::string self = describe(access.cluster, access.warp);
  std::string other = describe(cluster, earlier.warp % warpsOfCluster);
  std::string place = describePlace(part, word);
  if (earlier.epoch & kPending) {
    faults.push_back(
        {FaultKind::Hazard,
         llvm::formatv("{0} {1} {2}, which a bulk copy of {3} may still "
                       "write: its thread has not waited for it",
                       self, verb, place, other),
         "wait with cp.async.bulk.commit_group and wait_group without .read, "
         "and then let others know"});
    return;
  }
  faults.push_back(
      {FaultKind::Hazard,
       llvm::formatv("{0} {1} {2}, which {3} {4}, and has not waited for it "
                     "since",
                     self, verb, place, other,
                     isLoad ? "has loaded" : "has stored"),
       cluster == access.cluster
           ? "put a barrier between the accesses of the two warps"
           : "let the other thread release a flag behind its access "
             "(st.release.gpu, or fence.acq_rel.gpu and an atomic), and this "
             "one acquire it before (ld.acquire.gpu, or an atomic and the "
             "fence)"});
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Forgets loads that have happened before, as whoever waits for this one has
/// waited for them.
void GlobalRaceLog::noteLoadOf(Loads &loads, const Event &event,
                               const GlobalAccess &access) const {
  for (Event &load : loads)
    if (load.warp == event.warp && load.epoch != 0) {
      load.epoch = event.epoch;
      return;
    }
  for (Event &load : loads)
    if (hasHappened(load, access)) {
      load = event;
      return;
    }
  std::move(loads.begin() + 1, loads.end(), loads.begin());
  loads.back() = event;
}

void GlobalRaceLog::noteLoad(const GlobalAccess &access,
                             const GlobalRange &range, bool isAsync,
                             DescribeWarp describe, Faults &faults) {
  Event event = makeEvent(access);
  forEachPart(range, [&](const Part &part) {
    Page &page = part.page;
    if (!page.stores.empty()) {
      Event good;
      for (size_t i = part.first; i < part.end && faults.empty(); ++i) {
        const Event &store = page.stores[i];
        if (store == good)
          continue;
        if (!hasHappened(store, access))
          reportRace(access, part, i, store, "loads", /*isLoad=*/false,
                     describe, faults);
        else if (isAsync && !isVisible(store, access))
          faults.push_back(
              {FaultKind::Hazard,
               llvm::formatv(
                   "missing fence.proxy.async: the async proxy loads {0}, "
                   "where {1} stored through the generic one",
                   describePlace(part, i),
                   describe(store.warp / warpsOfCluster,
                            store.warp % warpsOfCluster)),
               "execute fence.proxy.async or fence.proxy.async.global between "
               "the store and the copy: in the thread that stores, before it "
               "lets others know, or in the one that copies, once it has "
               "waited"});
        good = store;
      }
    }
    if (page.loads.empty())
      page.loads.resize(kPageBytes / page.wordBytes);
    for (size_t i = part.first; i < part.end; ++i) {
      Event &latest = page.loads[i].front();
      if (latest.epoch == 0 || latest.warp == event.warp)
        latest = event;
      else
        noteLoadOf(page.loads[i], event, access);
    }
  });
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Whether a load of the word by another warp has not happened before, which is
/// reported.
bool GlobalRaceLog::checkLoads(const GlobalAccess &access, const Part &part,
                               size_t word, DescribeWarp describe,
                               Faults &faults) const {
  if (part.page.loads.empty())
    return false;
  for (const Event &load : part.page.loads[word])
    if (!hasHappened(load, access)) {
      reportRace(access, part, word, load, "stores to", /*isLoad=*/true,
                 describe, faults);
      return true;
    }
  return false;
}

void GlobalRaceLog::noteStore(const GlobalAccess &access, uint64_t address,
                              llvm::ArrayRef<uint8_t> bytes,
                              DescribeWarp describe, Faults &faults) {
  Event event = makeEvent(access);
  forEachPart({address, bytes.size()}, [&](const Part &part) {
    Page &page = part.page;
    if (page.stores.empty()) {
      page.stores.resize(kPageBytes / page.wordBytes);
      page.values.resize(kPageBytes);
    }
    const uint8_t *stored = bytes.data() + (part.address - address);
    uint8_t *values = &page.values[part.first * page.wordBytes];
    for (size_t i = part.first; i < part.end && faults.empty(); ++i) {
      if (checkLoads(access, part, i, describe, faults))
        break;
      const Event &store = page.stores[i];
      if (hasHappened(store, access))
        continue;
      size_t offset = (i - part.first) * page.wordBytes;
      if ((store.epoch & kPending) || store.isReduction ||
          !std::equal(values + offset, values + offset + page.wordBytes,
                      stored + offset))
        reportRace(access, part, i, store, "stores to", /*isLoad=*/false,
                   describe, faults);
    }
    std::fill(page.stores.begin() + part.first, page.stores.begin() + part.end,
              event);
    if (!page.loads.empty())
      std::fill(page.loads.begin() + part.first, page.loads.begin() + part.end,
                Loads());
    std::copy_n(stored, (part.end - part.first) * page.wordBytes, values);
  });
}

void GlobalRaceLog::beginStore(const GlobalAccess &access,
                               const GlobalRange &range, PendingStore store,
                               bool isReduction, DescribeWarp describe,
                               Faults &faults) {
  Event event = makeEvent(access);
  event.epoch = store;
  event.isAsync = true;
  event.isReduction = isReduction;
  forEachPart(range, [&](const Part &part) {
    Page &page = part.page;
    if (page.stores.empty()) {
      page.stores.resize(kPageBytes / page.wordBytes);
      page.values.resize(kPageBytes);
    }
    for (size_t i = part.first; i < part.end && faults.empty(); ++i) {
      if (checkLoads(access, part, i, describe, faults))
        break;
      const Event &earlier = page.stores[i];
      // Reductions meet, and the copies of a warp count as one.
      bool mayMeet = (isReduction && earlier.isReduction) ||
                     (earlier.isAsync && earlier.warp == event.warp);
      if (!mayMeet && !hasHappened(earlier, access))
        reportRace(access, part, i, earlier, "stores to", /*isLoad=*/false,
                   describe, faults);
    }
    std::fill(page.stores.begin() + part.first, page.stores.begin() + part.end,
              event);
    if (!page.loads.empty())
      std::fill(page.loads.begin() + part.first, page.loads.begin() + part.end,
                Loads());
  });
}

void GlobalRaceLog::noteValues(PendingStore store, uint64_t address,
                               llvm::ArrayRef<uint8_t> bytes) {
  forEachPart({address, bytes.size()}, [&](const Part &part) {
    Page &page = part.page;
    if (!page.stores.empty() && page.stores[part.first].epoch == store)
      std::copy_n(bytes.data() + (part.address - address),
                  (part.end - part.first) * page.wordBytes,
                  &page.values[part.first * page.wordBytes]);
  });
}

void GlobalRaceLog::endStore(const GlobalRange &range, PendingStore store,
                             uint32_t epoch) {
  forEachPart(range, [&](const Part &part) {
    if (!part.page.stores.empty())
      for (size_t i = part.first; i < part.end; ++i)
        if (part.page.stores[i].epoch == store)
          part.page.stores[i].epoch = epoch;
  });
}

} // namespace blockscale::emulator

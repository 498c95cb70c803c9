//===- MBarrierTable.cpp - Barriers of a CTA ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/MBarrierTable.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

static bool isAligned(uint64_t address, llvm::StringRef operation,
                      Faults &faults) {
  if (address % 8 == 0)
    return true;
  faults.push_back({FaultKind::Misaligned,
                    llvm::formatv("expected the address of {0} to be a "
                                  "multiple of 8, but got {1:x}",
                                  operation, address),
                    "declare the barrier as .b64 or align it to 8"});
  return false;
}

bool MBarrierTable::init(uint64_t address, uint32_t count, Faults &faults) {
  if (!isAligned(address, "mbarrier.init", faults))
    return false;
  if (barriers.count(address)) {
    faults.push_back(
        {FaultKind::Barrier,
         llvm::formatv("expected no barrier at {0:x}, but it is initialised "
                       "already",
                       address),
         "initialise each barrier once, or mbarrier.inval it before"});
    return false;
  }
  std::optional<MBarrier> barrier = MBarrier::init(count, faults);
  if (barrier)
    barriers.emplace(address, *barrier);
  return barrier.has_value();
}

MBarrier *MBarrierTable::find(uint64_t address, llvm::StringRef operation,
                              Faults &faults) {
  auto it = barriers.find(address);
  if (it != barriers.end())
    return &it->second;
  if (isAligned(address, operation, faults))
    faults.push_back(
        {FaultKind::Barrier,
         llvm::formatv("expected a barrier at {0:x} for {1}, but none of the "
                       "CTA's {2} is there",
                       address, operation, barriers.size()),
         "mbarrier.init it, and let a barrier of the CTA (or cluster) stand "
         "between that and its first use"});
  return nullptr;
}

bool MBarrierTable::invalidate(uint64_t address, Faults &faults) {
  if (!find(address, "mbarrier.inval", faults))
    return false;
  barriers.erase(address);
  return true;
}

void MBarrierTable::checkAccess(uint64_t address, uint64_t size,
                                Faults &faults) const {
  // The last barrier that starts before the end is the one in the way, if any.
  auto it = barriers.lower_bound(address + size);
  if (it == barriers.begin() || std::prev(it)->first + 8 <= address)
    return;
  faults.push_back(
      {FaultKind::Barrier,
       llvm::formatv("access of {0} bytes at {1:x} touches the barrier at "
                     "{2:x}",
                     size, address, std::prev(it)->first),
       "keep data and barriers apart, or mbarrier.inval the barrier before"});
}

} // namespace blockscale::emulator

//===- TensorMemory.cpp - Tensor memory of a CTA --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemory.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscale::emulator {

/// Columns are handed out by units of this many.
static constexpr unsigned kUnit = 32;

TensorMemory::TensorMemory(Placement placement)
    : placement(placement), cells(size_t(kLanes) * kColumns),
      written(size_t(kLanes) * kColumns) {}

static void reportMisuse(Faults &faults, std::string what,
                         llvm::StringRef advice) {
  faults.push_back({FaultKind::TensorMemory, std::move(what), advice.str()});
}

static bool isCount(uint32_t columns) {
  return columns >= kUnit && columns <= TensorMemory::kColumns &&
         llvm::isPowerOf2_32(columns);
}

bool TensorMemory::areFree(unsigned first, unsigned columns) const {
  for (auto [start, count] : allocations)
    if (first < start + count && start < first + columns)
      return false;
  return true;
}

TensorMemory::AllocStatus
TensorMemory::allocate(uint32_t columns, uint32_t &address, Faults &faults) {
  if (!isCount(columns)) {
    reportMisuse(
        faults,
        llvm::formatv("expected tcgen05.alloc of a power of two from 32 to "
                      "512 columns, but got {0}",
                      columns),
        "round the columns up");
    return AllocStatus::Refused;
  }
  if (!hasPermit) {
    reportMisuse(
        faults,
        "expected no tcgen05.alloc after tcgen05.relinquish_alloc_permit of "
        "the CTA",
        "relinquish the permit after the last allocation");
    return AllocStatus::Refused;
  }
  unsigned last = kColumns - columns;
  for (unsigned i = 0; i <= last; i += kUnit) {
    unsigned start = placement == Placement::Lowest ? i : last - i;
    if (!areFree(start, columns))
      continue;
    allocations[start] = columns;
    address = start;
    return AllocStatus::Done;
  }
  return AllocStatus::Blocked;
}

bool TensorMemory::deallocate(uint32_t address, uint32_t columns,
                              Faults &faults) {
  auto it = allocations.find(address);
  if (it == allocations.end() || it->second != columns) {
    std::string there = "none starts there";
    if (it != allocations.end())
      there = llvm::formatv("that one has {0} columns", it->second);
    reportMisuse(
        faults,
        llvm::formatv("expected tcgen05.dealloc of an allocation, but got "
                      "{0} columns at {1:x}, and {2}",
                      columns, address, there),
        "deallocate what tcgen05.alloc gave, once and whole");
    return false;
  }
  allocations.erase(it);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::fill_n(written.begin() + size_t(lane) * kColumns + address, columns,
                0);
  return true;
}

void TensorMemory::checkLeaks(Faults &faults) const {
  for (auto [start, count] : allocations)
    reportMisuse(
        faults,
        llvm::formatv("{0} columns of tensor memory at {1:x} are still "
                      "allocated when the CTA ends",
                      count, start),
        "tcgen05.dealloc them in a whole warp before the kernel returns");
}

bool TensorMemory::checkAccess(uint32_t address, unsigned lanes,
                               unsigned columns, llvm::StringRef operation,
                               Faults &faults) const {
  unsigned lane = getLane(address), column = getColumn(address);
  if (lane + lanes > kLanes || column + columns > kColumns) {
    reportMisuse(
        faults,
        llvm::formatv("expected {0} to stay within 128 lanes and 512 "
                      "columns, but it takes {1} lanes and {2} columns from "
                      "lane {3}, column {4} on",
                      operation, lanes, columns, lane, column),
        "an address is lane << 16 | column");
    return false;
  }
  // Neighbouring allocations may serve one access.
  for (unsigned i = column; i < column + columns;) {
    auto it = allocations.upper_bound(i);
    if (it == allocations.begin() ||
        std::prev(it)->first + std::prev(it)->second <= i) {
      reportMisuse(faults,
                   llvm::formatv("expected {0} to touch allocated columns, but "
                                 "column {1} of its {2} from {3} on is not",
                                 operation, i, columns, column),
                   "allocate more columns, or add offsets to the address that "
                   "tcgen05.alloc gave");
      return false;
    }
    i = std::prev(it)->first + std::prev(it)->second;
  }
  return true;
}

void UnwrittenCells::report(llvm::StringRef operation, Faults &faults) const {
  if (count == 0)
    return;
  faults.push_back(
      {FaultKind::Uninitialised,
       llvm::formatv("{0} reads {1} cells of tensor memory that were never "
                     "written, the first at lane {2}, column {3}",
                     operation, count, getLane(first), getColumn(first)),
       "let the first MMA of a tile overwrite its accumulator, and copy all "
       "scale factors before"});
}

} // namespace blockscale::emulator

//===- TensorMemory.h - Tensor memory of a CTA ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor memory of a CTA: 128 lanes of 512 columns, each cell 32 bits. PTX
// ISA, sections "Tensor Memory" and "tcgen05.alloc, dealloc,
// relinquish_alloc_permit". Addresses are lane << 16 | column.
//
// Columns are allocated by powers of two from 32 on, with all their lanes, and
// must be deallocated before the kernel ends. Each cell knows whether anything
// was ever stored in it since its column was allocated.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORY_H
#define BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORY_H

#include "blockscale/Emulator/Report.h"

#include <map>
#include <vector>

namespace blockscale::emulator {

inline unsigned getLane(uint32_t address) { return address >> 16; }
inline unsigned getColumn(uint32_t address) { return address & 0xFFFF; }

class TensorMemory {
public:
  static constexpr unsigned kLanes = 128;
  static constexpr unsigned kColumns = 512;

  /// Which of the free columns an allocation takes. A program must not care.
  enum class Placement : uint8_t { Lowest, Highest };

  explicit TensorMemory(Placement placement = Placement::Lowest);

  enum class AllocStatus : uint8_t { Done, Blocked, Refused };

  /// tcgen05.alloc. Blocked, with no fault, while the columns are not free;
  /// refused, with one, where the count is none or the permit is gone.
  AllocStatus allocate(uint32_t columns, uint32_t &address, Faults &faults);

  /// tcgen05.dealloc of a whole allocation.
  bool deallocate(uint32_t address, uint32_t columns, Faults &faults);

  /// tcgen05.relinquish_alloc_permit.
  void relinquish() { hasPermit = false; }

  /// At the end of the CTA: a fault for each allocation that is left.
  void checkLeaks(Faults &faults) const;

  /// Whether cells of `lanes` by `columns` from `address` on are there and
  /// allocated; a fault where not. `operation` is the instruction.
  bool checkAccess(uint32_t address, unsigned lanes, unsigned columns,
                   llvm::StringRef operation, Faults &faults) const;

  /// Cells that `checkAccess` allowed.
  uint32_t get(unsigned lane, unsigned column) const {
    return cells[lane * kColumns + column];
  }
  bool isWritten(unsigned lane, unsigned column) const {
    return written[lane * kColumns + column];
  }
  void set(unsigned lane, unsigned column, uint32_t value) {
    cells[lane * kColumns + column] = value;
    written[lane * kColumns + column] = 1;
  }

private:
  bool areFree(unsigned first, unsigned columns) const;

  Placement placement;
  bool hasPermit = true;
  /// First column to count of columns.
  std::map<unsigned, unsigned> allocations;
  std::vector<uint32_t> cells;
  std::vector<uint8_t> written;
};

/// Cells that an instruction read and nobody wrote: told as one fault.
class UnwrittenCells {
public:
  void note(unsigned lane, unsigned column) {
    if (count++ == 0)
      first = uint32_t(lane) << 16 | column;
  }
  /// Adds the fault, if any; `operation` is the instruction.
  void report(llvm::StringRef operation, Faults &faults) const;

private:
  unsigned count = 0;
  uint32_t first = 0;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORY_H

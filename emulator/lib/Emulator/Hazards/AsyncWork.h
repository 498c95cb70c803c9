//===- AsyncWork.h - Memory that asynchronous work touches ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_ASYNCWORK_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_ASYNCWORK_H

#include "Emulator/Hazards/GlobalRaceLog.h"
#include "Emulator/Hazards/SyncLog.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>

namespace blockscale::emulator {

struct Op;

/// Bytes of shared memory, the CTA's rank in the address.
struct SharedRange {
  uint64_t address;
  uint64_t size;
};

/// Cells of the tensor memory of a CTA.
struct CellRange {
  unsigned rank;
  /// Bit i is lanes 16 i to 16 i + 15.
  uint8_t lanes;
  unsigned column;
  unsigned columns;
};

constexpr uint8_t kAllLaneGroups = 0xFF;

/// A copy, a product, a load or store of tensor memory, or an arrival at
/// another CTA, from its issue on until the program has waited for it.
struct AsyncWork {
  enum Kind : uint8_t {
    /// A copy of the async proxy between shared and global memory.
    BulkCopy,
    /// A copy of the generic proxy: cp.async.
    ThreadCopy,
    /// tcgen05.cp and mma, which are done in order, and wgmma.
    Matrix,
    TensorLoad,
    TensorStore,
    /// An arrival of tcgen05.commit at an mbarrier of another CTA.
    Arrival,
  };
  Kind kind;
  const Op *op;
  Agent agent;
  llvm::SmallVector<SharedRange, 2> reads;
  llvm::SmallVector<SharedRange, 2> writes;
  /// What a copy from shared to global memory stores, and the name of that.
  llvm::SmallVector<GlobalRange, 0> globalWrites;
  PendingStore store = 0;
  llvm::SmallVector<CellRange, 4> cellReads;
  llvm::SmallVector<CellRange, 2> cellWrites;
  /// The shared address of the mbarrier at which an `Arrival` arrives.
  std::optional<uint64_t> barrier;
  /// Whether the work has happened.
  bool isDone = false;
  /// Whether the program has waited for the work.
  bool isReleased = false;
  /// The index of this work in the list of what is not released.
  size_t index = 0;
};

using WorkRef = std::shared_ptr<AsyncWork>;

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_ASYNCWORK_H

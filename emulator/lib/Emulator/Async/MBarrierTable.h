//===- MBarrierTable.h - Barriers of a CTA ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The barriers of one CTA by their shared address. PTX ISA, section "mbarrier":
// a barrier is 8 bytes at a multiple of 8; only mbarrier.init may be done to
// memory that holds none, and neither that nor an ordinary access to memory
// that does, until mbarrier.inval.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIERTABLE_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIERTABLE_H

#include "Emulator/Async/MBarrier.h"

#include <map>

namespace blockscale::emulator {

class MBarrierTable {
public:
  /// mbarrier.init: false, and a fault, where it is refused.
  bool init(uint64_t address, uint32_t count, Faults &faults);

  /// mbarrier.inval: false, and a fault, where there is no barrier.
  bool invalidate(uint64_t address, Faults &faults);

  /// The barrier that an operation names. Null, and a fault, where there is
  /// none; `operation` is the instruction, for the fault.
  MBarrier *find(uint64_t address, llvm::StringRef operation, Faults &faults);

  /// A fault where an ordinary access touches the bytes of a barrier.
  void checkAccess(uint64_t address, uint64_t size, Faults &faults) const;

  const std::map<uint64_t, MBarrier> &getBarriers() const { return barriers; }

private:
  std::map<uint64_t, MBarrier> barriers;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIERTABLE_H

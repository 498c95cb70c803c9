//===- Memory.h - Named buffers of a state space ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes of one state space: global memory of the device, shared memory of a
// CTA, local memory of a thread, the parameters or constants of a kernel. All
// of it lies in named buffers; an access must lie inside one of them. Each byte
// knows whether anything was ever stored in it.
//
// Threads of the host may access one Memory at once, as long as none allocates.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_MEMORY_H
#define BLOCKSCALE_EMULATOR_MEMORY_H

#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/StateSpace.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace blockscale::emulator {

struct Buffer {
  std::string name;
  /// The first address of the buffer in its space.
  uint64_t base;
  bool readOnly;
  std::vector<uint8_t> bytes;
  /// For each byte 1 once it was written. They are no bits, as several host
  /// threads may write neighbours.
  std::vector<uint8_t> written;
};

/// What is wrong with the content of a buffer that kernels should have written
/// all of; success where they have.
llvm::Error checkWritten(const Buffer &buffer);

class Memory {
public:
  /// Buffers follow each other from `first` with at least `gap` bytes between
  /// them (none in shared memory, where the addresses are the program's).
  Memory(StateSpace space, uint64_t first, uint64_t gap = 0)
      : space(space), next(first), gap(gap) {}

  /// A buffer of uninitialised bytes; `alignment` is a power of two. Returns
  /// its first address.
  uint64_t allocate(llvm::StringRef name, uint64_t size, uint64_t alignment);

  /// A buffer with this content.
  uint64_t allocate(llvm::StringRef name, llvm::ArrayRef<uint8_t> content,
                    uint64_t alignment, bool readOnly = false);

  /// Lets programs write to none of the buffers there are now.
  void makeReadOnly();

  /// A buffer of uninitialised bytes at an address behind all others.
  void allocateAt(llvm::StringRef name, uint64_t address, uint64_t size);

  /// Takes away the buffers from an address on; the next one begins there.
  void release(uint64_t address);

  /// Takes away the buffer that begins at an address, as cudaFree does; its
  /// addresses are not used again. False where no buffer begins there.
  bool deallocate(uint64_t address);

  /// The buffer of this name, or null.
  Buffer *find(llvm::StringRef name);

  /// The buffer that an address lies in, or null. The host reads and writes its
  /// bytes whatever programs may do.
  Buffer *findAt(uint64_t address);

  /// Bytes that an access reads. Empty, and a fault, where it is misaligned or
  /// not inside one buffer. Uninitialised bytes are a fault too, but are there
  /// to read.
  llvm::ArrayRef<uint8_t> read(uint64_t address, uint64_t size,
                               uint64_t alignment, Faults &faults) const;

  /// Bytes that an access will write, initialised from here on.
  llvm::MutableArrayRef<uint8_t> write(uint64_t address, uint64_t size,
                                       uint64_t alignment, Faults &faults);

  /// Bytes that an atomic operation reads and writes.
  llvm::MutableArrayRef<uint8_t> update(uint64_t address, uint64_t size,
                                        uint64_t alignment, Faults &faults);

  /// Makes bytes of one buffer uninitialised again; others are left alone.
  void forget(uint64_t address, uint64_t size);

  StateSpace getSpace() const { return space; }
  llvm::ArrayRef<Buffer> getBuffers() const { return buffers; }

private:
  const Buffer *locate(uint64_t address, uint64_t size, uint64_t alignment,
                       llvm::StringRef verb, Faults &faults) const;
  void reportOutside(uint64_t address, uint64_t size, llvm::StringRef verb,
                     Faults &faults) const;
  void reportUninitialised(const Buffer &buffer, uint64_t address,
                           uint64_t size, Faults &faults) const;

  StateSpace space;
  uint64_t next;
  uint64_t gap;
  /// The buffers by rising address.
  std::vector<Buffer> buffers;
};

/// Global memory of a device: buffers are 256 bytes aligned or better, as
/// cuMemAlloc gives them, and far from each other.
Memory makeGlobalMemory();

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_MEMORY_H

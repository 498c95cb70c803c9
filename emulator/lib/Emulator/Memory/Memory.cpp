//===- Memory.cpp - Named buffers of a state space ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace blockscale::emulator {

llvm::Error checkWritten(const Buffer &buffer) {
  auto missing = llvm::count(buffer.written, 0);
  if (missing == 0)
    return llvm::Error::success();
  auto first = llvm::find(buffer.written, 0) - buffer.written.begin();
  return llvm::createStringError(
      "expected all of " + buffer.name + " to be written, but " +
      std::to_string(missing) + " of its " +
      std::to_string(buffer.bytes.size()) +
      " bytes were not, the first at byte " + std::to_string(first));
}

Memory makeGlobalMemory() {
  return Memory(StateSpace::Global, 0x7000'0000'0000, /*gap=*/1 << 20);
}

uint64_t Memory::allocate(llvm::StringRef name, uint64_t size,
                          uint64_t alignment) {
  if (space == StateSpace::Global)
    alignment = std::max<uint64_t>(alignment, 256);
  uint64_t base = llvm::alignTo(next, alignment);
  allocateAt(name, base, size);
  return base;
}

void Memory::allocateAt(llvm::StringRef name, uint64_t address, uint64_t size) {
  next = address + size + gap;
  buffers.push_back({name.str(), address, /*readOnly=*/false,
                     std::vector<uint8_t>(size), std::vector<uint8_t>(size)});
}

void Memory::release(uint64_t address) {
  while (!buffers.empty() && buffers.back().base >= address)
    buffers.pop_back();
  next = address;
}

uint64_t Memory::allocate(llvm::StringRef name, llvm::ArrayRef<uint8_t> content,
                          uint64_t alignment, bool readOnly) {
  uint64_t base = allocate(name, content.size(), alignment);
  Buffer &buffer = buffers.back();
  llvm::copy(content, buffer.bytes.begin());
  buffer.written.assign(content.size(), 1);
  buffer.readOnly = readOnly;
  return base;
}

void Memory::makeReadOnly() {
  for (Buffer &buffer : buffers)
    buffer.readOnly = true;
}

bool Memory::deallocate(uint64_t address) {
  Buffer *buffer = findAt(address);
  if (!buffer || buffer->base != address)
    return false;
  buffers.erase(buffers.begin() + (buffer - buffers.data()));
  return true;
}

Buffer *Memory::find(llvm::StringRef name) {
  auto it =
      llvm::find_if(buffers, [&](const Buffer &b) { return b.name == name; });
  return it == buffers.end() ? nullptr : &*it;
}

Buffer *Memory::findAt(uint64_t address) {
  auto it =
      llvm::upper_bound(buffers, address, [](uint64_t value, const Buffer &b) {
        return value < b.base;
      });
  if (it == buffers.begin())
    return nullptr;
  Buffer &buffer = *std::prev(it);
  return address - buffer.base < buffer.bytes.size() ? &buffer : nullptr;
}

/// "'x' (512 bytes at 0x700000000000)".
static std::string describeBuffer(const Buffer &buffer) {
  return llvm::formatv("'{0}' ({1} bytes at {2:x})", buffer.name,
                       buffer.bytes.size(), buffer.base);
}

void Memory::reportOutside(uint64_t address, uint64_t size,
                           llvm::StringRef verb, Faults &faults) const {
  std::string where = "where no buffer is";
  uint64_t least = ~uint64_t(0);
  for (const Buffer &buffer : buffers) {
    uint64_t end = buffer.base + buffer.bytes.size();
    uint64_t distance = address < buffer.base ? buffer.base - address
                        : address < end       ? 0
                                              : address - end;
    if (distance >= least)
      continue;
    least = distance;
    if (address < buffer.base)
      where = llvm::formatv("starts {0} bytes before {1}", distance,
                            describeBuffer(buffer));
    else if (address < end)
      where = llvm::formatv("ends {0} bytes past the end of {1}",
                            size - (end - address), describeBuffer(buffer));
    else
      where = llvm::formatv("starts {0} bytes past the end of {1}", distance,
                            describeBuffer(buffer));
  }
  faults.push_back({FaultKind::OutOfBounds,
                    llvm::formatv("{0} of {1} bytes at {2:x} of .{3} {4}", verb,
                                  size, address, getName(space), where),
                    "check the index against the buffer's size, and the guard "
                    "of the last tile"});
}

void Memory::reportUninitialised(const Buffer &buffer, uint64_t address,
                                 uint64_t size, Faults &faults) const {
  const uint8_t *flags = buffer.written.data() + (address - buffer.base);
  uint64_t first = llvm::find(llvm::ArrayRef(flags, size), 0) - flags;
  uint64_t count = llvm::count(llvm::ArrayRef(flags, size), 0);
  faults.push_back(
      {FaultKind::Uninitialised,
       llvm::formatv("read of {0} bytes at {1:x} of .{2}: {3} of them were "
                     "never written, the first at byte {4} of {5}",
                     size, address, getName(space), count,
                     address + first - buffer.base, describeBuffer(buffer)),
       "write the bytes before, or wait for the copy that fills them"});
}

const Buffer *Memory::locate(uint64_t address, uint64_t size,
                             uint64_t alignment, llvm::StringRef verb,
                             Faults &faults) const {
  if (address % alignment != 0) {
    faults.push_back(
        {FaultKind::Misaligned,
         llvm::formatv("expected the address of a {0} of {1} bytes of .{2} to "
                       "be a multiple of {3}, but got {4:x}",
                       verb, size, getName(space), alignment, address),
         "align the buffer and the offsets into it, or access fewer bytes at "
         "once"});
    return nullptr;
  }
  auto it =
      llvm::upper_bound(buffers, address, [](uint64_t value, const Buffer &b) {
        return value < b.base;
      });
  if (it != buffers.begin()) {
    const Buffer &buffer = *std::prev(it);
    uint64_t offset = address - buffer.base;
    if (offset < buffer.bytes.size() && size <= buffer.bytes.size() - offset)
      return &buffer;
  }
  reportOutside(address, size, verb, faults);
  return nullptr;
}

llvm::ArrayRef<uint8_t> Memory::read(uint64_t address, uint64_t size,
                                     uint64_t alignment, Faults &faults) const {
  const Buffer *buffer = locate(address, size, alignment, "read", faults);
  if (!buffer)
    return {};
  uint64_t offset = address - buffer->base;
  if (std::memchr(buffer->written.data() + offset, 0, size))
    reportUninitialised(*buffer, address, size, faults);
  return llvm::ArrayRef(buffer->bytes).slice(offset, size);
}

llvm::MutableArrayRef<uint8_t> Memory::write(uint64_t address, uint64_t size,
                                             uint64_t alignment,
                                             Faults &faults) {
  const Buffer *found = locate(address, size, alignment, "write", faults);
  if (!found)
    return {};
  if (found->readOnly) {
    faults.push_back(
        {FaultKind::ReadOnly,
         llvm::formatv("write of {0} bytes at {1:x} of .{2} into "
                       "read-only {3}",
                       size, address, getName(space), describeBuffer(*found)),
         "write to a buffer of the kernel's results"});
    return {};
  }
  Buffer &buffer = buffers[found - buffers.data()];
  uint64_t offset = address - buffer.base;
  std::memset(buffer.written.data() + offset, 1, size);
  return llvm::MutableArrayRef(buffer.bytes).slice(offset, size);
}

llvm::MutableArrayRef<uint8_t> Memory::update(uint64_t address, uint64_t size,
                                              uint64_t alignment,
                                              Faults &faults) {
  if (read(address, size, alignment, faults).empty())
    return {};
  return write(address, size, alignment, faults);
}

void Memory::forget(uint64_t address, uint64_t size) {
  for (Buffer &buffer : buffers) {
    uint64_t offset = address - buffer.base;
    if (offset < buffer.bytes.size() && size <= buffer.bytes.size() - offset)
      std::memset(buffer.written.data() + offset, 0, size);
  }
}

} // namespace blockscale::emulator

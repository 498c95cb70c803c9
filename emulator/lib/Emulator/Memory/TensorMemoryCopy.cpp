//===- TensorMemoryCopy.cpp - Copies from shared to tensor memory ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemoryCopy.h"

#include "Emulator/Memory/AddressWindow.h"
#include "Emulator/Memory/SmemDescriptor.h"

#include "llvm/Support/Endian.h"

namespace blockscale::emulator {

using Lanes = llvm::SmallVector<unsigned, 4>;

/// In the order of the enumeration.
static constexpr CopyExtent kCopies[] = {
    {128, 32, 128}, {4, 32, 97},   {128, 16, 128},
    {64, 16, 128},  {64, 16, 128}, {32, 16, 128},
};

CopyExtent getExtent(CopyShape shape) {
  return kCopies[static_cast<unsigned>(shape)];
}

/// The lanes that a row of the matrix goes to.
static Lanes getLanes(CopyShape shape, unsigned row) {
  switch (shape) {
  case CopyShape::L128x256b:
  case CopyShape::L128x128b:
    return {row};
  case CopyShape::L4x256b:
    return {32 * row};
  case CopyShape::L64x128bWarps02And13:
    return {row, row + 64};
  case CopyShape::L64x128bWarps01And23:
    return {row / 32 * 64 + row % 32, row / 32 * 64 + row % 32 + 32};
  case CopyShape::L32x128bAllWarps:
    return {row, row + 32, row + 64, row + 96};
  }
  return {};
}

bool copyToTensorMemory(CopyShape shape, uint64_t descriptor,
                        const Memory &shared, unsigned rank,
                        TensorMemory &memory, uint32_t address,
                        Faults &faults) {
  CopyExtent info = getExtent(shape);
  std::optional<SmemDescriptor> matrix =
      decodeSmemDescriptor(descriptor, faults);
  if (!matrix || !memory.checkAccess(address, info.lanes, info.bytes / 4,
                                     "tcgen05.cp", faults))
    return false;
  if (matrix->swizzle == Swizzle::Span128Atom32) {
    faults.push_back({FaultKind::Descriptor,
                      "expected a K-major layout for tcgen05.cp, but atoms of "
                      "32 bytes have none",
                      "use layout 0, 2, 4 or 6 in the descriptor"});
    return false;
  }
  unsigned lane = getLane(address), column = getColumn(address);
  for (unsigned row = 0; row < info.rows; ++row)
    for (unsigned byte = 0; byte < info.bytes; byte += 16) {
      llvm::ArrayRef<uint8_t> chunk = shared.read(
          getSharedBase(rank) + locate(*matrix, Major::K, byte, row), 16, 16,
          faults);
      if (chunk.empty())
        return false;
      for (unsigned to : getLanes(shape, row))
        for (unsigned i = 0; i < 4; ++i)
          memory.set(
              lane + to, column + byte / 4 + i,
              llvm::support::endian::read32le(chunk.data() + size_t(4) * i));
    }
  return true;
}

} // namespace blockscale::emulator

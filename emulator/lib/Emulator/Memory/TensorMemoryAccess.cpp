//===- TensorMemoryAccess.cpp - Access to tensor memory -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemoryAccess.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

namespace {
struct ShapeInfo {
  llvm::StringLiteral name;
  unsigned lanes;
  /// Columns and registers of .x1.
  unsigned columns;
  unsigned registers;
  unsigned maxNum;
};
} // namespace

/// In the order of the enumeration.
static constexpr ShapeInfo kShapes[] = {
    {"32x32b", 32, 1, 1, 128},   {"16x64b", 16, 2, 1, 128},
    {"16x128b", 16, 4, 2, 64},   {"16x256b", 16, 8, 4, 32},
    {"16x32bx2", 16, 1, 1, 128},
};

static constexpr unsigned kThreads = 32;

static const ShapeInfo &getShapeInfo(const Fragment &fragment) {
  return kShapes[static_cast<unsigned>(fragment.shape)];
}

unsigned getRegisterCount(const Fragment &fragment) {
  const ShapeInfo &info = getShapeInfo(fragment);
  if (!llvm::isPowerOf2_32(fragment.num) || fragment.num > info.maxNum)
    return 0;
  return info.registers * fragment.num;
}

uint32_t getCell(const Fragment &fragment, unsigned thread, unsigned reg) {
  unsigned lane = 0, column = 0, half = 0;
  switch (fragment.shape) {
  case FragmentShape::L32x32b:
    lane = thread;
    column = reg;
    break;
  case FragmentShape::L16x64b:
    lane = thread / 4 + 8 * (thread % 2);
    column = 2 * reg + thread / 2 % 2;
    break;
  case FragmentShape::L16x128b:
    lane = thread / 4 + 8 * (reg % 2);
    column = 4 * (reg / 2) + thread % 4;
    break;
  case FragmentShape::L16x256b:
    lane = thread / 4 + 8 * (reg / 2 % 2);
    column = 8 * (reg / 4) + 2 * (thread % 4) + reg % 2;
    break;
  case FragmentShape::L16x32bx2:
    lane = thread % 16;
    column = reg;
    half = thread / 16 * fragment.halfSplit;
    break;
  }
  return lane << 16 | (half + column * (fragment.isPacked ? 2 : 1));
}

/// The rules of both directions.
static bool checkFragment(const TensorMemory &memory, const Fragment &fragment,
                          unsigned warp, uint32_t address, size_t registers,
                          llvm::StringRef operation, Faults &faults) {
  const ShapeInfo &info = getShapeInfo(fragment);
  auto refuse = [&](std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::TensorMemory, std::move(what), advice.str()});
    return false;
  };
  unsigned count = getRegisterCount(fragment);
  if (count == 0 || registers != size_t(count) * kThreads)
    return refuse(llvm::formatv("expected {0} of .{1} to have .x1 to .x{2}, "
                                "but got .x{3}",
                                operation, info.name, info.maxNum,
                                fragment.num),
                  "split the access");
  unsigned lane = getLane(address), quarter = warp % 4 * 32;
  if (lane < quarter || lane + info.lanes > quarter + 32)
    return refuse(llvm::formatv("expected {0} of warp {1} to take lanes {2} to "
                                "{3}, but it takes {4} from lane {5} on",
                                operation, warp, quarter, quarter + 31,
                                info.lanes, lane),
                  "add (warp % 4) * 32 << 16 to the address: each warp of a "
                  "warpgroup has a quarter of the lanes");
  if (lane % 16 != 0)
    return refuse(llvm::formatv("expected the lane of {0} to be a multiple of "
                                "16, but got {1}",
                                operation, lane),
                  "start at the first or the middle lane of the quarter");
  if (fragment.halfSplit >= TensorMemory::kColumns)
    return refuse(llvm::formatv("expected the second half of {0} to be fewer "
                                "than 512 columns away, but got {1}",
                                operation, fragment.halfSplit),
                  "the last operand counts columns");
  unsigned columns = info.columns * fragment.num * (fragment.isPacked ? 2 : 1);
  return memory.checkAccess(address, info.lanes, columns, operation, faults) &&
         (fragment.shape != FragmentShape::L16x32bx2 ||
          memory.checkAccess(address + fragment.halfSplit, info.lanes, columns,
                             operation, faults));
}

bool loadFragment(const TensorMemory &memory, const Fragment &fragment,
                  unsigned warp, uint32_t address,
                  llvm::MutableArrayRef<uint32_t> registers, Faults &faults) {
  if (!checkFragment(memory, fragment, warp, address, registers.size(),
                     "tcgen05.ld", faults))
    return false;
  unsigned count = getRegisterCount(fragment);
  UnwrittenCells unwritten;
  auto read = [&](uint32_t cell) {
    unsigned lane = getLane(cell), column = getColumn(cell);
    if (!memory.isWritten(lane, column))
      unwritten.note(lane, column);
    return memory.get(lane, column);
  };
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned reg = 0; reg < count; ++reg) {
      uint32_t cell = address + getCell(fragment, thread, reg);
      uint32_t value = read(cell);
      if (fragment.isPacked)
        value = (value & 0xFFFF) | read(cell + 1) << 16;
      registers[thread * count + reg] = value;
    }
  unwritten.report("tcgen05.ld", faults);
  return true;
}

bool storeFragment(TensorMemory &memory, const Fragment &fragment,
                   unsigned warp, uint32_t address,
                   llvm::ArrayRef<uint32_t> registers, Faults &faults) {
  if (!checkFragment(memory, fragment, warp, address, registers.size(),
                     "tcgen05.st", faults))
    return false;
  unsigned count = getRegisterCount(fragment);
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned reg = 0; reg < count; ++reg) {
      uint32_t cell = address + getCell(fragment, thread, reg);
      uint32_t value = registers[thread * count + reg];
      unsigned lane = getLane(cell), column = getColumn(cell);
      memory.set(lane, column, fragment.isPacked ? value & 0xFFFF : value);
      if (fragment.isPacked)
        memory.set(lane, column + 1, value >> 16);
    }
  return true;
}

} // namespace blockscale::emulator

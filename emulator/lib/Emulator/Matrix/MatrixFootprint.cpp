//===- MatrixFootprint.cpp - Memory that matrix work touches --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/MatrixFootprint.h"

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Bytes of K that an MMA takes of each row, but with K = 96, and of B of a
/// sparse product, which has twice as many.
static constexpr unsigned kRowBytes = 32;

llvm::SmallVector<SharedRange, 2> getMatrixRanges(uint64_t descriptor,
                                                  Major major, unsigned rank,
                                                  unsigned rows, unsigned bytes,
                                                  bool mayLeadByAddress) {
  llvm::SmallVector<Fault, 1> faults;
  std::optional<SmemDescriptor> matrix =
      decodeSmemDescriptor(descriptor, faults, mayLeadByAddress);
  llvm::SmallVector<SharedRange, 2> ranges;
  if (!matrix)
    return ranges;
  unsigned lines = major == Major::K ? rows : bytes;
  unsigned width = major == Major::K ? bytes : rows;
  std::vector<uint32_t> chunks;
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned byte = 0; byte < width; byte += 16)
      chunks.push_back(locate(*matrix, major, byte, line));
  llvm::sort(chunks);
  for (uint32_t chunk : chunks) {
    uint64_t address = getSharedBase(rank) + chunk;
    if (!ranges.empty() &&
        address <= ranges.back().address + ranges.back().size)
      ranges.back().size = address + 16 - ranges.back().address;
    else
      ranges.push_back({address, 16});
  }
  return ranges;
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// Bytes of one value of a full-byte type; packed and unpacked narrow values
/// are K-major.
static unsigned getValueBytes(MmaFormat format) {
  switch (format) {
  case MmaFormat::F16:
  case MmaFormat::BF16:
    return 2;
  case MmaFormat::TF32:
    return 4;
  default:
    return 1;
  }
}

static void addOperand(AsyncWork &work, uint64_t descriptor, bool isTransposed,
                       MmaFormat format, unsigned rank, unsigned rows,
                       unsigned k, unsigned rowBytes = kRowBytes) {
  bool isLongK = k == kLongK;
  llvm::append_range(work.reads,
                     isTransposed
                         ? getMatrixRanges(descriptor, Major::MN, rank,
                                           rows * getValueBytes(format), k)
                         : getMatrixRanges(descriptor, Major::K, rank, rows,
                                           isLongK ? kLongK / 2 : rowBytes,
                                           /*mayLeadByAddress=*/isLongK));
}

/// Cells from an address on; `lanes` is of the address's lane 0. None where
/// there are no such lanes.
static CellRange getCells(unsigned rank, uint32_t address, uint8_t lanes,
                          unsigned columns) {
  unsigned lane = getLane(address);
  return {rank, uint8_t(lane < TensorMemory::kLanes ? lanes << lane / 16 : 0),
          getColumn(address), columns};
}

static void addScales(AsyncWork &work, unsigned rank, uint32_t address,
                      unsigned id, unsigned blocks, unsigned rows) {
  for (unsigned i = 0; i < countScaleWords(id, blocks); ++i)
    work.cellReads.push_back(
        getCells(rank, getScaleCell(address) + i * getScalePitch(rows),
                 kAllLaneGroups, (rows + 31) / 32));
}

AsyncWork getMmaFootprint(const MmaInstruction &instruction,
                          llvm::ArrayRef<unsigned> ranks) {
  AsyncWork work;
  llvm::SmallVector<Fault, 1> faults;
  std::optional<InstructionDescriptor> shape = decodeInstructionDescriptor(
      instruction.descriptor, instruction.variant, faults);
  if (!shape)
    return work;
  unsigned rows = shape->m / ranks.size();
  bool isSplit = ranks.size() == 2 && rows == 64;
  unsigned columns = isSplit ? shape->n / 2 : shape->n;
  // Rows 16 i to 16 i + 15 of 64 are in lanes 32 i on.
  uint8_t lanes = rows == 64 && !isSplit ? 0x55 : kAllLaneGroups;
  for (unsigned rank : ranks) {
    work.cellWrites.push_back(getCells(rank, instruction.d, lanes, columns));
    if (instruction.isAInTensorMemory)
      work.cellReads.push_back(getCells(rank, uint32_t(instruction.a),
                                        kAllLaneGroups, kRowBytes / 4));
    else
      addOperand(work, instruction.a, shape->transposeA, shape->a, rank, rows,
                 shape->getStoredK());
    addOperand(work, instruction.b, shape->transposeB, shape->b, rank,
               shape->n / ranks.size(), shape->k,
               shape->isSparse ? 2 * kRowBytes : kRowBytes);
    if (shape->isSparse) {
      MetadataLayout layout = {shape->kind, rows, shape->sparsitySelector};
      work.cellReads.push_back(getCells(rank,
                                        layout.getFirst(instruction.metadata),
                                        kAllLaneGroups, layout.getColumns()));
    }
    if (!isBlockScaled(shape->kind))
      continue;
    unsigned blocks = countBlocks(*shape, instruction.blockSize);
    addScales(work, rank, instruction.scaleA, shape->scaleIdA, blocks, rows);
    addScales(work, rank, instruction.scaleB, shape->scaleIdB, blocks, columns);
  }
  return work;
}

//===----------------------------------------------------------------------===//
// cp, ld and st
//===----------------------------------------------------------------------===//

AsyncWork getCopyFootprint(CopyShape shape, uint64_t descriptor,
                           uint32_t address, llvm::ArrayRef<unsigned> ranks) {
  CopyExtent extent = getExtent(shape);
  // 4x256b copies to lanes 0, 32, 64 and 96.
  uint8_t lanes = shape == CopyShape::L4x256b ? 0x55 : kAllLaneGroups;
  AsyncWork work;
  for (unsigned rank : ranks) {
    llvm::append_range(work.reads, getMatrixRanges(descriptor, Major::K, rank,
                                                   extent.rows, extent.bytes));
    work.cellWrites.push_back(getCells(rank, address, lanes, extent.bytes / 4));
  }
  return work;
}

llvm::SmallVector<CellRange, 4>
getFragmentCells(const Fragment &fragment, unsigned rank, uint32_t address) {
  unsigned registers = getRegisterCount(fragment);
  unsigned columns = 0;
  for (unsigned thread = 0; thread < 4; ++thread)
    if (registers != 0)
      columns = std::max(columns,
                         getColumn(getCell(fragment, thread, registers - 1)) +
                             (fragment.isPacked ? 2 : 1));
  uint8_t lanes = fragment.shape == FragmentShape::L32x32b ? 3 : 1;
  llvm::SmallVector<CellRange, 4> cells = {
      getCells(rank, address, lanes, columns)};
  if (fragment.shape == FragmentShape::L16x32bx2)
    cells.push_back(
        getCells(rank, address + fragment.halfSplit, lanes, columns));
  return cells;
}

} // namespace blockscale::emulator

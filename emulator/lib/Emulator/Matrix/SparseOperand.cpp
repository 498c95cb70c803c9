//===- SparseOperand.cpp - A of sparse products ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/SparseOperand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

/// Chunks of a row in an instruction of tcgen05.mma.sp: K is 16 of tf32, 32 of
/// 16 bits, 64 of 8 bits and 128 of packed values.
static unsigned getChunks(const MetadataLayout &layout) {
  return hasSparsitySelector(layout.kind) ? 8 : 16;
}

unsigned getSparseChunk(MmaFormat format, bool isPacked) {
  return format == MmaFormat::TF32 ? 2 : isPacked ? 8 : 4;
}

static bool isKnown(unsigned code, unsigned chunk, MetadataOrder order) {
  unsigned low = code & 3, high = code >> 2;
  if (chunk == 2)
    return code == 0b0100 || code == 0b1110;
  if (order == MetadataOrder::Any)
    return low != high;
  return low < high || (order == MetadataOrder::Tensor && code == 0b0110);
}

static llvm::StringRef getKnown(unsigned chunk, MetadataOrder order) {
  if (chunk == 2)
    return "0100 or 1110";
  switch (order) {
  case MetadataOrder::Any:
    return "two different parts";
  case MetadataOrder::Ascending:
    return "0100, 1000, 1001, 1100, 1101 or 1110";
  case MetadataOrder::Tensor:
    return "0100, 0110, 1000, 1001, 1100, 1101 or 1110";
  }
  return "";
}

void placeValues(MmaMatrix &a, unsigned chunk, const SparseMetadata &metadata,
                 MetadataOrder order, FaultKind kind, Faults &faults) {
  unsigned stored = chunk / 2;
  bool isTold = false;
  a.places.resize(a.values.size());
  for (auto [i, code] : llvm::enumerate(metadata)) {
    size_t first = i * stored;
    for (unsigned j = 0; j < stored; ++j) {
      unsigned part = 2 * j < stored || stored == 1 ? code & 3 : code >> 2;
      a.places[first + j] =
          first % a.k * 2 + part * chunk / 4 + (chunk == 8 ? j % 2 : 0);
    }
    bool isUsed = false;
    for (unsigned j = 0; j < stored; ++j)
      isUsed |= a.values[first + j] != 0;
    if (isKnown(code, chunk, order) || !isUsed || isTold)
      continue;
    isTold = true;
    faults.push_back(
        {kind,
         llvm::formatv("expected sparsity metadata of {0} values to be {1}, "
                       "but those of row {2} from K = {3} on are {4}{5}{6}{7}",
                       chunk, getKnown(chunk, order), first / a.k,
                       first % a.k * 2, code >> 3 & 1, code >> 2 & 1,
                       code >> 1 & 1, code & 1),
         "name the two parts that are stored, the lower one in the lower two "
         "bits"});
  }
}

bool readMetadata(const TensorMemory &memory, uint32_t address,
                  const MetadataLayout &layout, SparseMetadata &metadata,
                  Faults &faults) {
  auto refuse = [&](std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::TensorMemory, std::move(what), advice.str()});
    return false;
  };
  if (layout.rows != TensorMemory::kLanes)
    return refuse(llvm::formatv("sparse products are modelled for 128 rows of "
                                "A a CTA, but got {0}",
                                layout.rows),
                  "use M = 128, or 256 of a pair");
  if (layout.selector >= (hasSparsitySelector(layout.kind) ? 2 : 1))
    return refuse(
        llvm::formatv("expected the sparsity selector of kind::{0} to be {1}, "
                      "but got {2}",
                      getName(layout.kind),
                      hasSparsitySelector(layout.kind) ? "0 or 1" : "0",
                      layout.selector),
        "move on by two columns, and clear bits 0-1 of the descriptor");
  address = layout.getFirst(address);
  if (!memory.checkAccess(address, layout.rows, layout.getColumns(),
                          "tcgen05.mma.sp", faults))
    return false;
  UnwrittenCells unwritten;
  for (unsigned row = 0; row < layout.rows; ++row)
    for (unsigned i = 0; i < getChunks(layout); ++i) {
      unsigned lane = row, bit = 4 * i;
      if (hasSparsitySelector(layout.kind)) {
        lane = row / 16 * 16 + row % 8 + i / 4 * 8;
        bit = row / 8 % 2 * 16 + i % 4 * 4;
      }
      unsigned column = getColumn(address) + bit / 32;
      if (!memory.isWritten(lane, column))
        unwritten.note(lane, column);
      metadata.push_back(memory.get(lane, column) >> bit % 32 & 15);
    }
  unwritten.report("tcgen05.mma.sp", faults);
  return true;
}

} // namespace blockscale::emulator

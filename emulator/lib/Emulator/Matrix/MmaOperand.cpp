//===- MmaOperand.cpp - Operands of tcgen05.mma ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/MmaOperand.h"

#include "Emulator/Arithmetic/NarrowFormats.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscale::emulator {

namespace {
/// How values fill 16 bytes.
struct Chunk {
  unsigned values;
  /// Bytes in use, from the first on.
  unsigned bytes;
  unsigned bits;
};
} // namespace

static Chunk getChunk(MmaKind kind, MmaFormat format) {
  switch (format) {
  case MmaFormat::F16:
  case MmaFormat::BF16:
    return {8, 16, 16};
  case MmaFormat::TF32:
    return {4, 16, 32};
  case MmaFormat::E2M3:
  case MmaFormat::E3M2:
    return {16, 12, 6};
  case MmaFormat::E2M1:
    return kind >= MmaKind::MXF4 ? Chunk{32, 16, 4} : Chunk{16, 8, 4};
  case MmaFormat::E4M3:
  case MmaFormat::E5M2:
  case MmaFormat::U8:
  case MmaFormat::S8:
    return {16, 16, 8};
  }
  return {16, 16, 8};
}

double decodeMmaValue(MmaFormat format, uint32_t bits) {
  switch (format) {
  case MmaFormat::F16:
    return F16::decode(bits);
  case MmaFormat::BF16:
    return BF16::decode(bits);
  case MmaFormat::TF32:
    return F32::decode(bits & ~uint32_t(0x1FFF));
  case MmaFormat::E4M3:
    return decodeNarrow(kE4M3, bits);
  case MmaFormat::E5M2:
    return decodeNarrow(kE5M2, bits);
  case MmaFormat::E2M3:
    return decodeNarrow(kE2M3, bits);
  case MmaFormat::E3M2:
    return decodeNarrow(kE3M2, bits);
  case MmaFormat::E2M1:
    return decodeNarrow(kE2M1, bits);
  case MmaFormat::U8:
    return bits;
  case MmaFormat::S8:
    return static_cast<int8_t>(bits);
  }
  return 0;
}

/// Value `i` of consecutive values of `bits` bits, the first one lowest.
static uint32_t getBits(llvm::ArrayRef<uint8_t> bytes, unsigned bits,
                        unsigned i) {
  uint64_t word = 0;
  unsigned first = i * bits / 8, last = (i * bits + bits - 1) / 8;
  for (unsigned byte = first; byte <= last; ++byte)
    word |= uint64_t(bytes[byte]) << (8 * (byte - first));
  return (word >> (i * bits % 8)) & ((uint64_t(1) << bits) - 1);
}

void negate(MmaMatrix &matrix) {
  for (double &value : matrix.values)
    value = -value;
}

static bool refuseOperand(Faults &faults, FaultKind kind, std::string what,
                          llvm::StringRef advice) {
  faults.push_back({kind, std::move(what), advice.str()});
  return false;
}

/// Rows whose 32 bytes are contiguous 16 by 16.
static bool readRows(const Memory &shared, uint32_t base,
                     const SmemDescriptor &descriptor,
                     const MmaOperandLayout &layout, double *to,
                     Faults &faults) {
  Chunk chunk = getChunk(layout.kind, layout.format);
  for (unsigned row = 0; row < layout.rows; ++row)
    for (unsigned i = 0; i < layout.k / chunk.values; ++i) {
      llvm::ArrayRef<uint8_t> bytes =
          shared.read(base + locate(descriptor, Major::K, 16 * i, row),
                      chunk.bytes, 16, faults);
      if (bytes.empty())
        return false;
      for (unsigned value = 0; value < chunk.values; ++value)
        *to++ =
            decodeMmaValue(layout.format, getBits(bytes, chunk.bits, value));
    }
  return true;
}

/// Rows that run across, value by value.
static bool readColumns(const Memory &shared, uint32_t base,
                        const SmemDescriptor &descriptor,
                        const MmaOperandLayout &layout, double *to,
                        Faults &faults) {
  unsigned size = getChunk(layout.kind, layout.format).bits / 8;
  for (unsigned row = 0; row < layout.rows; ++row)
    for (unsigned k = 0; k < layout.k; ++k) {
      llvm::ArrayRef<uint8_t> bytes =
          shared.read(base + locate(descriptor, Major::MN, size * row, k), size,
                      size, faults);
      if (bytes.empty())
        return false;
      *to++ = decodeMmaValue(layout.format, getBits(bytes, 8 * size, 0));
    }
  return true;
}

/// Whether 48 bytes of each row have places.
static bool checkLongK(const SmemDescriptor &descriptor, Faults &faults) {
  if (descriptor.swizzle != Swizzle::Span128)
    return refuseOperand(faults, FaultKind::Descriptor,
                         "expected the layout of an operand with K = 96 to be "
                         "2, the swizzle of 128 bytes",
                         "K = 96 is for rows of 128 bytes");
  bool isEnough = descriptor.start % 128 + kLongK / 2 <= 128;
  return isEnough || descriptor.isLeadingAddress ||
         refuseOperand(faults, FaultKind::Descriptor,
                       llvm::formatv("expected the address of the next 128 "
                                     "bytes of rows of which K = 96 takes 48 "
                                     "from byte {0} on, but bit 52 of the "
                                     "shared memory descriptor is 0",
                                     descriptor.start % 128),
                       "set the bit, and put the address into bits 16-29");
}

bool readSharedOperand(const Memory &shared, unsigned rank, uint64_t bits,
                       const MmaOperandLayout &layout, MmaMatrix &matrix,
                       Faults &faults) {
  std::optional<SmemDescriptor> descriptor =
      decodeSmemDescriptor(bits, faults, layout.k == kLongK);
  if (!descriptor)
    return false;
  if (layout.k == kLongK && !checkLongK(*descriptor, faults))
    return false;
  bool isColumns = layout.major == Major::MN;
  if (!isColumns && descriptor->swizzle == Swizzle::Span128Atom32)
    return refuseOperand(
        faults, FaultKind::Descriptor,
        "expected a K-major layout of an operand, but atoms of 32 "
        "bytes have none",
        "use layout 0, 2, 4 or 6, or transpose the operand");
  if (isColumns && getChunk(layout.kind, layout.format).bits < 8)
    return refuseOperand(faults, FaultKind::Descriptor,
                         "expected operands of 4 and 6 bits to be K-major",
                         "store the operand K-major");
  matrix.k = layout.k;
  size_t first = matrix.values.size();
  matrix.values.resize(first + size_t(layout.rows) * layout.k);
  return (isColumns ? readColumns
                    : readRows)(shared, getSharedBase(rank), *descriptor,
                                layout, matrix.values.data() + first, faults);
}

bool readTensorOperand(const TensorMemory &memory, uint32_t address,
                       const MmaOperandLayout &layout, MmaMatrix &matrix,
                       Faults &faults) {
  Chunk chunk = getChunk(layout.kind, layout.format);
  if (layout.rows != TensorMemory::kLanes || chunk.bytes != 16)
    return refuseOperand(
        faults, FaultKind::TensorMemory,
        llvm::formatv("A in tensor memory is modelled for 128 rows "
                      "of full bytes a CTA, but got {0} rows with "
                      "{1} of 16 bytes in use",
                      layout.rows, chunk.bytes),
        "keep A in shared memory");
  unsigned columns = layout.k / chunk.values * 4;
  if (!memory.checkAccess(address, layout.rows, columns, "tcgen05.mma", faults))
    return false;
  matrix.k = layout.k;
  UnwrittenCells unwritten;
  llvm::SmallVector<uint8_t, 32> bytes(size_t(columns) * 4);
  for (unsigned lane = 0; lane < layout.rows; ++lane) {
    for (unsigned i = 0; i < columns; ++i) {
      unsigned column = getColumn(address) + i;
      if (!memory.isWritten(lane, column))
        unwritten.note(lane, column);
      llvm::support::endian::write32le(&bytes[size_t(4) * i],
                                       memory.get(lane, column));
    }
    for (unsigned k = 0; k < layout.k; ++k)
      matrix.values.push_back(
          decodeMmaValue(layout.format, getBits(bytes, chunk.bits, k)));
  }
  unwritten.report("tcgen05.mma", faults);
  return true;
}

void reportBadScale(unsigned row, uint8_t byte, ScaleFormat format,
                    Faults &faults) {
  bool isSigned = format == ScaleFormat::UE4M3 && (byte & 0x80);
  faults.push_back(
      {isSigned ? FaultKind::TensorMemory : FaultKind::NanScale,
       llvm::formatv("expected scale factors {0}, but that of row "
                     "{1} is {2:x}",
                     isSigned ? "of UE4M3 without a sign" : "that are numbers",
                     row, byte),
       "write zeros to the scales of padded rows and columns"});
}

bool isBadScale(uint8_t byte, ScaleFormat format) {
  return format == ScaleFormat::UE4M3 ? byte >= 0x7F : byte == 0xFF;
}

double decodeScale(uint8_t byte, ScaleFormat format) {
  return format == ScaleFormat::UE4M3 ? decodeNarrow(kE4M3, byte & 0x7F)
                                      : decodeUE8M0(byte);
}

unsigned countScaleWords(unsigned id, unsigned blocks) {
  return (id + blocks + 3) / 4;
}

unsigned getScalePitch(unsigned rows) { return (rows + 127) / 128 * 4; }

namespace {
/// Scale factors being read.
struct ScaleReader {
  const TensorMemory &memory;
  const ScaleLayout &layout;
  Faults &faults;
  UnwrittenCells unwritten;
  bool isBadTold = false;
  bool isDifferenceTold = false;

  uint32_t readWord(unsigned lane, unsigned column, uint32_t used);
  void readRow(unsigned row, unsigned column, MmaMatrix &scales);
};
} // namespace

/// A word, which all copies of it are compared with in the bits that are used.
uint32_t ScaleReader::readWord(unsigned lane, unsigned column, uint32_t used) {
  uint32_t word = memory.get(lane, column);
  for (unsigned i = 0; i < layout.quarters; ++i) {
    unsigned copy = lane + 32 * i;
    if (!memory.isWritten(copy, column))
      unwritten.note(copy, column);
    else if (((memory.get(copy, column) ^ word) & used) && !isDifferenceTold)
      isDifferenceTold = !refuseOperand(
          faults, FaultKind::TensorMemory,
          llvm::formatv("expected all quarters of the lanes to hold the same "
                        "scale factors, but lanes {0} and {1} of column {2} "
                        "differ",
                        lane, copy, column),
          "copy scale factors with tcgen05.cp.32x128b.warpx4, or store them "
          "by all four warps");
  }
  return word;
}

void ScaleReader::readRow(unsigned row, unsigned column, MmaMatrix &scales) {
  unsigned lane = 32 * layout.firstQuarter + row % 32;
  unsigned last = layout.id + layout.blocks;
  for (unsigned first = layout.id; first < last;
       column += getScalePitch(layout.rows)) {
    unsigned end = std::min(last, first / 4 * 4 + 4);
    uint32_t used = 0;
    for (unsigned i = first; i < end; ++i)
      used |= 0xFFu << 8 * (i % 4);
    uint32_t word = readWord(lane, column, used);
    for (; first < end; ++first) {
      uint8_t byte = word >> 8 * (first % 4);
      if (isBadScale(byte, layout.format) && !isBadTold) {
        reportBadScale(row, byte, layout.format, faults);
        isBadTold = true;
      }
      scales.values.push_back(decodeScale(byte, layout.format));
    }
  }
}

bool readScales(const TensorMemory &memory, uint32_t address,
                const ScaleLayout &layout, MmaMatrix &scales, Faults &faults) {
  unsigned words = countScaleWords(layout.id, layout.blocks);
  unsigned columns =
      (words - 1) * getScalePitch(layout.rows) + (layout.rows + 31) / 32;
  if (!memory.checkAccess(address, TensorMemory::kLanes, columns, "tcgen05.mma",
                          faults))
    return false;
  scales.k = layout.blocks;
  ScaleReader reader{memory, layout, faults, {}};
  for (unsigned row = 0; row < layout.rows; ++row)
    reader.readRow(row, getColumn(address) + row / 32, scales);
  reader.unwritten.report("tcgen05.mma", faults);
  return true;
}

} // namespace blockscale::emulator

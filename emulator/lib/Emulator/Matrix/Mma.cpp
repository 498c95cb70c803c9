//===- Mma.cpp - Products of the tensor core ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/Mma.h"

#include "Emulator/Matrix/ProductSums.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscale::emulator {

namespace {
/// One product being made.
struct Mma {
  const MmaInstruction &instruction;
  const InstructionDescriptor &shape;
  Faults &faults;

  bool isPair() const { return instruction.variant.ctaGroup == 2; }
  unsigned getRows() const { return isPair() ? shape.m / 2 : shape.m; }
  /// A CTA of a pair with 64 rows puts the halves of N above each other.
  bool isSplit() const { return isPair() && getRows() == 64; }

  bool readA(const MmaCta &cta, MmaMatrix &a);
  bool placeA(const MmaCta &cta, MmaMatrix &a);
  bool collect(const MmaCta &cta, const MmaMatrix &a);
  bool readB(llvm::ArrayRef<MmaCta> ctas, MmaMatrix &b);
  bool readScalesOfB(const MmaCta &cta, MmaMatrix &scales);
  bool runCta(const MmaCta &cta, const MmaMatrix &b);
  uint32_t getCell(unsigned m, unsigned n) const;
  bool isDisabled(const MmaCta &cta, unsigned lane) const;
  bool accumulate(const MmaCta &cta, const MmaMatrix &a, const MmaMatrix &b);
};
} // namespace

/// Multiplies each value by the scale of its block.
static void applyBlockScales(MmaMatrix &matrix, const MmaMatrix &scales) {
  unsigned block = matrix.k / scales.k;
  for (size_t i = 0; i < matrix.values.size(); ++i)
    matrix.values[i] *=
        scales.values[i / matrix.k * scales.k + i % matrix.k / block];
}

/// Whether two matrices have the same bits, NaN and zeros too.
static bool isSame(const MmaMatrix &a, const MmaMatrix &b) {
  return a.k == b.k && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(),
                     a.values.size() * sizeof(double)) == 0;
}

/// Does with the collector what the instruction says, whose A in memory is `a`.
bool Mma::collect(const MmaCta &cta, const MmaMatrix &a) {
  CollectorUse use = instruction.collectorUse;
  bool uses = use == CollectorUse::Use || use == CollectorUse::LastUse;
  if (uses && (!cta.collector || !isSame(*cta.collector, a))) {
    faults.push_back(
        {FaultKind::Hazard,
         llvm::formatv(
             "tcgen05.mma with collector::a::{0} expects the "
             "collector of the CTA of rank {1} to hold its A, but {2}",
             use == CollectorUse::Use ? "use" : "lastuse", cta.rank,
             cta.collector ? "it holds other values"
                           : "nothing valid is there"),
         "let the product before it that reads the same A have "
         "collector::a::fill or use, or read A anew"});
    return false;
  }
  if (use == CollectorUse::Fill)
    cta.collector = a;
  else if (use != CollectorUse::Use)
    cta.collector.reset();
  return true;
}

/// Gives the values of a sparse A their places in K.
bool Mma::placeA(const MmaCta &cta, MmaMatrix &a) {
  SparseMetadata metadata;
  if (!readMetadata(cta.tensor, instruction.metadata,
                    {shape.kind, getRows(), shape.sparsitySelector}, metadata,
                    faults))
    return false;
  placeValues(a, getSparseChunk(shape.a, shape.kind >= MmaKind::MXF4), metadata,
              MetadataOrder::Tensor, FaultKind::TensorMemory, faults);
  return true;
}

bool Mma::readA(const MmaCta &cta, MmaMatrix &a) {
  MmaOperandLayout layout = {shape.kind, shape.a,
                             shape.transposeA ? Major::MN : Major::K, getRows(),
                             shape.getStoredK()};
  bool isRead = instruction.isAInTensorMemory
                    ? readTensorOperand(cta.tensor, uint32_t(instruction.a),
                                        layout, a, faults)
                    : readSharedOperand(cta.shared, cta.rank, instruction.a,
                                        layout, a, faults);
  if (!isRead || !collect(cta, a) || (shape.isSparse && !placeA(cta, a)))
    return false;
  if (shape.negateA)
    negate(a);
  if (!isBlockScaled(shape.kind))
    return true;
  MmaMatrix scales;
  if (!readScales(cta.tensor, getScaleCell(instruction.scaleA),
                  {shape.scaleFormat, shape.scaleIdA,
                   countBlocks(shape, instruction.blockSize), getRows()},
                  scales, faults))
    return false;
  applyBlockScales(a, scales);
  return true;
}

bool Mma::readB(llvm::ArrayRef<MmaCta> ctas, MmaMatrix &b) {
  for (const MmaCta &cta : ctas)
    if (!readSharedOperand(cta.shared, cta.rank, instruction.b,
                           {shape.kind, shape.b,
                            shape.transposeB ? Major::MN : Major::K,
                            unsigned(shape.n / ctas.size()), shape.k},
                           b, faults))
      return false;
  if (shape.negateB)
    negate(b);
  return true;
}

bool Mma::readScalesOfB(const MmaCta &cta, MmaMatrix &scales) {
  ScaleLayout layout = {shape.scaleFormat, shape.scaleIdB,
                        countBlocks(shape, instruction.blockSize), shape.n};
  if (!isSplit())
    return readScales(cta.tensor, getScaleCell(instruction.scaleB), layout,
                      scales, faults);
  layout.rows = shape.n / 2;
  layout.quarters = 2;
  for (unsigned quarter : {0, 2}) {
    layout.firstQuarter = quarter;
    if (!readScales(cta.tensor, getScaleCell(instruction.scaleB), layout,
                    scales, faults))
      return false;
  }
  return true;
}

uint32_t Mma::getCell(unsigned m, unsigned n) const {
  unsigned lane = m, column = n;
  if (isSplit()) {
    lane += n / (shape.n / 2) * 64;
    column = n % (shape.n / 2);
  } else if (getRows() == 64) {
    lane = m / 16 * 32 + m % 16;
  }
  return instruction.d + (lane << 16 | column);
}

bool Mma::isDisabled(const MmaCta &cta, unsigned lane) const {
  bool isPeer = instruction.variant.ctaGroup == 2 && cta.rank % 2 == 1;
  unsigned bit = lane + (isPeer ? TensorMemory::kLanes : 0);
  return instruction.disabledLanes[bit / 32] >> bit % 32 & 1;
}

bool Mma::accumulate(const MmaCta &cta, const MmaMatrix &a,
                     const MmaMatrix &b) {
  UnwrittenCells unwritten;
  std::vector<uint32_t> before;
  if (instruction.accumulate)
    before.resize(size_t(getRows()) * shape.n);
  for (size_t i = 0; i < before.size(); ++i) {
    uint32_t cell = getCell(i / shape.n, i % shape.n);
    unsigned lane = getLane(cell), column = getColumn(cell);
    before[i] = cta.tensor.get(lane, column);
    if (!isDisabled(cta, lane) && !cta.tensor.isWritten(lane, column))
      unwritten.note(lane, column);
  }
  ProductSums sums;
  if (!isBlockScaled(shape.kind) && !shape.isSparse)
    sums.law = getSumLaw(instruction.sums, MmaUnit::Tensor, shape.a, shape.b,
                         shape.accumulator);
  sums.a = shape.a;
  sums.b = shape.b;
  sums.accumulator = {shape.accumulator, shape.saturate};
  sums.scaleInputD = instruction.scaleInputD;
  std::vector<uint32_t> codes = sums.run(a, b, before);
  for (size_t i = 0; i < codes.size(); ++i) {
    uint32_t cell = getCell(i / shape.n, i % shape.n);
    unsigned lane = getLane(cell);
    if (!isDisabled(cta, lane))
      cta.tensor.set(lane, getColumn(cell), codes[i]);
  }
  unwritten.report("tcgen05.mma", faults);
  return true;
}

bool Mma::runCta(const MmaCta &cta, const MmaMatrix &b) {
  unsigned lanes = getRows() == 64 && !isSplit() ? 112 : 128;
  unsigned columns = isSplit() ? shape.n / 2 : shape.n;
  MmaMatrix a;
  if (!cta.tensor.checkAccess(instruction.d, lanes, columns, "tcgen05.mma",
                              faults) ||
      !readA(cta, a))
    return false;
  if (!isBlockScaled(shape.kind))
    return accumulate(cta, a, b);
  MmaMatrix scales, scaled = b;
  if (!readScalesOfB(cta, scales))
    return false;
  applyBlockScales(scaled, scales);
  return accumulate(cta, a, scaled);
}

bool runMma(const MmaInstruction &instruction, llvm::ArrayRef<MmaCta> ctas,
            Faults &faults) {
  auto refuse = [&](std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::Descriptor, std::move(what), advice.str()});
    return false;
  };
  std::optional<InstructionDescriptor> shape = decodeInstructionDescriptor(
      instruction.descriptor, instruction.variant, faults);
  if (!shape)
    return false;
  if (instruction.variant.isWeightStationary)
    return refuse("weight-stationary products are not modelled",
                  "use another tcgen05.mma in what is to be emulated");
  if (shape->isSparse != instruction.variant.isSparse)
    return refuse(
        llvm::formatv("expected bit 2 (sparse) of the instruction descriptor "
                      "{0:x} to be {1} in tcgen05.mma{2}",
                      instruction.descriptor,
                      instruction.variant.isSparse ? 1 : 0,
                      instruction.variant.isSparse ? ".sp" : ""),
        "set the bit for tcgen05.mma.sp alone");
  if (ctas.size() != instruction.variant.ctaGroup)
    return refuse(llvm::formatv("expected {0} CTAs of the group, but got {1}",
                                instruction.variant.ctaGroup, ctas.size()),
                  "launch clusters of an even number of CTAs");
  if (instruction.scaleInputD > 15)
    return refuse(llvm::formatv("expected scale-input-d to be 0 to 15, but got "
                                "{0}",
                                instruction.scaleInputD),
                  "it is the exponent of a power of two");
  if (isBlockScaled(shape->kind) &&
      !checkBlockSize(*shape, instruction.blockSize, faults))
    return false;
  for (auto [name, address, id] :
       {std::tuple("A", instruction.scaleA, shape->scaleIdA),
        std::tuple("B", instruction.scaleB, shape->scaleIdB)}) {
    unsigned named = address >> kScaleIdShift;
    if (isBlockScaled(shape->kind) && named != 0 && named != id)
      return refuse(llvm::formatv("expected bits 30 and 31 of the address of "
                                  "scales of {0} to be 0 or {1}, their id in "
                                  "the instruction descriptor, but got {2}",
                                  name, id, named),
                    "set the id of the descriptor, or clear the bits");
  }
  Mma mma{instruction, *shape, faults};
  MmaMatrix b;
  if (!mma.readB(ctas, b))
    return false;
  for (const MmaCta &cta : ctas)
    if (!mma.runCta(cta, b))
      return false;
  return true;
}

} // namespace blockscale::emulator

//===- WarpgroupProduct.cpp - Share of a warp in a wgmma ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/WarpgroupProduct.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// PTX ISA, "Matrix Descriptor Format" of wgmma: fields lie at the same bits as
/// those of tcgen05, but for the version, and the layout in bits 62 and 63.
std::optional<uint64_t> translateDescriptor(uint64_t bits, Faults &faults) {
  constexpr uint64_t kReserved = uint64_t(3) << 14 | uint64_t(3) << 30 |
                                 uint64_t(7) << 46 | uint64_t(0x3FF) << 52;
  if (bits & kReserved) {
    faults.push_back(
        {FaultKind::Descriptor,
         llvm::formatv("expected the reserved bits of a descriptor of wgmma to "
                       "be 0, but got {0:x} in {1:x}",
                       bits & kReserved, bits),
         "the descriptors of tcgen05 are others: wgmma has no version, and its "
         "swizzle in bits 62 and 63"});
    return std::nullopt;
  }
  constexpr uint64_t kLayouts[] = {0, 2, 4, 6};
  uint64_t fields = bits & ~(uint64_t(3) << 62);
  return fields | uint64_t(1) << 46 | kLayouts[bits >> 62] << 61;
}

uint64_t selectRows(uint64_t descriptor, Major major, unsigned row) {
  constexpr uint64_t kField = 0x3FFF;
  uint64_t leading = descriptor >> 16 & kField;
  uint64_t stride = descriptor >> 32 & kField;
  uint64_t offset = row / 8 * stride;
  if (major == Major::MN) {
    // Values have 16 bits here; chunks have 16 bytes.
    unsigned chunk = row * 2 / 16;
    unsigned span = 16 >> (descriptor >> 62);
    offset = descriptor >> 61 == 0 ? chunk * stride
                                   : chunk % span + chunk / span * leading;
  }
  uint64_t start = (descriptor + offset) & kField;
  return (descriptor & ~kField) | start;
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

static bool readShared(const Issuer &issuer, uint64_t descriptor,
                       const MmaOperandLayout &layout, MmaMatrix &matrix) {
  Cta &cta = issuer.warp.getCta();
  llvm::SmallVector<Fault, 1> faults;
  bool isRead = readSharedOperand(cta.getShared(), cta.getRank(), descriptor,
                                  layout, matrix, faults);
  issuer.report(faults);
  return isRead;
}

/// What the accumulators held before, which must be defined.
static void checkAccumulators(const Issuer &issuer, const Frame &frame) {
  const auto &data = issuer.op.get<WarpgroupData>();
  for (const Result &result : data.accumulators)
    if (!result.isSink && frame.defined[result.slot] != kAllLanes)
      return issuer.report(
          {FaultKind::Uninitialised,
           "expected the accumulators to be defined, but one comes from a "
           "register that was never written",
           "write the register, or clear scale-d in the first product"});
}

/// What the accumulators hold; a sink holds nothing, and gets nothing.
static std::vector<uint32_t> readAccumulators(Frame &frame,
                                              const WarpgroupData &data) {
  static constexpr LaneValues kZeros = {};
  llvm::SmallVector<const uint64_t *, 128> registers;
  for (const Result &result : data.accumulators)
    registers.push_back(result.isSink ? kZeros : frame.getSlot(result.slot));
  return readAccumulators(registers, data.accumulator, kRowsOfWarp,
                          data.shape.n);
}

void runWarpgroupProduct(const Issuer &issuer, const WarpgroupSources &sources,
                         uint32_t depth) {
  const auto &data = issuer.op.get<WarpgroupData>();
  MmaMatrix a, b;
  if (data.registersA.empty()) {
    if (!readShared(issuer, sources.descriptorA,
                    {MmaKind::F16, data.a.format, data.majorA, kRowsOfWarp,
                     data.shape.k},
                    a))
      return;
  } else {
    llvm::SmallVector<const uint64_t *, 4> registers;
    for (const auto &values : sources.a)
      registers.push_back(values.data());
    readFragmentA(registers, data.a, kRowsOfWarp, a);
  }
  if (!readShared(issuer, sources.descriptorB,
                  {MmaKind::F16, data.b.format, data.majorB, data.shape.n,
                   data.shape.k},
                  b))
    return;
  if (data.negateA)
    negate(a);
  if (data.negateB)
    negate(b);

  Frame &frame = issuer.warp.getFrame(depth);
  std::vector<uint32_t> before;
  if (sources.accumulates) {
    checkAccumulators(issuer, frame);
    before = readAccumulators(frame, data);
  }
  ProductSums sums;
  sums.law =
      getSumLaw(issuer.getCluster().getContext().sums, MmaUnit::Warpgroup,
                data.a.format, data.b.format, data.accumulator.type);
  sums.a = data.a.format;
  sums.b = data.b.format;
  sums.accumulator = data.accumulator;
  std::vector<uint32_t> codes = sums.run(a, b, before);
  for (auto [i, result] : llvm::enumerate(data.accumulators)) {
    if (result.isSink)
      continue;
    getAccumulators(codes, data.accumulator, data.shape.n, i,
                    frame.getSlot(result.slot));
    frame.defined[result.slot] = kAllLanes;
  }
}

} // namespace blockscale::emulator

//===- Gpu.cpp - Rates of GPUs --------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Gpu.h"

#include <optional>

namespace blockscale::target {

// f32 rates follow from bf16's. A multiprocessor has 128 lanes, 256 f32 FLOP a
// clock; its tensor cores do 4096 bf16 FLOP on Hopper and 8192 on SM100
// (NVIDIA/cutlass, media/docs/cpp/blackwell_functionality.md: twice Hopper's).
static constexpr double kHopperF32 = 256.0 / 4096;
static constexpr double kBlackwellF32 = 256.0 / 8192;

// Shares that torchao takes where it measured none: matrix products of large
// inputs, and elementwise kernels, both on an H100.
static constexpr double kFlopsShare = 0.78;
static constexpr double kBytesShare = 0.92;

// pytorch/ao, torchao/testing/training/roofline_utils.py, unless a comment says
// otherwise; there from NVIDIA's data sheets, without sparsity.
static constexpr Gpu kGpus[] = {
    // The bytes are of the driver's properties: a bus of 7680 bits, twice a
    // clock of 3.996 GHz.
    {"B200",
     {2.25e15 * kBlackwellF32, 2.25e15, 4.5e15, 9.0e15},
     7680.0 / 8 * 3.996e9 * 2,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/148},
    {"GB200",
     {2.25e15 * kBlackwellF32, 2.25e15, 4.5e15, 9.0e15},
     8e12,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/152},
    // Both shares were measured.
    {"B300",
     {2.25e15 * kBlackwellF32, 2.25e15, 4.5e15, 14e15},
     8e12,
     0.82,
     0.84,
     /*multiprocessors=*/160},
    // Not the 3.35e12 bytes of the SXM board: a variant with slower memory.
    {"H100",
     {989e12 * kHopperF32, 989e12, 1979e12, 0},
     2.4e12,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/132},
    // Rates of the data sheet. Measured on one: a copy of 4 GiB at 4297 GB/s,
    // cuBLAS bf16 products of 8192 x 8192 x 8192 at 779e12.
    {"H200",
     {989e12 * kHopperF32, 989e12, 1979e12, 0},
     4.8e12,
     779.0 / 989,
     4297.0 / 4800,
     /*multiprocessors=*/132},
    // f32 from the RTX Blackwell architecture paper, as the others. torchao has
    // no shares, and writes 1.792e15 for the 1.792e12 bytes of that paper. The
    // rates are those of its boost clock, 2.407 GHz, and of sums in f32. For
    // these, plain FP8 has half its rate and block-scaled FP8 all of it:
    // Dao-AILab/quack#153 measured 609e12 of MXFP8.
    {"RTX 5090",
     {104.8e12, 209.5e12, 419e12, 1676e12},
     1.792e12,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/170},
    // The same chip without that limit: 188 multiprocessors at 2.617 GHz, each
    // of which does 4096 FLOP of 4 bits a clock. The data sheet rounds to
    // 125e12
    // of f32 and 4e15 of sparse FP4. In products of 8192 x 8192 x 8192,
    // NVIDIA/cutlass#3272 measured 1629e12 of NVFP4 and 802e12 of MXFP8.
    {"RTX PRO 6000",
     {126.0e12, 503.8e12, 1007.6e12, 2015.2e12},
     1.792e12,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/188},
    // The data sheet has 1e15 of sparse FP4 and the bytes, and NVIDIA's talk at
    // Hot Chips 2025 has 31e12 of f32; the others follow as on RTX PRO 6000.
    // antirez/ds4#773 measured 231e9 to 234e9 bytes.
    {"GB10",
     {500e12 / 16, 125e12, 250e12, 500e12},
     273e9,
     kFlopsShare,
     232.0 / 273,
     /*multiprocessors=*/48},
    // From the GA102 architecture paper; tensor cores of sums in f32.
    {"RTX 3090",
     {35.6e12, 71e12, 0, 0},
     936e9,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/82},
    // From the data sheet.
    {"A10",
     {31.2e12, 125e12, 0, 0},
     600e9,
     kFlopsShare,
     kBytesShare,
     /*multiprocessors=*/72},
};

/// Seconds from a load of memory to its data where the memory is busy.
static constexpr double kMemorySeconds = 1e-6;

double Gpu::getBytesInFlight() const {
  return peakBytes * kMemorySeconds / multiprocessors;
}

double Gpu::getInstructionsPerByte() const {
  // A lane issues a multiply-add, which counts twice, a clock.
  return getPeakFlops(Unit::F32) / 2 / (peakBytes * bytesShare);
}

const Gpu *findGpu(std::string_view name) {
  for (const Gpu &gpu : kGpus)
    if (gpu.name == name)
      return &gpu;
  return nullptr;
}

/// The names of all, or of those that have a unit.
static std::string list(std::optional<Unit> unit) {
  std::string names;
  for (const Gpu &gpu : kGpus) {
    if (unit && !gpu.has(*unit))
      continue;
    if (!names.empty())
      names += ", ";
    names += gpu.name;
  }
  return names;
}

std::string listGpus() { return list(std::nullopt); }

std::string listGpus(Unit unit) { return list(unit); }

std::string describeUnit(Unit unit) {
  constexpr std::array<std::string_view, kUnitCount> kBits = {"32", "16", "8",
                                                              "4"};
  std::string bits(kBits[static_cast<unsigned>(unit)]);
  return unit == Unit::F32 ? "lanes of " + bits + " bits"
                           : "tensor cores for operands of " + bits + " bits";
}

} // namespace blockscale::target

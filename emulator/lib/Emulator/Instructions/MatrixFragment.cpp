//===- MatrixFragment.cpp - Matrices in the registers of a warp -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/MatrixFragment.h"

#include "Emulator/Arithmetic/FloatFormats.h"

#include <algorithm>
#include <limits>

namespace blockscale::emulator {

static double getValue(const FragmentFormat &format, uint64_t word,
                       unsigned index) {
  auto bits = static_cast<uint32_t>(word) >> (index * format.bits);
  if (format.bits < 32)
    bits &= (1u << format.bits) - 1;
  return decodeMmaValue(format.format, bits >> format.shift);
}

void readFragmentA(FragmentRegisters registers, const FragmentFormat &format,
                   unsigned rows, MmaMatrix &a) {
  size_t count = format.getCount();
  unsigned perColumn = rows / 8;
  a.k = 4 * count * registers.size() / perColumn;
  a.values.resize(size_t(rows) * a.k);
  for (unsigned i = 0; i < registers.size(); ++i)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      double *to = a.row(lane / 4 + i % perColumn * 8) +
                   count * (lane % 4 + i / perColumn * 4);
      for (unsigned j = 0; j < format.getCount(); ++j)
        to[j] = getValue(format, registers[i][lane], j);
    }
}

void readFragmentB(FragmentRegisters registers, const FragmentFormat &format,
                   MmaMatrix &b) {
  size_t count = format.getCount();
  b.k = 4 * count * registers.size();
  b.values.resize(size_t(8) * b.k);
  for (unsigned i = 0; i < registers.size(); ++i)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      double *to = b.row(lane / 4) + count * (lane % 4 + i * 4);
      for (unsigned j = 0; j < format.getCount(); ++j)
        to[j] = getValue(format, registers[i][lane], j);
    }
}

std::vector<double> multiply(const MmaMatrix &a, const MmaMatrix &b) {
  size_t rows = a.values.size() / a.k, columns = b.values.size() / b.k;
  // B by K, so that the sums of a row advance side by side.
  std::vector<double> byK(b.values.size());
  for (size_t n = 0; n < columns; ++n)
    for (unsigned k = 0; k < b.k; ++k)
      byK[k * columns + n] = b.row(n)[k];
  std::vector<double> sums(rows * columns);
  for (size_t m = 0; m < rows; ++m) {
    double *row = sums.data() + m * columns;
    for (unsigned k = 0; k < a.k; ++k) {
      double factor = a.row(m)[k];
      const double *other = byK.data() + k * columns;
      for (size_t n = 0; n < columns; ++n)
        row[n] += factor * other[n];
    }
  }
  return sums;
}

uint32_t AccumulatorFormat::add(double sum, std::optional<uint32_t> old) const {
  switch (type) {
  case MmaAccumulator::F16:
    return F16::encode(old ? sum + F16::decode(*old & 0xFFFF) : sum);
  case MmaAccumulator::F32:
    return F32::encode(old ? sum + F32::decode(*old) : sum);
  case MmaAccumulator::S32:
    break;
  }
  auto total =
      static_cast<int64_t>(sum) + (old ? static_cast<int32_t>(*old) : 0);
  if (saturate)
    total = std::clamp<int64_t>(total, std::numeric_limits<int32_t>::min(),
                                std::numeric_limits<int32_t>::max());
  return static_cast<uint32_t>(total);
}

bool checkWholeWarp(Warp &warp, const Op &op, LaneMask active) {
  if (active == kAllLanes)
    return true;
  warp.report(op, llvm::countr_zero(active),
              Fault{FaultKind::Hazard,
                    "expected all 32 threads of the warp to execute it, but "
                    "some have exited or never were",
                    "let no thread of the warp exit before, and launch whole "
                    "warps"});
  return false;
}

} // namespace blockscale::emulator

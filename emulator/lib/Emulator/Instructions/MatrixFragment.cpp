//===- MatrixFragment.cpp - Matrices in the registers of a warp -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/MatrixFragment.h"

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

std::vector<uint32_t> readAccumulators(FragmentRegisters registers,
                                       const AccumulatorFormat &format,
                                       unsigned rows, unsigned columns) {
  unsigned count = format.getCount(), bits = 32 / count;
  uint32_t mask = ~uint32_t(0) >> (32 - bits);
  std::vector<uint32_t> codes(size_t(rows) * columns);
  for (unsigned i = 0; i < registers.size(); ++i)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned j = 0; j < count; ++j) {
        FragmentPlace place = getAccumulatorPlace(lane, i * count + j);
        codes[size_t(place.row) * columns + place.column] =
            static_cast<uint32_t>(registers[i][lane] >> (j * bits)) & mask;
      }
  return codes;
}

void getAccumulators(llvm::ArrayRef<uint32_t> codes,
                     const AccumulatorFormat &format, unsigned columns,
                     unsigned i, uint64_t *values) {
  unsigned count = format.getCount(), bits = 32 / count;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    values[lane] = 0;
    for (unsigned j = 0; j < count; ++j) {
      FragmentPlace place = getAccumulatorPlace(lane, i * count + j);
      values[lane] |=
          uint64_t(codes[size_t(place.row) * columns + place.column])
          << (j * bits);
    }
  }
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

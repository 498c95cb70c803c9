//===- MmaFixture.h - Memories for products of the tensor core --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMULATOR_MMAFIXTURE_H
#define BLOCKSCALE_UNITTESTS_EMULATOR_MMAFIXTURE_H

#include "FaultTest.h"

#include "Emulator/Matrix/Mma.h"
#include "Emulator/Memory/AddressWindow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

namespace blockscale::emulator {

/// Codes of an operand or of scale factors, by row and index along K.
using Codes = std::function<uint8_t(unsigned, unsigned)>;

struct MmaTestCta {
  explicit MmaTestCta(unsigned rank)
      : rank(rank), shared(StateSpace::Shared, getSharedBase(rank)) {
    llvm::SmallVector<Fault> faults;
    shared.allocate("tiles", 131072, 1024);
    uint32_t address;
    tensor.allocate(512, address, faults);
  }

  /// One byte of the tile at `tile`, 128 bytes a row under the 128-byte
  /// swizzle, by the address formula of CuTe.
  void setByte(uint32_t tile, unsigned row, unsigned byte, uint8_t value) {
    uint32_t linear = tile + 128 * row + byte;
    setRaw(linear ^ (((linear >> 7) & 7) << 4), value);
  }

  void setRaw(uint32_t offset, uint8_t value) {
    llvm::SmallVector<Fault> faults;
    shared.write(getSharedBase(rank) + offset, 1, 1, faults)[0] = value;
  }

  /// The scale factors of `rows` rows in all quarters of the lanes: row r in
  /// lane r % 32 of column r / 32, a byte for each block.
  void setScales(uint32_t address, unsigned rows, const Codes &scale) {
    for (unsigned row = 0; row < rows; ++row) {
      uint32_t word = 0;
      for (unsigned block = 0; block < 4; ++block)
        word |= uint32_t(scale(row, block)) << 8 * block;
      for (unsigned quarter = 0; quarter < 4; ++quarter)
        tensor.set(32 * quarter + row % 32, address + row / 32, word);
    }
  }

  float getFloat(unsigned lane, unsigned column) const {
    EXPECT_TRUE(tensor.isWritten(lane, column)) << lane << ' ' << column;
    uint32_t bits = tensor.get(lane, column);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  void setFloat(unsigned lane, unsigned column, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof value);
    tensor.set(lane, column, bits);
  }

  MmaCta get() { return {shared, rank, tensor, collector}; }

  unsigned rank;
  Memory shared;
  TensorMemory tensor;
  Collector collector;
};

struct MmaFixture : FaultTest {
  static constexpr uint32_t kTileA = 0, kTileB = 0x4000;
  /// Descriptors of CUTLASS for a tile of 128-byte rows.
  static constexpr uint64_t kSwizzled = 0x4000404000010000;

  void expectClean() {
    for (const Fault &fault : faults)
      ADD_FAILURE() << fault.what;
    faults.clear();
  }

  /// A code that looks random, the same for the same place.
  static uint8_t hash(unsigned seed, unsigned row, unsigned k) {
    uint32_t x = seed * 0x9E3779B9u ^ row * 0x85EBCA6Bu ^ k * 0xC2B2AE35u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    return static_cast<uint8_t>(x >> 16);
  }

  /// OCP definitions, written out here.
  static double e2m1(uint8_t code) {
    static constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return (code & 8 ? -1 : 1) * kValues[code & 7];
  }
  static double e4m3(uint8_t code) {
    int field = code >> 3 & 15;
    double mantissa = (code & 7) / 8.0 + (field ? 1 : 0);
    return (code & 0x80 ? -1 : 1) *
           std::ldexp(mantissa, std::max(field, 1) - 7);
  }
  static double ue8m0(uint8_t code) { return std::ldexp(1.0, code - 127); }
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_MMAFIXTURE_H

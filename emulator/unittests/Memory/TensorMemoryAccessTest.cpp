//===- TensorMemoryAccessTest.cpp - Registers and tensor memory -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemoryAccess.h"
#include "FaultTest.h"

#include <gtest/gtest.h>

#include <set>

using namespace blockscale::emulator;

namespace {
struct TensorMemoryAccessTest : FaultTest {
  TensorMemory memory;

  /// All columns, each cell holding its own address.
  void fill() {
    uint32_t address;
    EXPECT_EQ(memory.allocate(512, address, faults),
              TensorMemory::AllocStatus::Done);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned column = 0; column < 512; ++column)
        memory.set(lane, column, lane << 16 | column);
  }

  std::vector<uint32_t> load(const Fragment &fragment, unsigned warp,
                             uint32_t address) {
    std::vector<uint32_t> registers(32 * getRegisterCount(fragment));
    EXPECT_TRUE(
        loadFragment(memory, fragment, warp, address, registers, faults));
    return registers;
  }
};

/// A copy atom of CuTe: the bit of the warp's data at which each 32-bit
/// register of each thread starts, as strides of the digits of the thread and
/// of the register. `rowBits` is how many bits of the data one lane has.
struct CuteAtom {
  std::vector<std::pair<unsigned, unsigned>> thread;
  std::vector<std::pair<unsigned, unsigned>> value;
  unsigned rowBits;
};
} // namespace

static unsigned evaluate(const std::vector<std::pair<unsigned, unsigned>> &mode,
                         unsigned index) {
  unsigned result = 0;
  for (auto [shape, stride] : mode) {
    result += index % shape * stride;
    index /= shape;
  }
  return result;
}

static void expectAtom(const Fragment &fragment, const CuteAtom &atom) {
  for (unsigned thread = 0; thread < 32; ++thread)
    for (unsigned reg = 0; reg < getRegisterCount(fragment); ++reg) {
      unsigned bit =
          evaluate(atom.thread, thread) + evaluate(atom.value, 32 * reg);
      unsigned lane = bit / atom.rowBits, column = bit % atom.rowBits / 32;
      EXPECT_EQ(getCell(fragment, thread, reg), lane << 16 | column)
          << "thread " << thread << ", register " << reg;
    }
}

// The destination layouts of SM100_TMEM_LOAD_* in CuTe, by name.
TEST_F(TensorMemoryAccessTest, LayoutsOfCute) {
  using Shape = FragmentShape;
  // 32dp32b1x and 32dp32b2x.
  expectAtom({Shape::L32x32b, 1}, {{{32, 32}}, {{32, 1}}, 32});
  expectAtom({Shape::L32x32b, 2}, {{{32, 64}}, {{64, 1}}, 64});
  // 16dp64b1x and 16dp64b2x.
  expectAtom({Shape::L16x64b, 1},
             {{{2, 512}, {2, 32}, {8, 64}}, {{32, 1}}, 64});
  expectAtom({Shape::L16x64b, 2},
             {{{2, 1024}, {2, 32}, {8, 128}}, {{32, 1}, {2, 64}}, 128});
  // 16dp128b1x and 16dp128b2x.
  expectAtom({Shape::L16x128b, 1},
             {{{4, 32}, {8, 128}}, {{32, 1}, {2, 1024}}, 128});
  expectAtom({Shape::L16x128b, 2},
             {{{4, 32}, {8, 256}}, {{32, 1}, {2, 2048}, {2, 128}}, 256});
  // 16dp256b1x and 16dp256b2x.
  expectAtom({Shape::L16x256b, 1},
             {{{4, 64}, {8, 256}}, {{64, 1}, {2, 2048}}, 256});
  expectAtom({Shape::L16x256b, 2},
             {{{4, 64}, {8, 512}}, {{64, 1}, {2, 4096}, {2, 256}}, 512});
  // 16dp32b1x and 16dp32b2x: the halves lie side by side there.
  expectAtom({Shape::L16x32bx2, 1, false, 1},
             {{{16, 64}, {2, 32}}, {{32, 1}}, 64});
  expectAtom({Shape::L16x32bx2, 2, false, 2},
             {{{16, 128}, {2, 64}}, {{64, 1}}, 128});
}

// Registers by PTX's table of .num; each cell of the fragment once.
TEST_F(TensorMemoryAccessTest, EveryCellOnce) {
  std::pair<FragmentShape, unsigned> shapes[] = {
      {FragmentShape::L32x32b, 128},
      {FragmentShape::L16x64b, 128},
      {FragmentShape::L16x128b, 64},
      {FragmentShape::L16x256b, 32},
      {FragmentShape::L16x32bx2, 128}};
  for (auto [shape, maximum] : shapes) {
    for (unsigned num = 1; num <= maximum; num *= 2) {
      Fragment fragment{shape, num, false, num};
      std::set<uint32_t> cells;
      unsigned count = getRegisterCount(fragment);
      for (unsigned thread = 0; thread < 32; ++thread)
        for (unsigned reg = 0; reg < count; ++reg)
          cells.insert(getCell(fragment, thread, reg));
      EXPECT_EQ(cells.size(), size_t(32) * count);
    }
    EXPECT_EQ(getRegisterCount({shape, maximum}), 128u);
    EXPECT_EQ(getRegisterCount({shape, 2 * maximum}), 0u);
    EXPECT_EQ(getRegisterCount({shape, 3}), 0u);
    EXPECT_EQ(getRegisterCount({shape, 0}), 0u);
  }
}

// An epilogue's load: thread t of warp w has row 32 (w % 4) + t, its columns in
// register order.
TEST_F(TensorMemoryAccessTest, RowsOfAnAccumulator) {
  fill();
  for (unsigned warp : {0, 1, 2, 3, 6}) {
    uint32_t address = (warp % 4 * 32) << 16 | 96;
    auto registers = load({FragmentShape::L32x32b, 32}, warp, address);
    for (unsigned thread = 0; thread < 32; ++thread)
      for (unsigned reg = 0; reg < 32; ++reg)
        EXPECT_EQ(registers[32 * thread + reg],
                  (warp % 4 * 32 + thread) << 16 | (96 + reg));
  }
  EXPECT_TRUE(faults.empty());
}

// The 16-lane shapes reach the second half of a quarter by their address.
TEST_F(TensorMemoryAccessTest, SecondHalfOfAQuarter) {
  fill();
  auto registers = load({FragmentShape::L16x64b, 1}, 1, 48 << 16 | 8);
  for (unsigned thread = 0; thread < 32; ++thread)
    EXPECT_EQ(registers[thread], (48 + thread / 4 + 8 * (thread % 2)) << 16 |
                                     (8 + thread / 2 % 2));
}

// What is stored is what is loaded, in every shape.
TEST_F(TensorMemoryAccessTest, RoundTrip) {
  fill();
  for (FragmentShape shape :
       {FragmentShape::L32x32b, FragmentShape::L16x64b, FragmentShape::L16x128b,
        FragmentShape::L16x256b, FragmentShape::L16x32bx2})
    for (bool isPacked : {false, true}) {
      Fragment fragment{shape, 4, isPacked, 64};
      std::vector<uint32_t> registers(32 * getRegisterCount(fragment));
      for (size_t i = 0; i < registers.size(); ++i)
        registers[i] = uint32_t(i * 2654435761u);
      EXPECT_TRUE(
          storeFragment(memory, fragment, 2, 64 << 16 | 16, registers, faults));
      EXPECT_EQ(load(fragment, 2, 64 << 16 | 16), registers);
    }
  EXPECT_TRUE(faults.empty());
}

// .pack::16b: two neighbouring columns, the first in the low half.
TEST_F(TensorMemoryAccessTest, Pack) {
  fill();
  auto registers = load({FragmentShape::L32x32b, 4, true}, 0, 10);
  for (unsigned reg = 0; reg < 4; ++reg)
    EXPECT_EQ(registers[4 * 7 + reg], (10 + 2 * reg) | (11 + 2 * reg) << 16);
  // The way back clears the high halves, where the lanes stood.
  EXPECT_TRUE(storeFragment(memory, {FragmentShape::L32x32b, 4, true}, 0, 10,
                            registers, faults));
  EXPECT_EQ(memory.get(7, 12), 12u);
  EXPECT_EQ(memory.get(7, 13), 13u);
  EXPECT_EQ(memory.get(7, 18), 7u << 16 | 18);
}

// A warp of another quarter, or lanes across two of them.
TEST_F(TensorMemoryAccessTest, LaneQuarters) {
  fill();
  Fragment fragment{FragmentShape::L32x32b, 1};
  std::vector<uint32_t> registers(32);
  EXPECT_FALSE(loadFragment(memory, fragment, 1, 0, registers, faults));
  expectFault(FaultKind::TensorMemory,
              "expected tcgen05.ld of warp 1 to take lanes 32 to 63, but it "
              "takes 32 from lane 0 on");
  EXPECT_FALSE(loadFragment(memory, fragment, 1, 48 << 16, registers, faults));
  expectFault(FaultKind::TensorMemory, "from lane 48 on");
  EXPECT_FALSE(storeFragment(memory, fragment, 5, 0, registers, faults));
  expectFault(FaultKind::TensorMemory, "tcgen05.st of warp 5");
  Fragment half{FragmentShape::L16x64b, 1};
  EXPECT_FALSE(loadFragment(memory, half, 0, 8 << 16, registers, faults));
  expectFault(FaultKind::TensorMemory, "multiple of 16, but got 8");
}

// Columns past the allocation, also those of the second half alone.
TEST_F(TensorMemoryAccessTest, Columns) {
  uint32_t address;
  EXPECT_EQ(memory.allocate(32, address, faults),
            TensorMemory::AllocStatus::Done);
  std::vector<uint32_t> registers(32 * 4);
  EXPECT_TRUE(storeFragment(memory, {FragmentShape::L32x32b, 4}, 0, 28,
                            registers, faults));
  EXPECT_FALSE(storeFragment(memory, {FragmentShape::L32x32b, 4}, 0, 29,
                             registers, faults));
  expectFault(FaultKind::TensorMemory, "column 32 of its 4");
  EXPECT_FALSE(storeFragment(memory, {FragmentShape::L32x32b, 4, true}, 0, 28,
                             registers, faults));
  expectFault(FaultKind::TensorMemory, "column 32 of its 8");
  EXPECT_FALSE(storeFragment(memory, {FragmentShape::L16x32bx2, 4, false, 30},
                             0, 0, registers, faults));
  expectFault(FaultKind::TensorMemory, "column 32 of its 4 from 30");
  EXPECT_FALSE(storeFragment(memory,
                             {FragmentShape::L16x32bx2, 4, false, 1 << 16}, 0,
                             0, registers, faults));
  expectFault(FaultKind::TensorMemory, "fewer than 512 columns away");
}

// Cells nobody wrote: one fault, and the load goes on.
TEST_F(TensorMemoryAccessTest, Unwritten) {
  uint32_t address;
  EXPECT_EQ(memory.allocate(32, address, faults),
            TensorMemory::AllocStatus::Done);
  for (unsigned lane = 0; lane < 32; ++lane)
    memory.set(lane, 0, lane);
  std::vector<uint32_t> registers(64);
  EXPECT_TRUE(loadFragment(memory, {FragmentShape::L32x32b, 2}, 0, 0, registers,
                           faults));
  EXPECT_EQ(registers[2 * 9], 9u);
  expectFault(FaultKind::Uninitialised,
              "tcgen05.ld reads 32 cells of tensor memory that were never "
              "written, the first at lane 0, column 1");
}

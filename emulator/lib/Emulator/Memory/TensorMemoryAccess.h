//===- TensorMemoryAccess.h - Access to tensor memory -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cells of tensor memory that the registers of a warp stand for.
//
// tcgen05.ld and tcgen05.st: which cells the registers of a warp are. PTX ISA,
// sections "Data Movement Shape" (matrix fragments) and "Access restrictions";
// the figures' content is that of the copy atoms of CuTe.
//
// Lane and column of register r of thread t, from the address on (.num is n):
//
//   shape      registers  lane               column
//   32x32b     n          t                  r
//   16x64b     n          t / 4 + 8 (t % 2)  2 r + t / 2 % 2
//   16x128b    2 n        t / 4 + 8 (r % 2)  4 (r / 2) + t % 4
//   16x256b    4 n        t / 4 + 8 (r/2%2)  8 (r / 4) + 2 (t % 4) + r % 2
//   16x32bx2   n          t % 16             r + (t / 16) * split
//
// With .pack::16b (.unpack::16b) a register is the low halves of two columns:
// 2 c in its low half and 2 c + 1 in its high half, c being the column above.
// Stores clear the high halves of these cells.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYACCESS_H
#define BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYACCESS_H

#include "Emulator/Memory/TensorMemory.h"

#include "llvm/ADT/ArrayRef.h"

namespace blockscale::emulator {

enum class FragmentShape : uint8_t {
  L32x32b,
  L16x64b,
  L16x128b,
  L16x256b,
  L16x32bx2,
};

struct Fragment {
  FragmentShape shape;
  /// .num: 1 to 128.
  unsigned num;
  /// .pack::16b and .unpack::16b.
  bool isPacked = false;
  /// immHalfSplitoff: columns from the address to the second half of 16x32bx2.
  unsigned halfSplit = 0;
};

/// Registers of each thread; 0 where the shape has no such .num.
unsigned getRegisterCount(const Fragment &fragment);

/// The cell of a register, as lane << 16 | column from the address on. For
/// packed fragments it is the first of two columns.
uint32_t getCell(const Fragment &fragment, unsigned thread, unsigned reg);

/// tcgen05.ld by warp `warp` of its CTA. `registers` has those of thread 0,
/// then of thread 1, and so on. False, and a fault, where it is refused.
bool loadFragment(const TensorMemory &memory, const Fragment &fragment,
                  unsigned warp, uint32_t address,
                  llvm::MutableArrayRef<uint32_t> registers, Faults &faults);

/// tcgen05.st.
bool storeFragment(TensorMemory &memory, const Fragment &fragment,
                   unsigned warp, uint32_t address,
                   llvm::ArrayRef<uint32_t> registers, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYACCESS_H

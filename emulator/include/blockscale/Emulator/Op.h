//===- Op.h - Instructions as a warp executes them --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the decoder makes of an instruction, once for a program: a handler, and
// operands that say where the lanes of a warp find or leave their values.
//
// A register is a slot of a frame: 32 values of 64 bits, one of each lane. A
// value narrower than that is zero extended; a register of 128 bits has two
// slots, the low half first; a predicate is 0 or 1. Each lane of a slot knows
// whether it was ever written: what is computed from an undefined value is
// undefined, and it is a fault where it decides something (a branch, an
// address, what is stored).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_OP_H
#define BLOCKSCALE_EMULATOR_OP_H

#include "blockscale/Emulator/Ast.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace blockscale::emulator {

class Warp;
struct Op;

constexpr unsigned kWarpSize = 32;

/// A set of lanes: bit i is lane i.
using LaneMask = uint32_t;
constexpr LaneMask kAllLanes = ~LaneMask(0);

/// A value of each lane.
using LaneValues = uint64_t[kWarpSize];

/// Where an instruction finds a value.
struct Source {
  enum Kind : uint8_t {
    /// `index` is a slot of the frame.
    Register,
    /// `index` is that of Program::getConstant.
    Constant,
    /// `index` is SpecialRegister * 4 + component.
    Special,
    /// `value` bytes into the shared memory of the own CTA.
    Shared,
    /// `value` bytes into the local variables of the lane's frame.
    Local,
  };
  Kind kind = Constant;
  /// Whether a predicate is negated: `!%p`.
  bool isNegated = false;
  /// Whether a shared source is `value` bytes behind the start of dynamic
  /// memory.
  bool isDynamic = false;
  uint32_t index = 0;
  uint64_t value = 0;
};

/// Where an instruction leaves a value.
struct Result {
  /// Whether the result is discarded: `_`.
  bool isSink = true;
  uint32_t slot = 0;
  /// The bits of the register, which may be wider than the instruction's type.
  unsigned bits = 0;
};

/// `[base + offset]`.
struct AddressOperand {
  Source base;
  int64_t offset = 0;
  /// The bits of the base that count: a sum with a register of 32 bits wraps
  /// there.
  uint64_t mask = ~uint64_t(0);
  /// The registers of `[map, {x, y}]`.
  llvm::SmallVector<Source, 5> coordinates;
};

/// What became of the lanes that executed.
enum class Step : uint8_t {
  /// They go on with the next instruction.
  Next,
  /// They go on with the next instruction, but other warps should run first, as
  /// the instruction looked at what others change.
  Yield,
  /// The handler has moved them.
  Moved,
  /// Nothing happened: they must wait, and execute it again.
  Blocked,
};

/// Executes an instruction for the lanes of `active`, which is not empty.
using Handler = Step (*)(Warp &warp, const Op &op, LaneMask active);

/// What a family of instructions keeps of one, beside its operands.
struct OpData {
  virtual ~OpData() = default;
};

/// Which lanes must come together before an instruction executes.
enum class Convergence : uint8_t {
  None,
  /// The lanes of the mask `Op::memberMask`.
  Members,
  /// All lanes of the warp that have not exited (`.aligned`).
  Warp,
};

/// The threads that a strong access or a fence orders: those of the CTA, of the
/// cluster or of the grid (`.gpu`, `.sys`).
enum class MemoryScope : uint8_t { Cta, Cluster, Grid };
inline constexpr unsigned kScopes = 3;

struct Op {
  Handler handler = nullptr;
  const Instruction *instruction = nullptr;
  Convergence convergence = Convergence::None;
  /// An access that PTX calls strong: it may meet those of other threads.
  bool isStrong = false;
  /// What a strong one orders by itself; a relaxed one needs fences.
  bool acquires = false;
  bool releases = false;
  /// The scope of a strong access or a fence.
  MemoryScope scope = MemoryScope::Grid;
  bool isGuarded = false;
  Source guard;
  Source memberMask;
  llvm::SmallVector<Result, 2> results;
  llvm::SmallVector<Source, 4> sources;
  llvm::SmallVector<AddressOperand, 0> addresses;
  /// Places in the program that it may go to.
  llvm::SmallVector<uint32_t, 1> targets;
  std::unique_ptr<OpData> data;
  /// Says what a lane waits for at an instruction that may be blocked, to be
  /// told with a deadlock. May be null.
  std::string (*describeWait)(Warp &warp, const Op &op,
                              unsigned lane) = nullptr;

  template <typename T>
  const T &get() const {
    return static_cast<const T &>(*data);
  }
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_OP_H

//===- InstructionSet.h - Table of the instructions -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The table of PTX instructions, by family in InstructionSet*.cpp, each entry
// one line in a notation near to that of the PTX ISA:
//
//   {"mbarrier.try_wait.parity", "{.acquire|relaxed}{.$scope}.b64",
//    "d:pred a s:u32 s:u32?"}
//
// The words of the name stand first and in order. Modifiers behind them may
// come in any order, as ptxas takes them, but types, which keep theirs: `.a|b`
// is one of them, `{.a|b}` at most one, `{.a.b}` both or none, `.$set` one of a
// set named in InstructionForm.cpp.
//
// Operands are `KIND[:TYPE][?]`:
//   d  register, or `_`              o  `_` alone
//   s  register, integer or float    S  s, special register, address
//   r  register                      b  predicate, perhaps negated
//   i  integer                       l  label
//   a  address `[..]`                t  `[map, {..}]`, coordinates by `.Nd`
//   v  vector (v4: of 4 elements)    x  vector by `.vN`, else a scalar
//   k  vector that splits the type   m  vector by `.xN` of ldmatrix
//   z  vector by shape of tcgen05.ld g  accumulators of wgmma
//   n  list of targets               c  all operands of a call
//   h  s, just where `.L2::cache_hint` stands
//   M  s, just where `.multicast::cluster` stands
// TYPE is a type, or N for the type that is the modifiers' Nth, or N+ for twice
// its width. A `w` behind allows wider registers. `d:b32|pred` is a register,
// or a pair `d|p`; with `||` a pair. Kinds with `?` are taken left to right.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_INSTRUCTIONSET_H
#define BLOCKSCALE_EMULATOR_INSTRUCTIONSET_H

#include "blockscale/Emulator/Ast.h"

#include "llvm/ADT/ArrayRef.h"

namespace blockscale::emulator {

/// One line of the table.
struct InstructionEntry {
  const char *name;
  const char *modifiers;
  const char *operands;
};

/// Modifiers of which an instruction has one, or at most one.
struct ModifierGroup {
  llvm::SmallVector<llvm::StringRef, 4> choices;
  bool isOptional = false;
  /// Groups of one number other than 0 come all together or not at all.
  unsigned link = 0;
};

struct OperandSpec {
  /// The letter of the notation.
  char kind = 's';
  bool isOptional = false;
  /// A second register behind '|': none, allowed or needed.
  enum { NoPair, MayPair, MustPair } pair = NoPair;
  /// Elements of a vector, 0 where something else tells.
  unsigned count = 0;
  /// A fixed type, or the index of a type modifier, or neither.
  std::optional<Type> type;
  std::optional<unsigned> typeIndex;
  std::optional<Type> pairType;
  bool isDoubled = false;
  bool allowsWider = false;
};

/// A parsed line of the table; what `Instruction::form` points to.
struct InstructionForm {
  /// `mbarrier.try_wait.parity`: what an executor dispatches on.
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef, 4> words;
  llvm::SmallVector<ModifierGroup, 8> groups;
  llvm::SmallVector<OperandSpec, 6> operands;
};

/// The type of an operand where the instruction's modifiers are `types`; none
/// where its form leaves it open.
std::optional<Type> getOperandType(const OperandSpec &spec,
                                   llvm::ArrayRef<Type> types);

/// All forms, those of one opcode side by side.
llvm::ArrayRef<InstructionForm> getInstructionForms();

/// Looks an instruction with resolved names up and sets its form. The error is
/// a Diagnostic that names what is not known: the opcode, the modifier, the
/// number of operands, or an operand's kind, type or length.
llvm::Error verifyInstruction(Instruction &instruction);

/// Looks all instructions of a module with resolved names up, checks calls
/// against the functions they name, and joins the errors, the first twenty.
llvm::Error verifyInstructions(Module &module);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_INSTRUCTIONSET_H

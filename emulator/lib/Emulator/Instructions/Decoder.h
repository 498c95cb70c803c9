//===- Decoder.h - Decoding of instructions to ops --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decoder, which turns an instruction into an op.
//
// A family's decoder fills an op with its handler, operands and data. What it
// does not model is a Diagnostic at the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_DECODER_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_DECODER_H

#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Program.h"

namespace blockscale::emulator {

/// Operands of one function's instructions.
class Decoder {
public:
  Decoder(Program &program, const ProgramFunction &function,
          const VariableLayout &moduleVariables)
      : program(program), function(function), moduleVariables(moduleVariables) {
  }

  Program &getProgram() { return program; }
  const ProgramFunction &getFunction() const { return function; }

  /// A value of `type`: a register, a special register, an immediate (floats
  /// converted to the type), the address of a symbol.
  llvm::Expected<Source> getSource(const Operand &operand, Type type);
  /// A register to write, or a sink.
  llvm::Expected<Result> getResult(const Operand &operand);
  /// The carry flag of extended-precision arithmetic.
  Source getCarrySource() const;
  Result getCarryResult() const;
  /// `[a + offset]`, with coordinates as 32-bit sources.
  llvm::Expected<AddressOperand> getAddress(const Operand &operand);
  /// The elements of a vector, or the operand alone.
  llvm::ArrayRef<Operand> getElements(const Operand &operand) const;
  /// Slots of a 128-bit register: the low half, then the high one.
  Source getHigh(Source low) const;
  Result getHigh(Result low) const;

  /// Where a variable of `.param` space lies in the frame of a device function;
  /// none for parameters of kernels, which are in memory.
  std::optional<uint64_t> getFrameOffset(const Symbol &symbol) const;
  /// A variable, parameter or result of the function.
  const Variable &getVariable(const Symbol &symbol) const;

  /// Decodes one instruction.
  llvm::Expected<Op> decode(const Instruction &instruction);

private:
  llvm::Expected<Source> getSymbolAddress(const Operand &operand);

  Program &program;
  const ProgramFunction &function;
  const VariableLayout &moduleVariables;
};

/// The return at the end of a body.
Op makeReturn();

/// The error for an instruction that no handler executes: "'add.f32' is not
/// modelled".
llvm::Error makeNotModelled(const Op &op);

/// Notes whether `op` is an access that PTX calls strong, and what its
/// modifiers say that it orders.
void setStrong(Op &op, bool isStrong);

/// The scope that an access or a fence names; that of the grid where it names
/// none, as for volatile accesses and atomics.
MemoryScope getScope(const Instruction &instruction);

/// Fills `op`, whose instruction is set, for the instructions of one family.
using DecodeFunction = llvm::Error (*)(Decoder &decoder, Op &op);

/// Integer and floating-point arithmetic, logic, comparison, conversion: each
/// lane alone, from values to values.
llvm::Error decodeScalar(Decoder &decoder, Op &op);
/// mov, cvta, isspacep, mapa, getctarank.
llvm::Error decodeMove(Decoder &decoder, Op &op);
/// ld, st, ldu, prefetches and policies.
llvm::Error decodeMemory(Decoder &decoder, Op &op);
/// atom, red.
llvm::Error decodeAtomic(Decoder &decoder, Op &op);
/// bra, call, ret, exit and the like.
llvm::Error decodeControl(Decoder &decoder, Op &op);
/// shfl, vote, match, redux, elect, activemask.
llvm::Error decodeWarp(Decoder &decoder, Op &op);
/// bar, barrier, fences.
llvm::Error decodeBarrier(Decoder &decoder, Op &op);
/// mbarrier.
llvm::Error decodeMBarrier(Decoder &decoder, Op &op);
/// cp.async, bulk and tensor copies, tensor maps, clusterlaunchcontrol.
llvm::Error decodeAsync(Decoder &decoder, Op &op);
/// tcgen05.
llvm::Error decodeTensor(Decoder &decoder, Op &op);
/// ldmatrix, stmatrix, movmatrix, mma, wgmma.
llvm::Error decodeMatrix(Decoder &decoder, Op &op);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_DECODER_H

//===- Decoder.cpp - Decoding of instructions to ops ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/Decoder.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

llvm::Error makeNotModelled(const Op &op) {
  return makeError(op.instruction->location,
                   "'" + op.instruction->getSpelling() + "' is not modelled");
}

/// The family of an opcode; all others compute.
static DecodeFunction getFamily(llvm::StringRef opcode) {
  return llvm::StringSwitch<DecodeFunction>(opcode)
      .Cases({"mov", "cvta", "isspacep", "mapa", "getctarank"}, decodeMove)
      .Cases({"ld", "st", "ldu", "prefetch", "prefetchu"}, decodeMemory)
      .Cases({"applypriority", "discard", "createpolicy"}, decodeMemory)
      .Cases({"atom", "red"}, decodeAtomic)
      .Cases({"bra", "brx", "call", "ret", "exit", "trap"}, decodeControl)
      .Cases({"brkpt", "pmevent", "nanosleep"}, decodeControl)
      .Cases({"setmaxnreg", "griddepcontrol"}, decodeControl)
      .Cases({"shfl", "vote", "match", "redux"}, decodeWarp)
      .Cases({"elect", "activemask"}, decodeWarp)
      .Cases({"bar", "barrier", "fence", "membar"}, decodeBarrier)
      .Case("mbarrier", decodeMBarrier)
      .Cases({"cp", "tensormap", "clusterlaunchcontrol"}, decodeAsync)
      .Case("tcgen05", decodeTensor)
      .Cases({"ldmatrix", "stmatrix", "movmatrix"}, decodeMatrix)
      .Cases({"mma", "wgmma"}, decodeMatrix)
      .Default(decodeScalar);
}

static llvm::Error decodeFamily(Decoder &decoder, Op &op) {
  llvm::StringRef name = op.instruction->form->name;
  // They complete on a barrier, or in the async proxy.
  if (name == "st.async" || name == "red.async" || name == "st.bulk")
    return decodeAsync(decoder, op);
  return getFamily(op.instruction->form->words.front())(decoder, op);
}

llvm::Expected<Op> Decoder::decode(const Instruction &instruction) {
  Op op;
  op.instruction = &instruction;
  if (instruction.guard) {
    llvm::Expected<Source> guard = getSource(*instruction.guard, Type::Pred);
    if (!guard)
      return guard.takeError();
    op.isGuarded = true;
    op.guard = *guard;
  }
  if (instruction.has("aligned"))
    op.convergence = Convergence::Warp;
  if (llvm::Error error = decodeFamily(*this, op))
    return std::move(error);
  return std::move(op);
}

} // namespace blockscale::emulator

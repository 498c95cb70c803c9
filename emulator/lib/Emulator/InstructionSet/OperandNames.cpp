//===- OperandNames.cpp - Names of operands in messages -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/OperandVerifier.h"

namespace blockscale::emulator {

llvm::StringRef getKindName(const Operand &operand) {
  switch (operand.kind) {
  case OperandKind::Register:
    return "a register";
  case OperandKind::Special:
    return "a special register";
  case OperandKind::Integer:
    return "an integer";
  case OperandKind::Single:
  case OperandKind::Double:
    return "a float";
  case OperandKind::Symbol:
    return operand.symbol.kind == SymbolKind::Label ? "a label" : "a name";
  case OperandKind::Sink:
    return "'_'";
  case OperandKind::Vector:
    return "a vector";
  case OperandKind::Address:
    return "an address";
  case OperandKind::Pair:
    return "a pair";
  case OperandKind::List:
    return "a list";
  }
  return "an operand";
}

llvm::StringRef getKindName(const OperandSpec &spec) {
  switch (spec.kind) {
  case 'd':
    return spec.pair == OperandSpec::MustPair ? "a pair of registers"
                                              : "a register";
  case 'r':
    return "a register";
  case 'b':
    return "a predicate";
  case 'i':
    return "an integer";
  case 'o':
    return "'_'";
  case 'a':
    return "an address";
  case 't':
    return "an address with coordinates";
  case 'v':
  case 'k':
  case 'm':
  case 'z':
  case 'g':
    return "a vector";
  case 'x':
    return "a register or a vector";
  case 'l':
    return "a label";
  case 'n':
    return "a list of targets";
  case 'c':
    return "a function";
  default:
    return "a value";
  }
}

} // namespace blockscale::emulator

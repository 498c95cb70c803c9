//===- DecoderOperands.cpp - Decoding of operands -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Arithmetic/FloatFormats.h"
#include "Emulator/Ptx/SpecialRegisters.h"

#include "llvm/ADT/bit.h"

namespace blockscale::emulator {

/// A float immediate as bits of `type`, as ptxas takes it: rounded to nearest.
static uint64_t convertImmediate(const Operand &operand, Type type) {
  double value = operand.kind == OperandKind::Double
                     ? llvm::bit_cast<double>(operand.value)
                     : F32::decode(operand.value);
  switch (type) {
  case Type::F16:
    return F16::encode(value, Rounding::NearestEven);
  case Type::BF16:
    return BF16::encode(value, Rounding::NearestEven);
  case Type::F64:
    return operand.kind == OperandKind::Double
               ? operand.value
               : llvm::bit_cast<uint64_t>(value);
  default:
    return operand.kind == OperandKind::Single ? operand.value
           : getInfo(type).bits == 64
               ? operand.value
               : F32::encode(value, Rounding::NearestEven);
  }
}

llvm::Expected<Source> Decoder::getSource(const Operand &operand, Type type) {
  Source source;
  switch (operand.kind) {
  case OperandKind::Register:
    source.kind = Source::Register;
    source.isNegated = operand.isNegated;
    source.index = function.slots[operand.registerIndex];
    return source;
  case OperandKind::Special:
    source.kind = Source::Special;
    source.index =
        size_t(operand.specialIndex) * 4 +
        (operand.component ? llvm::StringRef("xyzw").find(operand.component)
                           : 0);
    return source;
  case OperandKind::Integer: {
    unsigned bits = getInfo(type).bits;
    uint64_t mask = bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    if (type == Type::Pred)
      source.index = program.addConstant(operand.value != 0);
    else
      source.index = program.addConstant(operand.value & mask);
    return source;
  }
  case OperandKind::Single:
  case OperandKind::Double:
    source.index = program.addConstant(convertImmediate(operand, type));
    return source;
  case OperandKind::Symbol:
    return getSymbolAddress(operand);
  default:
    return makeError(operand.location, "this operand is not modelled");
  }
}

llvm::Expected<Source> Decoder::getSymbolAddress(const Operand &operand) {
  Source source;
  uint64_t address = 0;
  const Variable *variable = nullptr;
  uint32_t index = operand.symbol.index;
  switch (operand.symbol.kind) {
  case SymbolKind::ModuleVariable:
    variable = &program.getModule().variables[index];
    address = moduleVariables.offsets[index];
    break;
  case SymbolKind::LocalVariable:
    variable = &function.function->variables[index];
    address = function.variables.offsets[index];
    break;
  case SymbolKind::Parameter:
    variable = &function.function->parameters[index];
    address = function.parameters.offsets[index];
    break;
  case SymbolKind::Function:
    address = Program::getAddress(index);
    break;
  default:
    return makeError(operand.location,
                     "'" + operand.name + "' has no address as a value");
  }
  address += operand.offset;
  if (variable && variable->space == StateSpace::Param &&
      !function.function->isEntry)
    return makeError(operand.location,
                     "the address of '" + operand.name +
                         "', a parameter of a device function, is not "
                         "modelled");
  if (variable && variable->space == StateSpace::Shared) {
    source.kind = Source::Shared;
    source.isDynamic = variable->bytes == 0 && !variable->extents.empty();
    source.value = address;
  } else if (variable && variable->space == StateSpace::Local) {
    source.kind = Source::Local;
    source.value = address;
  } else {
    source.index = program.addConstant(address);
  }
  return source;
}

llvm::Expected<Result> Decoder::getResult(const Operand &operand) {
  Result result;
  if (operand.kind == OperandKind::Sink)
    return result;
  if (operand.kind != OperandKind::Register)
    return makeError(operand.location, "expected a register to write");
  result.isSink = false;
  result.slot = function.slots[operand.registerIndex];
  result.bits = getInfo(operand.type).bits;
  return result;
}

Source Decoder::getCarrySource() const {
  Source source;
  source.kind = Source::Register;
  source.index = function.carrySlot;
  return source;
}

Result Decoder::getCarryResult() const {
  Result result;
  result.isSink = false;
  result.slot = function.carrySlot;
  result.bits = 1;
  return result;
}

Source Decoder::getHigh(Source low) const {
  if (low.kind == Source::Register)
    ++low.index;
  else
    low.index = program.addConstant(0);
  return low;
}

Result Decoder::getHigh(Result low) const {
  ++low.slot;
  return low;
}

llvm::Expected<AddressOperand> Decoder::getAddress(const Operand &operand) {
  if (operand.kind != OperandKind::Address || operand.elements.empty())
    return makeError(operand.location, "expected an address");
  llvm::Expected<Source> base = getSource(operand.elements[0], Type::B64);
  if (!base)
    return base.takeError();
  AddressOperand address;
  address.base = *base;
  address.offset = operand.offset;
  if (base->kind == Source::Register)
    address.mask >>= 64 - std::min(64u, getInfo(operand.elements[0].type).bits);
  if (operand.elements.size() < 2)
    return address;
  for (const Operand &element : operand.elements[1].elements) {
    llvm::Expected<Source> coordinate = getSource(element, Type::B32);
    if (!coordinate)
      return coordinate.takeError();
    address.coordinates.push_back(*coordinate);
  }
  return address;
}

llvm::ArrayRef<Operand> Decoder::getElements(const Operand &operand) const {
  if (operand.kind == OperandKind::Vector || operand.kind == OperandKind::Pair)
    return operand.elements;
  return operand;
}

std::optional<uint64_t> Decoder::getFrameOffset(const Symbol &symbol) const {
  if (symbol.kind == SymbolKind::Result)
    return function.results.offsets[symbol.index];
  if (symbol.kind == SymbolKind::Parameter && !function.function->isEntry)
    return function.parameters.offsets[symbol.index];
  if (symbol.kind == SymbolKind::LocalVariable &&
      function.function->variables[symbol.index].space == StateSpace::Param)
    return function.variables.offsets[symbol.index];
  return std::nullopt;
}

const Variable &Decoder::getVariable(const Symbol &symbol) const {
  const Function &owner = *function.function;
  return symbol.kind == SymbolKind::Result      ? owner.results[symbol.index]
         : symbol.kind == SymbolKind::Parameter ? owner.parameters[symbol.index]
                                                : owner.variables[symbol.index];
}

} // namespace blockscale::emulator

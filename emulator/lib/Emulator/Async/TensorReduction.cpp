//===- TensorReduction.cpp - Tiles combined with a tensor -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/TensorReduction.h"

#include "Emulator/Arithmetic/AtomicFunction.h"

#include "Emulator/Async/TmaCopy.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscale::emulator {

/// PTX ISA, section "cp.reduce.async.bulk.tensor": the operations are those of
/// the map's element type; bitwise ones take integers alone.
static AtomicFunction findReduction(llvm::StringRef operation,
                                    TensorElement element) {
  bool isBitwise =
      operation == "and" || operation == "or" || operation == "xor";
  switch (element) {
  case TensorElement::U32:
    return findAtomicFunction(operation, Type::U32);
  case TensorElement::S32:
    return findAtomicFunction(operation, Type::S32);
  case TensorElement::U64:
    return findAtomicFunction(operation, Type::U64);
  case TensorElement::S64:
    return findAtomicFunction(operation, Type::S64);
  case TensorElement::F16:
    return isBitwise ? nullptr : findAtomicFunction(operation, Type::F16);
  case TensorElement::BF16:
    return isBitwise ? nullptr : findAtomicFunction(operation, Type::BF16);
  case TensorElement::F32:
    return operation == "add" ? findAtomicFunction(operation, Type::F32)
                              : nullptr;
  case TensorElement::F64:
    return operation == "add" ? findAtomicFunction(operation, Type::F64)
                              : nullptr;
  default:
    return nullptr;
  }
}

bool reduceTile(llvm::StringRef operation, const TensorMap &map,
                llvm::ArrayRef<int32_t> coordinates, const Memory &shared,
                uint64_t from, Memory &global, Faults &faults) {
  AtomicFunction function = findReduction(operation, map.element);
  if (!function) {
    faults.push_back({FaultKind::TensorMap,
                      llvm::formatv("expected a type that .{0} of tensors is "
                                    "for, but got {1}",
                                    operation, getName(map.element)),
                      "make a map of the same bits with another type"});
    return false;
  }
  // A copy of the tensor's tile, with every value at the address that it has in
  // shared memory; what lies outside the tensor is not stored back.
  uint32_t size = getTileBytes(map);
  Memory tile(StateSpace::Shared, /*first=*/0);
  tile.allocateAt("tile", from, size);
  if (!loadTile(map, coordinates, global, tile, from, faults))
    return false;
  llvm::ArrayRef<uint8_t> operands = shared.read(from, size, 1, faults);
  llvm::MutableArrayRef<uint8_t> values = tile.write(from, size, 1, faults);
  if (operands.empty() || values.empty())
    return false;
  unsigned bytes = getBits(map.element) / 8;
  for (uint32_t i = 0; i < size; i += bytes) {
    uint64_t old = 0, operand = 0;
    std::memcpy(&old, &values[i], bytes);
    std::memcpy(&operand, &operands[i], bytes);
    old = function(old, operand, 0);
    std::memcpy(&values[i], &old, bytes);
  }
  return storeTile(map, coordinates, tile, from, global, faults);
}

} // namespace blockscale::emulator

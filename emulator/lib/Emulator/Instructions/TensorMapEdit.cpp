//===- TensorMapEdit.cpp - Edits of tensor maps ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncInstructions.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/TensorMap.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

namespace {
struct ReplaceData : OpData {
  /// The space of the address; none where the address is generic.
  std::optional<StateSpace> space;
  TensorMapField field = TensorMapField::GlobalAddress;
  unsigned ordinal = 0;
};

struct FieldName {
  llvm::StringLiteral name;
  TensorMapField field;
  bool hasOrdinal;
};
} // namespace

static constexpr FieldName kFieldNames[] = {
    {"global_address", TensorMapField::GlobalAddress, false},
    {"rank", TensorMapField::Rank, false},
    {"box_dim", TensorMapField::BoxDim, true},
    {"global_dim", TensorMapField::GlobalDim, true},
    {"global_stride", TensorMapField::GlobalStride, true},
    {"element_stride", TensorMapField::ElementStride, true},
    {"elemtype", TensorMapField::ElementType, false},
    {"interleave_layout", TensorMapField::InterleaveLayout, false},
    {"swizzle_mode", TensorMapField::SwizzleMode, false},
    {"swizzle_atomicity", TensorMapField::SwizzleAtomicity, false},
    {"fill_mode", TensorMapField::FillMode, false},
};

static Step runReplace(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<ReplaceData>();
  Cluster &cluster = warp.getCluster();
  LaneValues addresses, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  known = warp.require(op, op.sources[0], known, "the value");
  const uint64_t *values = warp.read(op.sources[0], scratch);
  for (unsigned lane : lanesOf(known)) {
    SpaceAddress where = data.space ? SpaceAddress{*data.space, addresses[lane]}
                                    : resolveGeneric(addresses[lane]);
    llvm::ArrayRef<uint8_t> old =
        warp.load(op, lane, where, kTensorMapBytes, 128);
    if (old.empty())
      continue;
    llvm::SmallVector<uint8_t, kTensorMapBytes> map(old);
    llvm::SmallVector<Fault, 1> faults;
    if (!replaceField(map, data.field, data.ordinal, values[lane], faults)) {
      warp.report(op, lane, faults);
      continue;
    }
    llvm::MutableArrayRef<uint8_t> bytes =
        warp.store(op, lane, where, kTensorMapBytes, 128);
    llvm::copy(llvm::ArrayRef(map).take_front(bytes.size()), bytes.begin());
    if (where.space == StateSpace::Global)
      cluster.tensorMaps.noteEdit(where.address, cluster.getTime());
  }
  return Step::Next;
}

/// tensormap.cp_fenceproxy: the warp copies a map and publishes it.
static Step runPublish(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  LaneValues to, from;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  known = warp.readAddresses(op, op.addresses[1], known, from);
  if (!known)
    return Step::Next;
  unsigned lane = llvm::countr_zero(known);
  SpaceAddress source = {StateSpace::Shared, from[lane] & 0xFFFFFFFF};
  SpaceAddress target = {StateSpace::Global, to[lane]};
  llvm::ArrayRef<uint8_t> map =
      warp.load(op, lane, source, kTensorMapBytes, 128);
  llvm::MutableArrayRef<uint8_t> bytes =
      warp.store(op, lane, target, kTensorMapBytes, 128);
  if (map.empty() || bytes.empty())
    return Step::Next;
  llvm::copy(map, bytes.begin());
  cluster.tensorMaps.noteEdit(target.address, cluster.getTime());
  cluster.getClocks().fence(warp.getClusterIndex(), op.scope);
  return Step::Next;
}

llvm::Error decodeTensorMap(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  if (instruction.form->name == "tensormap.cp_fenceproxy") {
    op.handler = runPublish;
    op.scope = getScope(instruction);
    return addOperands(decoder, op, 0, Type::B32);
  }
  auto data = std::make_unique<ReplaceData>();
  if (instruction.has("global"))
    data->space = StateSpace::Global;
  else if (instruction.has("shared::cta"))
    data->space = StateSpace::Shared;
  const FieldName *field =
      llvm::find_if(kFieldNames, [&](const FieldName &field) {
        return instruction.has(field.name);
      });
  data->field = field->field;
  if (field->hasOrdinal) {
    llvm::Expected<uint64_t> ordinal = getImmediate(instruction.operands[1]);
    if (!ordinal)
      return ordinal.takeError();
    data->ordinal = *ordinal;
  }
  if (llvm::Error error = addOperands(decoder, op, 0, Type::B64))
    return error;
  // The value is the last operand, behind the ordinal.
  op.sources.erase(op.sources.begin(), op.sources.end() - 1);
  op.data = std::move(data);
  op.handler = runReplace;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

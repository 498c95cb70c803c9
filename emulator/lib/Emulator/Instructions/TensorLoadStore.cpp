//===- TensorLoadStore.cpp - Loads and stores of tensor memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores are done as they are issued, in both schedules; until the
// wait, their registers are in flight and their cells in use.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/TensorInstructions.h"
#include "Emulator/Matrix/MatrixFootprint.h"

#include "Emulator/Memory/TensorMemoryAccess.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

namespace {
struct TensorAccessData : OpData {
  Fragment fragment;
  /// A wait follows in the same block, before another load: whatever the
  /// compiler moved in between, ptxas keeps behind the wait.
  bool isWaitedFor = false;
};
} // namespace

/// The address that the warp gives.
static std::optional<uint32_t> getTensorAddress(const Issuer &issuer,
                                                LaneMask active) {
  LaneValues addresses;
  LaneMask known = issuer.warp.readAddresses(issuer.op, issuer.op.addresses[0],
                                             active, addresses);
  if (known != active)
    return std::nullopt;
  for (unsigned lane : lanesOf(active))
    if (uint32_t(addresses[lane]) != uint32_t(addresses[issuer.lane])) {
      issuer.report({FaultKind::TensorMemory,
                     "expected all threads of the warp to give one address of "
                     "tensor memory",
                     "add no offset of the thread: each has a lane of its "
                     "own"});
      return std::nullopt;
    }
  return uint32_t(addresses[issuer.lane]);
}

static Step runTensorLoad(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<TensorAccessData>();
  Cta &cta = warp.getCta();
  Issuer issuer{warp, op, unsigned(llvm::countr_zero(active))};
  unsigned count = op.results.size();
  std::vector<uint32_t> registers(size_t(count) * kWarpSize);
  llvm::SmallVector<Fault, 1> faults;
  std::optional<uint32_t> address = getTensorAddress(issuer, active);
  bool isLoaded =
      address && loadFragment(cta.getTensorMemory(), data.fragment,
                              warp.getIndex(), *address, registers, faults);
  issuer.report(faults);
  if (isLoaded) {
    AsyncWork work;
    work.cellReads = getFragmentCells(data.fragment, cta.getRank(), *address);
    issuer.begin(AsyncWork::TensorLoad, std::move(work))->isDone = true;
  }
  bool isStrict = warp.getCluster().getContext().options.strict;
  for (auto [i, result] : llvm::enumerate(op.results)) {
    uint64_t *values = warp.write(result);
    for (unsigned lane : lanesOf(active))
      values[lane] = registers[size_t(lane) * count + i];
    warp.define(result, active, isLoaded ? kAllLanes : 0);
    if (!result.isSink && (isStrict || !data.isWaitedFor))
      warp.inFlight.push_back({warp.getDepth(), result.slot, active, &op,
                               "execute tcgen05.wait::ld before the registers "
                               "are used"});
  }
  return Step::Next;
}

static Step runTensorStore(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<TensorAccessData>();
  Cta &cta = warp.getCta();
  Issuer issuer{warp, op, unsigned(llvm::countr_zero(active))};
  unsigned count = op.sources.size();
  std::vector<uint32_t> registers(size_t(count) * kWarpSize);
  for (auto [i, source] : llvm::enumerate(op.sources)) {
    LaneValues scratch;
    warp.require(op, source, active, "the value stored");
    const uint64_t *values = warp.read(source, scratch);
    for (unsigned lane : lanesOf(active))
      registers[size_t(lane) * count + i] = uint32_t(values[lane]);
  }
  std::optional<uint32_t> address = getTensorAddress(issuer, active);
  if (!address)
    return Step::Next;
  AsyncWork work;
  work.cellWrites = getFragmentCells(data.fragment, cta.getRank(), *address);
  issuer.begin(AsyncWork::TensorStore, std::move(work))->isDone = true;
  llvm::SmallVector<Fault, 1> faults;
  storeFragment(cta.getTensorMemory(), data.fragment, warp.getIndex(), *address,
                registers, faults);
  issuer.report(faults);
  return Step::Next;
}

static Step runWaitLoad(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  llvm::erase_if(warp.inFlight, [](const InFlight &load) {
    return load.op->instruction->form->name == "tcgen05.ld";
  });
  cluster.getHazards().releaseAll(AsyncWork::TensorLoad, warp.getAgent(0),
                                  cluster.getTime());
  return Step::Next;
}

static Step runWaitStore(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  cluster.getHazards().releaseAll(AsyncWork::TensorStore, warp.getAgent(0),
                                  cluster.getTime());
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static Fragment getFragment(const Instruction &instruction) {
  Fragment fragment = {FragmentShape::L32x32b, 1};
  if (instruction.has("16x64b"))
    fragment.shape = FragmentShape::L16x64b;
  else if (instruction.has("16x128b"))
    fragment.shape = FragmentShape::L16x128b;
  else if (instruction.has("16x256b"))
    fragment.shape = FragmentShape::L16x256b;
  else if (instruction.has("16x32bx2"))
    fragment.shape = FragmentShape::L16x32bx2;
  instruction.getModifier({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"})
      .drop_front()
      .getAsInteger(10, fragment.num);
  fragment.isPacked =
      instruction.has("pack::16b") || instruction.has("unpack::16b");
  return fragment;
}

/// Whether a wait is the next of tcgen05.ld, wait::ld, a label and what leaves
/// the block.
static bool isWaitedFor(const Decoder &decoder, const Instruction &load) {
  const Function &function = *decoder.getFunction().function;
  llvm::ArrayRef<Instruction> instructions = function.instructions;
  size_t index = &load - instructions.data();
  for (size_t i = index + 1; i < instructions.size(); ++i) {
    bool isTarget = llvm::any_of(function.labels, [&](const Label &label) {
      return label.instruction == i;
    });
    llvm::StringRef name = instructions[i].form->name;
    if (isTarget || name == "tcgen05.ld" ||
        llvm::is_contained({"bra", "brx.idx", "call", "ret", "exit"},
                           instructions[i].form->words.front()))
      return false;
    if (name == "tcgen05.wait::ld")
      return true;
  }
  return false;
}

static llvm::Error decodeAccess(Decoder &decoder, Op &op, bool isLoad) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<Operand> operands = instruction.operands;
  auto data = std::make_unique<TensorAccessData>();
  data->fragment = getFragment(instruction);
  const Operand &registers = isLoad ? operands.front() : operands.back();
  llvm::Expected<AddressOperand> address =
      decoder.getAddress(operands[isLoad ? 1 : 0]);
  if (!address)
    return address.takeError();
  op.addresses.push_back(std::move(*address));
  if (data->fragment.shape == FragmentShape::L16x32bx2) {
    llvm::Expected<uint64_t> split = getImmediate(operands[isLoad ? 2 : 1]);
    if (!split)
      return split.takeError();
    data->fragment.halfSplit = *split;
  }
  for (const Operand &element : decoder.getElements(registers)) {
    if (isLoad) {
      if (llvm::Error error = addResult(decoder, op, element))
        return error;
      continue;
    }
    llvm::Expected<Source> source = decoder.getSource(element, Type::B32);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
  }
  data->isWaitedFor = isLoad && isWaitedFor(decoder, instruction);
  op.handler = isLoad ? runTensorLoad : runTensorStore;
  op.data = std::move(data);
  return llvm::Error::success();
}

llvm::Error decodeTensorAccess(Decoder &decoder, Op &op) {
  llvm::StringRef word = op.instruction->form->words[1];
  if (word == "ld" || word == "st")
    return decodeAccess(decoder, op, word == "ld");
  op.handler = word == "wait::ld" ? runWaitLoad : runWaitStore;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

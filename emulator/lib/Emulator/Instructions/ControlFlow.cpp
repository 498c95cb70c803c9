//===- ControlFlow.cpp - Branches, calls and ends -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Machine/LaunchLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

static void reportDivergent(Warp &warp, const Op &op, LaneMask active) {
  warp.report(op, llvm::countr_zero(active),
              Fault{FaultKind::Hazard,
                    "expected all threads that execute a .uni instruction to "
                    "go the same way",
                    "drop .uni, or make the condition the same in all threads "
                    "of the warp"});
}

static Step runBranch(Warp &warp, const Op &op, LaneMask active) {
  warp.moveTo(active, op.targets[0]);
  return Step::Moved;
}

static Step runUniformBranch(Warp &warp, const Op &op, LaneMask active) {
  if (active != warp.getLanes())
    reportDivergent(warp, op, active);
  return runBranch(warp, op, active);
}

static Step runIndexedBranch(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch;
  LaneMask known = warp.require(op, op.sources[0], active, "the index");
  const uint64_t *indices = warp.read(op.sources[0], scratch);
  while (active) {
    uint64_t index = indices[llvm::countr_zero(active)];
    LaneMask together = 0;
    for (unsigned lane : lanesOf(active))
      if (indices[lane] == index)
        together |= LaneMask(1) << lane;
    active &= ~together;
    if ((together & known) && index < op.targets.size()) {
      warp.moveTo(together, op.targets[index]);
      continue;
    }
    if (together & known)
      warp.report(op, llvm::countr_zero(together),
                  Fault{FaultKind::OutOfBounds,
                        llvm::formatv("expected an index below {0}, the number "
                                      "of targets, but got {1}",
                                      op.targets.size(), index),
                        "check the index before the branch"});
    warp.exit(together);
  }
  return Step::Moved;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// An argument or a result at the call.
struct CallValue {
  /// The offset of a value in the frame; none for a register or an immediate.
  std::optional<uint64_t> frameOffset;
  /// The size of a value that is in the frame.
  uint64_t bytes = 0;
  Source source;
  Result result;
};

struct CallData : OpData {
  std::vector<CallValue> arguments;
  std::vector<CallValue> results;
  /// The function called; none where its address is `op.sources[0]`.
  std::optional<uint32_t> callee;
};
} // namespace

/// PTX ISA, "call": what is passed matches what the function takes and returns
/// in number, and in size where it is in memory.
static bool matches(const CallData &call, const Function &function) {
  auto match = [](llvm::ArrayRef<CallValue> values,
                  llvm::ArrayRef<Variable> variables) {
    return values.size() == variables.size() &&
           llvm::all_of(llvm::zip(values, variables), [](const auto &pair) {
             const auto &[value, variable] = pair;
             return !value.frameOffset ||
                    (!variable.isRegister && value.bytes == variable.bytes);
           });
  };
  return match(call.arguments, function.parameters) &&
         match(call.results, function.results);
}

static uint8_t *getBytes(Frame &frame, unsigned lane, uint64_t offset) {
  return frame.bytes.data() + lane * frame.bytesPerLane + offset;
}

/// Copies one argument of `lanes` into the frame of the callee.
static void passArgument(Warp &warp, const CallValue &argument, Frame &caller,
                         Frame &callee, const ProgramFunction &function,
                         size_t index, LaneMask lanes) {
  const Variable &parameter = function.function->parameters[index];
  LaneValues scratch;
  if (!argument.frameOffset && parameter.isRegister) {
    const uint64_t *values = warp.read(argument.source, scratch);
    uint32_t slot = function.slots[parameter.registerIndex];
    for (unsigned lane : lanesOf(lanes))
      callee.getSlot(slot)[lane] = values[lane];
    callee.defined[slot] |= lanes & warp.getDefined(argument.source);
    return;
  }
  for (unsigned lane : lanesOf(lanes)) {
    uint8_t *to = getBytes(callee, lane, function.parameters.offsets[index]);
    if (argument.frameOffset)
      std::memcpy(to, getBytes(caller, lane, *argument.frameOffset),
                  parameter.bytes);
    else
      std::memcpy(to, &warp.read(argument.source, scratch)[lane],
                  std::min<uint64_t>(parameter.bytes, sizeof(uint64_t)));
  }
}

/// False, and a fault, where one more call would be one too many, or need more
/// local memory than a thread has.
static bool checkDepth(Warp &warp, const Op &op,
                       const ProgramFunction &function, LaneMask lanes) {
  const Frame &caller = warp.getFrame();
  unsigned lane = llvm::countr_zero(lanes);
  for (unsigned other : lanesOf(lanes))
    if (caller.callBytes[other] > caller.callBytes[lane])
      lane = other;
  uint64_t bytes = caller.callBytes[lane] + getCallBytes(function);
  uint32_t depth = warp.getDepth() + 1;
  if (bytes <= kMaxLocalBytes && depth <= kMaxCallDepth)
    return true;
  std::string what =
      bytes > kMaxLocalBytes
          ? llvm::formatv("expected the calls of a thread to need at most {0} "
                          "bytes of local memory, but {1} of them need {2}",
                          kMaxLocalBytes, depth, bytes)
                .str()
          : llvm::formatv("expected at most {0} calls of a thread within each "
                          "other, but got {1}",
                          kMaxCallDepth, depth)
                .str();
  warp.report(
      op, lane,
      Fault{FaultKind::Limit, what, "bound the depth of the recursion"});
  warp.getCluster().getContext().isStopped = true;
  warp.exit(lanes);
  return false;
}

static void runCallee(Warp &warp, const Op &op, const ProgramFunction &function,
                      LaneMask lanes) {
  const Function &callee = *function.function;
  if (!callee.hasBody) {
    warp.report(op, llvm::countr_zero(lanes),
                Fault{FaultKind::Trap,
                      llvm::formatv("calls '{0}', which the module only "
                                    "declares",
                                    callee.name),
                      callee.name == "__assertfail"
                          ? "an assertion of the program failed"
                          : "link the function in, or compile without it"});
    warp.getCluster().getContext().isStopped = true;
    warp.exit(lanes);
    return;
  }
  if (!checkDepth(warp, op, function, lanes))
    return;
  const CallData &data = op.get<CallData>();
  Frame &caller = warp.getFrame();
  uint32_t depth = warp.getDepth();
  warp.enter(lanes, function);
  Frame &inner = warp.getFrame(depth + 1);
  for (auto [index, argument] : llvm::enumerate(data.arguments))
    passArgument(warp, argument, caller, inner, function, index, lanes);
}

static Step runCall(Warp &warp, const Op &op, LaneMask active) {
  const Program &program = warp.getCluster().getContext().program;
  const CallData &data = op.get<CallData>();
  if (data.callee) {
    runCallee(warp, op, program.getFunctions()[*data.callee], active);
    return Step::Moved;
  }
  LaneValues scratch;
  LaneMask known = warp.require(op, op.sources[0], active, "the callee");
  const uint64_t *addresses = warp.read(op.sources[0], scratch);
  LaneValues callees;
  std::copy_n(addresses, kWarpSize, callees);
  while (active) {
    unsigned first = llvm::countr_zero(active);
    LaneMask together = 0;
    for (unsigned lane : lanesOf(active))
      if (callees[lane] == callees[first])
        together |= LaneMask(1) << lane;
    active &= ~together;
    const ProgramFunction *function = program.findFunction(callees[first]);
    bool fits = function && !function->function->isEntry &&
                matches(data, *function->function);
    if ((together & known) && fits) {
      runCallee(warp, op, *function, together);
      continue;
    }
    if (together & known)
      warp.report(op, first,
                  Fault{FaultKind::WrongSpace,
                        llvm::formatv("expected the address of a function with "
                                      "the {0} parameters and {1} results of "
                                      "the call, but got {2:x}",
                                      data.arguments.size(),
                                      data.results.size(), callees[first]),
                        "call an address that came from a function's name"});
    warp.exit(together);
  }
  return Step::Moved;
}

/// Copies the results of `lanes`, which all return to the call `op`.
static void returnResults(Warp &warp, const Op &op,
                          const ProgramFunction &function, LaneMask lanes) {
  Frame &callee = warp.getFrame(), &caller = warp.getFrame(warp.getDepth() - 1);
  for (auto [index, value] : llvm::enumerate(op.get<CallData>().results)) {
    const Variable &variable = function.function->results[index];
    for (unsigned lane : lanesOf(lanes)) {
      if (variable.isRegister && !value.result.isSink) {
        uint32_t slot = function.slots[variable.registerIndex];
        caller.getSlot(value.result.slot)[lane] = callee.getSlot(slot)[lane];
        LaneMask bit = LaneMask(1) << lane;
        caller.defined[value.result.slot] =
            (caller.defined[value.result.slot] & ~bit) |
            (callee.defined[slot] & bit);
      } else if (value.frameOffset) {
        std::memcpy(getBytes(caller, lane, *value.frameOffset),
                    getBytes(callee, lane, function.results.offsets[index]),
                    variable.bytes);
      }
    }
  }
}

static Step runReturn(Warp &warp, const Op &op, LaneMask active) {
  if (warp.getDepth() == 0) {
    warp.exit(active);
    return Step::Moved;
  }
  const Program &program = warp.getCluster().getContext().program;
  const ProgramFunction &function = program.getFunctionOf(warp.getPlace());
  LaneMask rest = active;
  while (rest) {
    uint32_t call = warp.getFrame().call[llvm::countr_zero(rest)];
    LaneMask together = 0;
    for (unsigned lane : lanesOf(rest))
      if (warp.getFrame().call[lane] == call)
        together |= LaneMask(1) << lane;
    returnResults(warp, program.getOps()[call], function, together);
    rest &= ~together;
  }
  warp.leave(active);
  return Step::Moved;
}

static Step runExit(Warp &warp, const Op &op, LaneMask active) {
  warp.exit(active);
  return Step::Moved;
}

Op makeReturn() {
  Op op;
  op.handler = runReturn;
  return op;
}

static llvm::Error decodeCallValue(Decoder &decoder, const Operand &operand,
                                   bool isResult, CallValue &value) {
  if (operand.kind == OperandKind::Symbol) {
    value.frameOffset = decoder.getFrameOffset(operand.symbol);
    if (value.frameOffset) {
      value.bytes = decoder.getVariable(operand.symbol).bytes;
      return llvm::Error::success();
    }
  }
  if (isResult) {
    llvm::Expected<Result> result = decoder.getResult(operand);
    if (!result)
      return result.takeError();
    value.result = *result;
    return llvm::Error::success();
  }
  Type type = operand.kind == OperandKind::Register ? operand.type : Type::B64;
  llvm::Expected<Source> source = decoder.getSource(operand, type);
  if (!source)
    return source.takeError();
  value.source = *source;
  return llvm::Error::success();
}

static llvm::Error decodeCall(Decoder &decoder, Op &op) {
  auto data = std::make_unique<CallData>();
  llvm::ArrayRef<Operand> operands = op.instruction->operands;
  if (operands.front().kind == OperandKind::List) {
    for (const Operand &operand : operands.front().elements)
      if (llvm::Error error =
              decodeCallValue(decoder, operand, /*isResult=*/true,
                              data->results.emplace_back()))
        return error;
    operands = operands.drop_front();
  }
  const Operand &callee = operands.front();
  if (callee.symbol.kind == SymbolKind::Function) {
    data->callee = callee.symbol.index;
  } else {
    llvm::Expected<Source> address = decoder.getSource(callee, Type::B64);
    if (!address)
      return address.takeError();
    op.sources.push_back(*address);
  }
  operands = operands.drop_front();
  if (!operands.empty() && operands.front().kind == OperandKind::List)
    for (const Operand &operand : operands.front().elements)
      if (llvm::Error error =
              decodeCallValue(decoder, operand, /*isResult=*/false,
                              data->arguments.emplace_back()))
        return error;
  const std::vector<Function> &functions =
      decoder.getProgram().getModule().functions;
  if (data->callee && functions[*data->callee].hasBody &&
      !matches(*data, functions[*data->callee]))
    return makeError(op.instruction->location,
                     "expected the arguments and results to be as many and as "
                     "large as those of '" +
                         functions[*data->callee].name + "'");
  op.data = std::move(data);
  op.handler = runCall;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Traps, hints and the decoder
//===----------------------------------------------------------------------===//

static Step runNothing(Warp &warp, const Op &op, LaneMask active) {
  return Step::Next;
}

static Step runSleep(Warp &warp, const Op &op, LaneMask active) {
  return Step::Yield;
}

static Step runTrap(Warp &warp, const Op &op, LaneMask active) {
  warp.report(op, llvm::countr_zero(active),
              Fault{FaultKind::Trap, "the kernel executed a trap",
                    "look at what leads to it: compilers put one where code "
                    "cannot be reached"});
  warp.getCluster().getContext().isStopped = true;
  warp.exit(active);
  return Step::Moved;
}

static Step runMaxRegisters(Warp &warp, const Op &op, LaneMask active) {
  warp.getCta().getRegisters().set(warp, op, llvm::countr_zero(active),
                                   op.instruction->operands[0].value);
  return Step::Next;
}

/// setmaxnreg: PTX ISA wants a multiple of 8 from 24 to 256. Nobody waits for
/// registers here; whether there are enough is checked in the end.
static llvm::Error decodeMaxRegisters(Op &op) {
  const Operand &count = op.instruction->operands[0];
  if (count.value < 24 || count.value > 256 || count.value % 8 != 0)
    return makeError(count.location,
                     "expected the number of registers to be a multiple of 8 "
                     "from 24 to 256, but got " +
                         llvm::Twine(count.value));
  op.handler = runMaxRegisters;
  return llvm::Error::success();
}

static uint32_t getTarget(Decoder &decoder, const Symbol &label) {
  const ProgramFunction &function = decoder.getFunction();
  return function.entry + function.function->labels[label.index].instruction;
}

/// Launches run one behind the other here, so nobody has to wait; but who has
/// not waited may overlap the launch before.
static Step runGridDependency(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  LaunchOverlap *overlap = cluster.getContext().overlap.get();
  if (!overlap)
    return Step::Next;
  if (op.instruction->has("wait"))
    cluster.getClocks().acquire(warp.getClusterIndex(), overlap->wait());
  else
    warp.getCta().startDependents(
        cluster.getClocks().get(warp.getClusterIndex()));
  return Step::Next;
}

/// The handler of an instruction that has no operand to decode; null for a name
/// that is not one of control flow.
static Handler getHandler(llvm::StringRef name) {
  return llvm::StringSwitch<Handler>(name)
      .Case("ret", runReturn)
      .Case("exit", runExit)
      .Case("trap", runTrap)
      .Case("nanosleep", runSleep)
      // No debugger or profiler runs beside this kernel.
      .Cases({"brkpt", "pmevent"}, runNothing)
      .Case("griddepcontrol", runGridDependency)
      .Default(nullptr);
}

llvm::Error decodeControl(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  if (name == "call")
    return decodeCall(decoder, op);
  if (name == "setmaxnreg")
    return decodeMaxRegisters(op);
  if (name == "bra") {
    op.targets.push_back(getTarget(decoder, instruction.operands[0].symbol));
    op.handler = instruction.has("uni") ? runUniformBranch : runBranch;
  } else if (name == "brx.idx") {
    llvm::Expected<Source> index =
        decoder.getSource(instruction.operands[0], Type::U32);
    if (!index)
      return index.takeError();
    op.sources.push_back(*index);
    const Function &function = *decoder.getFunction().function;
    const TargetList &list =
        function.targetLists[instruction.operands[1].symbol.index];
    for (const Operand &target : list.targets)
      op.targets.push_back(getTarget(decoder, target.symbol));
    op.handler = runIndexedBranch;
  } else {
    op.handler = getHandler(name);
  }
  return op.handler ? llvm::Error::success() : makeNotModelled(op);
}

} // namespace blockscale::emulator

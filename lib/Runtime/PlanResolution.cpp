//===- PlanResolution.cpp - A plan's function in numbers ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/PlanResolution.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace blockscale::runtime;

namespace {

/// Evaluates with the dims of one call; the first failure counts.
class Resolver {
public:
  Resolver(const LaunchPlan &plan, const PlanFunction &function,
           const std::vector<PlanArgument> &arguments)
      : function(function), arguments(arguments) {
    resolved.plan = &plan;
    resolved.function = &function;
    resolved.isOfRanks = function.reducesOverRanks();
    dims.resize(function.dims.size() + function.variables.size());
    isBound.resize(function.dims.size());
  }

  Result<ResolvedFunction> run();

private:
  void fail(const std::string &message) {
    if (status.ok())
      status = Status::failure("@" + function.name + ": " + message);
  }

  void bindArguments();
  void bindArray(const PlanBuffer &buffer, const PlanArgument &argument);
  void bindScalar(const PlanBuffer &buffer, const PlanArgument &argument);
  void bindDim(size_t dim, int64_t size, const std::string &where);
  void check(const PlanConstraint &constraint);
  void resolveBuffers();
  void resolveSteps(const std::vector<PlanStep> &steps);
  /// Finds which launches begin before others have ended.
  void resolveOverlaps();
  void resolveStep(const PlanStep &step);
  void resolveLoop(const PlanLoop &loop);
  void resolveSet(const PlanSet &set);
  bool holds(const PlanCondition &condition);
  void count();
  ResolvedLaunch resolveLaunch(const PlanLaunch &launch);
  ResolvedParameter resolveParameter(const PlanParameter &parameter);
  ResolvedTensorMap resolveMap(const PlanTensorMap &map);
  ResolvedCopy resolveCopy(const PlanCopy &copy);
  ResolvedReduction resolveReduction(const PlanReduction &reduction);
  ResolvedDim3 resolveDim3(const PlanDim3 &dim3, const std::string &what);
  uint64_t resolveOffset(const PlanAddress &address, uint64_t bytes);

  int64_t evaluate(const Expression &expression);
  /// The value of `expression`, which fails unless it is in [0, largest].
  uint64_t evaluate(const Expression &expression, const std::string &what,
                    uint64_t largest = std::numeric_limits<int64_t>::max());

  const PlanFunction &function;
  const std::vector<PlanArgument> &arguments;
  ResolvedFunction resolved;
  /// The values of dims, then of variables.
  std::vector<int64_t> dims;
  size_t numSteps = 0;
  /// Where each dim got its value: "dimension 0 of arg0"; empty before.
  std::vector<std::string> isBound;
  Status status = Status::success();
};

} // namespace

int64_t Resolver::evaluate(const Expression &expression) {
  Result<int64_t> value = expression.evaluate(dims);
  if (value.ok())
    return *value;
  fail(value.message());
  return 0;
}

uint64_t Resolver::evaluate(const Expression &expression,
                            const std::string &what, uint64_t largest) {
  int64_t value = evaluate(expression);
  if (value >= 0 && static_cast<uint64_t>(value) <= largest)
    return value;
  fail("expected " + what + " (" + expression.getText() + ") to be in [0, " +
       std::to_string(largest) + "], but got " + std::to_string(value));
  return 0;
}

void Resolver::bindDim(size_t dim, int64_t size, const std::string &where) {
  if (isBound[dim].empty()) {
    dims[dim] = size;
    isBound[dim] = where;
  } else if (dims[dim] != size) {
    fail("expected " + where + " to be " + std::to_string(dims[dim]) + ", as " +
         isBound[dim] + " is, but got " + std::to_string(size));
  }
}

static std::string formatShape(const PlanBuffer &buffer) {
  std::string text = "(";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + buffer.shape[i].getText();
  return text + (buffer.shape.size() == 1 ? ",)" : ")");
}

void Resolver::bindArray(const PlanBuffer &buffer,
                         const PlanArgument &argument) {
  auto failShape = [&] {
    fail("expected " + buffer.name + " to have shape " + formatShape(buffer) +
         ", but got " + formatNpyShape(argument.shape));
  };
  if (argument.shape.size() != buffer.shape.size())
    return failShape();
  for (size_t i = 0; i < buffer.shape.size(); ++i) {
    if (auto dim = buffer.shape[i].getDim())
      bindDim(*dim, argument.shape[i],
              "dimension " + std::to_string(i) + " of " + buffer.name);
    else if (evaluate(buffer.shape[i]) != argument.shape[i])
      return failShape();
  }
}

void Resolver::bindScalar(const PlanBuffer &buffer,
                          const PlanArgument &argument) {
  if (!argument.shape.empty())
    fail("expected " + buffer.name + " to be a scalar, but got shape " +
         formatNpyShape(argument.shape));
  if (buffer.shape.empty() || !status.ok())
    return;
  int64_t value = 0;
  if (buffer.dtype == NpyType::Bool) {
    value = *argument.data != 0;
  } else if (buffer.dtype == NpyType::Int32) {
    int32_t narrow = 0;
    std::memcpy(&narrow, argument.data, sizeof(narrow));
    value = narrow;
  } else {
    std::memcpy(&value, argument.data, sizeof(value));
  }
  if (auto dim = buffer.shape[0].getDim())
    bindDim(*dim, value, buffer.name);
}

void Resolver::bindArguments() {
  std::vector<size_t> expected =
      function.getBuffers(PlanBuffer::Role::Argument);
  if (arguments.size() != expected.size())
    return fail("expected " + std::to_string(expected.size()) +
                " arguments, but got " + std::to_string(arguments.size()));
  for (size_t i = 0; i < expected.size() && status.ok(); ++i) {
    const PlanBuffer &buffer = function.buffers[expected[i]];
    if (arguments[i].dtype != buffer.dtype)
      return fail("expected " + buffer.name + " to have dtype " +
                  std::string(getNpyTypeName(buffer.dtype)) + " (" +
                  buffer.type + "), but got " +
                  std::string(getNpyTypeName(arguments[i].dtype)));
    if (buffer.isScalar)
      bindScalar(buffer, arguments[i]);
    else
      bindArray(buffer, arguments[i]);
  }
}

static bool holds(int64_t left, Relation relation, int64_t right) {
  switch (relation) {
  case Relation::EQ:
    return left == right;
  case Relation::NE:
    return left != right;
  case Relation::LT:
    return left < right;
  case Relation::LE:
    return left <= right;
  case Relation::GT:
    return left > right;
  case Relation::GE:
    return left >= right;
  }
  return false;
}

bool Resolver::holds(const PlanCondition &condition) {
  int64_t left = evaluate(condition.left);
  return ::holds(left, condition.relation, evaluate(condition.right));
}

void Resolver::check(const PlanConstraint &constraint) {
  if (holds(constraint))
    return;
  // A rule about a remainder speaks of the number that is divided, and says by
  // what.
  if (std::optional<Expression> number = constraint.left.getDividend())
    return fail(constraint.message + ", but got " +
                std::to_string(evaluate(*number)));
  fail(constraint.message + " (" +
       std::string(kRelationNames[static_cast<size_t>(constraint.relation)]) +
       " " + std::to_string(evaluate(constraint.right)) + "), but got " +
       std::to_string(evaluate(constraint.left)));
}

void Resolver::resolveBuffers() {
  uint64_t workspaceBytes = 0;
  for (const PlanBuffer &buffer : function.buffers) {
    ResolvedBuffer &result = resolved.buffers.emplace_back();
    result.bytes = evaluate(buffer.bytes, "the bytes of " + buffer.name);
    if (buffer.isScalar)
      continue;
    for (const Expression &size : buffer.shape)
      result.shape.push_back(
          static_cast<int64_t>(evaluate(size, "a size of " + buffer.name)));
    Result<int64_t> bytes = computeNpyByteCount(buffer.dtype, result.shape);
    if (!bytes.ok())
      fail(buffer.name + ": " + bytes.message());
    else if (static_cast<uint64_t>(*bytes) != result.bytes)
      fail("expected " + buffer.name + " to have the " +
           std::to_string(*bytes) + " bytes of its shape " +
           formatNpyShape(result.shape) + ", but got " +
           std::to_string(result.bytes));
    if (buffer.role == PlanBuffer::Role::Constant &&
        buffer.getDataSize() != result.bytes)
      fail("expected " + std::to_string(result.bytes) + " bytes of data for " +
           buffer.name + ", but got " + std::to_string(buffer.getDataSize()));
    if (buffer.role != PlanBuffer::Role::Workspace)
      continue;
    workspaceBytes += alignWorkspace(result.bytes);
    if (workspaceBytes > std::numeric_limits<int64_t>::max())
      return fail("expected all workspaces to have less than 2^63 bytes");
  }
}

uint64_t Resolver::resolveOffset(const PlanAddress &address, uint64_t bytes) {
  const std::string &name = function.buffers[address.buffer].name;
  uint64_t size = resolved.buffers[address.buffer].bytes;
  uint64_t offset = evaluate(address.offset, "an offset into " + name, size);
  if (bytes > size - offset)
    fail("expected " + name + " to have " + std::to_string(bytes) +
         " bytes from offset " + std::to_string(offset) + ", but it has " +
         std::to_string(size) + " in all");
  return offset;
}

ResolvedDim3 Resolver::resolveDim3(const PlanDim3 &dim3,
                                   const std::string &what) {
  // Limits of every CUDA device; those of a block and of the chip are checked
  // by whoever launches.
  constexpr uint32_t kLargest[] = {0x7FFFFFFF, 65535, 65535};
  ResolvedDim3 result = {};
  for (size_t i = 0; i < 3; ++i)
    result[i] = static_cast<uint32_t>(
        evaluate(dim3[i], "the " + what + "'s " + "xyz"[i], kLargest[i]));
  return result;
}

ResolvedTensorMap Resolver::resolveMap(const PlanTensorMap &map) {
  ResolvedTensorMap result;
  result.offset = resolveOffset(map.address, 0);
  for (const Expression &size : map.dims)
    result.dims.push_back(evaluate(size, "a dim of a tensor map"));
  for (const Expression &stride : map.strides)
    result.strides.push_back(evaluate(stride, "a stride of a tensor map"));
  return result;
}

ResolvedParameter Resolver::resolveParameter(const PlanParameter &parameter) {
  ResolvedParameter result;
  result.parameter = &parameter;
  switch (parameter.kind) {
  case ParameterKind::Pointer:
    result.value = resolveOffset(parameter.address, 0);
    break;
  case ParameterKind::I32: {
    int64_t value = evaluate(parameter.value);
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max())
      fail("expected '" + parameter.value.getText() +
           "' to fit into 32 bits, but got " + std::to_string(value));
    result.value = static_cast<uint32_t>(value);
    break;
  }
  case ParameterKind::I64:
    result.value = evaluate(parameter.value);
    break;
  case ParameterKind::F32:
    result.value = parameter.bits;
    // Arguments are the first buffers.
    if (parameter.scalar) {
      uint32_t bits = 0;
      std::memcpy(&bits, arguments[*parameter.scalar].data, sizeof(bits));
      result.value = bits;
    }
    break;
  case ParameterKind::TensorMap:
    result.map = resolveMap(parameter.map);
    break;
  }
  return result;
}

static bool isEmpty(const ResolvedDim3 &grid) {
  return std::find(grid.begin(), grid.end(), 0) != grid.end();
}

ResolvedLaunch Resolver::resolveLaunch(const PlanLaunch &launch) {
  const std::string &name = resolved.plan->kernels[launch.kernel].name;
  ResolvedLaunch result;
  result.grid = resolveDim3(launch.grid, "grid of " + name);
  // Offsets into empty buffers, say, need not be anything.
  if (isEmpty(result.grid))
    return result;
  result.block = resolveDim3(launch.block, "block of " + name);
  result.cluster = resolveDim3(launch.cluster, "cluster of " + name);
  result.sharedBytes =
      evaluate(launch.sharedBytes, "the shared memory of " + name);
  for (const PlanParameter &parameter : launch.parameters)
    result.parameters.push_back(resolveParameter(parameter));
  return result;
}

ResolvedCopy Resolver::resolveCopy(const PlanCopy &copy) {
  ResolvedCopy result;
  result.bytes = evaluate(copy.bytes, "the bytes of a copy");
  if (result.bytes == 0)
    return result;
  result.fromOffset = resolveOffset(copy.from, result.bytes);
  result.toOffset = resolveOffset(copy.to, result.bytes);
  return result;
}

ResolvedReduction Resolver::resolveReduction(const PlanReduction &reduction) {
  const PlanBuffer &buffer = function.buffers[reduction.address.buffer];
  auto width = static_cast<uint64_t>(getNpyByteWidth(buffer.dtype));
  ResolvedReduction result;
  result.count =
      evaluate(reduction.count, "the count of a reduction over ranks",
               std::numeric_limits<int64_t>::max() / width);
  if (result.count == 0)
    return result;
  result.offset = resolveOffset(reduction.address, result.count * width);
  if (result.offset % width != 0)
    fail("expected a reduction over ranks to begin at a multiple of " +
         std::to_string(width) + " bytes of " + buffer.name + ", but got " +
         std::to_string(result.offset));
  return result;
}

/// Counts a step, of which untrusted plans may have any number.
void Resolver::count() {
  if (++numSteps > kMostSteps)
    fail("expected a call to have at most " + std::to_string(kMostSteps) +
         " steps, but its loops have more");
}

void Resolver::resolveLoop(const PlanLoop &loop) {
  int64_t end = evaluate(loop.end), step = evaluate(loop.step);
  int64_t i = evaluate(loop.begin);
  if (step < 1)
    return fail("expected a step of at least 1 of a loop (" +
                loop.step.getText() + "), but got " + std::to_string(step));
  while (status.ok() && i < end) {
    count();
    dims[loop.variable] = i;
    resolveSteps(loop.steps);
    // Beyond the last one, i may leave the range of integers.
    uint64_t left = static_cast<uint64_t>(end) - static_cast<uint64_t>(i);
    if (left <= static_cast<uint64_t>(step))
      return;
    i += step;
  }
}

void Resolver::resolveSet(const PlanSet &set) {
  std::vector<int64_t> values;
  values.reserve(set.size());
  for (const auto &[variable, value] : set)
    values.push_back(evaluate(value));
  for (size_t i = 0; i < set.size(); ++i)
    dims[set[i].first] = values[i];
}

void Resolver::resolveStep(const PlanStep &step) {
  count();
  ResolvedStep result;
  result.step = &step;
  if (step.launch) {
    result.launch = resolveLaunch(*step.launch);
    result.isEmpty = isEmpty(result.launch.grid);
    resolved.steps.push_back(std::move(result));
  } else if (step.copy) {
    result.copy = resolveCopy(*step.copy);
    result.isEmpty = result.copy.bytes == 0;
    resolved.steps.push_back(std::move(result));
  } else if (step.reduction) {
    result.reduction = resolveReduction(*step.reduction);
    result.isEmpty = result.reduction.count == 0;
    resolved.steps.push_back(std::move(result));
  } else if (step.loop) {
    resolveLoop(*step.loop);
  } else if (step.branch) {
    resolveSteps(holds(step.branch->condition) ? step.branch->thenSteps
                                               : step.branch->elseSteps);
  } else if (step.set) {
    resolveSet(*step.set);
  } else if (step.check) {
    check(*step.check);
  }
}

void Resolver::resolveSteps(const std::vector<PlanStep> &steps) {
  for (const PlanStep &step : steps)
    if (status.ok())
      resolveStep(step);
}

void Resolver::resolveOverlaps() {
  const std::vector<PlanBuffer> &buffers = function.buffers;
  // What comes before the call may write what the kernels read before they
  // wait, if no arguments are settled, and behind a copy or a reduction there
  // is nothing to overlap.
  bool isEarly =
      std::any_of(buffers.begin(), buffers.end(),
                  [](const PlanBuffer &buffer) { return buffer.isSettled; });
  ResolvedStep *before = nullptr;
  for (ResolvedStep &step : resolved.steps) {
    if (step.isEmpty)
      continue;
    bool isProgrammatic =
        step.step->launch && step.step->launch->isProgrammatic;
    step.launch.isProgrammatic =
        isProgrammatic && (before ? before->step->launch.has_value() : isEarly);
    if (before)
      before->launch.mayBeOverlapped = isProgrammatic;
    before = &step;
  }
  if (before)
    before->launch.mayBeOverlapped = isEarly;
}

Result<ResolvedFunction> Resolver::run() {
  bindArguments();
  for (const PlanConstraint &constraint : function.constraints)
    if (status.ok())
      check(constraint);
  if (status.ok())
    resolveBuffers();
  resolveSteps(function.steps);
  if (!status.ok())
    return status;
  resolveOverlaps();
  return std::move(resolved);
}

Result<ResolvedFunction>
blockscale::runtime::resolve(const LaunchPlan &plan,
                             const PlanFunction &function,
                             const std::vector<PlanArgument> &arguments) {
  return Resolver(plan, function, arguments).run();
}

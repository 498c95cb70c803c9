//===- LaunchPlanReader.cpp - Launch plans from JSON ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/LaunchPlan.h"

#include "Base64.h"
#include "PlanReader.h"

#include <algorithm>
#include <limits>

using namespace blockscale::runtime;
using Kind = JsonValue::Kind;
using Role = PlanBuffer::Role;

namespace {

/// Reads a plan's objects; `function` is the one being read.
class LaunchPlanReader : public PlanReader {
public:
  explicit LaunchPlanReader(const std::vector<std::string_view> &blobs)
      : blobs(blobs) {}

  LaunchPlan readPlan(const JsonValue &value);

private:
  PlanKernel readKernel(const JsonValue &value);
  PlanFunction readFunction(const JsonValue &value);
  PlanChoice readChoice(const JsonValue &value);
  bool checkName(const JsonValue &value, const std::string &what);
  void readDims(const JsonValue &value);
  PlanBuffer readBuffer(const JsonValue &value, Role role);
  void readReuse(const JsonValue &value, PlanBuffer &buffer);
  void readShape(const JsonValue &value, PlanBuffer &buffer);
  void readData(const JsonValue &value, PlanBuffer &buffer);
  PlanConstraint readConstraint(const JsonValue &value);
  void readCondition(const JsonValue &value, PlanCondition &condition);
  std::vector<PlanStep> readSteps(const JsonValue &object,
                                  std::string_view key);
  PlanStep readStep(const JsonValue &value);
  PlanLoop readLoop(const JsonValue &value);
  PlanBranch readBranch(const JsonValue &value);
  PlanSet readSet(const JsonValue &value);
  size_t toVariable(const JsonValue &at, const std::string &name);
  void readVariables(const JsonValue &value);
  PlanLaunch readLaunch(const JsonValue &value);
  PlanCopy readCopy(const JsonValue &value);
  PlanReduction readReduction(const JsonValue &value);
  PlanParameter readParameter(const JsonValue &value, ParameterKind kind);
  PlanTensorMap readTensorMap(const JsonValue &value);
  PlanAddress readAddress(const JsonValue &value);
  PlanDim3 readDim3(const JsonValue &object, std::string_view key);
  Expression readExpression(const JsonValue &object, std::string_view key) {
    return getExpression(object, key, dims);
  }
  std::vector<Expression> toExpressions(const std::vector<JsonValue> &values);
  std::vector<uint32_t> toNumbers(const std::vector<JsonValue> &values);
  void checkDifferent(const JsonValue &at, std::vector<std::string> names,
                      const std::string &what);

  const std::vector<std::string_view> &blobs;
  LaunchPlan plan;
  PlanFunction function;
  NameNumbers kernels;
  /// The function's dims, and once steps are read its variables; its buffers
  /// that are scalars, and all others.
  NameNumbers dims, scalars, arrays;
  /// Whether dim i is the size of an argument, or an argument.
  std::vector<bool> isBound;
};

} // namespace

void LaunchPlanReader::checkDifferent(const JsonValue &at,
                                      std::vector<std::string> names,
                                      const std::string &what) {
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    fail(at, "expected " + what + " to have different names, but got '" +
                 *twice + "' twice");
}

LaunchPlan LaunchPlanReader::readPlan(const JsonValue &value) {
  if (!checkKind(value, Kind::Object, "a plan"))
    return plan;
  // Before the members, which another version may have changed.
  if (const JsonValue *version = get(value, "version", Kind::Integer))
    if (version->integer != kLaunchPlanVersion)
      fail(*version, "expected version " + std::to_string(kLaunchPlanVersion) +
                         " of launch plans, but got " +
                         std::to_string(version->integer));
  checkKeys(value, {"version", "chip", "kernels", "functions", "choices"});
  plan.chip = getString(value, "chip");
  std::vector<std::string> names;
  for (const JsonValue &kernel : getElements(value, "kernels")) {
    plan.kernels.push_back(readKernel(kernel));
    names.push_back(plan.kernels.back().name);
    kernels.emplace(names.back(), names.size() - 1);
  }
  checkDifferent(value, names, "kernels");
  names.clear();
  for (const JsonValue &each : getElements(value, "functions")) {
    plan.functions.push_back(readFunction(each));
    names.push_back(plan.functions.back().name);
  }
  checkDifferent(value, names, "functions");
  for (const JsonValue &choice : getOptionalElements(value, "choices"))
    plan.choices.push_back(readChoice(choice));
  return std::move(plan);
}

PlanChoice LaunchPlanReader::readChoice(const JsonValue &value) {
  PlanChoice choice;
  if (!checkKind(value, Kind::Object, "a choice"))
    return choice;
  checkKeys(value,
            {"function", "name", "key", "schedule", "source", "predicted_ns"});
  choice.function = getString(value, "function");
  choice.name = getString(value, "name");
  choice.source = getString(value, "source");
  if (const JsonValue *key = get(value, "key", Kind::Object))
    for (const JsonMember &member : key->members)
      if (checkKind(member.value, Kind::String, "'" + member.key + "'"))
        choice.key.emplace_back(member.key, member.value.string);
  if (const JsonValue *schedule = get(value, "schedule", Kind::Object))
    for (const JsonMember &member : schedule->members)
      if (checkKind(member.value, Kind::Integer, "'" + member.key + "'"))
        choice.schedule.emplace_back(member.key, member.value.integer);
  if (const JsonValue *predicted =
          getOptional(value, "predicted_ns", Kind::Integer))
    choice.predicted = predicted->integer;
  return choice;
}

PlanKernel LaunchPlanReader::readKernel(const JsonValue &value) {
  PlanKernel kernel;
  if (!checkKind(value, Kind::Object, "a kernel"))
    return kernel;
  checkKeys(value, {"name", "parameters"});
  kernel.name = getString(value, "name");
  for (const JsonValue &each : getElements(value, "parameters"))
    kernel.parameters.push_back(static_cast<ParameterKind>(
        toChoice(each, "a parameter", kParameterNames)));
  return kernel;
}

PlanFunction LaunchPlanReader::readFunction(const JsonValue &value) {
  function = PlanFunction();
  dims.clear();
  scalars.clear();
  arrays.clear();
  if (!checkKind(value, Kind::Object, "a function"))
    return function;
  checkKeys(value, {"name", "dims", "variables", "arguments", "results",
                    "constants", "workspaces", "constraints", "steps"});
  function.name = getString(value, "name");
  readDims(value);
  const std::pair<const char *, Role> lists[] = {
      {"arguments", Role::Argument},
      {"results", Role::Result},
      {"constants", Role::Constant},
      {"workspaces", Role::Workspace}};
  std::vector<std::string> names;
  for (auto [key, role] : lists) {
    for (const JsonValue &each : getElements(value, key)) {
      function.buffers.push_back(readBuffer(each, role));
      const PlanBuffer &buffer = function.buffers.back();
      names.push_back(buffer.name);
      (buffer.isScalar ? scalars : arrays)
          .emplace(buffer.name, names.size() - 1);
    }
  }
  checkDifferent(value, names, "buffers");
  for (size_t i = 0; i < isBound.size(); ++i)
    if (!isBound[i])
      fail(value, "expected the dim '" + function.dims[i] +
                      "' to be a size of an argument, or an argument");
  for (const JsonValue &each : getElements(value, "constraints"))
    function.constraints.push_back(readConstraint(each));
  readVariables(value);
  function.steps = readSteps(value, "steps");
  return std::move(function);
}

/// Whether `value` is a text; fails unless it can name a dim or a variable, as
/// `what` says.
bool LaunchPlanReader::checkName(const JsonValue &value,
                                 const std::string &what) {
  if (!checkKind(value, Kind::String, "a " + what))
    return false;
  if (!isDimName(value.string))
    fail(value, "expected the name of a " + what +
                    " to be a C identifier other than the functions of "
                    "expressions, but got '" +
                    value.string + "'");
  return true;
}

/// Where expressions of steps are read, dims and variables are known.
void LaunchPlanReader::readVariables(const JsonValue &value) {
  std::vector<std::string> names = function.dims;
  for (const JsonValue &variable : getOptionalElements(value, "variables")) {
    if (!checkName(variable, "variable"))
      break;
    function.variables.push_back(variable.string);
    dims.emplace(variable.string, names.size());
    names.push_back(variable.string);
  }
  checkDifferent(value, names, "dims and variables");
}

void LaunchPlanReader::readDims(const JsonValue &value) {
  for (const JsonValue &dim : getElements(value, "dims")) {
    if (!checkName(dim, "dim"))
      break;
    function.dims.push_back(dim.string);
    dims.emplace(dim.string, function.dims.size() - 1);
  }
  checkDifferent(value, function.dims, "dims");
  isBound.assign(function.dims.size(), false);
}

PlanBuffer LaunchPlanReader::readBuffer(const JsonValue &value, Role role) {
  static const std::vector<std::string_view> dtypes = [] {
    std::vector<std::string_view> names;
    for (auto type = NpyType::Bool; type <= NpyType::Float64;
         type = static_cast<NpyType>(static_cast<int>(type) + 1))
      names.push_back(getNpyTypeName(type));
    return names;
  }();
  PlanBuffer buffer;
  buffer.role = role;
  if (!checkKind(value, Kind::Object, "a buffer"))
    return buffer;
  if (role == Role::Argument)
    if (const JsonValue *scalar = getOptional(value, "scalar", Kind::Boolean))
      buffer.isScalar = scalar->boolean;
  if (buffer.isScalar)
    checkKeys(value, {"name", "type", "dtype", "scalar", "dim"});
  else if (role == Role::Argument)
    checkKeys(value, {"name", "type", "element", "layout", "dtype", "shape",
                      "bytes", "alignment", "scalar", "writable", "settled"});
  else if (role == Role::Constant)
    checkKeys(value, {"name", "type", "element", "layout", "dtype", "shape",
                      "bytes", "alignment", "data", "blob"});
  else if (role == Role::Result)
    checkKeys(value, {"name", "type", "element", "layout", "dtype", "shape",
                      "bytes", "alignment", "in"});
  else
    checkKeys(value, {"name", "type", "element", "layout", "dtype", "shape",
                      "bytes", "alignment"});
  buffer.name = getString(value, "name");
  buffer.type = getString(value, "type");
  buffer.dtype = static_cast<NpyType>(getChoice(value, "dtype", dtypes));
  if (buffer.isScalar) {
    buffer.bytes = getNpyByteWidth(buffer.dtype);
    if (!value.find("dim"))
      return buffer;
    if (buffer.dtype != NpyType::Int64 && buffer.dtype != NpyType::Int32 &&
        buffer.dtype != NpyType::Bool)
      fail(value, "expected a scalar that is a dim to be bool, int32 or int64, "
                  "but got " +
                      std::string(getNpyTypeName(buffer.dtype)));
    buffer.shape.push_back(readExpression(value, "dim"));
    if (auto dim = buffer.shape.back().getDim())
      isBound[*dim] = true;
    else
      fail(value, "expected 'dim' to be the name of a dim");
    return buffer;
  }
  buffer.element = getString(value, "element");
  buffer.layout = getString(value, "layout");
  readShape(value, buffer);
  buffer.bytes = readExpression(value, "bytes");
  if (const JsonValue *alignment = get(value, "alignment", Kind::Integer)) {
    buffer.alignment = alignment->integer;
    // What allocators of devices give.
    constexpr int64_t kLargest = 256;
    if (buffer.alignment < 1 || buffer.alignment > kLargest ||
        (buffer.alignment & (buffer.alignment - 1)))
      fail(*alignment, "expected the alignment to be a power of two up to " +
                           std::to_string(kLargest) + ", but got " +
                           std::to_string(buffer.alignment));
  }
  if (role == Role::Constant)
    readData(value, buffer);
  readReuse(value, buffer);
  return buffer;
}

/// What the caller gives away, and which result may be there. Arguments are
/// read before results.
void LaunchPlanReader::readReuse(const JsonValue &value, PlanBuffer &buffer) {
  if (buffer.role == Role::Argument) {
    buffer.isWritable = getOptionalBoolean(value, "writable", false);
    buffer.isSettled = getOptionalBoolean(value, "settled", false);
  }
  const JsonValue *name = buffer.role == Role::Result
                              ? getOptional(value, "in", Kind::String)
                              : nullptr;
  if (!name)
    return;
  auto found = arrays.find(name->string);
  if (found == arrays.end() || !function.buffers[found->second].isWritable)
    return fail(*name, "expected 'in' to be the name of an argument that is "
                       "writable, but got '" +
                           name->string + "'");
  const PlanBuffer &argument = function.buffers[found->second];
  if (!buffer.isStoredAs(argument))
    return fail(*name, "expected " + buffer.name +
                           " to have the dtype and shape of " + argument.name +
                           ", in whose memory it may be, but got others");
  for (const PlanBuffer &other : function.buffers)
    if (other.argument == found->second)
      return fail(*name, "expected one result in the memory of " +
                             argument.name + ", but got " + other.name +
                             " and " + buffer.name);
  buffer.argument = found->second;
}

void LaunchPlanReader::readShape(const JsonValue &value, PlanBuffer &buffer) {
  for (const JsonValue &size : getElements(value, "shape")) {
    buffer.shape.push_back(toExpression(size, dims));
    if (buffer.role != Role::Argument)
      continue;
    if (auto dim = buffer.shape.back().getDim())
      isBound[*dim] = true;
    else if (size.kind != Kind::Integer)
      fail(size, "expected a size of an argument to be an integer or a dim, "
                 "but got '" +
                     size.string + "'");
  }
}

void LaunchPlanReader::readData(const JsonValue &value, PlanBuffer &buffer) {
  if (!value.find("data") == !value.find("blob"))
    fail(value, "expected a constant to have one of 'data' and 'blob'");
  const JsonValue *data = getOptional(value, "data", Kind::String);
  if (data && !decodeBase64(data->string, buffer.data))
    fail(*data, "expected the data to be text of base 64");
  const JsonValue *blob = getOptional(value, "blob", Kind::Integer);
  if (!blob)
    return;
  if (blob->integer < 0 || static_cast<size_t>(blob->integer) >= blobs.size())
    return fail(*blob, "expected the number of one of the " +
                           std::to_string(blobs.size()) +
                           " constants of a bundle, but got " +
                           std::to_string(blob->integer));
  buffer.blob = blobs[blob->integer];
}

PlanConstraint LaunchPlanReader::readConstraint(const JsonValue &value) {
  PlanConstraint constraint;
  if (!checkKind(value, Kind::Object, "a constraint"))
    return constraint;
  checkKeys(value, {"left", "relation", "right", "message"});
  readCondition(value, constraint);
  constraint.message = getString(value, "message");
  return constraint;
}

void LaunchPlanReader::readCondition(const JsonValue &value,
                                     PlanCondition &condition) {
  condition.left = readExpression(value, "left");
  condition.relation =
      static_cast<Relation>(getChoice(value, "relation", kRelationNames));
  condition.right = readExpression(value, "right");
}

std::vector<PlanStep> LaunchPlanReader::readSteps(const JsonValue &object,
                                                  std::string_view key) {
  std::vector<PlanStep> steps;
  for (const JsonValue &each : getElements(object, key))
    steps.push_back(readStep(each));
  return steps;
}

PlanStep LaunchPlanReader::readStep(const JsonValue &value) {
  PlanStep step;
  if (!checkKind(value, Kind::Object, "a step"))
    return step;
  static const std::initializer_list<std::string_view> kKinds = {
      "launch", "copy", "reduce_over_ranks", "loop", "branch", "set", "check"};
  checkKeys(value, kKinds);
  if (value.members.size() != 1)
    fail(value, "expected a step to be one of " + joinNames(kKinds));
  if (const JsonValue *launch = getOptional(value, "launch", Kind::Object))
    step.launch = readLaunch(*launch);
  if (const JsonValue *copy = getOptional(value, "copy", Kind::Object))
    step.copy = readCopy(*copy);
  if (const JsonValue *reduction =
          getOptional(value, "reduce_over_ranks", Kind::Object))
    step.reduction = readReduction(*reduction);
  if (const JsonValue *loop = getOptional(value, "loop", Kind::Object))
    step.loop = readLoop(*loop);
  if (const JsonValue *branch = getOptional(value, "branch", Kind::Object))
    step.branch = readBranch(*branch);
  if (const JsonValue *set = getOptional(value, "set", Kind::Object))
    step.set = readSet(*set);
  if (const JsonValue *check = value.find("check"))
    step.check = readConstraint(*check);
  return step;
}

/// The number of a variable; dims do not change.
size_t LaunchPlanReader::toVariable(const JsonValue &at,
                                    const std::string &name) {
  auto found = dims.find(name);
  if (found != dims.end() && found->second >= function.dims.size())
    return found->second;
  fail(at, "expected the name of a variable, but got '" + name + "'");
  return 0;
}

PlanLoop LaunchPlanReader::readLoop(const JsonValue &value) {
  PlanLoop loop;
  checkKeys(value, {"variable", "begin", "end", "step", "steps"});
  if (const JsonValue *variable = get(value, "variable", Kind::String))
    loop.variable = toVariable(*variable, variable->string);
  loop.begin = readExpression(value, "begin");
  loop.end = readExpression(value, "end");
  loop.step = readExpression(value, "step");
  loop.steps = readSteps(value, "steps");
  return loop;
}

PlanBranch LaunchPlanReader::readBranch(const JsonValue &value) {
  PlanBranch branch;
  checkKeys(value, {"left", "relation", "right", "then", "else"});
  readCondition(value, branch.condition);
  branch.thenSteps = readSteps(value, "then");
  branch.elseSteps = readSteps(value, "else");
  return branch;
}

PlanSet LaunchPlanReader::readSet(const JsonValue &value) {
  PlanSet set;
  if (value.members.empty())
    fail(value, "expected a step 'set' to name a variable");
  for (const JsonMember &member : value.members)
    set.emplace_back(toVariable(member.value, member.key),
                     toExpression(member.value, dims));
  return set;
}

PlanDim3 LaunchPlanReader::readDim3(const JsonValue &object,
                                    std::string_view key) {
  PlanDim3 dim3 = {1, 1, 1};
  const std::vector<JsonValue> &values = getElements(object, key);
  if (values.size() != 3 && ok())
    fail(object, "expected '" + std::string(key) +
                     "' to have 3 elements, but got " +
                     std::to_string(values.size()));
  for (size_t i = 0; i < std::min<size_t>(values.size(), 3); ++i)
    dim3[i] = toExpression(values[i], dims);
  return dim3;
}

PlanLaunch LaunchPlanReader::readLaunch(const JsonValue &value) {
  PlanLaunch launch;
  checkKeys(value, {"kernel", "grid", "block", "cluster", "shared",
                    "programmatic", "parameters"});
  launch.kernel = getNumber(value, "kernel", kernels);
  launch.grid = readDim3(value, "grid");
  launch.block = readDim3(value, "block");
  launch.cluster = readDim3(value, "cluster");
  launch.sharedBytes = readExpression(value, "shared");
  launch.isProgrammatic = getOptionalBoolean(value, "programmatic", false);
  const std::vector<JsonValue> &parameters = getElements(value, "parameters");
  if (!ok())
    return launch;
  const PlanKernel &kernel = plan.kernels[launch.kernel];
  if (parameters.size() != kernel.parameters.size())
    fail(value, "expected " + std::to_string(kernel.parameters.size()) +
                    " parameters of " + kernel.name + ", but got " +
                    std::to_string(parameters.size()));
  for (size_t i = 0; ok() && i < parameters.size(); ++i)
    launch.parameters.push_back(
        readParameter(parameters[i], kernel.parameters[i]));
  return launch;
}

PlanCopy LaunchPlanReader::readCopy(const JsonValue &value) {
  PlanCopy copy;
  checkKeys(value, {"from", "to", "bytes"});
  if (const JsonValue *from = get(value, "from", Kind::Object))
    copy.from = readAddress(*from);
  if (const JsonValue *to = get(value, "to", Kind::Object))
    copy.to = readAddress(*to);
  copy.bytes = readExpression(value, "bytes");
  return copy;
}

/// Whether steps may write to a buffer.
static bool isWritten(const PlanBuffer &buffer) {
  return buffer.role == Role::Argument ? buffer.isWritable
                                       : buffer.role != Role::Constant;
}

PlanReduction LaunchPlanReader::readReduction(const JsonValue &value) {
  PlanReduction reduction;
  checkKeys(value, {"address", "count", "reduction"});
  if (const JsonValue *address = get(value, "address", Kind::Object))
    reduction.address = readAddress(*address);
  reduction.count = readExpression(value, "count");
  reduction.kind = static_cast<ReductionKind>(
      getChoice(value, "reduction", kReductionNames));
  if (!ok())
    return reduction;
  const PlanBuffer &buffer = function.buffers[reduction.address.buffer];
  if (buffer.dtype != NpyType::Float32)
    fail(value, "expected a reduction over ranks of float32, but got " +
                    std::string(getNpyTypeName(buffer.dtype)) + " in " +
                    buffer.name);
  if (buffer.alignment < getNpyByteWidth(NpyType::Float32))
    fail(value, "expected a reduction over ranks in a buffer that is aligned "
                "to 4 bytes, but got " +
                    std::to_string(buffer.alignment) + " of " + buffer.name);
  if (!isWritten(buffer))
    fail(value, "expected a reduction over ranks in a result, a workspace or "
                "an argument that is writable, but got " +
                    buffer.name);
  return reduction;
}

PlanAddress LaunchPlanReader::readAddress(const JsonValue &value) {
  checkKeys(value, {"buffer", "offset"});
  PlanAddress address;
  address.buffer = getNumber(value, "buffer", arrays);
  if (value.find("offset"))
    address.offset = readExpression(value, "offset");
  return address;
}

PlanParameter LaunchPlanReader::readParameter(const JsonValue &value,
                                              ParameterKind kind) {
  PlanParameter parameter;
  parameter.kind = kind;
  if (!checkKind(value, Kind::Object, "a parameter"))
    return parameter;
  std::string_view name = kParameterNames[static_cast<size_t>(kind)];
  std::string_view key = kind == ParameterKind::Pointer ? "buffer" : name;
  if (!value.find(key)) {
    fail(value, "expected a parameter that is a " + std::string(name) +
                    " to have a member '" + std::string(key) + "'");
    return parameter;
  }
  switch (kind) {
  case ParameterKind::Pointer:
    parameter.address = readAddress(value);
    break;
  case ParameterKind::I32:
  case ParameterKind::I64:
    checkKeys(value, {key});
    parameter.value = readExpression(value, key);
    break;
  case ParameterKind::F32: {
    checkKeys(value, {key});
    if (const JsonValue *bits = value.find(key); bits->kind == Kind::Integer) {
      if (bits->integer < 0 ||
          bits->integer > std::numeric_limits<uint32_t>::max())
        fail(*bits,
             "expected 32 bits, but got " + std::to_string(bits->integer));
      parameter.bits = static_cast<uint32_t>(bits->integer);
      break;
    }
    size_t scalar = getNumber(value, key, scalars);
    parameter.scalar = scalar;
    if (ok() && function.buffers[scalar].dtype != NpyType::Float32)
      fail(value, "expected a scalar of float32");
    break;
  }
  case ParameterKind::TensorMap:
    checkKeys(value, {key});
    if (const JsonValue *map = get(value, key, Kind::Object))
      parameter.map = readTensorMap(*map);
    break;
  }
  return parameter;
}

std::vector<Expression>
LaunchPlanReader::toExpressions(const std::vector<JsonValue> &values) {
  std::vector<Expression> expressions;
  expressions.reserve(values.size());
  for (const JsonValue &value : values)
    expressions.push_back(toExpression(value, dims));
  return expressions;
}

std::vector<uint32_t>
LaunchPlanReader::toNumbers(const std::vector<JsonValue> &values) {
  std::vector<uint32_t> numbers;
  for (const JsonValue &value : values) {
    if (!checkKind(value, Kind::Integer, "an element"))
      break;
    if (value.integer < 1 ||
        value.integer > std::numeric_limits<uint32_t>::max())
      fail(value, "expected a positive number of 32 bits, but got " +
                      std::to_string(value.integer));
    numbers.push_back(static_cast<uint32_t>(value.integer));
  }
  return numbers;
}

PlanTensorMap LaunchPlanReader::readTensorMap(const JsonValue &value) {
  PlanTensorMap map;
  checkKeys(value,
            {"address", "element", "dims", "strides", "box", "element_strides",
             "interleave", "swizzle", "l2_promotion", "fill"});
  if (const JsonValue *address = get(value, "address", Kind::Object))
    map.address = readAddress(*address);
  auto choose = [&](std::string_view key,
                    const std::vector<std::string_view> &names) {
    return static_cast<uint32_t>(getChoice(value, key, names));
  };
  map.element = choose("element", kTensorElementNames);
  map.interleave = choose("interleave", kInterleaveNames);
  map.swizzle = choose("swizzle", kSwizzleNames);
  map.l2Promotion = choose("l2_promotion", kPromotionNames);
  map.fill = choose("fill", kFillNames);
  map.dims = toExpressions(getElements(value, "dims"));
  map.strides = toExpressions(getElements(value, "strides"));
  map.box = toNumbers(getElements(value, "box"));
  map.elementStrides = toNumbers(getElements(value, "element_strides"));
  size_t rank = map.dims.size();
  if (rank < 1 || rank > 5 || map.strides.size() != rank - 1 ||
      map.box.size() != rank || map.elementStrides.size() != rank)
    fail(value, "expected 1 to 5 dims, as many elements of the box and element "
                "strides, and one stride less");
  return map;
}

Result<LaunchPlan> blockscale::runtime::parseLaunchPlan(
    std::string_view text, const std::vector<std::string_view> &blobs) {
  Result<JsonValue> value = parseJson(text);
  if (!value.ok())
    return value.status();
  LaunchPlanReader reader(blobs);
  LaunchPlan plan = reader.readPlan(*value);
  if (!reader.ok())
    return reader.getStatus();
  return plan;
}

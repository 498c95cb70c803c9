//===- LaunchPlanWriter.cpp - Launch plans as JSON ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/LaunchPlan.h"

#include "Base64.h"

#include "blockscale/Runtime/JsonWriter.h"

#include <algorithm>

using namespace blockscale::runtime;
using Layout = JsonWriter::Layout;
using Role = PlanBuffer::Role;

namespace {

/// Writes a plan's objects; `function` is the one being written.
class LaunchPlanWriter {
public:
  explicit LaunchPlanWriter(std::vector<std::string> *blobs) : blobs(blobs) {}

  std::string write(const LaunchPlan &plan);
  std::string write(const std::string &chip, const std::string &compiler,
                    const std::vector<PlanChoice> &choices);

private:
  void write(const Expression &expression);
  void write(const PlanAddress &address);
  void write(const PlanTensorMap &map);
  void write(const PlanParameter &parameter);
  void write(const PlanLaunch &launch, const LaunchPlan &plan);
  void write(const PlanCopy &copy);
  void write(const PlanReduction &reduction);
  void write(const PlanLoop &loop, const LaunchPlan &plan);
  void write(const PlanBranch &branch, const LaunchPlan &plan);
  void write(const PlanSet &set);
  void write(const PlanConstraint &constraint);
  void writeCondition(const PlanCondition &condition);
  void writeSteps(std::string_view key, const std::vector<PlanStep> &steps,
                  const LaunchPlan &plan);
  void names(std::string_view key, const std::vector<std::string> &values);
  /// The name of a dim or a variable.
  const std::string &getName(size_t number) const {
    size_t dims = function->dims.size();
    return number < dims ? function->dims[number]
                         : function->variables[number - dims];
  }
  void write(const PlanBuffer &buffer);
  void write(const PlanFunction &function, const LaunchPlan &plan);
  void write(const PlanKernel &kernel);
  void write(const PlanChoice &choice);
  void write(const std::vector<PlanChoice> &choices);
  void writeData(const PlanBuffer &buffer);
  /// An object whose values are integers or texts, on one line.
  template <typename Members>
  void members(std::string_view key, const Members &values) {
    json.key(key);
    json.beginObject(Layout::OneLine);
    for (const auto &[name, value] : values)
      member(name, value);
    json.endObject();
  }
  template <typename Value>
  void member(std::string_view key, const Value &value) {
    json.key(key);
    if constexpr (std::is_class_v<Value> &&
                  !std::is_convertible_v<Value, std::string_view>)
      write(value);
    else
      json.value(value);
  }
  /// An array whose elements are expressions, on one line.
  template <typename Expressions>
  void expressions(std::string_view key, const Expressions &values) {
    json.key(key);
    json.beginArray(Layout::OneLine);
    for (const Expression &value : values)
      write(value);
    json.endArray();
  }
  void numbers(std::string_view key, const std::vector<uint32_t> &values) {
    json.key(key);
    json.beginArray(Layout::OneLine);
    for (uint32_t value : values)
      json.value(static_cast<int64_t>(value));
    json.endArray();
  }

  JsonWriter json;
  std::vector<std::string> *blobs;
  const PlanFunction *function = nullptr;
};

} // namespace

void LaunchPlanWriter::write(const Expression &expression) {
  if (std::optional<int64_t> constant = expression.getConstant())
    json.value(*constant);
  else
    json.value(expression.getText());
}

void LaunchPlanWriter::write(const PlanAddress &address) {
  json.beginObject(Layout::OneLine);
  member("buffer", function->buffers[address.buffer].name);
  if (address.offset.getConstant() != 0)
    member("offset", address.offset);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanTensorMap &map) {
  json.beginObject(Layout::OneLine);
  member("address", map.address);
  numbers("box", map.box);
  expressions("dims", map.dims);
  member("element", kTensorElementNames[map.element]);
  numbers("element_strides", map.elementStrides);
  member("fill", kFillNames[map.fill]);
  member("interleave", kInterleaveNames[map.interleave]);
  member("l2_promotion", kPromotionNames[map.l2Promotion]);
  expressions("strides", map.strides);
  member("swizzle", kSwizzleNames[map.swizzle]);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanParameter &parameter) {
  if (parameter.kind == ParameterKind::Pointer)
    return write(parameter.address);
  json.beginObject(Layout::OneLine);
  json.key(kParameterNames[static_cast<size_t>(parameter.kind)]);
  if (parameter.kind == ParameterKind::TensorMap)
    write(parameter.map);
  else if (parameter.kind != ParameterKind::F32)
    write(parameter.value);
  else if (parameter.scalar)
    json.value(function->buffers[*parameter.scalar].name);
  else
    json.value(static_cast<int64_t>(parameter.bits));
  json.endObject();
}

void LaunchPlanWriter::write(const PlanLaunch &launch, const LaunchPlan &plan) {
  json.key("launch");
  json.beginObject();
  member("kernel", plan.kernels[launch.kernel].name);
  expressions("grid", launch.grid);
  expressions("block", launch.block);
  expressions("cluster", launch.cluster);
  member("shared", launch.sharedBytes);
  if (launch.isProgrammatic)
    member("programmatic", true);
  json.key("parameters");
  json.beginArray();
  for (const PlanParameter &parameter : launch.parameters)
    write(parameter);
  json.endArray();
  json.endObject();
}

void LaunchPlanWriter::write(const PlanCopy &copy) {
  json.key("copy");
  json.beginObject();
  member("from", copy.from);
  member("to", copy.to);
  member("bytes", copy.bytes);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanReduction &reduction) {
  json.key("reduce_over_ranks");
  json.beginObject();
  member("address", reduction.address);
  member("count", reduction.count);
  member("reduction", kReductionNames[static_cast<size_t>(reduction.kind)]);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanLoop &loop, const LaunchPlan &plan) {
  json.key("loop");
  json.beginObject();
  member("variable", getName(loop.variable));
  member("begin", loop.begin);
  member("end", loop.end);
  member("step", loop.step);
  writeSteps("steps", loop.steps, plan);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanBranch &branch, const LaunchPlan &plan) {
  json.key("branch");
  json.beginObject();
  writeCondition(branch.condition);
  writeSteps("then", branch.thenSteps, plan);
  writeSteps("else", branch.elseSteps, plan);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanSet &set) {
  json.key("set");
  json.beginObject(Layout::OneLine);
  for (const auto &[variable, value] : set)
    member(getName(variable), value);
  json.endObject();
}

void LaunchPlanWriter::writeCondition(const PlanCondition &condition) {
  member("left", condition.left);
  member("relation", kRelationNames[static_cast<size_t>(condition.relation)]);
  member("right", condition.right);
}

void LaunchPlanWriter::write(const PlanConstraint &constraint) {
  json.beginObject();
  writeCondition(constraint);
  member("message", constraint.message);
  json.endObject();
}

void LaunchPlanWriter::writeData(const PlanBuffer &buffer) {
  if (!blobs)
    return member("data", encodeBase64(buffer.getData(), buffer.getDataSize()));
  std::string data(reinterpret_cast<const char *>(buffer.getData()),
                   buffer.getDataSize());
  auto found = std::find(blobs->begin(), blobs->end(), data);
  member("blob", static_cast<int64_t>(found - blobs->begin()));
  if (found == blobs->end())
    blobs->push_back(std::move(data));
}

void LaunchPlanWriter::write(const PlanBuffer &buffer) {
  json.beginObject();
  member("name", buffer.name);
  member("type", buffer.type);
  if (buffer.isScalar) {
    member("scalar", true);
    member("dtype", getNpyTypeName(buffer.dtype));
    if (!buffer.shape.empty())
      member("dim", buffer.shape.front());
    return json.endObject();
  }
  member("element", buffer.element);
  member("layout", buffer.layout);
  member("dtype", getNpyTypeName(buffer.dtype));
  expressions("shape", buffer.shape);
  member("bytes", buffer.bytes);
  member("alignment", buffer.alignment);
  if (buffer.isWritable)
    member("writable", true);
  if (buffer.isSettled)
    member("settled", true);
  if (buffer.argument)
    member("in", function->buffers[*buffer.argument].name);
  if (buffer.role == Role::Constant)
    writeData(buffer);
  json.endObject();
}

void LaunchPlanWriter::write(const PlanFunction &written,
                             const LaunchPlan &plan) {
  function = &written;
  json.beginObject();
  member("name", written.name);
  names("dims", written.dims);
  if (!written.variables.empty())
    names("variables", written.variables);
  const std::pair<const char *, Role> lists[] = {
      {"arguments", Role::Argument},
      {"results", Role::Result},
      {"constants", Role::Constant},
      {"workspaces", Role::Workspace}};
  for (auto [key, role] : lists) {
    json.key(key);
    json.beginArray();
    for (size_t i : written.getBuffers(role))
      write(written.buffers[i]);
    json.endArray();
  }
  json.key("constraints");
  json.beginArray();
  for (const PlanConstraint &constraint : written.constraints)
    write(constraint);
  json.endArray();
  writeSteps("steps", written.steps, plan);
  json.endObject();
}

void LaunchPlanWriter::writeSteps(std::string_view key,
                                  const std::vector<PlanStep> &steps,
                                  const LaunchPlan &plan) {
  json.key(key);
  json.beginArray();
  for (const PlanStep &step : steps) {
    json.beginObject();
    if (step.launch)
      write(*step.launch, plan);
    if (step.copy)
      write(*step.copy);
    if (step.reduction)
      write(*step.reduction);
    if (step.loop)
      write(*step.loop, plan);
    if (step.branch)
      write(*step.branch, plan);
    if (step.set)
      write(*step.set);
    if (step.check)
      member("check", *step.check);
    json.endObject();
  }
  json.endArray();
}

void LaunchPlanWriter::names(std::string_view key,
                             const std::vector<std::string> &values) {
  json.key(key);
  json.beginArray(Layout::OneLine);
  for (const std::string &value : values)
    json.value(value);
  json.endArray();
}

void LaunchPlanWriter::write(const PlanKernel &kernel) {
  json.beginObject();
  member("name", kernel.name);
  json.key("parameters");
  json.beginArray(Layout::OneLine);
  for (ParameterKind kind : kernel.parameters)
    json.value(kParameterNames[static_cast<size_t>(kind)]);
  json.endArray();
  json.endObject();
}

void LaunchPlanWriter::write(const PlanChoice &choice) {
  json.beginObject();
  member("function", choice.function);
  member("name", choice.name);
  members("key", choice.key);
  members("schedule", choice.schedule);
  member("source", choice.source);
  if (choice.predicted)
    member("predicted_ns", *choice.predicted);
  if (!choice.candidates.empty()) {
    json.key("candidates");
    json.beginArray();
    for (const PlanCandidate &candidate : choice.candidates) {
      json.beginObject();
      members("schedule", candidate.schedule);
      member("predicted_ns", candidate.predicted);
      json.endObject();
    }
    json.endArray();
  }
  json.endObject();
}

void LaunchPlanWriter::write(const std::vector<PlanChoice> &choices) {
  json.key("choices");
  json.beginArray();
  for (const PlanChoice &choice : choices)
    write(choice);
  json.endArray();
}

std::string LaunchPlanWriter::write(const std::string &chip,
                                    const std::string &compiler,
                                    const std::vector<PlanChoice> &choices) {
  json.beginObject();
  member("version", kChoicesVersion);
  member("chip", chip);
  member("compiler", compiler);
  write(choices);
  json.endObject();
  return json.take() + "\n";
}

std::string LaunchPlanWriter::write(const LaunchPlan &plan) {
  json.beginObject();
  member("version", kLaunchPlanVersion);
  member("chip", plan.chip);
  json.key("kernels");
  json.beginArray();
  for (const PlanKernel &kernel : plan.kernels)
    write(kernel);
  json.endArray();
  json.key("functions");
  json.beginArray();
  for (const PlanFunction &each : plan.functions)
    write(each, plan);
  json.endArray();
  if (!plan.choices.empty())
    write(plan.choices);
  json.endObject();
  return json.take() + "\n";
}

std::string
blockscale::runtime::writeLaunchPlan(const LaunchPlan &plan,
                                     std::vector<std::string> *blobs) {
  return LaunchPlanWriter(blobs).write(plan);
}

std::string
blockscale::runtime::writeChoices(const std::string &chip,
                                  const std::string &compiler,
                                  const std::vector<PlanChoice> &choices) {
  return LaunchPlanWriter(/*blobs=*/nullptr).write(chip, compiler, choices);
}

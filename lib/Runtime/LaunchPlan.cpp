//===- LaunchPlan.cpp - How functions run on a device ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/LaunchPlan.h"

#include "PlanReader.h"

using namespace blockscale::runtime;

const std::vector<std::string_view> blockscale::runtime::kParameterNames = {
    "pointer", "i32", "i64", "f32", "tensor_map"};
const std::vector<std::string_view> blockscale::runtime::kTensorElementNames = {
    "UINT8",        "UINT16",       "UINT32",        "INT32",
    "UINT64",       "INT64",        "FLOAT16",       "FLOAT32",
    "FLOAT64",      "BFLOAT16",     "FLOAT32_FTZ",   "TFLOAT32",
    "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"};
const std::vector<std::string_view> blockscale::runtime::kSwizzleNames = {
    "NONE",         "32B",           "64B",
    "128B",         "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B",
    "128B_ATOM_64B"};
const std::vector<std::string_view> blockscale::runtime::kInterleaveNames = {
    "NONE", "16B", "32B"};
const std::vector<std::string_view> blockscale::runtime::kFillNames = {"ZERO",
                                                                       "NAN"};
const std::vector<std::string_view> blockscale::runtime::kRelationNames = {
    "==", "!=", "<", "<=", ">", ">="};
const std::vector<std::string_view> blockscale::runtime::kPromotionNames = {
    "NONE", "64B", "128B", "256B"};
const std::vector<std::string_view> blockscale::runtime::kReductionNames = {
    "max"};

bool PlanBuffer::isStoredAs(const PlanBuffer &other) const {
  if (dtype != other.dtype || shape.size() != other.shape.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i].getText() != other.shape[i].getText())
      return false;
  return true;
}

std::vector<size_t> PlanFunction::getBuffers(PlanBuffer::Role role) const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].role == role)
      numbers.push_back(i);
  return numbers;
}

bool PlanFunction::reducesOverRanks() const {
  bool found = false;
  visitSteps(steps, [&](const PlanStep &step) {
    found |= step.reduction.has_value();
  });
  return found;
}

void blockscale::runtime::visitSteps(
    const std::vector<PlanStep> &steps,
    const std::function<void(const PlanStep &)> &visit) {
  for (const PlanStep &step : steps) {
    visit(step);
    if (step.loop)
      visitSteps(step.loop->steps, visit);
    if (!step.branch)
      continue;
    visitSteps(step.branch->thenSteps, visit);
    visitSteps(step.branch->elseSteps, visit);
  }
}

Result<const PlanFunction *> LaunchPlan::find(const std::string &name) const {
  std::vector<std::string_view> names;
  for (const PlanFunction &function : functions) {
    if (function.name == name || (name.empty() && functions.size() == 1))
      return &function;
    names.push_back(function.name);
  }
  return Status::failure("expected the name of a function of the plan (" +
                         joinNames(names) + "), but got '" + name + "'");
}

//===- Listing.cpp - What a bundle holds, as text -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Listing.h"

using namespace blockscale::runtime;
using Role = PlanBuffer::Role;

namespace blockscale::launch {

static std::string listBuffer(const PlanFunction &function,
                              const PlanBuffer &buffer) {
  std::string text =
      buffer.name + ": " + std::string(getNpyTypeName(buffer.dtype));
  if (buffer.isScalar)
    return text + ", scalar " + buffer.type;
  text += " (";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + buffer.shape[i].getText();
  text += (buffer.shape.size() == 1 ? ",), " : "), ") + buffer.type +
          ", aligned to " + std::to_string(buffer.alignment);
  if (buffer.argument)
    return text + ", in " + function.buffers[*buffer.argument].name;
  return text + (buffer.isWritable ? ", writable" : "") +
         (buffer.isSettled ? ", settled" : "");
}

static std::string listFunction(const PlanFunction &function) {
  std::string text = "  @" + function.name + "\n";
  const std::pair<Role, const char *> roles[] = {
      {Role::Argument, "argument"},
      {Role::Result, "result"},
      {Role::Constant, "constant"},
      {Role::Workspace, "workspace"}};
  for (auto [role, name] : roles)
    for (size_t i : function.getBuffers(role))
      text += "    " + std::string(name) + " " +
              listBuffer(function, function.buffers[i]) + "\n";
  size_t launches = 0, copies = 0, reductions = 0, loops = 0, branches = 0;
  visitSteps(function.steps, [&](const PlanStep &step) {
    launches += step.launch.has_value();
    copies += step.copy.has_value();
    reductions += step.reduction.has_value();
    loops += step.loop.has_value();
    branches += step.branch.has_value();
  });
  text += "    " + std::to_string(launches) + " launches, " +
          std::to_string(copies) + " copies";
  if (reductions)
    text += ", " + std::to_string(reductions) + " reductions over ranks";
  if (loops || branches)
    text += ", " + std::to_string(loops) + " loops, " +
            std::to_string(branches) + " branches";
  return text + "\n";
}

static std::string listChoice(const PlanChoice &choice) {
  std::string text = "  schedule in @" + choice.function + " for " +
                     choice.name + ", by " + choice.source + ":";
  for (const auto &[parameter, value] : choice.schedule)
    text += " " + parameter + " = " + std::to_string(value);
  if (choice.predicted)
    text += "; " + std::to_string(*choice.predicted) + " ns predicted";
  return text + "\n";
}

std::string listBundle(const Bundle &bundle) {
  std::string text;
  for (const Bundle::Target &target : bundle.getTargets()) {
    text += target.plan.chip + ", " +
            std::to_string(target.plan.kernels.size()) + " kernels" +
            (target.ptx.empty() ? "" : ", PTX " + target.ptxVersion) + "\n";
    for (const PlanFunction &function : target.plan.functions)
      text += listFunction(function);
    for (const PlanChoice &choice : target.plan.choices)
      text += listChoice(choice);
  }
  return text;
}

} // namespace blockscale::launch

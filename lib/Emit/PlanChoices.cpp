//===- PlanChoices.cpp - Choices of schedules in plans --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Emit/LaunchPlan.h"

using namespace mlir;

namespace blockscale {

static runtime::PlanSchedule toPlan(GemmScheduleAttr schedule) {
  runtime::PlanSchedule parameters;
  for (auto [name, value] : getParameters(schedule))
    parameters.emplace_back(name.str(), value);
  return parameters;
}

static runtime::PlanChoice toPlan(const ScheduleChoice &choice) {
  runtime::PlanChoice planned;
  planned.function = plan::toPlanText(choice.function);
  planned.name = plan::toPlanText(choice.name);
  for (NamedAttribute member : choice.key)
    planned.key.emplace_back(
        plan::toPlanText(member.getName()),
        plan::toPlanText(cast<StringAttr>(member.getValue())));
  planned.schedule = toPlan(choice.schedule);
  planned.source = plan::toPlanText(choice.source);
  planned.predicted = choice.predicted;
  for (const ScheduleCandidate &candidate : choice.candidates)
    planned.candidates.push_back(
        {toPlan(candidate.schedule), candidate.predicted});
  return planned;
}

FailureOr<std::vector<runtime::PlanChoice>> emitChoices(ModuleOp module) {
  FailureOr<SmallVector<ScheduleChoice>> choices = getChoices(module);
  if (failed(choices))
    return failure();
  std::vector<runtime::PlanChoice> planned;
  for (const ScheduleChoice &choice : *choices)
    planned.push_back(toPlan(choice));
  return planned;
}

} // namespace blockscale

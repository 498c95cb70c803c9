//===- ScheduleChoice.cpp - Where schedules come from ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/ScheduleChoice.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace blockscale {

StringRef getCompilerVersion() { return BLOCKSCALE_VERSION; }

std::array<std::pair<StringRef, int64_t>, 7>
getParameters(GemmScheduleAttr schedule) {
  return {{{"rows", schedule.getRows()},
           {"cols", schedule.getCols()},
           {"stages", schedule.getStages()},
           {"band", schedule.getBand()},
           {"ctas", schedule.getCtas()},
           {"multicast", schedule.getMulticast()},
           {"splits", schedule.getSplits()}}};
}

static DictionaryAttr getAttribute(Builder &b,
                                   const ScheduleCandidate &candidate) {
  return b.getDictionaryAttr(
      {b.getNamedAttr("schedule", candidate.schedule),
       b.getNamedAttr("predicted_ns",
                      b.getI64IntegerAttr(candidate.predicted))});
}

static DictionaryAttr getAttribute(Builder &b, const ScheduleChoice &choice) {
  SmallVector<NamedAttribute> members = {
      b.getNamedAttr("function", b.getStringAttr(choice.function)),
      b.getNamedAttr("key", choice.key),
      b.getNamedAttr("name", b.getStringAttr(choice.name)),
      b.getNamedAttr("schedule", choice.schedule),
      b.getNamedAttr("source", b.getStringAttr(choice.source))};
  if (choice.predicted)
    members.push_back(
        b.getNamedAttr("predicted_ns", b.getI64IntegerAttr(*choice.predicted)));
  SmallVector<Attribute> candidates;
  for (const ScheduleCandidate &candidate : choice.candidates)
    candidates.push_back(getAttribute(b, candidate));
  if (!candidates.empty())
    members.push_back(b.getNamedAttr("candidates", b.getArrayAttr(candidates)));
  return b.getDictionaryAttr(members);
}

void setChoices(ModuleOp module, ArrayRef<ScheduleChoice> choices) {
  Builder b(module.getContext());
  SmallVector<Attribute> elements;
  for (const ScheduleChoice &choice : choices)
    elements.push_back(getAttribute(b, choice));
  module->setAttr(kChoicesAttrName, b.getArrayAttr(elements));
}

/// A schedule and its time, or nothing where the members are others.
static std::optional<ScheduleCandidate> toCandidate(Attribute attribute) {
  auto members = dyn_cast<DictionaryAttr>(attribute);
  if (!members)
    return std::nullopt;
  auto schedule = members.getAs<GemmScheduleAttr>("schedule");
  auto predicted = members.getAs<IntegerAttr>("predicted_ns");
  if (!schedule || !predicted || !predicted.getType().isInteger(64))
    return std::nullopt;
  return ScheduleCandidate{schedule, predicted.getInt()};
}

static bool isKey(DictionaryAttr key) {
  return key && llvm::all_of(key, [](NamedAttribute member) {
           return isa<StringAttr>(member.getValue());
         });
}

static std::optional<ScheduleChoice> toChoice(Attribute attribute) {
  auto members = dyn_cast<DictionaryAttr>(attribute);
  if (!members)
    return std::nullopt;
  auto function = members.getAs<StringAttr>("function");
  auto key = members.getAs<DictionaryAttr>("key");
  auto name = members.getAs<StringAttr>("name");
  auto schedule = members.getAs<GemmScheduleAttr>("schedule");
  auto source = members.getAs<StringAttr>("source");
  if (!function || !isKey(key) || !name || !schedule || !source)
    return std::nullopt;
  ScheduleChoice choice{function.str(), key,          name.str(), schedule,
                        source.str(),   std::nullopt, {}};
  if (members.get("predicted_ns")) {
    std::optional<ScheduleCandidate> rated = toCandidate(members);
    if (!rated)
      return std::nullopt;
    choice.predicted = rated->predicted;
  }
  if (!members.get("candidates"))
    return choice;
  auto candidates = members.getAs<ArrayAttr>("candidates");
  if (!candidates)
    return std::nullopt;
  for (Attribute each : candidates) {
    std::optional<ScheduleCandidate> candidate = toCandidate(each);
    if (!candidate)
      return std::nullopt;
    choice.candidates.push_back(*candidate);
  }
  return choice;
}

FailureOr<SmallVector<ScheduleChoice>> getChoices(ModuleOp module) {
  SmallVector<ScheduleChoice> choices;
  Attribute attribute = module->getAttr(kChoicesAttrName);
  if (!attribute)
    return choices;
  auto elements = dyn_cast<ArrayAttr>(attribute);
  for (Attribute each : elements ? elements.getValue() : ArrayRef(attribute)) {
    std::optional<ScheduleChoice> choice = toChoice(each);
    if (!choice)
      return module.emitError("expected '")
             << kChoicesAttrName
             << "' to be choices as blockscale-choose-schedules writes them, "
                "but got "
             << each;
    choices.push_back(std::move(*choice));
  }
  return choices;
}

} // namespace blockscale

//===- FusionChoice.cpp - Which form kernels have, and why ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionChoice.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

using Ops = FusionChoice::Ops;

static SmallVector<Ops> getEach(Ops ops) {
  SmallVector<Ops> each;
  for (size_t i = 0; i < ops.size(); ++i)
    each.push_back(ops.slice(i, 1));
  return each;
}

FusionChoice::FusionChoice(const FusionModel &model, Ops ops,
                           ArrayRef<Ops> apart)
    : gpu(&model.getGpu()), form(fusion::kTogether) {
  add(fusion::kTogether, model.getCost(ops));
  add(fusion::kApart, model.getCost(apart));
}

FusionChoice::FusionChoice(const FusionModel &model, Ops ops)
    : FusionChoice(model, ops, getEach(ops)) {}

FusionChoice::FusionChoice(const FusionModel &model, Recompute recompute,
                           Ops producers, Ops first, Ops second, Ops apart)
    : gpu(&model.getGpu()), form(fusion::kKept),
      isForced(recompute != Recompute::Model) {
  auto firstAll =
      llvm::to_vector(llvm::concat<Operation *const>(producers, first));
  auto secondAll =
      llvm::to_vector(llvm::concat<Operation *const>(producers, second));
  add(fusion::kKept, model.getCost({firstAll, second}));
  add(fusion::kRecomputed, model.getCost({firstAll, secondAll}));
  add(fusion::kApart, model.getCost(getEach(apart)));
  const Cost *kept = find(fusion::kKept);
  const Cost *recomputed = find(fusion::kRecomputed);
  // Without an estimate nothing is computed more than once.
  bool isFaster = kept && recomputed && recomputed->seconds < kept->seconds;
  if (recompute == Recompute::Always || (!isForced && isFaster))
    form = fusion::kRecomputed;
}

void FusionChoice::add(StringLiteral name, llvm::Expected<Cost> cost) {
  if (cost)
    costs.emplace_back(name, *cost);
  else
    unknown = llvm::toString(cost.takeError());
}

const Cost *FusionChoice::find(StringRef name) const {
  const auto *found = llvm::find_if(
      costs, [&](const auto &cost) { return cost.first == name; });
  return found == costs.end() ? nullptr : &found->second;
}

void FusionChoice::record(KernelOp kernel) const {
  Builder b(kernel.getContext());
  auto count = [&](double value) {
    return b.getI64IntegerAttr(std::llround(value));
  };
  SmallVector<NamedAttribute> attrs{
      b.getNamedAttr(fusion::kForm, b.getStringAttr(form))};
  for (const auto &[name, cost] : costs)
    attrs.push_back(b.getNamedAttr(
        name, b.getDictionaryAttr(
                  {b.getNamedAttr(fusion::kBytes, count(cost.bytes)),
                   b.getNamedAttr(fusion::kLaunches, count(cost.launches)),
                   b.getNamedAttr(fusion::kNanoseconds,
                                  count(cost.seconds * 1e9))})));
  kernel->setAttr(kFusionAttrName, b.getDictionaryAttr(attrs));
  remark(kernel);
}

/// Why a form was chosen.
static StringRef explain(StringRef form) {
  if (form == fusion::kTogether)
    return "what its ops share is read once, and what they make for each other "
           "is not moved";
  if (form == fusion::kKept)
    return "the first pass stores x for the second";
  return "both passes compute x, which no memory holds";
}

/// The names of the ops that compute something.
static std::string describe(KernelOp kernel) {
  SmallVector<StringRef> names;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if ((isa<linalg::LinalgOp>(op) && !getFilledScalar(&op)) ||
        isa_and_present<BlockScaleDialect>(op.getDialect()))
      names.push_back(op.getName().stripDialect());
  return llvm::join(names, " + ");
}

void FusionChoice::remark(KernelOp kernel) const {
  std::string text = describe(kernel);
  text += llvm::formatv(": {0}, {1}", form, explain(form));
  if (isForced)
    text += " (option recompute)";
  for (const auto &[name, cost] : costs)
    text += llvm::formatv(
        "; {0}: {1:f0} bytes, {2:f0} launches, {3:f3} us on {4}", name,
        cost.bytes, cost.launches, cost.seconds * 1e6, StringRef(gpu->name));
  if (!unknown.empty())
    text += "; without an estimate: " + unknown;
  remark::analysis(kernel.getLoc(),
                   remark::RemarkOpts::name("fusion").category("gpu-fusion"))
      << remark::add("{0}", text);
}

} // namespace blockscale

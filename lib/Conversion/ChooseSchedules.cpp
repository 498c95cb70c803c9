//===- ChooseSchedules.cpp - Schedules of matrix products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductFamilies.h"
#include "TunedSchedules.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/VerifyText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "blockscale/Conversion/Passes.h.inc"

/// The products of the kernel that a product is in, in order.
static SmallVector<Operation *> getSiblings(Operation *product) {
  auto kernel = dyn_cast<KernelOp>(product->getParentOp());
  return kernel ? getProducts(kernel) : SmallVector<Operation *>{product};
}

/// The schedule of one of these products; null if there is none.
static GemmScheduleAttr findSchedule(ArrayRef<Operation *> products) {
  for (Operation *op : products)
    if (auto schedule =
            op->getAttrOfType<GemmScheduleAttr>(products::kScheduleAttrName))
      return schedule;
  return {};
}

/// The schedules that the model considers for a product, the best first; none
/// where the chip has no kernel for it. A remark says why that is the best,
/// where it is wanted.
static SmallVector<ScheduleCandidate> rate(const products::Product &product,
                                           const target::Chip &chip,
                                           bool hasRemark) {
  SmallVector<ScheduleCandidate> candidates;
  for (const auto &[schedule, timeline] :
       products::getProductFamily(product, chip).rate(product, chip, hasRemark))
    candidates.push_back(
        {schedule, static_cast<int64_t>(std::llround(timeline.total * 1e3))});
  return candidates;
}

/// The candidate with a schedule; null where there is none.
static const ScheduleCandidate *
findCandidate(ArrayRef<ScheduleCandidate> candidates,
              GemmScheduleAttr schedule) {
  const auto *found =
      llvm::find_if(candidates, [&](const ScheduleCandidate &each) {
        return each.schedule == schedule;
      });
  return found == candidates.end() ? nullptr : found;
}

/// Says at a product whether its schedule was measured, where and against
/// which of the model, or why not.
static void remarkTuned(const products::Product &product, const Twine &text) {
  remark::analysis(product.op->getLoc(),
                   remark::RemarkOpts::name("tuned").category("gpu-launch"))
      << remark::add("{0}", text.str());
}

namespace {

struct ChooseSchedulesPass
    : public impl::ChooseSchedulesBase<ChooseSchedulesPass> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  LogicalResult initialize(MLIRContext *context) override {
    return verifyChipOption(context, chip);
  }

  void runOnOperation() override;

private:
  /// The schedule of the pass's option; null where there is none.
  FailureOr<GemmScheduleAttr> parseGiven();
  /// Chooses among the model's candidates, which are there. Sets the schedule
  /// and the source of the choice.
  void choose(const products::Product &product, const products::ProductKey &key,
              ArrayRef<ScheduleCandidate> rated, ScheduleChoice &choice) const;
  /// Gives the product a schedule. A record of it is added for the first
  /// product of a kernel.
  void choose(const products::Product &product, const target::Chip &chip);

  GemmScheduleAttr given;
  std::optional<products::TunedSchedules> measured;
  SmallVector<ScheduleChoice> choices;
};

} // namespace

FailureOr<GemmScheduleAttr> ChooseSchedulesPass::parseGiven() {
  if (schedule.empty())
    return GemmScheduleAttr();
  if (failed(verifyText(schedule, "schedule", getContext())))
    return failure();
  auto parsed = dyn_cast_if_present<GemmScheduleAttr>(
      parseAttribute(schedule, &getContext()));
  if (!parsed)
    return getOperation()->emitError(
               "expected the schedule to be a #blockscale.gemm_schedule, but "
               "got ")
           << "'" << schedule << "'";
  return parsed;
}

void ChooseSchedulesPass::choose(const products::Product &product,
                                 const products::ProductKey &key,
                                 ArrayRef<ScheduleCandidate> rated,
                                 ScheduleChoice &choice) const {
  choice.schedule = rated.front().schedule;
  choice.source = "model";
  if (!measured)
    return;
  llvm::Expected<GemmScheduleAttr> found = measured->find(key, rated);
  if (!found) {
    remarkTuned(product, "no measured schedule, so that the model chooses: " +
                             llvm::toString(found.takeError()));
    return;
  }
  std::string text = llvm::formatv(
      "measured on {0}: {1}; the model's is {2}", measured->getGpu(), *found,
      *found == choice.schedule ? std::string("the same")
                                : llvm::formatv("{0}", choice.schedule));
  remarkTuned(product, text);
  choice.schedule = *found;
  choice.source = "tuned";
}

void ChooseSchedulesPass::choose(const products::Product &product,
                                 const target::Chip &chip) {
  // What is there is obeyed, or refused by the lowering.
  SmallVector<Operation *> siblings = getSiblings(product.op);
  GemmScheduleAttr written = findSchedule(siblings);
  if (!written && product.op->hasAttr(products::kScheduleAttrName))
    return;
  ScheduleChoice choice;
  choice.schedule = written ? written : given;
  choice.source = written ? "attribute" : "option";
  bool isFirst = product.op == siblings.front();
  products::ProductKey key(product);
  SmallVector<ScheduleCandidate> rated;
  if (isFirst || !choice.schedule)
    rated = rate(product, chip, /*hasRemark=*/!choice.schedule);
  if (!choice.schedule) {
    // The lowering refuses it.
    if (rated.empty())
      return;
    choose(product, key, rated, choice);
  }
  if (!product.op->hasAttr(products::kScheduleAttrName))
    product.op->setAttr(products::kScheduleAttrName, choice.schedule);
  if (!isFirst)
    return;
  if (auto function = product.op->getParentOfType<FunctionOpInterface>())
    choice.function = function.getName().str();
  choice.key = key.getAttribute(&getContext());
  choice.name = key.getName();
  if (const auto *candidate = findCandidate(rated, choice.schedule))
    choice.predicted = candidate->predicted;
  size_t count = std::min<size_t>(candidates, rated.size());
  choice.candidates.append(rated.begin(), rated.begin() + count);
  choices.push_back(std::move(choice));
}

void ChooseSchedulesPass::runOnOperation() {
  const target::Chip *target = target::findChip(chip);
  if (!target->hasProducts())
    return;
  FailureOr<GemmScheduleAttr> parsed = parseGiven();
  if (failed(parsed))
    return signalPassFailure();
  given = *parsed;
  choices.clear();
  measured.reset();
  if (!tuned.empty())
    measured.emplace(tuned, *target);
  getOperation()->walk([&](Operation *op) {
    if (isProduct(op))
      choose(products::Product(cast<ProductOpInterface>(op)), *target);
  });
  auto module = dyn_cast<ModuleOp>(getOperation());
  if (module && !choices.empty())
    setChoices(module, choices);
}

} // namespace blockscale

//===- ChooseSchedules.cpp - Schedules of matrix products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSchedule.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "blockscale/Conversion/Passes.h.inc"

/// The schedule of another product in the same kernel; null if there is none.
static GemmScheduleAttr getSiblingSchedule(Operation *product) {
  if (!isa<KernelOp>(product->getParentOp()))
    return {};
  for (Operation &op : *product->getBlock())
    if (isProduct(&op))
      if (auto schedule =
              op.getAttrOfType<GemmScheduleAttr>(sm100::kScheduleAttrName))
        return schedule;
  return {};
}

namespace {

struct ChooseSchedulesPass
    : public impl::ChooseSchedulesBase<ChooseSchedulesPass> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->hasTcgen05())
      return;
    GemmScheduleAttr given;
    if (!schedule.empty()) {
      given = dyn_cast_if_present<GemmScheduleAttr>(
          parseAttribute(schedule, &getContext()));
      if (!given) {
        getOperation()->emitError(
            "expected the schedule to be a #blockscale.gemm_schedule, but got ")
            << "'" << schedule << "'";
        return signalPassFailure();
      }
    }
    auto choose = [&](const sm100::Product &product) {
      if (product.op->hasAttr(sm100::kScheduleAttrName))
        return;
      GemmScheduleAttr chosen = getSiblingSchedule(product.op);
      if (!chosen)
        chosen = given;
      if (!chosen) {
        std::optional<sm100::GemmFormat> format =
            sm100::findGemmFormat(product);
        // The lowering refuses it.
        if (!format)
          return;
        auto rated = sm100::rateSchedules(product, *format, *target);
        sm100::remarkSchedule(product, *format, rated);
        chosen = rated.front().schedule;
      }
      product.op->setAttr(sm100::kScheduleAttrName, chosen);
    };
    getOperation()->walk([&](Operation *op) {
      if (isProduct(op))
        choose(sm100::Product(cast<ProductOpInterface>(op)));
    });
  }
};

} // namespace
} // namespace blockscale

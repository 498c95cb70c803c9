//===- ChooseSchedules.cpp - Schedules of matrix products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToSM100/GemmSchedule.h"
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
              op.getAttrOfType<GemmScheduleAttr>(gemm::kScheduleAttrName))
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
    auto choose = [&](const gemm::Product &product) {
      if (product.op->hasAttr(gemm::kScheduleAttrName))
        return;
      GemmScheduleAttr chosen = getSiblingSchedule(product.op);
      if (!chosen)
        chosen = given;
      if (!chosen) {
        std::optional<gemm::GemmFormat> format = gemm::findGemmFormat(product);
        // The lowering refuses it.
        if (!format)
          return;
        auto rated = gemm::rateSchedules(product, *format, *target);
        gemm::remarkSchedule(product, *format, rated);
        chosen = rated.front().schedule;
      }
      product.op->setAttr(gemm::kScheduleAttrName, chosen);
    };
    getOperation()->walk([&](Operation *op) {
      if (isProduct(op))
        choose(gemm::Product(cast<ProductOpInterface>(op)));
    });
  }
};

} // namespace
} // namespace blockscale

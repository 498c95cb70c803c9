//===- ChooseSchedules.cpp - Schedules of matrix products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToSM100/GemmSchedule.h"
#include "ToSM90/WgmmaSchedule.h"
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

/// The best schedule of a product, said in a remark; null where the chip has no
/// kernel for it.
static GemmScheduleAttr rate(const gemm::Product &product,
                             const target::Chip &chip) {
  if (chip.hasWgmma()) {
    auto format = gemm::WgmmaFormat::find(product);
    if (!format)
      return {};
    auto rated = gemm::rateWgmmaSchedules(product, *format, chip);
    gemm::remarkWgmmaSchedule(product, rated);
    return rated.front().schedule;
  }
  auto format = gemm::findGemmFormat(product);
  if (!format)
    return {};
  auto rated = gemm::rateSchedules(product, *format, chip);
  gemm::remarkSchedule(product, *format, rated);
  return rated.front().schedule;
}

namespace {

struct ChooseSchedulesPass
    : public impl::ChooseSchedulesBase<ChooseSchedulesPass> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->hasProducts())
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
        chosen = rate(product, *target);
        // The lowering refuses it.
        if (!chosen)
          return;
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

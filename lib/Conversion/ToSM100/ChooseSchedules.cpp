//===- ChooseSchedules.cpp - Schedules of matrix products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSchedule.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "blockscale/Conversion/Passes.h.inc"

namespace {

struct ChooseSchedulesPass
    : public impl::ChooseSchedulesBase<ChooseSchedulesPass> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->hasBlockScaledMma())
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
    getOperation()->walk([&](ScaledMMOp op) {
      if (op->hasAttr(sm100::kScheduleAttrName))
        return;
      sm100::GemmFormat format = sm100::getGemmFormat(op);
      GemmScheduleAttr chosen = given;
      if (!chosen) {
        auto rated = sm100::rateSchedules(op, format, *target);
        sm100::remarkSchedule(op, format, rated);
        chosen = rated.front().schedule;
      }
      op->setAttr(sm100::kScheduleAttrName, chosen);
    });
  }
};

} // namespace
} // namespace blockscale

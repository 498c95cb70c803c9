//===- CostModel.cpp - What ops take on a GPU -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/CostModel.h"

#include "OpWork.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <cmath>

using namespace mlir;
using blockscale::target::Unit;

namespace blockscale {

StringRef getName(Limit limit) {
  switch (limit) {
  case Limit::None:
    return "-";
  case Limit::Launch:
    return "launch";
  case Limit::Memory:
    return "memory";
  case Limit::TensorCores:
    return "tensor cores";
  case Limit::F32Lanes:
    return "f32 lanes";
  }
  return "";
}

void Cost::add(const Cost &other, double times) {
  bytes += times * other.bytes;
  flops += times * other.flops;
  launches += times * other.launches;
  seconds += times * other.seconds;
}

bool CostModel::isKernel(Operation *op) {
  // What the host reduces over ranks takes as long as what connects them.
  return isa_and_present<BlockScaleDialect>(op->getDialect()) &&
         !isa<AmaxOverRanksOp>(op) && !op->getParentOfType<KernelOp>();
}

llvm::Expected<Work> CostModel::getWork(Operation *op) {
  // Between equal types nothing is left to run.
  if (getUnchangedSource(op)) {
    Work nothing;
    nothing.isLaunched = false;
    return nothing;
  }
  return model == Model::Torchao ? getTorchaoWork(op, sizes)
                                 : getExactWork(op, sizes);
}

llvm::Expected<KernelCost> CostModel::getCost(const Work &work) const {
  KernelCost cost;
  cost.bytes = work.bytes;
  double tensorSeconds = 0, f32Seconds = 0;
  for (unsigned i = 0; i < target::kUnitCount; ++i) {
    if (work.flops[i] == 0)
      continue;
    auto unit = static_cast<Unit>(i);
    if (!gpu.has(unit))
      return llvm::createStringError(
          "expected a GPU with " + target::describeUnit(unit) + " (" +
          target::listGpus(unit) + "), but got " + StringRef(gpu.name));
    cost.flops += work.flops[i];
    double seconds =
        work.flops[i] * (1 / gpu.getPeakFlops(unit)) * (1 / gpu.flopsShare);
    (unit == Unit::F32 ? f32Seconds : tensorSeconds) += seconds;
  }
  if (!work.isLaunched)
    return cost;
  cost.launches = 1;
  double memorySeconds =
      work.bytes * (1 / gpu.peakBytes) * (1 / gpu.bytesShare);
  cost.seconds = target::kLaunchSeconds;
  cost.limit = Limit::Launch;
  for (auto [limit, seconds] : {std::pair(Limit::Memory, memorySeconds),
                                std::pair(Limit::TensorCores, tensorSeconds),
                                std::pair(Limit::F32Lanes, f32Seconds)}) {
    if (seconds <= cost.seconds)
      continue;
    cost.seconds = seconds;
    cost.limit = limit;
  }
  return cost;
}

llvm::Expected<KernelCost> CostModel::getCost(Operation *op) {
  llvm::Expected<Work> work = getWork(op);
  if (!work)
    return work.takeError();
  return getCost(*work);
}

/// How often a loop of one or more dimensions turns, where it is constant.
static std::optional<double> getTripCount(LoopLikeOpInterface loop) {
  if (std::optional<APInt> trips = loop.getStaticTripCount())
    return trips->roundToDouble();
  std::optional<SmallVector<OpFoldResult>> lower = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> upper = loop.getLoopUpperBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!lower || !upper || !steps)
    return std::nullopt;
  double trips = 1;
  for (auto [from, to, by] : llvm::zip_equal(*lower, *upper, *steps)) {
    std::optional<int64_t> first = getConstantIntValue(from);
    std::optional<int64_t> end = getConstantIntValue(to);
    std::optional<int64_t> step = getConstantIntValue(by);
    if (!first || !end || !step || *step <= 0)
      return std::nullopt;
    double distance = static_cast<double>(*end) - static_cast<double>(*first);
    trips *= std::max(0.0, std::ceil(distance / static_cast<double>(*step)));
  }
  return trips;
}

llvm::Expected<double> CostModel::getExecutions(Operation *op) {
  double times = 1;
  for (Operation *parent = op->getParentOp();
       parent && !isa<FunctionOpInterface>(parent);
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<LoopLikeOpInterface>(parent);
    if (!loop)
      continue;
    std::optional<double> trips = getTripCount(loop);
    if (!trips)
      return llvm::createStringError(
          "expected loops with constant trip counts around it, but got a '" +
          parent->getName().getStringRef() + "' without one");
    times *= *trips;
  }
  return times;
}

} // namespace blockscale

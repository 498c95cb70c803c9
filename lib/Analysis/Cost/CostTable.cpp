//===- CostTable.cpp - The costs of a module as text ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/CostModel.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscale {

static void printRow(llvm::raw_ostream &os, StringRef name, const Cost &cost,
                     StringRef limit) {
  std::string row = llvm::formatv(
      "{0,-48} {1,14:F0} {2,18:F0} {3,8:F0} {4,12:F3}  {5}", name, cost.bytes,
      cost.flops, cost.launches, cost.seconds * 1e6, limit);
  os << StringRef(row).rtrim() << "\n";
}

/// The names of the ops that a kernel consists of, and the shape and element
/// type of its first operand.
static llvm::Expected<std::string> describe(Operation *op,
                                            CostModel &costModel) {
  auto getOpName = [](Operation &op) { return op.getName().stripDialect(); };
  std::string text(getOpName(*op));
  Value first = op->getNumOperands() ? op->getOperand(0) : Value();
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    Block &body = kernel.getBody().front();
    text +=
        " " + llvm::join(llvm::map_range(body.without_terminator(), getOpName),
                         " + ");
    first = body.getNumArguments() ? Value(body.getArgument(0)) : Value();
  }
  auto type = first ? dyn_cast<RankedTensorType>(first.getType()) : nullptr;
  if (!type)
    return text;
  auto shape = costModel.getShape(first);
  if (!shape)
    return shape.takeError();
  llvm::raw_string_ostream os(text);
  os << " ";
  for (int64_t size : *shape)
    os << size << "x";
  os << type.getElementType();
  return text;
}

/// Prints the row of a kernel and adds it to the sum of its function.
static llvm::Error printKernel(Operation *op, CostModel &costModel, Cost &sum,
                               llvm::raw_ostream &os) {
  auto cost = costModel.getCost(op);
  if (!cost)
    return cost.takeError();
  auto times = CostModel::getExecutions(op);
  if (!times)
    return times.takeError();
  auto name = describe(op, costModel);
  if (!name)
    return name.takeError();
  if (*times != 1)
    *name += llvm::formatv(", {0:F0} times", *times).str();
  Cost all;
  all.add(*cost, *times);
  sum.add(all);
  printRow(os, "    " + *name, all, getName(cost->limit));
  return llvm::Error::success();
}

LogicalResult printCosts(Operation *module, CostModel &costModel,
                         llvm::raw_ostream &os) {
  const target::Gpu &gpu = costModel.getGpu();
  os << "roofline of " << gpu.name << ", model "
     << getName(costModel.getModel())
     << llvm::formatv(": {0} multiprocessors; {1:F0} GB/s * {2:F2}; TFLOP/s "
                      "{3:F1}, {4:F1}, {5:F1}, {6:F1} * {7:F2}\n",
                      gpu.multiprocessors, gpu.peakBytes / 1e9, gpu.bytesShare,
                      gpu.getPeakFlops(target::Unit::F32) / 1e12,
                      gpu.getPeakFlops(target::Unit::Bf16) / 1e12,
                      gpu.getPeakFlops(target::Unit::Fp8) / 1e12,
                      gpu.getPeakFlops(target::Unit::Fp4) / 1e12,
                      gpu.flopsShare)
     << llvm::formatv("{0,-48} {1,14} {2,18} {3,8} {4,12}  {5}\n", "", "bytes",
                      "FLOP", "launches", "us", "limit");
  Cost total;
  bool isKnown = true;
  auto refuse = [&](Operation *op, const Twine &reason) {
    op->emitOpError() << "has no cost: " << reason;
    isKnown = false;
  };
  module->walk([&](Operation *op) {
    if (CostModel::isKernel(op) && !op->getParentOfType<FunctionOpInterface>())
      refuse(op, "expected it to be in a function");
  });
  module->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    std::string rows;
    llvm::raw_string_ostream rowStream(rows);
    Cost sum;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!CostModel::isKernel(op))
        return;
      if (llvm::Error error = printKernel(op, costModel, sum, rowStream))
        refuse(op, llvm::toString(std::move(error)));
    });
    if (rows.empty())
      return;
    printRow(os, ("  @" + function.getName()).str(), sum, "");
    os << rows;
    total.add(sum);
  });
  if (isKnown)
    printRow(os, "module", total, "");
  return success(isKnown);
}

} // namespace blockscale

//===- CostModel.h - What ops take on a GPU ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A roofline: a kernel takes as long as its bytes at the rate of memory, its
// FLOP at the rate of what computes them, or a launch, whichever is longest.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_COST_COSTMODEL_H
#define BLOCKSCALE_ANALYSIS_COST_COSTMODEL_H

#include "blockscale/Analysis/Cost/LinearModel.h"
#include "blockscale/Analysis/Cost/ShapeEvaluator.h"

#include "mlir/IR/Operation.h"

namespace blockscale {

/// What takes the longest.
enum class Limit { None, Launch, Memory, TensorCores, F32Lanes };

llvm::StringRef getName(Limit limit);

/// The cost of one or several kernels. Counts are whole numbers; they are held
/// as doubles, because these cannot overflow as integers do.
struct Cost {
  double bytes = 0;
  double flops = 0;
  double launches = 0;
  double seconds = 0;

  void add(const Cost &other, double times = 1);
};

/// The cost of one kernel, and why its time is what it is.
struct KernelCost : Cost {
  Limit limit = Limit::None;
};

/// What a kernel moves and computes.
struct Work {
  double bytes = 0;
  /// FLOP of each unit.
  std::array<double, target::kUnitCount> flops = {};
  bool isLaunched = true;

  double &flopsOf(target::Unit unit) {
    return flops[static_cast<unsigned>(unit)];
  }
};

/// Answers with a reason where there is no answer: dynamic sizes that nothing
/// is assumed for, a product that the GPU has no tensor cores for, an op that
/// the model does not know.
class CostModel {
public:
  CostModel(const target::Gpu &gpu, Model model,
            llvm::ArrayRef<int64_t> dynamicSizes = {})
      : gpu(gpu), model(model), sizes(dynamicSizes) {}

  /// Whether `op` runs as a kernel: an op of the dialect that is not within
  /// one, and that no host does.
  static bool isKernel(mlir::Operation *op);

  llvm::Expected<KernelCost> getCost(mlir::Operation *op);
  /// The cost of a kernel that does `work`.
  llvm::Expected<KernelCost> getCost(const Work &work) const;

  /// How often a run of its function runs `op`: the product of the trip counts
  /// of the loops around it. Branches count as taken.
  static llvm::Expected<double> getExecutions(mlir::Operation *op);

  /// The shape of a tensor under the model's assumptions.
  llvm::Expected<llvm::SmallVector<int64_t>> getShape(mlir::Value tensor) {
    return sizes.getShape(tensor);
  }

  const target::Gpu &getGpu() const { return gpu; }
  Model getModel() const { return model; }

private:
  llvm::Expected<Work> getWork(mlir::Operation *op);

  const target::Gpu &gpu;
  Model model;
  ShapeEvaluator sizes;
};

/// Prints a table of the module's kernels, with the sums of each function and
/// of all. Emits an error at an op that has no cost.
llvm::LogicalResult printCosts(mlir::Operation *module, CostModel &costModel,
                               llvm::raw_ostream &os);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_COST_COSTMODEL_H

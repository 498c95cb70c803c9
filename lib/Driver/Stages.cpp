//===- Stages.cpp - Run a pipeline, watched -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Stages.h"

#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Status;

namespace blockscale {

Status CompileObserver::begin(const std::string &, size_t, size_t) {
  return Status::success();
}

Status CompileObserver::dump(ModuleOp, size_t, const std::string &) {
  return Status::success();
}

Status runStages(ModuleOp module, const std::vector<Stage> &stages,
                 CompileObserver &observer, size_t first, size_t count) {
  Status status = observer.dump(module, 0, "input");
  for (auto [i, stage] : llvm::enumerate(stages)) {
    if (status.ok())
      status = observer.begin(stage.name, first + i, count);
    if (!status.ok())
      return status;
    PassManager pm(module.getContext());
    // Verifying after each pass takes a tenth of a compilation's time; once at
    // the end of the stage finds what a pass broke as well.
    pm.enableVerifier(false);
    stage.build(pm);
    if (failed(pm.run(module)) || failed(verify(module)))
      return Status::failure("stage '" + stage.name + "' failed",
                             ErrorKind::Compilation);
    status = observer.dump(module, i + 1, stage.name);
  }
  return status;
}

Status lowerTosa(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createLowerTosa());
  if (succeeded(pm.run(module)))
    return Status::success();
  return Status::failure("the module could not be lowered from TOSA",
                         ErrorKind::Compilation);
}

Status lowerEntry(ModuleOp module, const std::string &entry,
                  const std::vector<Stage> &stages, const std::string &target,
                  CompileObserver &observer) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getName() != entry)
      function.setPrivate();
  PassManager pm(module.getContext());
  pm.addPass(createSymbolDCEPass());
  Status status = succeeded(pm.run(module))
                      ? Status::success()
                      : Status::failure("", ErrorKind::Compilation);
  // One more step makes code of the module.
  if (status.ok())
    status = runStages(module, stages, observer, 0, stages.size() + 1);
  if (status.ok())
    status = observer.begin("code", stages.size(), stages.size() + 1);
  if (status.ok() || status.kind() != ErrorKind::Compilation)
    return status;
  return Status::failure("the module could not be lowered for " + target,
                         ErrorKind::Compilation);
}

Status quantizeProducts(ModuleOp module, const std::string &policyFile) {
  if (policyFile.empty())
    return Status::success();
  runtime::Result<QuantizationPolicy> policy = readPolicy(policyFile);
  if (!policy.ok())
    return policy.status();
  Status lowered = lowerTosa(module);
  if (!lowered.ok())
    return lowered;
  module.getContext()
      ->loadDialect<BlockScaleDialect, arith::ArithDialect,
                    linalg::LinalgDialect, tensor::TensorDialect>();
  quantizeProducts(module, *policy);
  if (succeeded(verify(module)))
    return Status::success();
  return Status::failure("the products could not be quantized",
                         ErrorKind::Compilation);
}

LogicalResult enableRemarks(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.analysis = "gpu-fusion|gpu-launch";
  return remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
}

} // namespace blockscale

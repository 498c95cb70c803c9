//===- CudaModule.h - A bundle on a GPU -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_CUDAMODULE_H
#define BLOCKSCALE_RUNTIME_CUDAMODULE_H

#include "blockscale/Runtime/Bundle.h"
#include "blockscale/Runtime/CudaContext.h"
#include "blockscale/Runtime/PlanExecution.h"

#include <map>
#include <unordered_map>

namespace blockscale::runtime {

/// The target of a bundle that suits a GPU best: kernels compiled and constants
/// in memory there. Any thread may launch.
class CudaModule {
public:
  static Result<std::shared_ptr<const CudaModule>>
  load(std::shared_ptr<const Bundle> bundle,
       std::shared_ptr<const CudaContext> context);
  CudaModule(const CudaModule &) = delete;
  CudaModule &operator=(const CudaModule &) = delete;
  ~CudaModule();

  const CudaContext &getContext() const { return *context; }
  /// The number of the bundle's target.
  size_t getTarget() const { return target; }
  const LaunchPlan &getPlan() const {
    return bundle->getTargets()[target].plan;
  }

  /// The addresses of a function's constants, at their places among its
  /// buffers; the others are 0.
  BufferAddresses getConstants(const PlanFunction &function) const;

  /// Runs the steps of a function of the plan on a stream. Nothing here waits
  /// or allocates memory of the device. Where kernels found an error before,
  /// takes that in place of the steps. `overRanks` reduces over ranks, and may
  /// be empty for functions that do not.
  Status launch(const ResolvedFunction &function,
                const BufferAddresses &addresses, void *stream,
                const RankFunction &overRanks) const;

  /// The driver's handle of a kernel of the plan.
  void *getKernel(const std::string &name) const;

private:
  CudaModule(std::shared_ptr<const Bundle> bundle,
             std::shared_ptr<const CudaContext> context, size_t target)
      : bundle(std::move(bundle)), context(std::move(context)), target(target) {
  }
  Status compile();
  bool loadCubin();
  Status describeFailure(int result, const std::string &log) const;
  Status loadKernel(size_t number);
  Status uploadConstants();

  std::shared_ptr<const Bundle> bundle;
  std::shared_ptr<const CudaContext> context;
  size_t target;
  void *module = nullptr;
  std::unordered_map<std::string, void *> kernels;
  /// Device addresses by where the content is in the host's memory.
  std::map<const uint8_t *, uint64_t> constants;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CUDAMODULE_H

//===- CudaSteps.h - Steps of a plan on a stream ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_CUDASTEPS_H
#define BLOCKSCALE_LIB_RUNTIME_CUDASTEPS_H

#include "blockscale/Runtime/CudaModule.h"

namespace blockscale::runtime {

/// Puts steps on a stream while the module's context is current.
class CudaSteps : public StepDevice {
public:
  CudaSteps(const CudaModule &module, void *stream)
      : module(module), driver(module.getContext().getDriver()),
        stream(stream) {}

  Status copy(uint64_t to, uint64_t from, uint64_t bytes) override;
  Result<std::vector<uint8_t>> encodeTensorMap(const PlanTensorMap &plan,
                                               const ResolvedTensorMap &map,
                                               uint64_t address) override;
  Status launch(const DeviceLaunch &launch) override;
  Status reduceOverRanks(RankReduction reduction,
                         const RankFunction &overRanks) override;

private:
  int launchWithAttributes(const DeviceLaunch &launch, void *kernel,
                           void **parameters) const;

  const CudaModule &module;
  const CudaDriver &driver;
  void *stream;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_CUDASTEPS_H

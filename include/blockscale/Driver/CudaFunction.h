//===- CudaFunction.h - A function on a GPU ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_CUDAFUNCTION_H
#define BLOCKSCALE_DRIVER_CUDAFUNCTION_H

#include "blockscale/Driver/Arrays.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Runtime/CudaModule.h"

namespace blockscale {

/// Any thread may call it.
class CudaFunction {
public:
  /// Lowers `module`, which is another one then, for `chip`, or where that is
  /// empty for the one that suits the GPU of this number best. Diagnostics go
  /// to the context; the failure names what else is wrong.
  static runtime::Result<std::unique_ptr<CudaFunction>>
  create(mlir::ModuleOp module, const std::string &entry,
         const std::string &chip, bool fuse, int gpu,
         CompileObserver &observer);

  const runtime::CudaModule &getModule() const { return *loaded; }
  const runtime::PlanFunction &getFunction() const { return *function; }

  /// Of the results for such arguments.
  runtime::Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) const;

  /// Writes the results, whose shapes are those, on a CUstream, and waits for
  /// them. Arrays but scalars are in the GPU's memory.
  runtime::Status call(const std::vector<ArrayView> &arguments,
                       const std::vector<ArrayView> &results,
                       void *stream) const;

private:
  CudaFunction() = default;

  std::shared_ptr<const runtime::CudaModule> loaded;
  const runtime::PlanFunction *function = nullptr;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_CUDAFUNCTION_H

//===- CpuFunction.h - A function compiled for this CPU ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_CPUFUNCTION_H
#define BLOCKSCALE_DRIVER_CPUFUNCTION_H

#include "blockscale/Driver/Signature.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Emit/Jit.h"

namespace blockscale {

/// Any thread may call it; calls of a process run one after the other, each on
/// all threads of the pool.
class CpuFunction {
public:
  /// Lowers `module`, which is another one then. Diagnostics go to the context;
  /// the failure names what else is wrong.
  static runtime::Result<std::unique_ptr<CpuFunction>>
  create(mlir::ModuleOp module, const Signature &signature,
         CompileObserver &observer);

  /// Of the results for such arguments, which have passed checkArgument.
  runtime::Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments);

  /// Writes the results, whose shapes are those.
  runtime::Status call(const std::vector<ArrayView> &arguments,
                       const std::vector<ArrayView> &results);

private:
  CpuFunction(Signature signature, Jit jit)
      : signature(std::move(signature)), jit(std::move(jit)) {}

  Signature signature;
  Jit jit;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_CPUFUNCTION_H

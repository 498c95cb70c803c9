//===- EmulatorFunction.h - A function on an emulated GPU -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_EMULATORFUNCTION_H
#define BLOCKSCALE_DRIVER_EMULATORFUNCTION_H

#include "blockscale/Driver/Arrays.h"
#include "blockscale/Driver/EmulatorDevice.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Runtime/Bundle.h"

namespace blockscale {

/// Any thread may call it.
class EmulatorFunction {
public:
  /// Lowers `module`, which is another one then, for a chip. Diagnostics go to
  /// the context; the failure names what else is wrong.
  static runtime::Result<std::unique_ptr<EmulatorFunction>>
  create(mlir::ModuleOp module, const std::string &entry,
         const std::string &chip, bool fuse, CompileObserver &observer);

  /// Of the results for such arguments.
  runtime::Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) const;

  /// Writes the results, whose shapes are those. `device` is a new one, whose
  /// report says what the emulator found where the call fails. `seconds`
  /// receives the time of the steps.
  runtime::Status call(const std::vector<ArrayView> &arguments,
                       const std::vector<ArrayView> &results,
                       EmulatorDevice &device, double &seconds) const;

private:
  EmulatorFunction() = default;

  const runtime::Bundle::Target &getTarget() const {
    return bundle->getTargets().front();
  }

  std::shared_ptr<const runtime::Bundle> bundle;
  const runtime::PlanFunction *function = nullptr;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_EMULATORFUNCTION_H

//===- PlanBuilder.h - Host functions as steps of a plan --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a straight-line function of memrefs symbolically: sizes become
// expressions of dims, memrefs places in buffers, launches and copies steps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_PLANBUILDER_H
#define BLOCKSCALE_LIB_EMIT_PLANBUILDER_H

#include "blockscale/Runtime/LaunchPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>

namespace blockscale::plan {

/// The kind of a kernel's parameter; none where plans have no such kind.
std::optional<runtime::ParameterKind>
getParameterKind(mlir::gpu::GPUFuncOp kernel, unsigned number);

/// The plan's function of a public function, of which `signature` are the
/// tensor types it had. It launches `kernels`.
mlir::FailureOr<runtime::PlanFunction>
buildFunction(mlir::func::FuncOp function, mlir::FunctionType signature,
              const std::vector<runtime::PlanKernel> &kernels);

/// `text` as plans have it: where it is no UTF-8, something like it.
std::string toPlanText(llvm::StringRef text);

} // namespace blockscale::plan

#endif // BLOCKSCALE_LIB_EMIT_PLANBUILDER_H

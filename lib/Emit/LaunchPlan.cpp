//===- LaunchPlan.cpp - The launch plan of a lowered module ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/LaunchPlan.h"

#include "PlanBuilder.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using blockscale::runtime::NpyType;

namespace blockscale {

std::optional<NpyType> getStorageDType(Type type) {
  // Scalars of f4 and f6 have a byte, too; their tensors are i8 in memory.
  if (isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType,
          Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType>(type))
    return NpyType::UInt8;
  if (type.isInteger(1))
    return NpyType::Bool;
  if (type.isBF16())
    return NpyType::UInt16;
  if (type.isF16())
    return NpyType::Float16;
  if (type.isF32())
    return NpyType::Float32;
  if (type.isF64())
    return NpyType::Float64;
  if (type.isIndex() || type.isInteger(64))
    return NpyType::Int64;
  if (type.isInteger(32))
    return NpyType::Int32;
  if (type.isInteger(16))
    return NpyType::Int16;
  if (type.isInteger(8))
    return NpyType::UInt8;
  return std::nullopt;
}

static FailureOr<runtime::PlanKernel> describeKernel(gpu::GPUFuncOp function) {
  runtime::PlanKernel kernel{plan::toPlanText(function.getName()), {}};
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    std::optional<runtime::ParameterKind> kind =
        plan::getParameterKind(function, i);
    if (!kind)
      return function.emitOpError("has a parameter of type ")
             << type << ", which has no form in a launch plan";
    kernel.parameters.push_back(*kind);
  }
  return kernel;
}

/// The types of a function before it took its storage form, if it is one that
/// callers outside call.
static FailureOr<FunctionType> getSignature(func::FuncOp function) {
  auto attribute = function->getAttrOfType<TypeAttr>(kSignatureAttrName);
  auto signature =
      attribute ? dyn_cast<FunctionType>(attribute.getValue()) : FunctionType();
  unsigned count = function.getNumArguments();
  if (signature && function.getNumResults() == 0 &&
      signature.getNumInputs() + signature.getNumResults() == count)
    return signature;
  return function.emitOpError("expected '")
         << kSignatureAttrName
         << "', as blockscale-materialize-storage leaves it, with types for "
         << count << " arguments and no results";
}

FailureOr<runtime::LaunchPlan> emitLaunchPlan(ModuleOp module, StringRef chip) {
  runtime::LaunchPlan plan;
  plan.chip = chip.str();
  FailureOr<std::vector<runtime::PlanChoice>> choices = emitChoices(module);
  if (failed(choices))
    return failure();
  plan.choices = std::move(*choices);
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
    for (auto function : gpuModule.getOps<gpu::GPUFuncOp>()) {
      if (!function.isKernel())
        continue;
      FailureOr<runtime::PlanKernel> kernel = describeKernel(function);
      if (failed(kernel))
        return failure();
      plan.kernels.push_back(std::move(*kernel));
    }
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isExternal() ||
        function.getName().ends_with(kResultSizesSuffix))
      continue;
    FailureOr<FunctionType> signature = getSignature(function);
    if (failed(signature))
      return failure();
    FailureOr<runtime::PlanFunction> built =
        plan::buildFunction(function, *signature, plan.kernels);
    if (failed(built))
      return failure();
    plan.functions.push_back(std::move(*built));
  }
  return plan;
}

} // namespace blockscale

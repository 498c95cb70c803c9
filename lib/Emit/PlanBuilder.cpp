//===- PlanBuilder.cpp - Host functions as steps of a plan ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

#include "PlanBuilderImpl.h"
#include "blockscale/Emit/LaunchPlan.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace blockscale::plan {

std::optional<Parameter::Kind> getParameterKind(gpu::GPUFuncOp kernel,
                                                unsigned number) {
  if (kernel.getArgAttr(number, kTensorMapAttrName))
    return Parameter::Kind::TensorMap;
  Type type = kernel.getArgumentTypes()[number];
  if (isa<LLVM::LLVMPointerType>(type))
    return Parameter::Kind::Pointer;
  if (type.isInteger(32))
    return Parameter::Kind::I32;
  if (type.isInteger(64))
    return Parameter::Kind::I64;
  if (type.isF32())
    return Parameter::Kind::F32;
  return std::nullopt;
}

Expressions Builder::getSizes(ShapedType type,
                              ArrayRef<PlanExpression> dynamic) {
  Expressions sizes;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(size);
      continue;
    }
    sizes.push_back(dynamic.front());
    dynamic = dynamic.drop_front();
  }
  return sizes;
}

LogicalResult Builder::getExpressions(Operation *op, ValueRange operands,
                                      Expressions &expressions) {
  for (Value operand : operands) {
    const auto *expression = find<PlanExpression>(operand);
    if (!expression)
      return refuse(op, "has an operand that has no form");
    expressions.push_back(*expression);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

size_t Builder::addBuffer(Buffer buffer, MemRefType memref) {
  Expressions factors = buffer.shape;
  int64_t elementBytes = llvm::divideCeil(
      memref.getElementType().isIndex() ? 64 : memref.getElementTypeBitWidth(),
      8);
  factors.push_back(elementBytes);
  buffer.bytes = multiply(factors);
  buffer.alignment = elementBytes;
  plan.buffers.push_back(std::move(buffer));
  return plan.buffers.size() - 1;
}

LogicalResult Builder::addArgument(BlockArgument argument, Type type) {
  std::string name = "arg" + std::to_string(argument.getArgNumber());
  auto memref = dyn_cast<MemRefType>(argument.getType());
  std::optional<StringRef> dtype =
      getStorageDType(getElementTypeOrSelf(argument.getType()));
  if (!dtype || (memref && !memref.getLayout().isIdentity()))
    return emitError(argument.getLoc())
           << "argument " << argument.getArgNumber() << " of type "
           << argument.getType() << " has no form in a launch plan";
  Buffer buffer{Buffer::Role::Argument, name, type, *dtype, {}};
  if (memref) {
    Expressions dynamic;
    for (auto [i, size] : llvm::enumerate(memref.getShape())) {
      if (!ShapedType::isDynamic(size))
        continue;
      plan.dims.push_back(name + "_dim" + std::to_string(i));
      dynamic.push_back(PlanExpression::dim(plan.dims.back()));
    }
    buffer.shape = getSizes(memref, dynamic);
    set(argument, View{addBuffer(buffer, memref), buffer.shape});
    return success();
  }
  buffer.isScalar = true;
  if (argument.getType().isF32()) {
    set(argument, Float{plan.buffers.size()});
  } else if (dtype == "int32" || dtype == "int64") {
    buffer.dim = name;
    plan.dims.push_back(name);
    set(argument, PlanExpression::dim(name));
  }
  plan.buffers.push_back(std::move(buffer));
  return success();
}

LogicalResult Builder::addResult(BlockArgument argument, Type type,
                                 unsigned number,
                                 ArrayRef<PlanExpression> sizes) {
  auto memref = cast<MemRefType>(argument.getType());
  std::optional<StringRef> dtype = getStorageDType(memref.getElementType());
  if (!dtype)
    return emitError(argument.getLoc())
           << "result " << number << " of type " << memref
           << " has no form in a launch plan";
  Buffer buffer{Buffer::Role::Result, "result" + std::to_string(number), type,
                *dtype, getSizes(memref, sizes)};
  Expressions shape = buffer.shape;
  set(argument, View{addBuffer(std::move(buffer), memref), shape});
  return success();
}

FailureOr<Expressions> Builder::evaluateResultSizes(func::FuncOp function) {
  int64_t count = 0;
  size_t numInputs = plan.buffers.size();
  for (Type type : function.getArgumentTypes().drop_front(numInputs))
    count += cast<MemRefType>(type).getNumDynamicDims();
  if (count == 0)
    return Expressions();
  std::string name = (function.getName() + "__result_sizes").str();
  auto sizes =
      function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(name);
  if (!sizes || sizes.isExternal() ||
      sizes.getNumArguments() != numInputs + 1) {
    function.emitOpError() << "expected a function @" << name
                           << " with the sizes of the results";
    return failure();
  }
  for (auto [from, to] :
       llvm::zip(function.getArguments(), sizes.getArguments().drop_back()))
    if (auto found = values.find(from); found != values.end())
      set(to, Symbolic(found->second));
  stored.assign(count, PlanExpression());
  if (failed(evaluate(sizes.getBody().front())))
    return failure();
  return stored;
}

FailureOr<Function> Builder::build(func::FuncOp function,
                                   FunctionType signature) {
  plan.name = function.getName().str();
  if (!function.getBody().hasOneBlock()) {
    (void)refuse(function, "of more than one block has no form");
    return failure();
  }
  ArrayRef<BlockArgument> arguments = function.getArguments();
  ArrayRef<BlockArgument> inputs =
      arguments.take_front(signature.getNumInputs());
  for (auto [argument, type] : llvm::zip_equal(inputs, signature.getInputs()))
    if (failed(addArgument(argument, type)))
      return failure();
  FailureOr<Expressions> sizes = evaluateResultSizes(function);
  if (failed(sizes))
    return failure();
  ArrayRef<PlanExpression> rest = *sizes;
  for (auto [i, argument] :
       llvm::enumerate(arguments.drop_front(inputs.size()))) {
    if (failed(addResult(argument, signature.getResult(i), i, rest)))
      return failure();
    rest = rest.drop_front(
        cast<MemRefType>(argument.getType()).getNumDynamicDims());
  }
  callees.push_back(function);
  if (failed(evaluate(function.getBody().front())))
    return failure();
  return std::move(plan);
}

FailureOr<Function> buildFunction(func::FuncOp function,
                                  FunctionType signature) {
  return Builder().build(function, signature);
}

} // namespace blockscale::plan

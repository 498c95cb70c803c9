//===- PlanBuilder.cpp - Host functions as steps of a plan ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

#include "PlanBuilderImpl.h"
#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using blockscale::runtime::NpyType;
using blockscale::runtime::ParameterKind;
using Role = blockscale::runtime::PlanBuffer::Role;

namespace blockscale::plan {

std::string toPlanText(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

std::optional<ParameterKind> getParameterKind(gpu::GPUFuncOp kernel,
                                              unsigned number) {
  if (kernel.getArgAttr(number, kTensorMapAttrName))
    return ParameterKind::TensorMap;
  Type type = kernel.getArgumentTypes()[number];
  if (isa<LLVM::LLVMPointerType>(type))
    return ParameterKind::Pointer;
  if (type.isInteger(32))
    return ParameterKind::I32;
  if (type.isInteger(64))
    return ParameterKind::I64;
  if (type.isF32())
    return ParameterKind::F32;
  return std::nullopt;
}

Expressions getRowMajorStrides(const Expressions &sizes) {
  Expressions strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = runtime::multiply({strides[i], sizes[i]});
  return strides;
}

View View::getWhole(size_t buffer, Expressions sizes) {
  Expressions strides = getRowMajorStrides(sizes);
  return {buffer, std::move(sizes), std::move(strides), {}};
}

Expressions Builder::getSizes(ShapedType type, ArrayRef<Expression> dynamic) {
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
    const auto *expression = find<Expression>(operand);
    if (!expression)
      return refuse(op, "has an operand that has no form");
    expressions.push_back(*expression);
  }
  return success();
}

LogicalResult Builder::getMixedExpressions(Operation *op,
                                           ArrayRef<OpFoldResult> operands,
                                           Expressions &expressions) {
  for (OpFoldResult operand : operands) {
    if (std::optional<int64_t> constant = getConstantIntValue(operand))
      expressions.push_back(*constant);
    else if (failed(getExpressions(op, ValueRange(cast<Value>(operand)),
                                   expressions)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The name that plans give a layout: the attribute without its wrapping.
static std::string getLayoutName(Type type) {
  if (!hasLayout(type))
    return "row_major";
  std::string text =
      llvm::to_string(cast<RankedTensorType>(type).getEncoding());
  return StringRef(text).split('<').second.rsplit('>').first.str();
}

std::optional<size_t> Builder::addBuffer(Role role, std::string name, Type type,
                                         MemRefType memref, Expressions shape) {
  std::optional<NpyType> dtype = getStorageDType(memref.getElementType());
  if (!dtype)
    return std::nullopt;
  PlanBuffer buffer;
  buffer.role = role;
  buffer.name = std::move(name);
  buffer.type = toPlanText(llvm::to_string(type));
  buffer.element = llvm::to_string(getElementTypeOrSelf(type));
  buffer.layout = getLayoutName(type);
  buffer.dtype = *dtype;
  buffer.alignment = runtime::getNpyByteWidth(*dtype);
  buffer.shape = std::move(shape);
  Expressions factors = buffer.shape;
  factors.push_back(buffer.alignment);
  buffer.bytes = runtime::multiply(factors);
  plan.buffers.push_back(std::move(buffer));
  return plan.buffers.size() - 1;
}

LogicalResult Builder::addArgument(BlockArgument argument, Type type) {
  std::string name = "arg" + std::to_string(argument.getArgNumber());
  auto memref = dyn_cast<MemRefType>(argument.getType());
  std::optional<NpyType> dtype =
      getStorageDType(getElementTypeOrSelf(argument.getType()));
  if (!dtype || (memref && !memref.getLayout().isIdentity()))
    return emitError(argument.getLoc())
           << "argument " << argument.getArgNumber() << " of type "
           << argument.getType() << " has no form in a launch plan";
  auto addDim = [&](std::string dim) {
    plan.dims.push_back(dim);
    return Expression::dim(plan.dims.size() - 1, std::move(dim));
  };
  if (memref) {
    Expressions dynamic;
    for (auto [i, size] : llvm::enumerate(memref.getShape()))
      if (ShapedType::isDynamic(size))
        dynamic.push_back(addDim(name + "_dim" + std::to_string(i)));
    Expressions shape = getSizes(memref, dynamic);
    set(argument,
        View::getWhole(*addBuffer(Role::Argument, name, type, memref, shape),
                       shape));
    return success();
  }
  PlanBuffer buffer;
  buffer.name = name;
  buffer.type = toPlanText(llvm::to_string(type));
  buffer.dtype = *dtype;
  buffer.bytes = runtime::getNpyByteWidth(*dtype);
  buffer.isScalar = true;
  if (argument.getType().isF32()) {
    set(argument, Float{plan.buffers.size()});
  } else if (dtype == NpyType::Bool || dtype == NpyType::Int32 ||
             dtype == NpyType::Int64) {
    buffer.shape = {addDim(name)};
    if (dtype != NpyType::Bool)
      mayBeNegative.insert(*buffer.shape.front().getDim());
    set(argument, buffer.shape.front());
  }
  plan.buffers.push_back(std::move(buffer));
  return success();
}

LogicalResult Builder::addResult(BlockArgument argument, Type type,
                                 unsigned number, ArrayRef<Expression> sizes) {
  auto memref = cast<MemRefType>(argument.getType());
  Expressions shape = getSizes(memref, sizes);
  std::optional<size_t> buffer = addBuffer(
      Role::Result, "result" + std::to_string(number), type, memref, shape);
  if (!buffer)
    return emitError(argument.getLoc())
           << "result " << number << " of type " << memref
           << " has no form in a launch plan";
  set(argument, View::getWhole(*buffer, shape));
  return success();
}

/// Notes which arguments the caller gives away, which results may have their
/// memory, and which arguments are settled. Arguments, then results, are the
/// first buffers.
void Builder::addReuse(func::FuncOp function) {
  if (auto given = function->getAttrOfType<DenseI64ArrayAttr>(
          kWritableArgumentsAttrName))
    for (int64_t number : given.asArrayRef())
      plan.buffers[number].isWritable = true;
  if (auto settled =
          function->getAttrOfType<DenseI64ArrayAttr>(kSettledArgumentsAttrName))
    for (int64_t number : settled.asArrayRef())
      plan.buffers[number].isSettled = true;
  auto taken =
      function->getAttrOfType<DenseI64ArrayAttr>(kResultArgumentsAttrName);
  if (!taken)
    return;
  for (auto [result, number] :
       llvm::zip_equal(plan.getBuffers(Role::Result), taken.asArrayRef()))
    if (number >= 0 && plan.buffers[result].isStoredAs(plan.buffers[number]))
      plan.buffers[result].argument = static_cast<size_t>(number);
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
  stored.assign(count, Expression());
  // Only the sizes count: the function itself computes what they are made of.
  PlanFunction before = plan;
  auto constantsBefore = constants;
  auto mayBeNegativeBefore = mayBeNegative;
  if (failed(evaluate(sizes.getBody().front())))
    return failure();
  for (const Expression &size : stored)
    if (usesVariables(size))
      return sizes.emitOpError("has a size that a loop or a branch decides, "
                               "which has no form in a launch plan");
  plan = std::move(before);
  constants = std::move(constantsBefore);
  mayBeNegative = std::move(mayBeNegativeBefore);
  return stored;
}

FailureOr<PlanFunction> Builder::build(func::FuncOp function,
                                       FunctionType signature) {
  plan.name = toPlanText(function.getName());
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
  ArrayRef<Expression> rest = *sizes;
  for (auto [i, argument] :
       llvm::enumerate(arguments.drop_front(inputs.size()))) {
    if (failed(addResult(argument, signature.getResult(i), i, rest)))
      return failure();
    rest = rest.drop_front(
        cast<MemRefType>(argument.getType()).getNumDynamicDims());
  }
  addReuse(function);
  callees.push_back(function);
  if (failed(evaluate(function.getBody().front())))
    return failure();
  return std::move(plan);
}

FailureOr<PlanFunction>
buildFunction(func::FuncOp function, FunctionType signature,
              const std::vector<runtime::PlanKernel> &kernels) {
  return Builder(kernels).build(function, signature);
}

} // namespace blockscale::plan

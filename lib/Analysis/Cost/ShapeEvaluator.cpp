//===- ShapeEvaluator.cpp - Shapes under assumed sizes --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/ShapeEvaluator.h"

#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace blockscale {

using Shape = SmallVector<int64_t>;

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << "'" << type << "'";
  return text;
}

llvm::Error ShapeEvaluator::unknown(Value tensor) {
  return llvm::createStringError(
      "expected dynamic sizes that follow from a function's arguments, but got "
      "a " +
      print(tensor.getType()) + " that does not say");
}

llvm::Expected<Shape> ShapeEvaluator::getShape(Value tensor) {
  auto type = dyn_cast<ShapedType>(tensor.getType());
  if (!type || !type.hasRank())
    return unknown(tensor);
  if (type.hasStaticShape())
    return Shape(type.getShape());
  // Code that is never reached may go in circles.
  auto [found, isNew] = known.try_emplace(tensor);
  if (!isNew)
    return found->second ? llvm::Expected<Shape>(*found->second)
                         : unknown(tensor);
  auto argument = dyn_cast<BlockArgument>(tensor);
  llvm::Expected<Shape> shape = argument
                                    ? getArgumentShape(argument)
                                    : getResultShape(cast<OpResult>(tensor));
  if (!shape)
    return shape.takeError();
  for (auto [size, fixed] : llvm::zip_equal(*shape, type.getShape()))
    if (!ShapedType::isDynamic(fixed))
      size = fixed;
  known[tensor] = *shape;
  return shape;
}

llvm::Expected<Shape> ShapeEvaluator::getArgumentShape(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto kernel = dyn_cast_if_present<KernelOp>(parent))
    return getKernelArgumentShape(kernel, argument);
  auto function = dyn_cast_if_present<FunctionOpInterface>(parent);
  if (!function || !argument.getOwner()->isEntryBlock())
    return unknown(argument);
  if (sizes.empty())
    return llvm::createStringError("expected static sizes, or assumed ones "
                                   "(dynamic-sizes), but got " +
                                   print(argument.getType()));
  size_t next = 0;
  for (BlockArgument each : function.getArguments()) {
    auto type = dyn_cast<ShapedType>(each.getType());
    if (!type || !type.hasRank())
      continue;
    Shape shape(type.getShape());
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        size = sizes[std::min(next++, sizes.size() - 1)];
    if (each == argument)
      return shape;
  }
  return unknown(argument);
}

/// Operands that memory holds in logical form say their sizes; what a kernel
/// writes in another form says them by the op that makes it.
llvm::Expected<Shape>
ShapeEvaluator::getKernelArgumentShape(KernelOp kernel,
                                       BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  unsigned inputs = kernel.getInputs().size();
  Value operand = kernel->getOperand(number);
  if (operand.getType() == argument.getType() ||
      !needsStorageForm(argument.getType())) {
    llvm::Expected<Shape> shape = getShape(operand);
    if (shape || number < inputs)
      return shape;
    llvm::consumeError(shape.takeError());
  }
  if (number < inputs)
    return unknown(argument);
  Operation *yield = kernel.getBody().front().getTerminator();
  return getShape(yield->getOperand(number - inputs));
}

/// What the op says of its results' sizes is IR, made in a module of its own.
llvm::Expected<Shape> ShapeEvaluator::getResultShape(OpResult result) {
  Operation *op = result.getOwner();
  // Results of kernels and the like are as their destinations.
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return getShape(destination.getTiedOpOperand(result)->get());
  if (isa<tensor::CastOp>(op) || OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (isa<TensorType>(operand.getType()))
        return getShape(operand);
  auto reifiable = dyn_cast<ReifyRankedShapedTypeOpInterface>(op);
  if (!reifiable)
    return unknown(result);
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(result.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(scratch->getBody());
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifiable.reifyResultShapes(builder, shapes)))
    return unknown(result);
  Shape shape;
  for (OpFoldResult size : shapes[result.getResultNumber()]) {
    llvm::Expected<int64_t> value = evaluate(size, result);
    if (!value)
      return value.takeError();
    shape.push_back(*value);
  }
  return shape;
}

llvm::Expected<int64_t> ShapeEvaluator::evaluate(OpFoldResult size,
                                                 Value tensor) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant;
  Value value = cast<Value>(size);
  if (auto dim = value.getDefiningOp<tensor::DimOp>()) {
    llvm::Expected<Shape> shape = getShape(dim.getSource());
    if (!shape)
      return shape.takeError();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index || *index < 0 || *index >= static_cast<int64_t>(shape->size()))
      return unknown(tensor);
    return (*shape)[*index];
  }
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return unknown(tensor);
  SmallVector<Attribute> operands;
  for (Value operand : apply.getMapOperands()) {
    llvm::Expected<int64_t> constant = evaluate(operand, tensor);
    if (!constant)
      return constant.takeError();
    operands.push_back(Builder(value.getContext()).getIndexAttr(*constant));
  }
  SmallVector<Attribute> results;
  if (failed(apply.getAffineMap().constantFold(operands, results)))
    return unknown(tensor);
  return cast<IntegerAttr>(results.front()).getInt();
}

} // namespace blockscale

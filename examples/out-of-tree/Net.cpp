//===- Net.cpp - A dialect of this project, and its lowering --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Net.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

#include "NetDialect.cpp.inc"

#define GET_OP_CLASSES
#include "NetOps.cpp.inc"

namespace {

/// Elements of K that share a scale in NVFP4.
constexpr int64_t kBlock = 16;

/// The rows of a matrix, quantized along K.
struct Quantized {
  Value data, scale;
};

Quantized quantize(OpBuilder &builder, Location loc, Value x,
                   blockscale::RecipeAttr recipe) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
  auto data = RankedTensorType::get(shape, builder.getType<Float4E2M1FNType>());
  shape.back() /= kBlock;
  auto scale =
      RankedTensorType::get(shape, builder.getType<Float8E4M3FNType>());
  auto op = blockscale::QuantizeOp::create(
      builder, loc, data, scale, x, /*global_scale=*/Value(),
      /*global_amax=*/Value(), /*block_amax=*/Value(), /*rng=*/Value(),
      /*offsets=*/Value(), ArrayRef<int64_t>{1, kBlock}, /*transposed=*/false,
      blockscale::ScaleDimAttr(), recipe);
  return {op.getData(), op.getScale()};
}

struct NetToBlockScale : PassWrapper<NetToBlockScale, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NetToBlockScale)

  StringRef getArgument() const override { return "net-to-blockscale"; }
  StringRef getDescription() const override {
    return "Quantizes the operands of layers and multiplies them";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<blockscale::BlockScaleDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](net::LinearOp op) {
      OpBuilder builder(op);
      Location loc = op.getLoc();
      Quantized x = quantize(builder, loc, op.getX(), op.getRecipeAttr());
      Quantized weight =
          quantize(builder, loc, op.getWeight(), op.getRecipeAttr());
      auto y = blockscale::ScaledMMOp::create(
          builder, loc, op.getType(), x.data, weight.data, x.scale,
          weight.scale, /*global_scale_a=*/Value(), /*global_scale_b=*/Value(),
          /*bias=*/Value(), ArrayRef<int64_t>{1, kBlock},
          blockscale::GlobalScalingAttr(), blockscale::SumOrderAttr());
      op.replaceAllUsesWith(y.getResult());
      op.erase();
    });
  }
};

} // namespace

void net::NetDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "NetOps.cpp.inc"
      >();
}

LogicalResult net::LinearOp::verify() {
  ArrayRef<int64_t> x = getX().getType().getShape();
  ArrayRef<int64_t> weight = getWeight().getType().getShape();
  ArrayRef<int64_t> y = getType().getShape();
  int64_t depth = x[1];
  if (ShapedType::isDynamic(depth) || depth % kBlock)
    return emitOpError("expected K of x to be a multiple of ")
           << kBlock << ", but got "
           << (ShapedType::isDynamic(depth) ? "?" : Twine(depth).str());
  if (weight[1] != depth)
    return emitOpError("expected weight and x to have one K, but got ")
           << weight[1] << " and " << depth;
  if (y[0] != x[0] || y[1] != weight[0])
    return emitOpError("expected the result to have the rows of x and of "
                       "weight, but got ")
           << getType();
  return success();
}

std::unique_ptr<Pass> net::createNetToBlockScale() {
  return std::make_unique<NetToBlockScale>();
}

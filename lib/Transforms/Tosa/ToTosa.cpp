//===- ToTosa.cpp - Ops of the dialect in TOSA ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/ToTosa.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/FromTosa.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Tosa/Utils/ConversionUtils.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_TOTOSA
#include "blockscale/Transforms/Passes.h.inc"

using Obstacle = std::optional<FusionObstacle>;

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

/// Rank of the operands of TOSA's products.
static constexpr int64_t kProductRank = 3;

/// The block size of TOSA that is `block`, if it has one.
static std::optional<tosa::BlockSize> getTosaBlock(ArrayRef<int64_t> block) {
  if (block.front() != 1)
    return std::nullopt;
  return tosa::symbolizeBlockSize(static_cast<uint32_t>(block.back()));
}

/// to_tosa_c1
static Obstacle findFormatObstacle(ArrayRef<int64_t> block, Type scale,
                                   TypeRange types) {
  if (isNvfp4ScaleType(getElementTypeOrSelf(scale)))
    return FusionObstacle{"to_tosa_c1", "f8E8M0FNU scales",
                          llvm::to_string(getElementTypeOrSelf(scale))};
  if (!getTosaBlock(block))
    return FusionObstacle{
        "to_tosa_c1", "blocks [1, 32]",
        llvm::formatv("[{0}, {1}]", block.front(), block.back())};
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getEncoding())
      return FusionObstacle{"to_tosa_c1", "linear scales and row-major data",
                            llvm::to_string(type)};
    if (llvm::is_contained(tensor.getShape(), 0))
      return FusionObstacle{"to_tosa_c1", "no dimension of size 0",
                            llvm::to_string(type)};
  }
  return std::nullopt;
}

static bool isTosaValue(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isBF16();
}

static Obstacle findObstacle(QuantizeOp op) {
  SmallVector<Type> types = {op.getX().getType(), op.getData().getType(),
                             op.getScale().getType()};
  if (Obstacle obstacle =
          findFormatObstacle(op.getBlock(), op.getScale().getType(), types))
    return obstacle;
  if (op.getEffectiveRecipe() != kTosaRecipe)
    return FusionObstacle{"to_tosa_c2",
                          ("recipe " + stringifyRecipe(kTosaRecipe)).str(),
                          stringifyRecipe(op.getEffectiveRecipe()).str()};
  if (!isTosaValue(op.getX().getType()))
    return FusionObstacle{"to_tosa_c2", "x of f32 or bf16",
                          llvm::to_string(op.getX().getType())};
  StringRef found = op.getRng()         ? "rng"
                    : op.getOffsets()   ? "offsets"
                    : op.getBlockAmax() ? "block_amax"
                                        : "";
  if (!found.empty())
    return FusionObstacle{"to_tosa_c2", "x as the only operand", found.str()};
  return std::nullopt;
}

static Obstacle findObstacle(DequantizeOp op) {
  SmallVector<Type> types = {op.getData().getType(), op.getScale().getType(),
                             op.getResult().getType()};
  if (Obstacle obstacle =
          findFormatObstacle(op.getBlock(), op.getScale().getType(), types))
    return obstacle;
  if (isTosaValue(op.getResult().getType()))
    return std::nullopt;
  return FusionObstacle{"to_tosa_c3", "a result of f32 or bf16",
                        llvm::to_string(op.getResult().getType())};
}

/// The `quantize` that makes both, if one does.
static QuantizeOp getQuantizer(Value data, Value scale) {
  auto quantize = data.getDefiningOp<QuantizeOp>();
  bool isWhole =
      quantize && data == quantize.getData() && scale == quantize.getScale();
  return isWhole ? quantize : QuantizeOp();
}

/// `shape` [.., M, K] with one batch dimension.
static SmallVector<int64_t> getProductShape(ArrayRef<int64_t> shape) {
  int64_t batch = 1;
  for (int64_t size : shape.drop_back(2))
    batch = ShapedType::isDynamic(size) || ShapedType::isDynamic(batch)
                ? ShapedType::kDynamic
                : batch * size;
  return {batch, shape[shape.size() - 2], shape.back()};
}

/// to_tosa_c6
static Obstacle findShapeObstacle(ArrayRef<int64_t> shape, Type type) {
  if (llvm::count_if(shape, ShapedType::isDynamic) <= 1)
    return std::nullopt;
  return FusionObstacle{"to_tosa_c6",
                        "at most one dynamic size where a shape is computed",
                        llvm::to_string(type)};
}

/// to_tosa_c5 and to_tosa_c6, of an operand of a product.
static Obstacle findOperandObstacle(Value data, Value scale) {
  auto type = cast<RankedTensorType>(data.getType());
  if (type.getRank() == kProductRank)
    return std::nullopt;
  QuantizeOp quantize = getQuantizer(data, scale);
  if (!quantize || findObstacle(quantize))
    return FusionObstacle{"to_tosa_c5",
                          "operands of rank 3, or made by a quantize that is "
                          "written in TOSA",
                          llvm::to_string(type)};
  return findShapeObstacle(getProductShape(type.getShape()), type);
}

static Obstacle findObstacle(ScaledMMOp op) {
  for (Value scale : {op.getScaleA(), op.getScaleB()})
    if (!scale)
      return FusionObstacle{"to_tosa_c4", "two operands with scales",
                            "a plain one"};
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  if (Obstacle obstacle =
          findFormatObstacle(op.getBlock(), op.getScaleA().getType(), types))
    return obstacle;
  Type a = op.getA().getType().getElementType();
  Type b = op.getB().getType().getElementType();
  if (a != b)
    return FusionObstacle{"to_tosa_c4", "data of one type",
                          llvm::to_string(a) + " and " + llvm::to_string(b)};
  if (Obstacle obstacle = findOperandObstacle(op.getA(), op.getScaleA()))
    return obstacle;
  if (Obstacle obstacle = findOperandObstacle(op.getB(), op.getScaleB()))
    return obstacle;
  RankedTensorType y = op.getResult().getType();
  if (y.getRank() != kProductRank)
    if (Obstacle obstacle = findShapeObstacle(y.getShape(), y))
      return obstacle;
  if (!op.getBias())
    return std::nullopt;
  return findShapeObstacle({1, 1, y.getShape().back()}, y);
}

std::optional<FusionObstacle> findToTosaObstacle(Operation *op) {
  return TypeSwitch<Operation *, Obstacle>(op)
      .Case<QuantizeOp, DequantizeOp, ScaledMMOp>(
          [](auto op) { return findObstacle(op); })
      .Default([](Operation *op) {
        return FusionObstacle{"to_tosa_c1", "quantize, dequantize or scaled_mm",
                              op->getName().stripDialect().str()};
      });
}

//===----------------------------------------------------------------------===//
// The rewrites
//===----------------------------------------------------------------------===//

/// The type of data in TOSA, which has a type of its own for MXINT8.
static RankedTensorType getTosaData(RankedTensorType type) {
  if (!type.getElementType().isInteger(8))
    return type;
  return type.clone(tosa::mxint8Type::get(type.getContext()));
}

static Value createCast(OpBuilder &builder, Location loc, Type type,
                        Value value) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

static Value createReshape(PatternRewriter &rewriter, Location loc,
                           RankedTensorType type, Value value) {
  if (value.getType() == type)
    return value;
  // -1 stands for a dynamic size.
  Value shape = tosa::getTosaConstShape(
      rewriter, loc, tosa::convertFromMlirShape(type.getShape()));
  return tosa::ReshapeOp::create(rewriter, loc, type, value, shape);
}

static tosa::BlockSizeAttr getBlockAttr(MLIRContext *context,
                                        ArrayRef<int64_t> block) {
  return tosa::BlockSizeAttr::get(context, *getTosaBlock(block));
}

namespace {

/// What leaves an op as it is that a clause excludes.
template <typename OpTy>
struct ToTosaPattern : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel is no program of TOSA");
    if (Obstacle obstacle = findObstacle(op))
      return rewriter.notifyMatchFailure(op, llvm::to_string(*obstacle));
    rewrite(op, rewriter);
    return success();
  }

  virtual void rewrite(OpTy op, PatternRewriter &rewriter) const = 0;
};

/// %d, %s = blockscale.quantize %x block [1, 32] recipe tosa
///     : tensor<8x64xf32> -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
///   ->  %d, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32}
///           : (tensor<8x64xf32>)
///           -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
struct ConvertQuantize : public ToTosaPattern<QuantizeOp> {
  using ToTosaPattern::ToTosaPattern;

  void rewrite(QuantizeOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getData().getType();
    auto cast = tosa::CastToBlockScaledOp::create(
        rewriter, op.getLoc(), getTosaData(type), op.getScale().getType(),
        op.getX(), getBlockAttr(getContext(), op.getBlock()));
    Value data = createCast(rewriter, op.getLoc(), type, cast.getOutputData());
    rewriter.replaceOp(op, {data, cast.getOutputScale()});
  }
};

/// %y = blockscale.dequantize %d, %s block [1, 32]
///     : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xf32>
///   ->  %y = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32}
///           : (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
///           -> tensor<8x64xf32>
struct ConvertDequantize : public ToTosaPattern<DequantizeOp> {
  using ToTosaPattern::ToTosaPattern;

  void rewrite(DequantizeOp op, PatternRewriter &rewriter) const override {
    Value data = createCast(rewriter, op.getLoc(),
                            getTosaData(op.getData().getType()), op.getData());
    rewriter.replaceOpWithNewOp<tosa::CastFromBlockScaledOp>(
        op, op.getResult().getType(), data, op.getScale(),
        getBlockAttr(getContext(), op.getBlock()));
  }
};

/// %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
///     bias(%v : tensor<16xf32>) : .. -> tensor<4x8x16xbf16>
///   ->  %p = tosa.matmul_t_block_scaled %a, %sa, %b, %sb : .. ->
///   tensor<4x8x16xf32>
///       %r = tosa.reshape %v : .. -> tensor<1x1x16xf32>
///       %s = tosa.add %p, %r
///       %y = tosa.cast %s : (tensor<4x8x16xf32>) -> tensor<4x8x16xbf16>
///
/// An operand that is no batch of matrices is quantized as one, after its x was
/// reshaped.
struct ConvertScaledMM : public ToTosaPattern<ScaledMMOp> {
  using ToTosaPattern::ToTosaPattern;

  void rewrite(ScaledMMOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    tosa::BlockSizeAttr block = getBlockAttr(getContext(), op.getBlock());
    auto [a, scaleA] =
        getBatch(rewriter, loc, op.getA(), op.getScaleA(), block);
    auto [b, scaleB] =
        getBatch(rewriter, loc, op.getB(), op.getScaleB(), block);
    RankedTensorType type = op.getResult().getType();
    auto sums = RankedTensorType::get(getProductShape(type.getShape()),
                                      rewriter.getF32Type());
    Value y = tosa::MatmulTBlockScaledOp::create(rewriter, loc, sums, a, scaleA,
                                                 b, scaleB, block);
    if (Value bias = op.getBias()) {
      auto row = cast<RankedTensorType>(bias.getType());
      int64_t columns = row.getShape().back();
      bias = createReshape(rewriter, loc, row.clone({1, 1, columns}), bias);
      auto wide = RankedTensorType::get({1, 1, columns}, rewriter.getF32Type());
      if (bias.getType() != wide)
        bias = tosa::CastOp::create(rewriter, loc, wide, bias);
      y = tosa::AddOp::create(rewriter, loc, sums, y, bias);
    }
    if (!type.getElementType().isF32())
      y = tosa::CastOp::create(rewriter, loc, sums.clone(type.getElementType()),
                               y);
    rewriter.replaceOp(op, createReshape(rewriter, loc, type, y));
  }

private:
  /// Data and scale of an operand, of rank 3.
  static std::pair<Value, Value> getBatch(PatternRewriter &rewriter,
                                          Location loc, Value data, Value scale,
                                          tosa::BlockSizeAttr block) {
    auto type = cast<RankedTensorType>(data.getType());
    if (type.getRank() == kProductRank)
      return {createCast(rewriter, loc, getTosaData(type), data), scale};
    Value x = getQuantizer(data, scale).getX();
    SmallVector<int64_t> shape = getProductShape(type.getShape());
    x = createReshape(rewriter, loc,
                      cast<RankedTensorType>(x.getType()).clone(shape), x);
    auto scaleType = cast<RankedTensorType>(scale.getType());
    auto cast = tosa::CastToBlockScaledOp::create(
        rewriter, loc, getTosaData(type.clone(shape)),
        scaleType.clone(getProductShape(scaleType.getShape())), x, block);
    return {cast.getOutputData(), cast.getOutputScale()};
  }
};

struct ToTosaPass : public impl::ToTosaBase<ToTosaPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module->walk([](Operation *op) {
      if (!isa_and_present<BlockScaleDialect>(op->getDialect()) ||
          op->getParentOfType<KernelOp>())
        return;
      if (Obstacle obstacle = findToTosaObstacle(op))
        op->emitRemark("is not written in TOSA " + llvm::to_string(*obstacle));
    });
    // Products look at what quantizes their operands, so they go first.
    RewritePatternSet products(&getContext()), others(&getContext());
    products.add<ConvertScaledMM>(&getContext());
    walkAndApplyPatterns(module, std::move(products));
    module->walk([](QuantizeOp op) {
      if (op->use_empty())
        op.erase();
    });
    others.add<ConvertQuantize, ConvertDequantize>(&getContext());
    walkAndApplyPatterns(module, std::move(others));
    for (auto function : module.getOps<func::FuncOp>())
      retype(function, module);
    if (failed(removeCasts(module)))
      signalPassFailure();
  }

private:
  /// Gives arguments and results of `function` that are MXINT8 data, and
  /// nothing else, the type that TOSA has for them. A function that others call
  /// keeps its signature.
  static void retype(func::FuncOp function, ModuleOp module) {
    if (function.isExternal() ||
        !SymbolTable::symbolKnownUseEmpty(function, module))
      return;
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || argument.use_empty() ||
          !llvm::all_of(argument.getUsers(), [&](Operation *user) {
            auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
            return cast && cast.getType(0) == getTosaData(type);
          }))
        continue;
      argument.setType(getTosaData(type));
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
    }
    SmallVector<func::ReturnOp> returns(
        function.getBody().getOps<func::ReturnOp>());
    SmallVector<Type> results(function.getResultTypes());
    for (auto [i, type] : llvm::enumerate(results)) {
      auto getCast = [i = i](func::ReturnOp op) {
        auto cast =
            op.getOperand(i).getDefiningOp<UnrealizedConversionCastOp>();
        bool isData = cast && isa<tosa::mxint8Type>(
                                  getElementTypeOrSelf(cast.getOperand(0)));
        return isData ? cast : UnrealizedConversionCastOp();
      };
      if (returns.empty() || !llvm::all_of(returns, getCast))
        continue;
      type = getTosaData(cast<RankedTensorType>(type));
      for (func::ReturnOp op : returns)
        op.setOperand(i, getCast(op).getOperand(0));
    }
    SmallVector<Type> arguments(function.getBody().getArgumentTypes());
    function.setFunctionType(
        FunctionType::get(function.getContext(), arguments, results));
  }

  /// Removes the casts between i8 and TOSA's type; an error where another op
  /// takes or makes MXINT8 data as i8.
  static LogicalResult removeCasts(ModuleOp module) {
    SmallVector<UnrealizedConversionCastOp> casts, left;
    module->walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts, &left);
    for (UnrealizedConversionCastOp op : left)
      op.emitError() << "expected i8 data to come from quantize or an argument "
                        "of a function, and to be results or operands of ops "
                        "that are written in TOSA, but got "
                     << op->getOperand(0).getType();
    return success(left.empty());
  }
};

} // namespace

} // namespace blockscale

//===- ProductQuantizer.cpp - A product of quantized operands -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

namespace {

/// An operand as a matrix, or several of them.
struct Matrix {
  Value value;
  /// Whether it is [.., K, rows] rather than [.., rows, K].
  bool isTransposed = false;

  RankedTensorType getType() const {
    return cast<RankedTensorType>(value.getType());
  }
};

/// Creates the ops of one product.
class ProductQuantizer {
public:
  ProductQuantizer(RewriterBase &rewriter, const ProductDecision &decision)
      : rewriter(rewriter), decision(decision), product(decision.product),
        loc(decision.op->getLoc()) {}

  /// The product, of `weight` if that was quantized before.
  Value create(const ProductOperand *weight);
  ProductOperand createWeight();
  /// The amax of what the product reads beside its weight.
  Value createActivationAmax();

private:
  // Shapes.
  Value transpose(Value value, ArrayRef<int64_t> permutation);
  Matrix createMatrix(const ProductFactor &factor, bool mayBeTransposed);
  Value createResultTensor(Value matrix);

  // Numbers.
  Matrix createSource(const ProductFactor &factor, const OperandForm &form);
  ProductOperand createOperand(const ProductFactor &factor,
                               const OperandForm &form);
  ProductOperand quantize(Matrix x, const OperandForm &form);
  Value createAmax(Matrix x, const OperandForm &form);
  Value addInit(Value sum);

  /// None where sums have any order.
  SumOrderAttr getOrder() const {
    SumOrder order = decision.form->order;
    return order == SumOrder::Free
               ? SumOrderAttr()
               : SumOrderAttr::get(rewriter.getContext(), order);
  }
  Value getInit() const {
    return cast<DestinationStyleOpInterface>(decision.op).getDpsInits()[0];
  }
  bool beginsWithZeros() const;

  RewriterBase &rewriter;
  const ProductDecision &decision;
  const MatrixProduct &product;
  Location loc;
};

} // namespace

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A tensor whose dimension i is dimension `permutation[i]` of `value`.
Value ProductQuantizer::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (isIdentityPermutation(permutation))
    return value;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  SmallVector<OpFoldResult> permuted;
  for (int64_t dim : permutation)
    permuted.push_back(sizes[dim]);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, permuted,
      cast<RankedTensorType>(value.getType()).getElementType());
  return linalg::TransposeOp::create(rewriter, loc, value, empty, permutation)
      ->getResult(0);
}

/// Groups of neighbouring dimensions, by the number of the group that each loop
/// is in. A dimension without a loop joins a neighbour's.
static SmallVector<ReassociationIndices> groupDims(ArrayRef<unsigned> loops,
                                                   ArrayRef<Loops> groups) {
  SmallVector<ReassociationIndices> found(groups.size());
  size_t number = 0;
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    if (loop != kNoLoop)
      while (!llvm::is_contained(groups[number], loop))
        ++number;
    found[number].push_back(dim);
  }
  return found;
}

/// `factor` as [batch.., rows, K], or as [batch.., K, rows] if it has that
/// order and may keep it.
Matrix ProductQuantizer::createMatrix(const ProductFactor &factor,
                                      bool mayBeTransposed) {
  SmallVector<Loops> groups;
  for (unsigned loop : product.batch)
    groups.push_back({loop});
  groups.push_back(factor.rows);
  groups.push_back(product.k);
  auto join = [&] {
    Loops loops;
    for (const Loops &group : groups)
      llvm::append_range(loops, group);
    return loops;
  };
  Loops present = llvm::to_vector<4>(llvm::make_filter_range(
      factor.loops, [](unsigned loop) { return loop != kNoLoop; }));
  Matrix matrix{factor.source};
  Loops wanted = join();
  std::swap(groups[groups.size() - 2], groups.back());
  matrix.isTransposed = mayBeTransposed && present == join();
  if (!matrix.isTransposed)
    std::swap(groups[groups.size() - 2], groups.back());
  Loops loops = factor.loops;
  if (!matrix.isTransposed && present != wanted) {
    // Dimensions without a loop go last.
    SmallVector<int64_t> permutation;
    for (unsigned loop : wanted)
      permutation.push_back(llvm::find(loops, loop) - loops.begin());
    for (auto [dim, loop] : llvm::enumerate(loops))
      if (loop == kNoLoop)
        permutation.push_back(dim);
    matrix.value = transpose(matrix.value, permutation);
    loops = wanted;
    loops.resize(permutation.size(), kNoLoop);
  }
  if (loops.size() > groups.size())
    matrix.value = tensor::CollapseShapeOp::create(rewriter, loc, matrix.value,
                                                   groupDims(loops, groups));
  return matrix;
}

/// [batch.., M, N] as the result of the op.
Value ProductQuantizer::createResultTensor(Value matrix) {
  SmallVector<Loops> groups;
  for (unsigned loop : product.batch)
    groups.push_back({loop});
  groups.push_back(product.a.rows);
  groups.push_back(product.b.rows);
  Loops loops;
  for (const Loops &group : groups)
    llvm::append_range(loops, group);
  // Dimension i of the result is dimension `permutation[i]` of these loops.
  SmallVector<int64_t> permutation;
  for (unsigned loop : product.result)
    permutation.push_back(llvm::find(loops, loop) - loops.begin());
  auto element = cast<RankedTensorType>(matrix.getType()).getElementType();
  if (loops.size() > groups.size()) {
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, getInit());
    SmallVector<int64_t> shape(loops.size());
    SmallVector<OpFoldResult> expanded(loops.size());
    for (auto [dim, from] : llvm::enumerate(permutation)) {
      shape[from] = product.sizes[loops[from]];
      expanded[from] = ShapedType::isDynamic(shape[from])
                           ? sizes[dim]
                           : rewriter.getIndexAttr(shape[from]);
    }
    matrix = tensor::ExpandShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, element), matrix,
        groupDims(loops, groups), expanded);
  }
  Value result = transpose(matrix, permutation);
  // The type of the result may not know a size that one of an operand knows.
  auto type = RankedTensorType::get(product.getType().getShape(), element);
  if (result.getType() == type)
    return result;
  return tensor::CastOp::create(rewriter, loc, type, result);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Type getDataType(MLIRContext *context, numerics::ElementFormat format) {
  switch (format) {
  case numerics::ElementFormat::E2M1:
    return Float4E2M1FNType::get(context);
  case numerics::ElementFormat::E2M3:
    return Float6E2M3FNType::get(context);
  case numerics::ElementFormat::E3M2:
    return Float6E3M2FNType::get(context);
  case numerics::ElementFormat::E4M3:
    return Float8E4M3FNType::get(context);
  case numerics::ElementFormat::E5M2:
    return Float8E5M2Type::get(context);
  case numerics::ElementFormat::INT8:
    return IntegerType::get(context, 8);
  }
  return {};
}

static Type getScaleType(MLIRContext *context, numerics::ScaleFormat format) {
  if (format == numerics::ScaleFormat::E4M3)
    return Float8E4M3FNType::get(context);
  return Float8E8M0FNUType::get(context);
}

/// The amax of each matrix of x, or the one that is given.
Value ProductQuantizer::createAmax(Matrix x, const OperandForm &form) {
  ArrayRef<int64_t> batch = x.getType().getShape().drop_back(2);
  Type f32 = rewriter.getF32Type();
  if (!form.amax)
    return AmaxOp::create(rewriter, loc, RankedTensorType::get(batch, f32),
                          x.value, /*offsets=*/Value());
  auto type = RankedTensorType::get({}, f32);
  return arith::ConstantOp::create(rewriter, loc,
                                   DenseElementsAttr::get(type, *form.amax));
}

ProductOperand ProductQuantizer::quantize(Matrix x, const OperandForm &form) {
  MLIRContext *context = rewriter.getContext();
  int64_t block = form.format->blockSize;
  SmallVector<int64_t> shape(x.getType().getShape());
  if (x.isTransposed)
    std::swap(shape[shape.size() - 2], shape.back());
  auto recipe =
      form.recipe ? RecipeAttr::get(context, *form.recipe) : RecipeAttr();
  ProductOperand operand;
  Value amax, blockAmax;
  // A sweep chooses among multiples of the amax.
  bool isOfAmax =
      form.isSwept || (form.recipe && computesFromAmax(*form.recipe));
  if (form.hasGlobal) {
    amax = createAmax(x, form);
    operand.global = GlobalScaleOp::create(rewriter, loc, amax, recipe,
                                           /*nonzero_amax=*/true);
  }
  if (form.isSwept)
    blockAmax =
        ScaleSweepOp::create(rewriter, loc, x.value, amax, /*hessian=*/Value(),
                             /*nonzero_amax=*/true);
  auto data =
      RankedTensorType::get(shape, getDataType(context, form.format->element));
  auto scale = RankedTensorType::get(getScaleShape(shape, block),
                                     getScaleType(context, form.format->scale));
  SmallVector<int64_t, 2> blocks = {1, block};
  if (x.isTransposed)
    std::swap(blocks[0], blocks[1]);
  auto op = QuantizeOp::create(rewriter, loc, data, scale, x.value,
                               isOfAmax ? Value() : operand.global,
                               isOfAmax ? amax : Value(), blockAmax,
                               /*rng=*/Value(), /*offsets=*/Value(), blocks,
                               x.isTransposed, ScaleDimAttr(), recipe,
                               /*group_dim=*/0,
                               /*nonzero_amax=*/isOfAmax && amax);
  operand.data = op.getData();
  operand.scale = op.getScale();
  return operand;
}

/// What is quantized, or transformed before that: the factor as matrices of
/// the type that the layer stores.
Matrix ProductQuantizer::createSource(const ProductFactor &factor,
                                      const OperandForm &form) {
  // The sweep goes along rows, and a plain operand is read along them.
  Matrix x = createMatrix(factor, form.format && !form.isSwept);
  Type element = x.getType().getElementType();
  if (Type type = getLayerType(*decision.form, element); type != element)
    x.value = arith::TruncFOp::create(
        rewriter, loc, cast<RankedTensorType>(x.value.getType()).clone(type),
        x.value);
  return x;
}

ProductOperand ProductQuantizer::createOperand(const ProductFactor &factor,
                                               const OperandForm &form) {
  Matrix x = createSource(factor, form);
  if (decision.form->isTransformed)
    x.value = HadamardOp::create(rewriter, loc, x.value,
                                 uint64_t(x.isTransposed ? 0 : 1));
  if (form.format)
    return quantize(x, form);
  ProductOperand plain;
  plain.data = x.value;
  return plain;
}

bool ProductQuantizer::beginsWithZeros() const {
  auto fill = getInit().getDefiningOp<linalg::FillOp>();
  return (fill && matchPattern(fill.value(), m_AnyZeroFloat())) ||
         matchPattern(getInit(), m_AnyZeroFloat());
}

/// The sum in f32, plus what the op's sum begins with, rounded once.
Value ProductQuantizer::addInit(Value sum) {
  RankedTensorType type = product.getType();
  Type element = type.getElementType();
  Value init = getInit();
  AffineMap map = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      rewriter, loc, type, ValueRange{sum, init},
      tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, init), element)
          .getResult(),
      ArrayRef<AffineMap>{map, map, map}, kinds,
      [&](OpBuilder &b, Location at, ValueRange arguments) {
        Value added = arguments[1];
        if (!element.isF32())
          added = arith::ExtFOp::create(b, at, b.getF32Type(), added);
        Value total = arith::AddFOp::create(b, at, arguments[0], added);
        if (!element.isF32())
          total = arith::TruncFOp::create(b, at, element, total);
        linalg::YieldOp::create(b, at, total);
      });
  return op.getResult(0);
}

ProductOperand ProductQuantizer::createWeight() {
  return decision.isWeightB ? createOperand(product.b, decision.getFormB())
                            : createOperand(product.a, decision.getFormA());
}

Value ProductQuantizer::create(const ProductOperand *weight) {
  rewriter.setInsertionPoint(decision.op);
  bool isSumOfOthers = !beginsWithZeros();
  ProductOperand a = weight && !decision.isWeightB
                         ? *weight
                         : createOperand(product.a, decision.getFormA());
  ProductOperand b = weight && decision.isWeightB
                         ? *weight
                         : createOperand(product.b, decision.getFormB());
  Type element = isSumOfOthers ? rewriter.getF32Type()
                               : product.getType().getElementType();
  SmallVector<int64_t> shape;
  for (unsigned loop : product.batch)
    shape.push_back(product.sizes[loop]);
  shape.push_back(product.getSize(product.a.rows));
  shape.push_back(product.getSize(product.b.rows));
  SmallVector<int64_t, 2> block = {1, decision.form->weight.format->blockSize};
  auto matrix = ScaledMMOp::create(
      rewriter, loc, RankedTensorType::get(shape, element), a.data, b.data,
      a.scale, b.scale, a.global, b.global,
      /*bias=*/Value(), block, GlobalScalingAttr(), getOrder());
  if (decision.maxRows)
    matrix->setAttr(kMaxRowsAttrName,
                    rewriter.getI64IntegerAttr(*decision.maxRows));
  Value result = createResultTensor(matrix);
  return isSumOfOthers ? addInit(result) : result;
}

Value ProductQuantizer::createActivationAmax() {
  rewriter.setInsertionPoint(decision.op);
  const ProductFactor &factor = decision.isWeightB ? product.a : product.b;
  Matrix x = createSource(factor, decision.form->activation);
  auto scalar = RankedTensorType::get({}, rewriter.getF32Type());
  return AmaxOp::create(rewriter, loc, scalar, x.value, /*offsets=*/Value());
}

Value createActivationAmax(RewriterBase &rewriter,
                           const ProductDecision &decision) {
  return ProductQuantizer(rewriter, decision).createActivationAmax();
}

ProductOperand createQuantizedWeight(RewriterBase &rewriter,
                                     const ProductDecision &decision) {
  return ProductQuantizer(rewriter, decision).createWeight();
}

Value createQuantizedProduct(RewriterBase &rewriter,
                             const ProductDecision &decision,
                             const ProductOperand *weight) {
  return ProductQuantizer(rewriter, decision).create(weight);
}

} // namespace blockscale

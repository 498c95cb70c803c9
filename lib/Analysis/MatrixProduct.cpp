//===- MatrixProduct.cpp - Ops of linalg that are products ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// What is cast, where `value` is the result of casts between floats.
static Value skipFloatCasts(Value value) {
  while (Operation *cast = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
      break;
    value = cast->getOperand(0);
  }
  return value;
}

arith::MulFOp getAddedProduct(Block &body) {
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return {};
  Value output = body.getArguments().back();
  Value added = sum.getLhs() == output   ? sum.getRhs()
                : sum.getRhs() == output ? sum.getLhs()
                                         : Value();
  return added ? added.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
}

arith::MulFOp findAddedProduct(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return {};
  Block &body = op->getRegion(0).front();
  if (body.getNumArguments() != 3)
    return {};
  arith::MulFOp product = getAddedProduct(body);
  if (!product)
    return {};
  Value left = skipFloatCasts(product.getLhs());
  Value right = skipFloatCasts(product.getRhs());
  if (left == body.getArgument(1))
    std::swap(left, right);
  bool isOfInputs = left == body.getArgument(0) && right == body.getArgument(1);
  return isOfInputs ? product : arith::MulFOp();
}

bool addsProducts(linalg::LinalgOp op) {
  return static_cast<bool>(findAddedProduct(op));
}

Value getExtended(Operation *op) {
  Value narrow;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (isa_and_present<arith::ExtFOp>(getUnaryOp(generic)))
      narrow = generic.getDpsInputs().front();
  } else if (auto extend = dyn_cast<arith::ExtFOp>(op)) {
    narrow = extend.getIn();
  }
  if (narrow && isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(narrow)))
    return narrow;
  return {};
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Whether the body computes casts and no more.
static bool isCastBody(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return isa<arith::ExtFOp, arith::TruncFOp>(op);
  });
}

/// What `op` moves, reshapes or casts; null of other ops.
static Value getMoved(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, arith::ExtFOp, arith::TruncFOp>(op))
    return op->getOperand(0);
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return transpose.getInput();
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op))
    return broadcast.getInput();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (generic && generic.getNumDpsInputs() == 1 &&
      generic.getNumParallelLoops() == generic.getNumLoops() &&
      isCastBody(*generic.getBody()))
    return generic.getDpsInputs().front();
  return {};
}

bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (matchPattern(op, m_Constant()))
      return true;
    value = getMoved(op);
    if (!value)
      return false;
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock() &&
         function.getArgAttr(argument.getArgNumber(), kWeightAttrName);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int64_t MatrixProduct::getSize(ArrayRef<unsigned> loops) const {
  int64_t size = 1;
  for (unsigned loop : loops) {
    if (ShapedType::isDynamic(sizes[loop]))
      return ShapedType::kDynamic;
    size *= sizes[loop];
  }
  return size;
}

/// The loops that run over the dimensions of an operand, or nothing where they
/// are not loops. A loop of one iteration that sums is none.
static std::optional<Loops> findLoops(AffineMap map, ArrayRef<bool> isPoint) {
  Loops loops;
  for (AffineExpr expr : map.getResults()) {
    // An index is a sum: of a loop, and of loops of one iteration, times
    // constants, and of constants.
    SmallVector<AffineExpr> terms = {expr};
    unsigned found = kNoLoop;
    while (!terms.empty()) {
      AffineExpr term = terms.pop_back_val();
      if (auto binary = dyn_cast<AffineBinaryOpExpr>(term)) {
        if (term.getKind() == AffineExprKind::Add) {
          terms.append({binary.getLHS(), binary.getRHS()});
          continue;
        }
        auto factor = dyn_cast<AffineDimExpr>(binary.getLHS());
        if (term.getKind() == AffineExprKind::Mul && factor &&
            isPoint[factor.getPosition()])
          continue;
        return std::nullopt;
      }
      auto dim = dyn_cast<AffineDimExpr>(term);
      auto constant = dyn_cast<AffineConstantExpr>(term);
      if ((dim && isPoint[dim.getPosition()]) ||
          (constant && constant.getValue() == 0))
        continue;
      if (!dim || found != kNoLoop ||
          llvm::is_contained(loops, dim.getPosition()))
        return std::nullopt;
      found = dim.getPosition();
    }
    loops.push_back(found);
  }
  return loops;
}

/// Whether each dimension over which no loop runs has one element.
static bool hasUnitDims(Value operand, ArrayRef<unsigned> loops) {
  auto type = cast<RankedTensorType>(operand.getType());
  return llvm::all_of(llvm::enumerate(loops), [&](auto each) {
    return each.value() != kNoLoop || type.getDimSize(each.index()) == 1;
  });
}

/// Makes sizes static that the type of one operand knows, if not that of all.
static void addStaticSizes(linalg::LinalgOp op,
                           MutableArrayRef<int64_t> sizes) {
  for (auto [operand, map] :
       llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    auto type = cast<RankedTensorType>(operand.getType());
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && !type.isDynamicDim(dim))
        sizes[loop.getPosition()] = type.getDimSize(dim);
  }
}

/// Which loops sum and have one iteration: they sum nothing.
static SmallVector<bool> findPoints(linalg::LinalgOp op,
                                    ArrayRef<int64_t> sizes) {
  SmallVector<bool> isPoint;
  for (auto [kind, size] : llvm::zip_equal(op.getIteratorTypesArray(), sizes))
    isPoint.push_back(kind == utils::IteratorType::reduction && size == 1);
  return isPoint;
}

/// The loop over each dimension after a transposition; empty of other ops.
static Loops getLoopsOfSource(Operation *op, ArrayRef<unsigned> loops) {
  SmallVector<int64_t> permutation;
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    permutation = llvm::to_vector(transpose.getPermutation());
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (auto found = linalg::isaTransposeOpInterface(generic))
      permutation = *found;
  }
  Loops source(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    source[from] = loops[to];
  return source;
}

/// Goes to what the operand is made of by extensions and transpositions.
static void skipMoves(ProductFactor &factor) {
  while (Operation *producer = factor.source.getDefiningOp()) {
    Value source = getExtended(producer);
    Loops loops = factor.loops;
    if (!source) {
      loops = getLoopsOfSource(producer, factor.loops);
      if (loops.empty())
        return;
      source = cast<DestinationStyleOpInterface>(producer).getDpsInputs()[0];
    }
    if (cast<RankedTensorType>(source.getType()).getEncoding())
      return;
    factor.source = source;
    factor.loops = std::move(loops);
  }
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

static bool isFactorType(Type type) {
  return type.isF32() || type.isBF16() || type.isF16();
}

/// product_c1.
static std::optional<FusionObstacle> findTypeObstacle(linalg::LinalgOp op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      return FusionObstacle{"product_c1", "operands that are tensors",
                            llvm::to_string(operand.getType())};
    if (!isFactorType(type.getElementType()))
      return FusionObstacle{"product_c1", "operands of bf16, f16 or f32",
                            llvm::to_string(type)};
    if (type.getEncoding())
      return FusionObstacle{"product_c1", "operands without an encoding",
                            llvm::to_string(type)};
  }
  arith::MulFOp product = findAddedProduct(op);
  for (Value factor : product->getOperands())
    for (Operation *cast = factor.getDefiningOp(); cast;
         cast = cast->getOperand(0).getDefiningOp())
      if (!isa<arith::ExtFOp>(cast))
        return FusionObstacle{"product_c1", "factors as they are or extended",
                              cast->getName().getStringRef().str()};
  return std::nullopt;
}

/// product_c2.
static std::optional<FusionObstacle>
findIndexObstacle(linalg::LinalgOp op, ArrayRef<bool> isPoint,
                  std::array<Loops, 3> &loops) {
  for (auto [number, map] : llvm::enumerate(op.getIndexingMapsArray())) {
    std::optional<Loops> found = findLoops(map, isPoint);
    // Each dimension of the result, the last operand, has a loop.
    bool lacksLoop =
        number == 2 && found && llvm::is_contained(*found, kNoLoop);
    if (!found || lacksLoop || !hasUnitDims(op->getOperand(number), *found))
      return FusionObstacle{"product_c2",
                            "each index of an operand to be a loop of its own",
                            "the map " + llvm::to_string(map)};
    loops[number] = std::move(*found);
  }
  return std::nullopt;
}

/// product_c3. Gives each loop its role.
static std::optional<FusionObstacle> findRoleObstacle(linalg::LinalgOp op,
                                                      ArrayRef<bool> isPoint,
                                                      MatrixProduct &product) {
  auto isOf = [](ArrayRef<unsigned> loops, unsigned loop) {
    return llvm::is_contained(loops, loop);
  };
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    int count = isOf(product.a.loops, loop) + isOf(product.b.loops, loop) +
                isOf(product.result, loop);
    if (!isPoint[loop] && count < 2)
      return FusionObstacle{
          "product_c3", "each loop to run over two of the three tensors",
          llvm::formatv("loop {0}, which runs over {1}", loop, count)};
  }
  for (unsigned loop : product.result) {
    bool isOfA = isOf(product.a.loops, loop);
    bool isOfB = isOf(product.b.loops, loop);
    (isOfA && isOfB ? product.batch
     : isOfA        ? product.a.rows
                    : product.b.rows)
        .push_back(loop);
  }
  for (unsigned loop : product.a.loops)
    if (loop != kNoLoop && !isOf(product.result, loop))
      product.k.push_back(loop);
  if (product.a.rows.empty() || product.b.rows.empty() || product.k.empty())
    return FusionObstacle{"product_c3", "a product of matrices",
                          llvm::formatv("{0} loops of m, {1} of n and {2} of k",
                                        product.a.rows.size(),
                                        product.b.rows.size(),
                                        product.k.size())};
  return std::nullopt;
}

std::optional<FusionObstacle> matchMatrixProduct(linalg::LinalgOp op,
                                                 MatrixProduct &product) {
  if (auto obstacle = findTypeObstacle(op))
    return obstacle;
  product = {};
  product.op = op;
  product.sizes = op.getStaticLoopRanges();
  addStaticSizes(op, product.sizes);
  SmallVector<bool> isPoint = findPoints(op, product.sizes);
  std::array<Loops, 3> loops;
  if (auto obstacle = findIndexObstacle(op, isPoint, loops))
    return obstacle;
  product.a = {op.getDpsInputs()[0], std::move(loops[0]), {}};
  product.b = {op.getDpsInputs()[1], std::move(loops[1]), {}};
  product.result = std::move(loops[2]);
  if (auto obstacle = findRoleObstacle(op, isPoint, product))
    return obstacle;
  // The factor whose rows come first in the result is A.
  Loops columnsFirst(product.batch);
  llvm::append_range(columnsFirst, product.b.rows);
  llvm::append_range(columnsFirst, product.a.rows);
  if (columnsFirst == product.result)
    std::swap(product.a, product.b);
  skipMoves(product.a);
  skipMoves(product.b);
  return std::nullopt;
}

} // namespace blockscale

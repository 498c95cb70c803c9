//===- RowProgram.cpp - Linalg ops over the rows of a tensor --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/RowProgram.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Producers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

static constexpr int64_t kMostRowElements = 65536;

static bool isZero(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant && constant.getValue() == 0;
}

/// Whether results [begin, end) of `map` are the dimensions of these numbers.
static bool areDims(AffineMap map, unsigned begin, unsigned end) {
  return llvm::all_of(llvm::seq(begin, end), [&](unsigned i) {
    return map.getResult(i) == getAffineDimExpr(i, map.getContext());
  });
}

static bool areZeros(AffineMap map, unsigned begin, unsigned end) {
  return llvm::all_of(map.getResults().slice(begin, end - begin), isZero);
}

/// How an operand varies that `map` indexes by the place of an element, one
/// loop a dimension.
static std::optional<RowForm> getFormOfElements(AffineMap map) {
  unsigned rank = map.getNumDims(), count = map.getNumResults();
  if (areZeros(map, 0, count))
    return RowForm::Scalar;
  if (count == rank && areDims(map, 0, rank))
    return RowForm::Elements;
  bool isRows =
      count == rank ? isZero(map.getResults().back()) : count + 1 == rank;
  if (isRows && areDims(map, 0, rank - 1))
    return RowForm::Rows;
  AffineExpr last = getAffineDimExpr(rank - 1, map.getContext());
  if (map.getResults().back() == last && areZeros(map, 0, count - 1))
    return RowForm::Columns;
  return std::nullopt;
}

/// How an operand varies that `map` indexes by the place of a row, which the
/// first `rows` loops give. Further loops run once.
static std::optional<RowForm> getFormOfRows(AffineMap map, unsigned rows) {
  unsigned count = map.getNumResults();
  auto isConstant = [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return isZero(expr) || (dim && dim.getPosition() >= rows);
  };
  if (llvm::all_of(map.getResults(), isConstant))
    return RowForm::Scalar;
  if (count >= rows && areDims(map, 0, rows) &&
      llvm::all_of(map.getResults().drop_front(rows), isConstant))
    return RowForm::Rows;
  return std::nullopt;
}

static std::optional<FusionObstacle> findBodyObstacle(linalg::LinalgOp op) {
  Operation *found = findUnevaluable(*op.getBlock());
  if (!found)
    return std::nullopt;
  return FusionObstacle{"norm_c5", describeEvaluable().str(),
                        "'" + llvm::to_string(found->getName()) + "'"};
}

Operation *findRowCombiner(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  bool reducesLast = op.getNumReductionLoops() == 1 &&
                     iterators.back() == utils::IteratorType::reduction &&
                     op.getNumDpsInits() == 1;
  if (!reducesLast)
    return nullptr;
  BlockArgument accumulated = op.getRegionOutputArgs().front();
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  bool combines =
      isa_and_present<arith::AddFOp, arith::MulFOp, arith::MaximumFOp,
                      arith::MinimumFOp>(combiner) &&
      accumulated.getType().isF32() && accumulated.hasOneUse() &&
      *accumulated.getUsers().begin() == combiner;
  return combines ? combiner : nullptr;
}

Operation *findOrderedCombiner(linalg::LinalgOp op) {
  Operation *combiner = findRowCombiner(op);
  if (!combiner)
    return nullptr;
  int64_t elements = op.getStaticLoopRanges().back();
  bool hasOneResult = !op.getMatchingIndexingMap(&op.getDpsInitsMutable()[0])
                           .isFunctionOfDim(op.getNumLoops() - 1);
  bool isKnown = !ShapedType::isDynamic(elements) && elements != 0;
  return isKnown && hasOneResult ? combiner : nullptr;
}

static std::optional<FusionObstacle> findReduction(RowOp &row) {
  linalg::LinalgOp op = row.op;
  row.combiner = findRowCombiner(op);
  Value initial = getFilledScalar(op.getDpsInits().front().getDefiningOp());
  if (row.combiner && row.iterations == RowForm::Elements &&
      row.operands.back() == RowForm::Rows && initial) {
    row.initial = initial;
    return std::nullopt;
  }
  return FusionObstacle{
      "norm_c4",
      "a sum, product, maximum or minimum in f32 along rows, "
      "from a linalg.fill",
      !row.combiner
          ? "'" + llvm::to_string(op->getName()) + "' on " +
                llvm::to_string(op.getRegionOutputArgs().front().getType())
      : initial ? llvm::to_string(op->getResultTypes().front())
                : "another init"};
}

static std::optional<FusionObstacle> findForms(RowOp &row, unsigned rank) {
  linalg::LinalgOp op = row.op;
  for (auto [map, operand] :
       llvm::zip_equal(op.getIndexingMapsArray(), op->getOperands())) {
    bool isScalar = !isa<ShapedType>(operand.getType());
    std::optional<RowForm> form = isScalar ? RowForm::Scalar
                                  : row.iterations == RowForm::Elements
                                      ? getFormOfElements(map)
                                      : getFormOfRows(map, rank - 1);
    if (!form)
      return FusionObstacle{"norm_c3",
                            "operands of the elements, rows or columns",
                            llvm::to_string(map)};
    row.operands.push_back(*form);
  }
  return std::nullopt;
}

std::optional<FusionObstacle>
analyzeRowOp(linalg::LinalgOp op, RankedTensorType elements, RowOp &row) {
  row = RowOp();
  row.op = op;
  int64_t rank = elements.getRank(), last = elements.getShape().back();
  if (ShapedType::isDynamic(last) || last == 0 || last > kMostRowElements)
    return FusionObstacle{"norm_c2", "rows of a static length from 1 to 65536",
                          llvm::to_string(elements)};
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  int64_t count = loops.size();
  bool isElements = count == rank && loops.back() == last;
  bool isRows =
      count == rank - 1 || (count == rank && loops.back() == 1 && last != 1);
  bool fits = (isElements || isRows) &&
              llvm::all_of(llvm::zip(loops, elements.getShape().drop_back()),
                           [](auto sizes) {
                             auto [a, b] = sizes;
                             return a == b || ShapedType::isDynamic(a) ||
                                    ShapedType::isDynamic(b);
                           });
  if (!fits)
    return FusionObstacle{"norm_c3",
                          "an op over the elements or the rows of " +
                              llvm::to_string(elements),
                          llvm::to_string(op->getResultTypes().front())};
  row.iterations = isElements ? RowForm::Elements : RowForm::Rows;
  if (op.getNumDpsInputs() == 0)
    return FusionObstacle{"norm_c3", "an op with inputs",
                          "'" + llvm::to_string(op->getName()) + "'"};
  if (std::optional<FusionObstacle> obstacle = findForms(row, rank))
    return obstacle;
  if (op.getNumReductionLoops() != 0) {
    std::optional<FusionObstacle> obstacle = findReduction(row);
    return obstacle ? obstacle : findBodyObstacle(op);
  }
  if (std::optional<FusionObstacle> obstacle = findBodyObstacle(op))
    return obstacle;
  bool isWhole = llvm::all_of(
      ArrayRef<RowForm>(row.operands).drop_front(op.getNumDpsInputs()),
      [&](RowForm form) { return form == row.iterations; });
  bool readsInit = llvm::any_of(op.getRegionOutputArgs(), [](Value argument) {
    return !argument.use_empty();
  });
  if (!isWhole)
    return FusionObstacle{"norm_c3", "results of the elements or the rows",
                          llvm::to_string(op->getResultTypes().front())};
  if (readsInit)
    return FusionObstacle{"norm_c4", "no op but reductions to read an init",
                          "'" + llvm::to_string(op->getName()) + "'"};
  return std::nullopt;
}

bool takeStrips(ArrayRef<QuantizeOp> ops) {
  return ops.size() > 1 || QuantizeOp(ops.front()).getBlock()[0] != 1;
}

/// Why strips cannot compute `value`, elements of a row program.
static std::optional<FusionObstacle>
findStripObstacle(Value value, function_ref<bool(Operation *)> isInside) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || (!isInside(op) && !isMadeAnew(op)))
    return std::nullopt;
  if (std::optional<FusionObstacle> obstacle = findElementwiseObstacle(op))
    return FusionObstacle{"norm_c8", obstacle->expected, obstacle->found};
  for (OpOperand *input : op.getDpsInputOperands())
    if (getSpread(op.getMatchingIndexingMap(input)) == Spread::Elements)
      if (std::optional<FusionObstacle> obstacle =
              findStripObstacle(input->get(), isInside))
        return obstacle;
  return std::nullopt;
}

std::optional<FusionObstacle>
findRowQuantizeObstacle(ArrayRef<QuantizeOp> ops,
                        function_ref<bool(Operation *)> isInside) {
  if (ops.size() > 1)
    for (QuantizeOp op : ops)
      if (std::optional<FusionObstacle> obstacle = findOneReadObstacle(op))
        return obstacle;
  if (!takeStrips(ops))
    return std::nullopt;
  return findStripObstacle(QuantizeOp(ops.front()).getX(), isInside);
}

Value getFilledScalar(Operation *op) {
  auto linalgOp = dyn_cast_if_present<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInits() != 1 ||
      linalgOp.getNumReductionLoops() != 0)
    return {};
  Value yielded = linalgOp.getBlock()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != linalgOp.getBlock())
    return yielded.getParentBlock() != linalgOp.getBlock() ? yielded : Value();
  Value scalar = op->getOperand(argument.getArgNumber());
  return isa<ShapedType>(scalar.getType()) ? Value() : scalar;
}

bool isMadeAnew(Operation *op) {
  if (isa_and_present<arith::ConstantOp>(op))
    return getUniformConstant(op->getResult(0)) != nullptr;
  return isa_and_present<tensor::EmptyOp>(op) || getFilledScalar(op);
}

RankedTensorType getReducedElements(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (iterators.size() < 2 ||
      iterators.back() != utils::IteratorType::reduction)
    return {};
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (type && op.getMatchingIndexingMap(operand).isIdentity())
      return type;
  }
  return {};
}

APFloat getNeutralElement(Operation *combiner) {
  const llvm::fltSemantics &single = APFloat::IEEEsingle();
  if (isa<arith::AddFOp>(combiner))
    return APFloat::getZero(single, /*Negative=*/true);
  if (isa<arith::MulFOp>(combiner))
    return APFloat::getOne(single);
  return APFloat::getInf(single, isa<arith::MaximumFOp>(combiner));
}

} // namespace blockscale

//===- RaisedFactor.cpp - An operand of a product by linalg --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaisedFactor.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Analysis/RowMoves.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

int64_t RaisedFactor::getK() const {
  ArrayRef<int64_t> shape = getType().getShape();
  return isTransposed ? shape[shape.size() - 2] : shape.back();
}

/// The permutation [0, 1, .., `rank` - 1, `rank` - 2].
static SmallVector<int64_t> getMatrixTransposition(int64_t rank) {
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return permutation;
}

/// The operand of an op that transposes each matrix of it, and permutes nothing
/// else; null of other ops.
static Value getTransposed(Operation *op) {
  SmallVector<int64_t> permutation = getPermutation(op);
  return permutation.size() >= 2 &&
                 permutation == getMatrixTransposition(permutation.size())
             ? cast<linalg::LinalgOp>(op).getDpsInputs().front()
             : Value();
}

/// The matrix that an op repeats for each element of a batch; null of other
/// ops.
static Value getSharedMatrix(Operation *op) {
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op)) {
    auto type = cast<RankedTensorType>(broadcast.getInput().getType());
    ArrayRef<int64_t> added = broadcast.getDimensions();
    return type.getRank() == 2 &&
                   llvm::equal(added, llvm::seq<int64_t>(added.size()))
               ? broadcast.getInput()
               : Value();
  }
  linalg::GenericOp move = getMove(op);
  if (!move || move.getNumLoops() < 3)
    return {};
  int64_t rank = move.getNumLoops();
  auto last = AffineMap::getMultiDimMapWithTargets(
      rank, {unsigned(rank - 2), unsigned(rank - 1)}, op->getContext());
  return move.getIndexingMapsArray().front() == last
             ? move.getDpsInputs().front()
             : Value();
}

/// The map from (batch.., m, n, k), of which `rank` - 2 are batch, to (batch..,
/// `row`, `col`), or to (`row`, `col`) if the matrix `isShared`.
static AffineMap getMatrixMap(MLIRContext *context, int64_t rank, int64_t row,
                              int64_t col, bool isShared = false) {
  SmallVector<unsigned> targets;
  if (!isShared)
    targets = llvm::to_vector(llvm::seq<unsigned>(rank - 2));
  targets.push_back(row);
  targets.push_back(col);
  return AffineMap::getMultiDimMapWithTargets(rank + 1, targets, context);
}

/// Whether the body of `op` adds the product of its two inputs, as they are or
/// extended from bf16 or f16, to the sum.
static bool addsExtendedProduct(linalg::GenericOp op) {
  arith::MulFOp product = findAddedProduct(op);
  return product && llvm::all_of(product->getOperands(), [](Value factor) {
           if (Operation *extend = factor.getDefiningOp())
             factor = getExtended(extend);
           return isa_and_present<BlockArgument>(factor);
         });
}

bool isProductByLinalg(linalg::LinalgOp op) {
  if (isa<linalg::MatmulOp, linalg::BatchMatmulOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic || generic.getNumLoops() < 3)
    return false;
  auto iterators = generic.getIteratorTypesArray();
  return iterators.back() == utils::IteratorType::reduction &&
         generic.getNumReductionLoops() == 1 && addsExtendedProduct(generic);
}

bool feedsProductsOnly(Value values) {
  return llvm::all_of(values.getUsers(), [](Operation *user) {
    if (isa<tensor::DimOp>(user))
      return true;
    if (auto product = dyn_cast<linalg::LinalgOp>(user);
        product && isProductByLinalg(product))
      return true;
    bool isMoved =
        getExtended(user) || getTransposed(user) || getSharedMatrix(user);
    return isMoved && feedsProductsOnly(user->getResult(0));
  });
}

RaisedFactor getRaisedFactor(linalg::LinalgOp op, unsigned number) {
  using Kind = RaisedFactor::Kind;
  MLIRContext *context = op.getContext();
  int64_t rank = op.getNumLoops() - 1, rows = rank - 2 + number, k = rank;
  AffineMap map = op.getIndexingMapsArray()[number];
  RaisedFactor factor{Kind::Other, false, op.getDpsInputs()[number], {}};
  for (bool isShared : {false, true})
    for (bool isTransposed : {false, true})
      if (factor.kind == Kind::Other &&
          map == getMatrixMap(context, rank, isTransposed ? k : rows,
                              isTransposed ? rows : k, isShared)) {
        factor.kind = isShared ? Kind::Shared : Kind::Matrices;
        factor.isTransposed = isTransposed;
      }
  while (Operation *producer = factor.source.getDefiningOp()) {
    if (Value narrow = getExtended(producer)) {
      factor.source = narrow;
    } else if (Value rows = getTransposed(producer)) {
      factor.source = rows;
      factor.isTransposed = !factor.isTransposed;
    } else if (Value matrix = getSharedMatrix(producer);
               matrix && factor.kind == Kind::Matrices) {
      factor.source = matrix;
      factor.kind = Kind::Shared;
    } else {
      break;
    }
  }
  factor.dequantize = factor.source.getDefiningOp<DequantizeOp>();
  return factor;
}

bool hasMatrixResult(linalg::LinalgOp op) {
  int64_t rank = op.getNumLoops() - 1;
  return op.getIndexingMapsArray().back() ==
         getMatrixMap(op.getContext(), rank, rank - 2, rank - 1);
}

Value createTransposed(OpBuilder &builder, Location loc, Value matrices) {
  auto type = cast<RankedTensorType>(matrices.getType());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, matrices);
  std::swap(sizes[rank - 2], sizes[rank - 1]);
  Value rows =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, matrices, rows,
                                     getMatrixTransposition(rank))
      ->getResult(0);
}

Value createRows(OpBuilder &builder, Location loc, const RaisedFactor &factor) {
  return factor.isTransposed ? createTransposed(builder, loc, factor.source)
                             : factor.source;
}

} // namespace blockscale

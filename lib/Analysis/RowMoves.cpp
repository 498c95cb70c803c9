//===- RowMoves.cpp - Ops that permute dimensions -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/RowMoves.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace blockscale {

linalg::GenericOp getMove(Operation *op) {
  auto generic = dyn_cast_if_present<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return {};
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  return yield.getOperand(0) == generic.getBody()->getArgument(0)
             ? generic
             : linalg::GenericOp();
}

SmallVector<int64_t> getPermutation(Operation *op) {
  if (auto transpose = dyn_cast_if_present<linalg::TransposeOp>(op))
    return llvm::to_vector(transpose.getPermutation());
  linalg::GenericOp move = getMove(op);
  if (!move)
    return {};
  AffineMap map = move.getIndexingMapsArray().front();
  if (!map.isPermutation())
    return {};
  // The map gives the dimension of the result for each of the input.
  SmallVector<int64_t> results;
  for (AffineExpr loop : map.getResults())
    results.push_back(cast<AffineDimExpr>(loop).getPosition());
  return invertPermutationVector(results);
}

/// The dimension of rows, if `permutation` brings the one before the last there
/// and leaves the others in order.
static std::optional<int64_t> findRows(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  if (rank < 3)
    return std::nullopt;
  int64_t rows = permutation[rank - 2];
  SmallVector<int64_t> expected = llvm::to_vector(llvm::seq<int64_t>(rank));
  expected.erase(expected.begin() + rows);
  expected.insert(expected.end() - 1, rows);
  bool isGathered = rows < rank - 2 && ArrayRef(expected) == permutation;
  return isGathered ? std::optional(rows) : std::nullopt;
}

std::optional<int64_t> getGatheredRows(Operation *op) {
  return findRows(getPermutation(op));
}

std::optional<int64_t> getScatteredRows(Operation *op) {
  return findRows(invertPermutationVector(getPermutation(op)));
}

} // namespace blockscale

//===- ScaleSweepKernel.cpp - Losses of all candidates --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/ScaleSweep.h, one candidate a lane: a block's
// elements are broadcast, its losses need no lane movement, and the best of all
// lanes is found once a block.
//
//===----------------------------------------------------------------------===//

#include "Emission/FloatCodec.h"
#include "Kernels.h"
#include "blockscale/Numerics/ScaleSweep.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using blockscale::numerics::kSweepBlock;
using blockscale::numerics::kSweepCandidates;

namespace blockscale::cpu {

/// Candidates of a step: the f32 lanes of the widest registers.
static constexpr int64_t kSweepLanes = 16;

/// Candidates with those that fill the last step. Their scales are NaN, and so
/// are their losses, which never win.
static constexpr int64_t kPaddedCandidates = 128;

Value countItems(ScaleSweepOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(op.getX());
  return site.countItems(sizes, toIndex(site.b, sizes.end()[-2]));
}

namespace {

/// Emits the sweep of rows of one kernel.
class RowSweeper {
public:
  RowSweeper(ScaleSweepOp op, const ItemRange &range)
      : b(range.b), op(op), x(range.lookup(op.getX())),
        hessian(range.lookup(op.getHessian())),
        result(range.lookup(op.getBlockAmax())),
        element(cast<MemRefType>(x.getType()).getElementType()),
        scales(createBuffer({kPaddedCandidates})),
        amaxes(createBuffer({kPaddedCandidates})),
        block(createBuffer({kSweepBlock})) {
    if (!hessian)
      return;
    errors = createBuffer({kSweepBlock, kSweepLanes});
    terms = createBuffer({kSweepBlock, kSweepLanes});
  }

  /// Computes the scales of numerics::getSweepScales, and the result that each
  /// candidate gives.
  void emitCandidates(Value given) {
    Lanes globalAmax =
        numerics::readGlobal(op.getGlobalOperand().kind, Lanes(b, given));
    for (int64_t first = 0; first < kPaddedCandidates; first += kSweepLanes) {
      SmallVector<float> values;
      for (int64_t k = first; k < first + kSweepLanes; ++k)
        values.push_back(k < kSweepCandidates ? numerics::getSweepCandidate(k)
                                              : std::nanf(""));
      auto type = VectorType::get(kSweepLanes, b.getF32Type());
      Lanes candidates(
          b, arith::ConstantOp::create(
                 b, DenseElementsAttr::get(type, ArrayRef<float>(values))));
      Lanes amax = candidates * broadcast(globalAmax, candidates);
      storeLanes(toBits(amax), amaxes, {getIndex(b, first)});
      storeLanes(toBits(numerics::getSweepScaleOfAmax(amax)), scales,
                 {getIndex(b, first)});
    }
  }

  void emitRow(ValueRange row) {
    emitLoop(b, getIndex(b, 0), getDim(b, result, row.size()), [&](Value col) {
      Lanes bits =
          loadLanes(b, x, append(row, mul(b, col, kSweepBlock)), kSweepBlock);
      storeLanes(toBits(emitDecodeFloat(element, bits)), block,
                 {getIndex(b, 0)});
      Value best = emitFindBest(col);
      storeBits(loadBits(b, amaxes, best), result, append(row, col));
    });
  }

private:
  Value createBuffer(ArrayRef<int64_t> shape) {
    return memref::AllocaOp::create(b, MemRefType::get(shape, b.getF32Type()),
                                    b.getI64IntegerAttr(64));
  }

  Lanes loadStep(Value buffer, ValueRange indices) {
    return toF32(loadLanes(b, buffer, indices, kSweepLanes));
  }

  Lanes loadBroadcast(Value memref, ValueRange indices, Lanes shape) {
    return broadcast(toF32(loadBits(b, memref, indices)), shape);
  }

  /// The first candidate with the smallest loss, which a Hessian may make
  /// negative. NaN is below none, so that no lane holds it.
  Value emitFindBest(Value col) {
    auto type = VectorType::get(kSweepLanes, b.getI32Type());
    SmallVector<int32_t> first(kSweepLanes);
    std::iota(first.begin(), first.end(), 0);
    Value indices = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, ArrayRef<int32_t>(first)));
    Value infinity =
        toF32(Lanes(b, indices).like(numerics::kFloatInfinityBits));
    SmallVector<Value> best = emitReduction(
        b, getIndex(b, 0), getIndex(b, kPaddedCandidates),
        {infinity, indices, indices},
        [&](Value step, ValueRange carried) -> SmallVector<Value> {
          Lanes loss = emitLoss(loadStep(scales, step), col);
          Lanes smallest(b, carried[0]), index(b, carried[1]),
              candidate(b, carried[2]);
          Lanes isSmaller = compare(arith::CmpFPredicate::OLT, loss, smallest);
          return {select(isSmaller, loss, smallest),
                  select(isSmaller, candidate, index), candidate + kSweepLanes};
        },
        kSweepLanes);
    Lanes losses(b, best[0]), index(b, best[1]);
    Lanes smallest(b, vector::ReductionOp::create(
                          b, vector::CombiningKind::MINIMUMF, losses));
    Lanes wins =
        compare(arith::CmpFPredicate::OEQ, losses, broadcast(smallest, losses));
    Lanes winner(b, vector::ReductionOp::create(
                        b, vector::CombiningKind::MINUI,
                        select(wins, index, index.like(kPaddedCandidates))));
    return arith::IndexCastOp::create(b, b.getIndexType(), winner);
  }

  Lanes emitLoss(Lanes scale, Value col) {
    return hessian ? emitWeighedLoss(scale, col)
                   : emitSumOfHalves([&](int64_t i) {
                       Lanes error = emitError(i, scale);
                       return error * error;
                     });
  }

  /// The result of numerics::getSweepError for element i.
  Lanes emitError(int64_t i, Lanes scale) {
    Lanes bits = loadBits(b, block, {getIndex(b, i)});
    Lanes magnitude =
        broadcast(toF32(bits & numerics::kFloatMagnitudeMask), scale);
    return numerics::getSweepError(magnitude, scale);
  }

  /// The sum of terms in the order of numerics::sumOfHalves. It goes depth
  /// first, so that few terms are alive at a time.
  Lanes emitSumOfHalves(function_ref<Lanes(int64_t)> emitTerm,
                        int64_t first = 0, int64_t stride = 1) {
    if (stride == kSweepBlock)
      return emitTerm(first);
    Lanes left = emitSumOfHalves(emitTerm, first, stride * 2);
    return left + emitSumOfHalves(emitTerm, first + stride, stride * 2);
  }

  /// The loss under the block's Hessian. The errors are too many for registers.
  Lanes emitWeighedLoss(Lanes scale, Value col) {
    Value zero = getIndex(b, 0), end = getIndex(b, kSweepBlock);
    for (int64_t i = 0; i < kSweepBlock; ++i) {
      Lanes error = emitError(i, scale);
      Lanes w = loadBroadcast(block, {getIndex(b, i)}, scale);
      Lanes isPositive = compare(arith::CmpFPredicate::OGE, w, 0.0);
      Lanes negated = error * -1.0;
      storeLanes(toBits(select(isPositive, error, negated)), errors,
                 {getIndex(b, i), zero});
    }
    emitLoop(b, zero, end, [&](Value j) {
      Value sum = emitReduction(
          b, zero, end, scale.like(0.0), [&](Value i, Value carried) -> Value {
            Lanes weight = loadBroadcast(hessian, {col, i, j}, scale);
            return Lanes(b, carried) + loadStep(errors, {i, zero}) * weight;
          });
      storeLanes(toBits(Lanes(b, sum) * loadStep(errors, {j, zero})), terms,
                 {j, zero});
    });
    return emitSumOfHalves(
        [&](int64_t i) { return loadStep(terms, {getIndex(b, i), zero}); });
  }

  ImplicitLocOpBuilder &b;
  ScaleSweepOp op;
  Value x, hessian, result;
  Type element;
  Value scales, amaxes, block, errors, terms;
};

} // namespace

void emitItems(ScaleSweepOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX());
  GlobalOperand operand = op.getGlobalOperand();
  Value global = range.lookup(operand.value);
  Indices rowSizes =
      getLeadingSizes(b, x, getTensorType(op.getX()).getRank() - 1);
  RowSweeper sweeper(op, range);
  if (operand.isSingle())
    sweeper.emitCandidates(loadGlobal(b, global, {}));
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    if (!operand.isSingle())
      sweeper.emitCandidates(
          loadGlobal(b, global, ValueRange(row).drop_back()));
    sweeper.emitRow(row);
  });
}

} // namespace blockscale::cpu

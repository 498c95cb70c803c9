//===- ScaleSweepKernel.cpp - The best of all scales ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/ScaleSweep.h. A thread has a block and goes through
// the candidates, of which most cannot win and are left out. With m the block's
// largest magnitude and s a candidate's scale:
//
//  * Where m is above 6 s, m becomes 6 s, so that no loss is below the square
//    of m - 6 s, rounded as the loss is: sums of rounded terms that are not
//    negative are at least each of them. Smaller scales have larger bounds.
//  * Errors of elements of at most s / 2 only grow with the scale: no larger
//    scale has a loss below numerics::getSweepLossFrom.
//
// So the search begins near m / 6, goes up until the second bound has reached
// the best loss, then down until the first is above it. Of equal losses the
// lower candidate wins, as in order. The second bound costs a third of a loss,
// and a warp goes on until its last lane is done: it is computed once in a few
// candidates.
//
// Under a Hessian losses have no such bounds, and under a tensor's amax that is
// no moderate number scales may be out of order. Then all candidates are tried.
//
//===----------------------------------------------------------------------===//

#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "SweepLosses.h"

using namespace mlir;
using blockscale::numerics::kSweepBlock;
using blockscale::numerics::kSweepCandidates;

namespace blockscale {

using arith::CmpFPredicate;
using emit::getIndex;
using emit::Lanes;

static constexpr int64_t kSweepThreads = SweepLosses::kThreads;
/// Candidates that are tried between two looks at the bound on the way up.
static constexpr int32_t kStride = 3;
static_assert(kSweepCandidates - 1 + kStride <= kSweepThreads,
              "the last ones may be beyond all candidates");

namespace {

/// The losses of a block that a search has seen.
class SweepSearch {
public:
  SweepSearch(KernelBuilder &b, SweepLosses &losses) : b(b), losses(losses) {}

  /// The number of the candidate that wins.
  Lanes emit();

private:
  /// A candidate and its loss; where none has won yet, 0 and infinity.
  struct Best {
    Lanes index, loss;
  };
  /// while (index < kSweepCandidates) {index, best} = body(index, best)
  using Step = std::pair<Lanes, Best>;
  Best emitLoop(Lanes first, Best best,
                function_ref<Step(Lanes index, Best best)> body);

  Best emitSelect(CmpFPredicate predicate, Lanes index, Lanes loss, Best best);

  Lanes emitFirst();
  Best emitSearchUp(Lanes first, Best best);
  Best emitSearchDown(Lanes first, Best best);
  Best emitExhaustiveSearch(Lanes first, Best best);

  KernelBuilder &b;
  SweepLosses &losses;
};

} // namespace

SweepSearch::Best
SweepSearch::emitLoop(Lanes first, Best best,
                      function_ref<Step(Lanes index, Best best)> body) {
  SmallVector<Value> found = emitWhile(
      b, {first, best.index, best.loss},
      [&](ValueRange values) {
        // Numbers below zero are large ones.
        return isBelow(Lanes(b, values[0]), kSweepCandidates);
      },
      [&](ValueRange values) -> SmallVector<Value> {
        auto [next, best] =
            body({b, values[0]}, {Lanes(b, values[1]), Lanes(b, values[2])});
        return {next, best.index, best.loss};
      });
  return {Lanes(b, found[1]), Lanes(b, found[2])};
}

/// The better one of `best` and candidate `index`. A loss of NaN is never the
/// better one.
SweepSearch::Best SweepSearch::emitSelect(CmpFPredicate predicate, Lanes index,
                                          Lanes loss, Best best) {
  Lanes wins = compare(predicate, loss, best.loss);
  return {select(wins, index, best.index), select(wins, loss, best.loss)};
}

/// The number of the candidate at which the search up begins. With v = 448 m /
/// G the exponent and the three highest bits of the mantissa are the code of a
/// candidate, and m is below 7 of its scales. Blocks below all normal codes
/// begin at the first of these; those above all codes, with infinity or of NaN
/// alone begin beyond all candidates.
Lanes SweepSearch::emitFirst() {
  Lanes value =
      (losses.getLargest() / losses.getGlobalAmax()) * numerics::kE4M3Max;
  constexpr int mantissaBits = 3, bias = 7;
  constexpr int32_t rebias = (numerics::kFloatBias - bias) << mantissaBits;
  Lanes bits = maxUnsigned(toBits(value), toBits(value.like(0x1p-6)));
  Lanes code = bits >> (numerics::kFloatMantissaBits - mantissaBits);
  return minUnsigned(code - (rebias + 1), code.like(kSweepCandidates));
}

SweepSearch::Best SweepSearch::emitSearchUp(Lanes first, Best best) {
  return emitLoop(first, best, [&](Lanes index, Best best) -> Step {
    std::optional<SweepCandidate> candidate;
    SmallVector<Lanes> terms;
    for (int32_t i = 0; i < kStride; ++i) {
      candidate = losses.emitLoadCandidate(index, i);
      terms = losses.emitTermsBelow7(*candidate);
      Lanes loss = SweepLosses::sumOfHalves(terms);
      best = emitSelect(CmpFPredicate::OLT, index + i, loss, best);
    }
    Lanes bound =
        SweepLosses::sumOfHalves(losses.emitTermsFrom(*candidate, terms));
    Lanes isLast = compare(CmpFPredicate::OGE, bound, best.loss);
    return {select(isLast, index.like(kSweepCandidates), index + kStride),
            best};
  });
}

SweepSearch::Best SweepSearch::emitSearchDown(Lanes first, Best best) {
  return emitLoop(first, best, [&](Lanes index, Best best) -> Step {
    SweepCandidate candidate = losses.emitLoadCandidate(index);
    Lanes excess = losses.getLargest() - candidate.scale * numerics::kE2M1Max;
    Lanes loses = compare(CmpFPredicate::OGT, excess, 0.0) &
                  compare(CmpFPredicate::OGT, excess * excess, best.loss);
    Type types[] = {index.getType(), best.index.getElementType(),
                    best.loss.getElementType()};
    auto branch = scf::IfOp::create(b, types, loses, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, ValueRange{b.i32(-1), best.index, best.loss});
    b.setInsertionPointToStart(branch.elseBlock());
    Lanes loss = SweepLosses::sumOfHalves(losses.emitTerms(candidate));
    Best next = emitSelect(CmpFPredicate::OLE, index, loss, best);
    scf::YieldOp::create(b, ValueRange{index - 1, next.index, next.loss});
    return {Lanes(b, branch.getResult(0)),
            {Lanes(b, branch.getResult(1)), Lanes(b, branch.getResult(2))}};
  });
}

SweepSearch::Best SweepSearch::emitExhaustiveSearch(Lanes first, Best best) {
  return emitLoop(first, best, [&](Lanes index, Best best) -> Step {
    SweepCandidate candidate = losses.emitLoadCandidate(index);
    Lanes loss = SweepLosses::sumOfHalves(losses.emitAnyTerms(candidate));
    best = emitSelect(CmpFPredicate::OLT, index, loss, best);
    return {index + 1, best};
  });
}

Lanes SweepSearch::emit() {
  Lanes zero = b.i32(0), all = zero.like(kSweepCandidates);
  Lanes infinity = toF32(zero.like(numerics::kFloatInfinityBits));
  Best best = {zero, infinity};
  if (losses.isWeighed())
    return emitExhaustiveSearch(zero, best).index;
  // Three loops follow. Where scales are moderate the first one does nothing,
  // else the two others. An amax of zero makes all scales the same, and no loop
  // does anything.
  Lanes isModerate = losses.isModerate();
  Lanes isZero = compare(CmpFPredicate::OEQ, losses.getGlobalAmax(), 0.0);
  best = emitExhaustiveSearch(select(isModerate | isZero, all, zero), best);
  Lanes first = emitFirst();
  best = emitSearchUp(select(isModerate, first, all), best);
  // Infinities win over infinities, down to the first candidate.
  return emitSearchDown(select(isModerate, first, zero) - 1, best).index;
}

LogicalResult lowerKernel(ScaleSweepOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX()), result = site.lookup(op.getBlockAmax());
  GlobalOperand operand = op.getGlobalOperand();
  Value global = site.lookup(operand.value);
  Value hessian = site.lookup(op.getHessian());
  bool isBatched = operand.extent == GlobalExtent::Matrix;
  auto type = cast<MemRefType>(x.getType());
  Type element = type.getElementType();
  emit::Indices sizes = emit::getLeadingSizes(b, x, type.getRank());
  Lanes width = Lanes(b, sizes.pop_back_val()) / kSweepBlock;
  Lanes height = isBatched ? Lanes(b, sizes.pop_back_val())
                           : emit::getProduct(b, std::exchange(sizes, {}));
  Lanes matrices = emit::getProduct(b, sizes);

  std::string name;
  llvm::raw_string_ostream(name)
      << "scale_sweep_" << element << (hessian ? "_weighed" : "")
      << (op.getNonzeroAmax() ? "_nonzero" : "")
      << (operand.byValue ? "_by_value"
          : isBatched     ? "_each"
                          : "");
  // Blocks one after the other, or down a column, whose Hessian they share.
  Lanes blocks = hessian ? getCeilDiv(b, height, kSweepThreads) * width
                         : getCeilDiv(b, height * width, kSweepThreads);
  site.launch(
      name, {kSweepThreads, blocks, matrices},
      {{x, 16},
       {result, sizeof(float)},
       {global, sizeof(float)},
       {height},
       {width},
       {matrices},
       {hessian, sizeof(float)}},
      [&](KernelBuilder &b) {
        Lanes rows = toIndex(b, height), cols = toIndex(b, width);
        Lanes matrix = emitMatrixNumber(b);
        SweepLosses losses(b, element, hessian != nullptr);
        emit::emitIf(b, isBelow(matrix, toIndex(b, matrices)), [&] {
          Value factor = global;
          if (!operand.byValue)
            factor = toF32(emitLoadBits(b, factor, b.getF32Type(),
                                        isBatched ? matrix : getIndex(b, 0)));
          Lanes count = rows * cols, item, exists, column;
          if (hessian) {
            Lanes band;
            std::tie(band, column) = numerics::split(emitBlockNumber(b), cols);
            Lanes row = band * kSweepThreads + losses.getThread();
            item = row * cols + column;
            exists = isBelow(row, rows);
          } else {
            item = emitBlockNumber(b) * kSweepThreads + losses.getThread();
            exists = isBelow(item, count);
          }
          losses.emitTables(
              numerics::readGlobal(operand.kind, Lanes(b, factor)), hessian,
              column);
          emit::emitIf(b, exists, [&] {
            Lanes block = matrix * count + item;
            losses.emitLoadBlock(x, block);
            Lanes winner = SweepSearch(b, losses).emit();
            Lanes best = losses.emitLoadCandidate(winner).amax;
            b.store(best, emitAddress(b, result, b.getF32Type(), block),
                    sizeof(float));
          });
        });
      });
  return success();
}

} // namespace blockscale

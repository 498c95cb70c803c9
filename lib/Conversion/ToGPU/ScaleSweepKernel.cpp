//===- ScaleSweepKernel.cpp - The best of all scales ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/ScaleSweep.h. A thread has a block, whose
// magnitudes stay in registers while it goes through the candidates. The scales
// of these are computed once a thread block, in shared memory.
//
// Most candidates cannot win and are left out. With m the block's largest
// magnitude and s a candidate's scale:
//
//  * where m is above 6 s, m becomes 6 s, so that no loss is below the square
//  of
//    m - 6 s, rounded as the loss is: sums of rounded terms that are not
//    negative are at least each of them. Smaller scales have larger bounds.
//  * where all elements become zero, the loss is the same for all larger
//  scales,
//    of which the first wins.
//
// So the search begins near m / 6, goes up to the first scale that makes all
// zero, then down to the first whose bound is above the best loss. Of equal
// losses the lower candidate wins, as in order. Under a Hessian losses have no
// such bound, and all candidates are tried.
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/CodecEmitter.h"
#include "../ToCPU/Kernels.h"
#include "../ToCPU/ScaleSweepEmitter.h"
#include "DeviceCodec.h"
#include "Kernels.h"
#include "blockscale/Numerics/ScaleSweep.h"

using namespace mlir;
using blockscale::numerics::kSweepBlock;
using blockscale::numerics::kSweepCandidates;

namespace blockscale {

using arith::CmpFPredicate;
using arith::CmpIPredicate;
using cpu::add;
using cpu::getIndex;
using cpu::Lanes;
using cpu::mul;

/// One a candidate, and a few more.
static constexpr int64_t kThreads = 128;
static constexpr int64_t kHessianElements = kSweepBlock * kSweepBlock;

namespace {

class SweepEmitter {
public:
  SweepEmitter(KernelBuilder &b, Type element, bool isWeighed)
      : b(b), element(element), thread(emitThreadNumber(b, kThreads)),
        scales(createSharedArray(b, "scales", b.getF32Type(), kThreads)),
        amaxes(createSharedArray(b, "amaxes", b.getF32Type(), kThreads)) {
    if (isWeighed)
      hessian =
          createSharedArray(b, "hessian", b.getF32Type(), kHessianElements);
  }

  Value getThread() const { return thread; }

  /// Fills the tables. All threads must come here, before any finds a scale.
  void emitTables(Lanes globalAmax, Value hessians, Value column);

  /// The result for block number `block`.
  Lanes emitBlock(Value x, Value block);

private:
  void emitLoadBlock(Value x, Value block);
  Lanes emitLoadTable(Value table, Value index) {
    return toF32(emitLoadBits(b, table, b.getF32Type(), index));
  }
  /// numerics::getSweepError.
  Lanes emitError(Lanes magnitude, Lanes scale) {
    return magnitude - cpu::emitRoundToE2M1(magnitude / scale) * scale;
  }
  Lanes emitLoss(Lanes scale);
  Lanes emitWeighedLoss(Lanes scale);
  /// numerics::sumOfHalves. Destroys the terms.
  static Lanes sumOfHalves(MutableArrayRef<Lanes> terms);
  /// The best loss and candidate so far, after candidate `index`.
  SmallVector<Value> emitTry(Value index, Lanes scale, Value best,
                             Value winner);
  Value emitSearch();
  Value emitFirstCandidate(Lanes largest);

  KernelBuilder &b;
  Type element;
  Value thread, scales, amaxes, hessian;
  /// Whether scales ascend, all above zero and finite. Null under a Hessian.
  Value isOrdered;
  std::optional<Lanes> globalAmax;
  SmallVector<Lanes> elements, magnitudes;
};

} // namespace

void SweepEmitter::emitTables(Lanes global, Value hessians, Value column) {
  globalAmax = global;
  Lanes code(b, arith::IndexCastOp::create(b, b.getI32Type(), thread));
  // Codes beyond the candidates' give numbers that nobody reads.
  Lanes value = emitDecodeCode(numerics::ElementFormat::E4M3, code + 1);
  Lanes amax = (value / numerics::kE4M3Max) * global;
  Lanes scale = amax / numerics::kE2M1Max;
  Lanes isZero = compare(CmpFPredicate::OEQ, scale, 0.0);
  auto store = [&](Lanes number, Value table, Value index) {
    b.store(number, emitAddress(b, table, b.getF32Type(), index),
            sizeof(float));
  };
  store(amax, amaxes, thread);
  store(select(isZero, scale.like(1.0), scale), scales, thread);
  if (hessian) {
    Value first = mul(b, column, kHessianElements);
    for (int64_t at = 0; at < kHessianElements; at += kThreads) {
      Value index = add(b, thread, getIndex(b, at));
      store(emitLoadTable(hessians, add(b, first, index)), hessian, index);
    }
  }
  gpu::BarrierOp::create(b);
  if (hessian)
    return;
  // The least scale of all, before its rule for zero.
  Lanes least = (global * numerics::getSweepCandidate(0)) / numerics::kE2M1Max;
  Lanes isPositive = compare(CmpFPredicate::OGT, least, 0.0);
  Lanes isFinite = compare(CmpFPredicate::OLE, global, numerics::kFloatMax);
  isOrdered = isPositive & isFinite;
}

void SweepEmitter::emitLoadBlock(Value x, Value block) {
  Value address = emitAddress(b, x, element, mul(b, block, kSweepBlock));
  int64_t bytes = kSweepBlock * element.getIntOrFloatBitWidth() / 8;
  for (Lanes word : emitLoadWords(b, address, bytes, /*access=*/16)) {
    if (element.isBF16()) {
      elements.push_back(toF32(word << 16));
      word = word & 0xFFFF0000u;
    }
    elements.push_back(toF32(word));
  }
  for (Lanes value : elements)
    magnitudes.push_back(toF32(cpu::emitMagnitudeBits(toBits(value))));
}

Lanes SweepEmitter::sumOfHalves(MutableArrayRef<Lanes> terms) {
  for (size_t half = terms.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      terms[i] = terms[i] + terms[i + half];
  return terms.front();
}

Lanes SweepEmitter::emitLoss(Lanes scale) {
  if (hessian)
    return emitWeighedLoss(scale);
  SmallVector<Lanes> terms;
  for (Lanes magnitude : magnitudes) {
    Lanes error = emitError(magnitude, scale);
    terms.push_back(error * error);
  }
  return sumOfHalves(terms);
}

Lanes SweepEmitter::emitWeighedLoss(Lanes scale) {
  SmallVector<Lanes> errors, sums(kSweepBlock, scale.like(0.0));
  for (auto [value, magnitude] : llvm::zip_equal(elements, magnitudes)) {
    Lanes error = emitError(magnitude, scale);
    Lanes isPositive = compare(CmpFPredicate::OGE, value, 0.0);
    errors.push_back(select(isPositive, error, error * -1.0));
  }
  for (int64_t i = 0; i < kSweepBlock; ++i) {
    SmallVector<Lanes> row = emitLoadWords(
        b,
        emitAddress(b, hessian, b.getF32Type(), getIndex(b, i * kSweepBlock)),
        kSweepBlock * sizeof(float), /*access=*/16);
    for (auto [sum, weight] : llvm::zip_equal(sums, row))
      sum = sum + errors[i] * toF32(weight);
  }
  for (auto [sum, error] : llvm::zip_equal(sums, errors))
    sum = sum * error;
  return sumOfHalves(sums);
}

SmallVector<Value> SweepEmitter::emitTry(Value index, Lanes scale, Value best,
                                         Value winner) {
  Lanes loss = emitLoss(scale), smallest(b, best), candidate(b, index),
        holder(b, winner);
  // NaN is neither.
  Lanes isBelow = compare(CmpFPredicate::OLT, loss, smallest);
  Lanes isEqual = compare(CmpFPredicate::OEQ, loss, smallest);
  Lanes isLower = compare(CmpIPredicate::ult, candidate, holder);
  Lanes wins = isBelow | (isEqual & isLower);
  return {select(wins, loss, smallest), select(wins, candidate, holder)};
}

/// About the first candidate of a scale of at least m / 6, which is v = 448 m /
/// G: the exponent and the three highest bits of the mantissa are its code. Any
/// candidate is right.
Value SweepEmitter::emitFirstCandidate(Lanes largest) {
  Lanes value = (largest / *globalAmax) * numerics::kE4M3Max;
  constexpr int mantissaBits = 3;
  constexpr int32_t rebias = (numerics::kFloatBias - 7) << mantissaBits;
  Lanes code = toBits(value) >> (numerics::kFloatMantissaBits - mantissaBits);
  Value index = code - (rebias + 1);
  index = arith::MaxSIOp::create(b, index, b.i32(0));
  index = arith::MinSIOp::create(b, index, b.i32(kSweepCandidates - 1));
  return arith::SelectOp::create(b, isOrdered, index, b.i32(0));
}

Value SweepEmitter::emitSearch() {
  Value infinity = toF32(Lanes(b, b.i32(numerics::kFloatInfinityBits)));
  Value zero = b.i32(0), all = b.i32(kSweepCandidates);
  auto step = [&](Value index, int32_t by) -> Value {
    return arith::AddIOp::create(b, index, b.i32(by));
  };
  auto loadScale = [&](Value index) {
    return emitLoadTable(scales, toIndex(b, index));
  };
  if (hessian)
    return emitWhile(
        b, {zero, infinity, zero},
        [&](ValueRange values) { return isBelow(b, values[0], all); },
        [&](ValueRange values) -> SmallVector<Value> {
          Value index = values[0];
          SmallVector<Value> best =
              emitTry(index, loadScale(index), values[1], values[2]);
          return {step(index, 1), best[0], best[1]};
        })[2];

  SmallVector<Lanes> maxima = magnitudes;
  for (size_t half = maxima.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      maxima[i] =
          Lanes(b, arith::MaxNumFOp::create(b, maxima[i], maxima[i + half]));
  Lanes largest = maxima.front();
  Value first = emitFirstCandidate(largest);

  SmallVector<Value> found = emitWhile(
      b, {first, infinity, zero},
      [&](ValueRange values) { return isBelow(b, values[0], all); },
      [&](ValueRange values) -> SmallVector<Value> {
        Value index = values[0];
        Lanes scale = loadScale(index);
        SmallVector<Value> best = emitTry(index, scale, values[1], values[2]);
        Lanes rounded = cpu::emitRoundToE2M1(largest / scale);
        Lanes allZero = compare(CmpFPredicate::OEQ, rounded, 0.0);
        Value isLast = arith::AndIOp::create(b, allZero, isOrdered);
        Value next = arith::SelectOp::create(b, isLast, all, step(index, 1));
        return {next, best[0], best[1]};
      });
  // Numbers below zero are large ones.
  return emitWhile(
      b, {step(first, -1), found[1], found[2]},
      [&](ValueRange values) -> Value { return isBelow(b, values[0], all); },
      [&](ValueRange values) -> SmallVector<Value> {
        Value index = values[0];
        Lanes scale = loadScale(index), smallest(b, values[1]);
        Lanes excess = largest - scale * numerics::kE2M1Max;
        Lanes clips = compare(CmpFPredicate::OGT, excess, 0.0);
        Lanes isAbove = compare(CmpFPredicate::OGT, excess * excess, smallest);
        // Only where scales are in order does the search go down.
        Lanes loses = clips & isAbove;
        auto branch = scf::IfOp::create(
            b, TypeRange{b.getI32Type(), b.getF32Type(), b.getI32Type()}, loses,
            /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        scf::YieldOp::create(b, ValueRange{b.i32(-1), values[1], values[2]});
        b.setInsertionPointToStart(branch.elseBlock());
        SmallVector<Value> best = emitTry(index, scale, values[1], values[2]);
        scf::YieldOp::create(b, ValueRange{step(index, -1), best[0], best[1]});
        return SmallVector<Value>(branch.getResults());
      })[2];
}

Lanes SweepEmitter::emitBlock(Value x, Value block) {
  emitLoadBlock(x, block);
  return emitLoadTable(amaxes, toIndex(b, emitSearch()));
}

LogicalResult lowerKernel(ScaleSweepOp op, LaunchSite &site) {
  cpu::prepareCall(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX()), result = site.lookup(op.getBlockAmax());
  Value global = site.lookup(op.getGlobalAmax());
  Value hessian = site.lookup(op.getHessian());
  bool byValue = !isa<MemRefType>(global.getType());
  bool isBatched = cpu::isPerElement(global);
  auto type = cast<MemRefType>(x.getType());
  Type element = type.getElementType();
  cpu::Indices sizes = cpu::getLeadingSizes(b, x, type.getRank());
  Value cols = cpu::div(b, sizes.pop_back_val(), kSweepBlock);
  Value rows = isBatched ? sizes.pop_back_val()
                         : cpu::getProduct(b, std::exchange(sizes, {}));
  Value matrices = cpu::getProduct(b, sizes);

  std::string name;
  llvm::raw_string_ostream(name)
      << "scale_sweep_" << element << (hessian ? "_weighed" : "")
      << (byValue     ? "_by_value"
          : isBatched ? "_each"
                      : "");
  SmallVector<LaunchSite::Argument> arguments = {{x, 16},
                                                 {result, sizeof(float)},
                                                 {global, byValue ? 0 : 4},
                                                 {rows},
                                                 {cols},
                                                 {matrices}};
  if (hessian)
    arguments.push_back({hessian, sizeof(float)});
  // Blocks one after the other, or down a column, whose Hessian they share.
  Value blocks = hessian ? mul(b, getCeilDiv(b, rows, kThreads), cols)
                         : getCeilDiv(b, mul(b, rows, cols), kThreads);
  site.launch(
      name, {kThreads, blocks, matrices}, arguments,
      [&](KernelBuilder &b, ValueRange arguments) {
        Value rows = toIndex(b, arguments[3]), cols = toIndex(b, arguments[4]);
        Value matrix = emitMatrixNumber(b);
        SweepEmitter emitter(b, element, hessian != nullptr);
        Value inMatrices = isBelow(b, matrix, toIndex(b, arguments[5]));
        cpu::emitIf(b, inMatrices, [&] {
          Value factor = arguments[2];
          if (!byValue)
            factor = toF32(emitLoadBits(b, factor, b.getF32Type(),
                                        isBatched ? matrix : getIndex(b, 0)));
          Value count = mul(b, rows, cols), item, exists, column;
          if (hessian) {
            Value block = emitBlockNumber(b);
            column = arith::RemUIOp::create(b, block, cols);
            Value row =
                mul(b, arith::DivUIOp::create(b, block, cols), kThreads);
            row = add(b, row, emitter.getThread());
            item = add(b, mul(b, row, cols), column);
            exists = isBelow(b, row, rows);
          } else {
            item = add(b, mul(b, emitBlockNumber(b), kThreads),
                       emitter.getThread());
            exists = isBelow(b, item, count);
          }
          emitter.emitTables(Lanes(b, factor), hessian ? arguments[6] : Value(),
                             column);
          cpu::emitIf(b, exists, [&] {
            Value block = add(b, mul(b, matrix, count), item);
            Lanes best = emitter.emitBlock(arguments[0], block);
            b.store(best, emitAddress(b, arguments[1], b.getF32Type(), block),
                    sizeof(float));
          });
        });
      });
  return success();
}

} // namespace blockscale

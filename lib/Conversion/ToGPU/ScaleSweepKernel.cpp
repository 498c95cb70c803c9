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
// Quotients w / s are products with the reciprocal of s, which is computed
// once, and two multiply-adds:
//
//   q = w * (1 / s)      q' = q + (w - q * s) * (1 / s)
//
// Where s is neither very small nor very large, q' is as near to w / s as to
// become the same E2M1 value (unittests/Numerics/SweepQuotientTest.cpp).
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
static constexpr int64_t kHessianElements = int64_t{kSweepBlock} * kSweepBlock;

namespace {

class SweepEmitter {
public:
  SweepEmitter(KernelBuilder &b, Type element, bool isWeighed)
      : b(b), element(element), thread(emitThreadNumber(b, kThreads)),
        scales(createSharedArray(b, "scales", b.getF32Type(), kThreads)),
        reciprocals(
            createSharedArray(b, "reciprocals", b.getF32Type(), kThreads)),
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
  /// numerics::roundToE2M1 of quotients.
  SmallVector<Lanes> emitRoundedQuotients(ArrayRef<Lanes> dividends,
                                          Lanes scale, Value index);
  /// numerics::getSweepLoss, of E2M1 values.
  Lanes emitLoss(ArrayRef<Lanes> rounded, Lanes scale);
  Lanes emitWeighedLoss(ArrayRef<Lanes> errors);
  Value emitOpaqueHessian();
  /// numerics::sumOfHalves. Destroys the terms.
  static Lanes sumOfHalves(MutableArrayRef<Lanes> terms);

  struct Trial {
    /// The best loss and candidate so far.
    Value best, winner;
    /// Whether all elements became zero.
    Value allZero;
  };
  Trial emitTry(Value index, Lanes scale, Value best, Value winner);
  Value emitSearch();
  Value emitExhaustiveSearch();
  Value emitFirstCandidate();

  KernelBuilder &b;
  Type element;
  Value thread, scales, reciprocals, amaxes, hessian;
  /// Whether scales ascend, all above zero and finite, and whether quotients
  /// may be computed by reciprocals.
  Value isOrdered, isModerate;
  std::optional<Lanes> globalAmax;
  SmallVector<Lanes> elements, magnitudes;
  /// The largest magnitude.
  std::optional<Lanes> largest;
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
  scale = select(isZero, scale.like(1.0), scale);
  store(scale, scales, thread);
  store(scale.like(1.0) / scale, reciprocals, thread);
  if (hessian) {
    Value first = mul(b, column, kHessianElements);
    for (int64_t at = 0; at < kHessianElements; at += kThreads) {
      Value index = add(b, thread, getIndex(b, at));
      store(emitLoadTable(hessians, add(b, first, index)), hessian, index);
    }
  }
  gpu::BarrierOp::create(b);
  // The least and the largest scale, before the rule for zero.
  Lanes least = (global * numerics::getSweepCandidate(0)) / numerics::kE2M1Max;
  Lanes most = global / numerics::kE2M1Max;
  isOrdered = compare(CmpFPredicate::OGT, least, 0.0) &
              compare(CmpFPredicate::OLE, global, numerics::kFloatMax);
  isModerate = compare(CmpFPredicate::OGE, least, 0x1p-60) &
               compare(CmpFPredicate::OLE, most, 0x1p60);
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
  SmallVector<Lanes> maxima(magnitudes);
  for (size_t half = maxima.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      maxima[i] = Lanes(b, b.maxNum(maxima[i], maxima[i + half]));
  largest = maxima.front();
}

Lanes SweepEmitter::sumOfHalves(MutableArrayRef<Lanes> terms) {
  for (size_t half = terms.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      terms[i] = terms[i] + terms[i + half];
  return terms.front();
}

SmallVector<Lanes> SweepEmitter::emitRoundedQuotients(ArrayRef<Lanes> dividends,
                                                      Lanes scale,
                                                      Value index) {
  auto yield = [&](OpBuilder &inside, function_ref<Lanes(Lanes)> divide) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(inside.getInsertionBlock());
    SmallVector<Value> quotients;
    for (Lanes dividend : dividends)
      quotients.push_back(divide(dividend));
    scf::YieldOp::create(b, quotients);
  };
  Lanes reciprocal = emitLoadTable(reciprocals, index);
  Lanes negated = scale * -1.0;
  auto mulAdd = [&](Lanes x, Lanes y, Lanes z) {
    return Lanes(b, LLVM::FMAOp::create(b, b.getF32Type(), x, y, z));
  };
  auto branch = scf::IfOp::create(
      b, isModerate,
      [&](OpBuilder &inside, Location) {
        yield(inside, [&](Lanes w) {
          Lanes q = w * reciprocal;
          return mulAdd(mulAdd(q, negated, w), reciprocal, q);
        });
      },
      [&](OpBuilder &inside, Location) {
        yield(inside, [&](Lanes w) { return w / scale; });
      });
  SmallVector<Lanes> rounded;
  for (Value quotient : branch.getResults())
    rounded.push_back(cpu::emitRoundToE2M1(Lanes(b, quotient)));
  return rounded;
}

Lanes SweepEmitter::emitLoss(ArrayRef<Lanes> rounded, Lanes scale) {
  SmallVector<Lanes> errors;
  for (auto [magnitude, value] : llvm::zip_equal(magnitudes, rounded))
    errors.push_back(magnitude - value * scale);
  if (hessian)
    return emitWeighedLoss(errors);
  for (Lanes &error : errors)
    error = error * error;
  return sumOfHalves(errors);
}

/// The table's address, of which the compiler does not know that it is the same
/// for every candidate: the table would not fit in registers.
Value SweepEmitter::emitOpaqueHessian() {
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), hessian);
  Value opaque =
      LLVM::InlineAsmOp::create(
          b, b.getI64Type(), address, "mov.b64 $0, $1;", "=l,l",
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::tailcallkind::TailCallKind::None,
          /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr())
          .getResult(0);
  return LLVM::IntToPtrOp::create(b, hessian.getType(), opaque);
}

Lanes SweepEmitter::emitWeighedLoss(ArrayRef<Lanes> errors) {
  SmallVector<Lanes> weighed(errors);
  SmallVector<Lanes> sums(kSweepBlock, errors.front().like(0.0));
  for (auto [value, error] : llvm::zip_equal(elements, weighed)) {
    Lanes isPositive = compare(CmpFPredicate::OGE, value, 0.0);
    error = select(isPositive, error, error * -1.0);
  }
  Value weights = emitOpaqueHessian();
  for (int64_t i = 0; i < kSweepBlock; ++i) {
    Value first = getIndex(b, i * kSweepBlock);
    SmallVector<Lanes> row =
        emitLoadWords(b, emitAddress(b, weights, b.getF32Type(), first),
                      kSweepBlock * sizeof(float), /*access=*/16);
    for (auto [sum, weight] : llvm::zip_equal(sums, row))
      sum = sum + weighed[i] * toF32(weight);
  }
  for (auto [sum, error] : llvm::zip_equal(sums, weighed))
    sum = sum * error;
  return sumOfHalves(sums);
}

SweepEmitter::Trial SweepEmitter::emitTry(Value index, Lanes scale, Value best,
                                          Value winner) {
  SmallVector<Lanes> dividends(magnitudes);
  dividends.push_back(*largest);
  SmallVector<Lanes> rounded =
      emitRoundedQuotients(dividends, scale, toIndex(b, index));
  Lanes allZero = compare(CmpFPredicate::OEQ, rounded.pop_back_val(), 0.0);
  Lanes loss = emitLoss(rounded, scale), smallest(b, best), candidate(b, index),
        holder(b, winner);
  // NaN is neither.
  Lanes isBelow = compare(CmpFPredicate::OLT, loss, smallest);
  Lanes isEqual = compare(CmpFPredicate::OEQ, loss, smallest);
  Lanes isLower = compare(CmpIPredicate::ult, candidate, holder);
  Lanes wins = isBelow | (isEqual & isLower);
  return {select(wins, loss, smallest), select(wins, candidate, holder),
          allZero};
}

/// About the first candidate of a scale of at least m / 6, which is v = 448 m /
/// G: the exponent and the three highest bits of the mantissa are its code. Any
/// candidate is right.
Value SweepEmitter::emitFirstCandidate() {
  Lanes value = (*largest / *globalAmax) * numerics::kE4M3Max;
  constexpr int mantissaBits = 3;
  constexpr int32_t rebias = (numerics::kFloatBias - 7) << mantissaBits;
  Lanes code = toBits(value) >> (numerics::kFloatMantissaBits - mantissaBits);
  Value index = code - (rebias + 1);
  index = arith::MaxSIOp::create(b, index, b.i32(0));
  index = arith::MinSIOp::create(b, index, b.i32(kSweepCandidates - 1));
  return arith::SelectOp::create(b, isOrdered, index, b.i32(0));
}

static Value step(KernelBuilder &b, Value index, int32_t by) {
  return arith::AddIOp::create(b, index, b.i32(by));
}

Value SweepEmitter::emitExhaustiveSearch() {
  Value infinity = toF32(Lanes(b, b.i32(numerics::kFloatInfinityBits)));
  Value all = b.i32(kSweepCandidates);
  return emitWhile(
      b, {b.i32(0), infinity, b.i32(0)},
      [&](ValueRange values) { return isBelow(b, values[0], all); },
      [&](ValueRange values) -> SmallVector<Value> {
        Value index = values[0];
        Lanes scale = emitLoadTable(scales, toIndex(b, index));
        Trial trial = emitTry(index, scale, values[1], values[2]);
        return {step(b, index, 1), trial.best, trial.winner};
      })[2];
}

Value SweepEmitter::emitSearch() {
  Value infinity = toF32(Lanes(b, b.i32(numerics::kFloatInfinityBits)));
  Value first = emitFirstCandidate(), all = b.i32(kSweepCandidates);
  auto isCandidate = [&](ValueRange values) {
    // Numbers below zero are large ones.
    return isBelow(b, values[0], all);
  };
  SmallVector<Value> found = emitWhile(
      b, {first, infinity, b.i32(0)}, isCandidate,
      [&](ValueRange values) -> SmallVector<Value> {
        Value index = values[0];
        Lanes scale = emitLoadTable(scales, toIndex(b, index));
        Trial trial = emitTry(index, scale, values[1], values[2]);
        Value isLast = arith::AndIOp::create(b, trial.allZero, isOrdered);
        Value next = arith::SelectOp::create(b, isLast, all, step(b, index, 1));
        return {next, trial.best, trial.winner};
      });
  // Only where scales are in order is there anything below the first.
  return emitWhile(
      b, {step(b, first, -1), found[1], found[2]}, isCandidate,
      [&](ValueRange values) -> SmallVector<Value> {
        Value index = values[0];
        Lanes scale = emitLoadTable(scales, toIndex(b, index));
        Lanes excess = *largest - scale * numerics::kE2M1Max;
        Lanes loses =
            compare(CmpFPredicate::OGT, excess, 0.0) &
            compare(CmpFPredicate::OGT, excess * excess, Lanes(b, values[1]));
        auto branch = scf::IfOp::create(b, values.getTypes(), loses,
                                        /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        scf::YieldOp::create(b, ValueRange{b.i32(-1), values[1], values[2]});
        b.setInsertionPointToStart(branch.elseBlock());
        Trial trial = emitTry(index, scale, values[1], values[2]);
        scf::YieldOp::create(
            b, ValueRange{step(b, index, -1), trial.best, trial.winner});
        return SmallVector<Value>(branch.getResults());
      })[2];
}

Lanes SweepEmitter::emitBlock(Value x, Value block) {
  emitLoadBlock(x, block);
  Value winner = hessian ? emitExhaustiveSearch() : emitSearch();
  return emitLoadTable(amaxes, toIndex(b, winner));
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

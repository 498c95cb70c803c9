//===- SweepLosses.cpp - Losses of a block under candidates ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SweepLosses.h"

#include "DeviceEmission/DeviceCodec.h"
#include "DeviceEmission/GroupSearch.h"
#include "Emission/FloatCodec.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using blockscale::numerics::kSweepBlock;
using blockscale::numerics::kSweepCandidates;

namespace blockscale {

using arith::CmpFPredicate;
using arith::CmpIPredicate;
using emit::getIndex;
using emit::Lanes;

static constexpr int64_t kHessianElements = int64_t{kSweepBlock} * kSweepBlock;
/// The number of f32 in a row of the table of candidates: the fields of
/// SweepCandidate, in their order.
static constexpr int64_t kFields = 4;

/// Amaxes of tensors for which all scales are moderate.
static constexpr float kLeastAmax = 0x1p-38f, kMostAmax = 0x1p60f;
static_assert(numerics::getSweepScale(0, kLeastAmax) >= 0x1p-60f);
static_assert(numerics::getSweepScale(kSweepCandidates - 1, kMostAmax) <=
              0x1p60f);

SweepLosses::SweepLosses(KernelBuilder &b, Type element, bool isWeighed)
    : b(b), element(element),
      candidates(createSharedArray(b, "candidates", b.getF32Type(),
                                   kThreads * kFields)),
      thread(emitThreadNumber(b, kThreads)) {
  if (isWeighed)
    hessian = createSharedArray(b, "hessian", b.getF32Type(), kHessianElements);
}

void SweepLosses::emitTables(Lanes global, Value hessians, Lanes column) {
  globalAmax = global;
  Lanes index = toWord(b, thread);
  // Codes beyond the candidates' give numbers that nobody uses.
  Lanes value =
      numerics::decodeByProduct(numerics::ElementFormat::E4M3, index + 1);
  Lanes amax = (value / numerics::kE4M3Max) * global;
  Lanes scale = numerics::getSweepScaleOfAmax(amax);
  Lanes isCandidate = compare(CmpIPredicate::ult, index, kSweepCandidates);
  Lanes nan = toF32(index.like(numerics::kFloatNanBits));
  scale = select(isCandidate, scale, nan);
  Lanes one = scale.like(1.0), reciprocal = one / scale;
  auto emitRest = [&] { return b.fma(reciprocal, scale * -1.0, one); };
  reciprocal = select(compare(CmpFPredicate::OLT, emitRest(), 0.0),
                      toF32(toBits(reciprocal) - 1), reciprocal);
  emitStoreWords(b,
                 {toBits(scale), toBits(reciprocal), toBits(emitRest() / scale),
                  toBits(amax)},
                 emitAddress(b, candidates, b.getF32Type(), thread * kFields),
                 /*access=*/16);
  if (hessian) {
    Lanes first = column * kHessianElements;
    for (int64_t at = 0; at < kHessianElements; at += kThreads) {
      Lanes to = thread + at;
      Lanes weight = emitLoadBits(b, hessians, b.getF32Type(), first + to);
      b.store(weight, emitAddress(b, hessian, b.getF32Type(), to),
              sizeof(float));
    }
  }
  gpu::BarrierOp::create(b);
  moderate = compare(CmpFPredicate::OGE, global, kLeastAmax) &
             compare(CmpFPredicate::OLE, global, kMostAmax);
}

SweepCandidate SweepLosses::emitLoadCandidate(Lanes index, int32_t after) {
  constexpr int64_t bytes = kFields * sizeof(float);
  Value row =
      emitAddress(b, candidates, b.getF32Type(), toIndex(b, index) * kFields);
  Value address = b.offset(row, b.getI8Type(), b.i64(after * bytes));
  SmallVector<Lanes> fields;
  for (Lanes word : emitLoadWords(b, address, bytes, /*access=*/16))
    fields.push_back(toF32(word));
  return {fields[0], fields[1], fields[2], fields[3]};
}

void SweepLosses::emitLoadBlock(Value x, Lanes block) {
  Value address = emitAddress(b, x, element, block * kSweepBlock);
  int64_t bytes = kSweepBlock * element.getIntOrFloatBitWidth() / 8;
  for (Lanes word : emitLoadWords(b, address, bytes, /*access=*/16)) {
    if (element.isF32()) {
      elements.push_back(toF32(word));
      continue;
    }
    for (Lanes half : {word, word >> 16})
      elements.push_back(emit::emitDecodeFloat(element, truncate(half, 16)));
  }
  for (Lanes value : elements)
    magnitudes.push_back(toF32(emit::emitMagnitudeBits(toBits(value))));
  SmallVector<Lanes> maxima(magnitudes);
  for (size_t half = maxima.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      maxima[i] = b.maxNum(maxima[i], maxima[i + half]);
  largest = maxima.front();
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

SmallVector<Lanes> SweepLosses::emitQuotients(const SweepCandidate &candidate) {
  SmallVector<Lanes> quotients;
  for (Lanes w : magnitudes)
    quotients.emplace_back(b,
                           b.fma(w, candidate.reciprocal, w * candidate.rest));
  return quotients;
}

static Lanes roundToE2M1(KernelBuilder &b, Lanes quotient) {
  return emitRoundTo(b, numerics::ElementFormat::E2M1, quotient);
}

Lanes SweepLosses::emitClampAndRound(Lanes quotient) {
  return roundToE2M1(b, b.minNum(quotient, b.f32(numerics::kE2M1Max)));
}

SmallVector<Lanes> SweepLosses::emitTermsOf(ArrayRef<Lanes> rounded,
                                            Lanes scale) {
  SmallVector<Lanes> errors;
  for (auto [magnitude, value] : llvm::zip_equal(magnitudes, rounded))
    errors.push_back(magnitude - value * scale);
  if (hessian)
    return emitWeighedTerms(errors);
  return llvm::map_to_vector(errors, [](Lanes error) { return error * error; });
}

SmallVector<Lanes>
SweepLosses::emitTermsBelow7(const SweepCandidate &candidate) {
  SmallVector<Lanes> rounded =
      llvm::map_to_vector(emitQuotients(candidate), [&](Lanes quotient) {
        return roundToE2M1(b, quotient);
      });
  return emitTermsOf(rounded, candidate.scale);
}

SmallVector<Lanes> SweepLosses::emitTerms(const SweepCandidate &candidate) {
  SmallVector<Lanes> rounded =
      llvm::map_to_vector(emitQuotients(candidate), [&](Lanes quotient) {
        return emitClampAndRound(quotient);
      });
  return emitTermsOf(rounded, candidate.scale);
}

SmallVector<Lanes> SweepLosses::emitAnyTerms(const SweepCandidate &candidate) {
  auto yield = [&](OpBuilder &inside, function_ref<SmallVector<Lanes>()> emit) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(inside.getInsertionBlock());
    scf::YieldOp::create(b, llvm::to_vector_of<Value>(emit()));
  };
  auto quotients = scf::IfOp::create(
      b, isModerate(),
      [&](OpBuilder &inside, Location) {
        yield(inside, [&] { return emitQuotients(candidate); });
      },
      [&](OpBuilder &inside, Location) {
        yield(inside, [&] {
          return llvm::map_to_vector(
              magnitudes, [&](Lanes w) { return w / candidate.scale; });
        });
      });
  SmallVector<Lanes> rounded =
      llvm::map_to_vector(quotients.getResults(), [&](Value quotient) {
        return emitClampAndRound(Lanes(b, quotient));
      });
  return emitTermsOf(rounded, candidate.scale);
}

SmallVector<Lanes> SweepLosses::emitTermsFrom(const SweepCandidate &candidate,
                                              ArrayRef<Lanes> terms) {
  Lanes half = candidate.scale * 0.5;
  SmallVector<Lanes> kept;
  for (auto [magnitude, term] : llvm::zip_equal(magnitudes, terms)) {
    Lanes isKept = compare(CmpFPredicate::OLE, magnitude, half);
    kept.push_back(select(isKept, term, term.like(0.0)));
  }
  return kept;
}

/// The table's address, of which the compiler does not know that it is the same
/// for every candidate: the table would not fit in registers.
Value SweepLosses::emitOpaqueHessian() {
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

SmallVector<Lanes> SweepLosses::emitWeighedTerms(ArrayRef<Lanes> errors) {
  SmallVector<Lanes> weighed(errors);
  SmallVector<Lanes> sums(kSweepBlock, errors.front().like(0.0));
  for (auto [value, error] : llvm::zip_equal(elements, weighed)) {
    Lanes isPositive = compare(CmpFPredicate::OGE, value, 0.0);
    error = select(isPositive, error, error * -1.0);
  }
  Value weights = emitOpaqueHessian();
  for (int64_t i = 0; i < kSweepBlock; ++i) {
    Lanes first = getIndex(b, i * kSweepBlock);
    SmallVector<Lanes> row =
        emitLoadWords(b, emitAddress(b, weights, b.getF32Type(), first),
                      kSweepBlock * sizeof(float), /*access=*/16);
    for (auto [sum, weight] : llvm::zip_equal(sums, row))
      sum = sum + weighed[i] * toF32(weight);
  }
  for (auto [sum, error] : llvm::zip_equal(sums, weighed))
    sum = sum * error;
  return sums;
}

Lanes SweepLosses::sumOfHalves(SmallVector<Lanes> terms) {
  for (size_t half = terms.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      terms[i] = terms[i] + terms[i + half];
  return terms.front();
}

} // namespace blockscale

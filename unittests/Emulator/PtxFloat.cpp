//===- PtxFloat.cpp - Floating-point instructions by name -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVectors.h"

#include "blockscale/Emulator/Compare.h"
#include "blockscale/Emulator/FloatApprox.h"
#include "blockscale/Emulator/FloatOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace blockscale::emulator;
using llvm::ArrayRef;
using llvm::StringRef;

static Comparison getComparison(StringRef name) {
  return llvm::StringSwitch<Comparison>(name)
      .Case("eq", Comparison::EQ)
      .Case("ne", Comparison::NE)
      .Case("lt", Comparison::LT)
      .Case("le", Comparison::LE)
      .Case("gt", Comparison::GT)
      .Case("ge", Comparison::GE)
      .Case("equ", Comparison::EQU)
      .Case("neu", Comparison::NEU)
      .Case("ltu", Comparison::LTU)
      .Case("leu", Comparison::LEU)
      .Case("gtu", Comparison::GTU)
      .Case("geu", Comparison::GEU)
      .Case("num", Comparison::NUM)
      .Default(Comparison::NAN_);
}

static FloatTest getTest(StringRef name) {
  return llvm::StringSwitch<FloatTest>(name)
      .Case("finite", FloatTest::Finite)
      .Case("infinite", FloatTest::Infinite)
      .Case("number", FloatTest::Number)
      .Case("notanumber", FloatTest::NotANumber)
      .Case("normal", FloatTest::Normal)
      .Default(FloatTest::Subnormal);
}

static ApproxFunction getFunction(StringRef name) {
  return llvm::StringSwitch<ApproxFunction>(name)
      .Case("rcp", ApproxFunction::Rcp)
      .Case("sqrt", ApproxFunction::Sqrt)
      .Case("rsqrt", ApproxFunction::Rsqrt)
      .Case("sin", ApproxFunction::Sin)
      .Case("cos", ApproxFunction::Cos)
      .Case("lg2", ApproxFunction::Lg2)
      .Case("ex2", ApproxFunction::Ex2)
      .Default(ApproxFunction::Tanh);
}

static Evaluator findApprox(StringRef op, StringRef type, bool ftz) {
  if (op == "div")
    return [=](const uint64_t *s) { return approxDivF32(s[0], s[1], ftz); };
  if (type == "f64")
    return op == "rcp"
               ? [](const uint64_t *s) { return approxRcpFtzF64(s[0]); }
               : [](const uint64_t *s) { return approxRsqrtFtzF64(s[0]); };
  ApproxFunction function = getFunction(op);
  auto *approx = type == "f32"   ? approxF32
                 : type == "f16" ? approxF16
                                 : approxBF16;
  return [=](const uint64_t *s) { return approx(function, s[0], ftz); };
}

template <typename F>
static Evaluator findArithmetic(StringRef op, const FloatModifiers &m) {
  if (op == "add")
    return [=](const uint64_t *s) { return addFloat<F>(s[0], s[1], m); };
  if (op == "sub")
    return [=](const uint64_t *s) { return subFloat<F>(s[0], s[1], m); };
  if (op == "mul")
    return [=](const uint64_t *s) { return mulFloat<F>(s[0], s[1], m); };
  if (op == "fma")
    return [=](const uint64_t *s) { return fmaFloat<F>(s[0], s[1], s[2], m); };
  if (op == "div")
    return [=](const uint64_t *s) { return divFloat<F>(s[0], s[1], m); };
  if (op == "rcp")
    return [=](const uint64_t *s) { return rcpFloat<F>(s[0], m); };
  if (op == "sqrt")
    return [=](const uint64_t *s) { return sqrtFloat<F>(s[0], m); };
  if (op == "abs")
    return [=](const uint64_t *s) { return absFloat<F>(s[0], m.ftz); };
  if (op == "neg")
    return [=](const uint64_t *s) { return negFloat<F>(s[0], m.ftz); };
  if (op == "copysign")
    return [=](const uint64_t *s) { return copySign<F>(s[0], s[1]); };
  return nullptr;
}

template <typename F>
static Evaluator find(ArrayRef<StringRef> words) {
  StringRef op = words[0];
  FloatModifiers m;
  m.ftz = llvm::is_contained(words, "ftz");
  m.sat = llvm::is_contained(words, "sat");
  m.relu = llvm::is_contained(words, "relu");
  m.rounding = llvm::is_contained(words, "rz")   ? Rounding::Zero
               : llvm::is_contained(words, "rm") ? Rounding::Down
               : llvm::is_contained(words, "rp") ? Rounding::Up
                                                 : Rounding::NearestEven;
  if (op == "setp") {
    Comparison comparison = getComparison(words[1]);
    return [=](const uint64_t *s) {
      return compareFloat<F>(comparison, s[0], s[1], m.ftz);
    };
  }
  if (op == "testp") {
    FloatTest test = getTest(words[1]);
    return [=](const uint64_t *s) { return testFloat<F>(test, s[0]); };
  }
  if (op == "min" || op == "max") {
    MinMaxModifiers modifiers;
    modifiers.ftz = m.ftz;
    modifiers.propagateNaN = llvm::is_contained(words, "NaN");
    modifiers.abs = modifiers.xorSign = llvm::is_contained(words, "abs");
    auto *function = op == "min"
                         ? static_cast<decltype(&minFloat<F>)>(minFloat<F>)
                         : static_cast<decltype(&maxFloat<F>)>(maxFloat<F>);
    return [=](const uint64_t *s) { return function(s[0], s[1], modifiers); };
  }
  if (words[1] == "full")
    return [=](const uint64_t *s) { return fullDivF32(s[0], s[1], m.ftz); };
  if (words[1] == "approx")
    return findApprox(op, words.back(), m.ftz);
  return findArithmetic<F>(op, m);
}

Evaluator blockscale::emulator::findFloatEvaluator(ArrayRef<StringRef> words) {
  Evaluator evaluate = words.back() == "f32"   ? find<F32>(words)
                       : words.back() == "f64" ? find<F64>(words)
                       : words.back() == "f16" ? find<F16>(words)
                                               : find<BF16>(words);
  if (!evaluate)
    return nullptr;
  uint64_t mask = words.back() == "f64"   ? ~uint64_t{0}
                  : words.back() == "f32" ? 0xFFFFFFFF
                                          : 0xFFFF;
  return [=](const uint64_t *s) {
    uint64_t masked[] = {s[0] & mask, s[1] & mask, s[2] & mask};
    return evaluate(masked);
  };
}

//===- HardwareCvt.cpp - Conversions by the cvt instruction ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftwareCvt.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

CvtEmitter::~CvtEmitter() = default;

/// The f32 of a vector of two f16.
static std::pair<Lanes, Lanes> extendF16Pair(KernelBuilder &b, Value halves) {
  auto extend = [&](int64_t i) -> Lanes {
    Value half = b.extract(halves, i);
    return {b, arith::ExtFOp::create(b, b.getF32Type(), half)};
  };
  Lanes low = extend(0);
  return {low, extend(1)};
}

std::pair<Lanes, Lanes> CvtEmitter::widenPair(KernelBuilder &b, Lanes word,
                                              Type element) {
  if (element.isBF16())
    return widenBF16Pair(b, word);
  return extendF16Pair(b,
                       b.bitcast(VectorType::get({2}, b.getF16Type()), word));
}

/// Eight codes of E2M1 from eight f32. A packed cvt puts its first source into
/// the high half of the result, so that its second source is the earlier
/// element.
static constexpr llvm::StringLiteral kEncodeE2M1x8 =
    "{ .reg .b8 b0, b1, b2, b3; "
    "cvt.rn.satfinite.e2m1x2.f32 b0, $2, $1; "
    "cvt.rn.satfinite.e2m1x2.f32 b1, $4, $3; "
    "cvt.rn.satfinite.e2m1x2.f32 b2, $6, $5; "
    "cvt.rn.satfinite.e2m1x2.f32 b3, $8, $7; "
    "mov.b32 $0, {b0, b1, b2, b3}; }";

/// The first sources go to the high bits here, too, and take the upper bytes of
/// both halves of the random word, as Numerics/Philox.h has it.
static constexpr llvm::StringLiteral kEncodeStochasticE2M1x8 =
    "{ .reg .b16 h0, h1; "
    "cvt.rs.satfinite.e2m1x4.f32 h0, {$4, $3, $2, $1}, $9; "
    "cvt.rs.satfinite.e2m1x4.f32 h1, {$8, $7, $6, $5}, $10; "
    "mov.b32 $0, {h0, h1}; }";

static constexpr llvm::StringLiteral kWidenLow =
    "{ .reg .b16 low, high; mov.b32 {low, high}, $1; "
    "add.rn.f32.bf16 $0, low, 0f80000000; }";
static constexpr llvm::StringLiteral kWidenHigh =
    "{ .reg .b16 low, high; mov.b32 {low, high}, $1; "
    "add.rn.f32.bf16 $0, high, 0f80000000; }";

/// Products of two f16 are f32 at once, and x + -0 is x, of -0, too. A
/// statement takes the whole word, as its halves would be made before branches
/// that use them, by an instruction each.
static constexpr llvm::StringLiteral kMultiplyLow =
    "{ .reg .b16 low, high; .reg .b32 both; .reg .f32 x, y; "
    "mov.b32 {low, high}, $1; cvt.rn.f16x2.e4m3x2 both, low; "
    "mov.b32 {low, high}, both; fma.rn.f32.f16 x, low, $2, 0f80000000; "
    "fma.rn.f32.f16 y, high, $2, 0f80000000; cvt.rn.bf16x2.f32 $0, y, x; }";
static constexpr llvm::StringLiteral kMultiplyHigh =
    "{ .reg .b16 low, high; .reg .b32 both; .reg .f32 x, y; "
    "mov.b32 {low, high}, $1; cvt.rn.f16x2.e4m3x2 both, high; "
    "mov.b32 {low, high}, both; fma.rn.f32.f16 x, low, $2, 0f80000000; "
    "fma.rn.f32.f16 y, high, $2, 0f80000000; cvt.rn.bf16x2.f32 $0, y, x; }";

/// E2M3 or E3M2 codes of two elements, a byte each.
static Lanes encodeFp6Pair(KernelBuilder &b, Type type, Value low, Value high) {
  return {b, NVVM::ConvertF32x2ToF6x2Op::create(b, b.getI16Type(), high, low,
                                                /*relu=*/false, type)};
}

/// Emits `text` as inline assembly on `operands`, i16, i32 and f32, and returns
/// its result. `nvvm.inline_ptx` would take no constants as operands, and equal
/// ones would not be merged.
static Lanes emitAsm(KernelBuilder &b, Type type, StringRef text,
                     ValueRange operands) {
  auto getConstraint = [](Type type) {
    return type.isF32() ? "f" : type.isInteger(16) ? "h" : "r";
  };
  std::string constraints = std::string("=") + getConstraint(type);
  for (Type operand : operands.getTypes())
    constraints += std::string(",") + getConstraint(operand);
  auto op = LLVM::InlineAsmOp::create(
      b, type, operands, text, constraints, /*has_side_effects=*/false,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  return {b, op.getResult(0)};
}

static Lanes encodeFp8Pair(KernelBuilder &b, Type type, Value low, Value high) {
  return {b, NVVM::ConvertF32x2ToF8x2Op::create(
                 b, b.getI16Type(), high, low, NVVM::FPRoundingMode::RN,
                 NVVM::SaturationMode::SATFINITE, /*relu=*/false, type)};
}

namespace {

/// Emits conversions for chips with `hasFp8Cvt`.
class Fp8CvtEmitter : public SoftwareCvtEmitter {
public:
  Lanes encodeWord(KernelBuilder &b, numerics::ElementFormat format,
                   ValueRange elements) override {
    if (numerics::getFormatInfo(format).bits != 8 ||
        numerics::isFixedPoint(format))
      return SoftwareCvtEmitter::encodeWord(b, format, elements);
    Type type = format == numerics::ElementFormat::E4M3
                    ? static_cast<Type>(b.getType<Float8E4M3FNType>())
                    : b.getType<Float8E5M2Type>();
    Value low = encodeFp8Pair(b, type, elements[0], elements[1]);
    Value high = encodeFp8Pair(b, type, elements[2], elements[3]);
    return b.bitcast(b.getI32Type(), b.pack({low, high}));
  }

  Lanes encodeE4M3Pair(KernelBuilder &b, Lanes low, Lanes high) override {
    return encodeFp8Pair(b, b.getType<Float8E4M3FNType>(), low, high);
  }

  std::pair<Lanes, Lanes> decodeE4M3Pair(KernelBuilder &b,
                                         Lanes codes) override {
    auto bytes = VectorType::get({2}, b.getI8Type());
    auto halves = VectorType::get({2}, b.getF16Type());
    return extendF16Pair(
        b,
        upstream::createF8x2ToF16x2<NVVM::ConvertF8x2ToF16x2Op>(
            b, halves, b.bitcast(bytes, codes), b.getType<Float8E4M3FNType>()));
  }

  RoundedPair roundE4M3Pair(KernelBuilder &b, Lanes low, Lanes high) override {
    Lanes codes = encodeE4M3Pair(b, low, high);
    auto [first, second] = decodeE4M3Pair(b, codes);
    return {codes, first, second};
  }

  /// Chips with these `cvt` have `max.xorsign.abs`.
  Lanes reduceMagnitudes(KernelBuilder &b, ValueRange pairs) override {
    bool areBF16 = getElementTypeOrSelf(pairs.front().getType()).isBF16();
    StringRef name = areBF16 ? "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
                             : "llvm.nvvm.fmax.nan.xorsign.abs.f16x2";
    return {b, reduceInTree(pairs, [&](Value lhs, Value rhs) {
              return b.callIntrinsic(name, {lhs, rhs});
            })};
  }
};

/// Emits conversions for chips that have `hasFp4Cvt` as well.
class Fp4CvtEmitter : public Fp8CvtEmitter {
public:
  /// Eight codes of E2M1 are one asm statement: `nvvm.convert.f32x2.to.f4x2`
  /// would widen and merge every byte on its own.
  Lanes encodeWord(KernelBuilder &b, numerics::ElementFormat format,
                   ValueRange elements) override {
    int bits = numerics::getFormatInfo(format).bits;
    if (bits == 8)
      return Fp8CvtEmitter::encodeWord(b, format, elements);
    if (bits == 6) {
      Type type = format == numerics::ElementFormat::E2M3
                      ? static_cast<Type>(b.getType<Float6E2M3FNType>())
                      : b.getType<Float6E3M2FNType>();
      Value low = encodeFp6Pair(b, type, elements[0], elements[1]);
      Value high = encodeFp6Pair(b, type, elements[2], elements[3]);
      return b.bitcast(b.getI32Type(), b.pack({low, high}));
    }
    return emitAsm(b, b.getI32Type(), kEncodeE2M1x8, elements);
  }

  /// Chips with these `cvt` add a bf16 to an f32. x + -0 is x, of -0, too.
  std::pair<Lanes, Lanes> widenBF16Pair(KernelBuilder &b, Lanes word) override {
    auto widen = [&](StringRef text) {
      return emitAsm(b, b.getF32Type(), text, Value(word));
    };
    Lanes low = widen(kWidenLow);
    return {low, widen(kWidenHigh)};
  }

  Lanes encodeE8M0RoundUpPair(KernelBuilder &b, Lanes low, Lanes high,
                              numerics::Overflow overflow) override {
    auto saturation = overflow == numerics::Overflow::Saturate
                          ? NVVM::SaturationMode::SATFINITE
                          : NVVM::SaturationMode::NONE;
    return {b, NVVM::ConvertF32x2ToF8x2Op::create(
                   b, b.getI16Type(), high, low, NVVM::FPRoundingMode::RP,
                   saturation, /*relu=*/false, b.getType<Float8E8M0FNUType>())};
  }
};

/// Emits conversions for chips that have `hasStochasticCvt` as well.
class StochasticCvtEmitter final : public Fp4CvtEmitter {
public:
  Lanes encodeStochasticWord(KernelBuilder &b, ValueRange elements,
                             ValueRange randomWords) override {
    SmallVector<Value> sources(elements);
    llvm::append_range(sources, randomWords);
    auto op = NVVM::InlinePtxOp::create(b, b.getI32Type(), sources,
                                        /*readWriteArgs=*/ValueRange(),
                                        kEncodeStochasticE2M1x8,
                                        /*predicate=*/Value());
    return {b, op.getResult(0)};
  }
};

} // namespace

std::pair<Lanes, Lanes> multiplyE4M3Word(KernelBuilder &b, Lanes word,
                                         Lanes factor) {
  auto multiply = [&](StringRef text) {
    return emitAsm(b, b.getI32Type(), text, {word, factor});
  };
  Lanes low = multiply(kMultiplyLow);
  return {low, multiply(kMultiplyHigh)};
}

std::unique_ptr<CvtEmitter> createCvtEmitter(const target::Chip &chip) {
  if (chip.hasStochasticCvt())
    return std::make_unique<StochasticCvtEmitter>();
  if (chip.hasFp4Cvt())
    return std::make_unique<Fp4CvtEmitter>();
  if (chip.hasFp8Cvt())
    return std::make_unique<Fp8CvtEmitter>();
  return std::make_unique<SoftwareCvtEmitter>();
}

} // namespace blockscale

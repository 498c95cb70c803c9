//===- MmaDecode.cpp - Scaled elements in registers -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of 4 bits become elements in the low bits of exponent and mantissa of
// bf16 or f16, which is the element times a power of two, and are multiplied by
// the inverse of that. A scale of E4M3 takes that factor, too, as far as it
// fits; sums are smaller by what is left (`DecodedFormat::getSumShift`). Wider
// codes are rounded to bf16 or f16, which has all of them. Then the product
// with the scale rounds once, where a value is not exact at all.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "MmaRoles.h"
#include "blockscale/Numerics/Codec.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Rows of a fragment between the two of a thread.
static constexpr int64_t kRowDistance = 8;

/// How codes of E2M1 become elements. The lower byte of a half of a word has a
/// code in its upper four bits, and the upper byte is eight times its sign. A
/// shift brings the magnitude to the lowest bits of the exponent and the
/// highest one of the mantissa, and leaves one sign of many in place.
struct E2M1Bits {
  int shift;
  uint32_t bits;
  /// The exponent of the factor that makes them the elements: that of E2M1 has
  /// a bias of 1.
  int exponent;
};
static constexpr E2M1Bits kBF16Bits = {2, 0x81C081C0, 127 - 1};
static constexpr E2M1Bits kF16Bits = {5, 0x8E008E00, 15 - 1};

/// How a byte of E4M3 in the lower half of each half of a word becomes a scale.
/// A shift brings its exponent to the lowest bits of that of the plain type,
/// which is the scale times a power of two. `factors` powers of 2^`exponent`
/// make it the scale times the part of the factor of E2M1 that it takes. NaN
/// has become 480 times that, and the largest scale is 448: times `overflow`
/// only NaN is no number of the plain type any more.
struct E4M3Bits {
  int shift;
  int factors, exponent;
  double overflow;
};
static constexpr E4M3Bits kBF16Scale = {4, 2, 119, 2.25};
static constexpr E4M3Bits kF16Scale = {7, 1, 15, 1.125};
static constexpr uint32_t kSigns = 0x80008000;

static const E2M1Bits &getE2M1Bits(Type plain) {
  return plain.isBF16() ? kBF16Bits : kF16Bits;
}

MmaDecoder::MmaDecoder(KernelBuilder &b, const MmaContext &context,
                       const MmaThread &thread)
    : b(b), context(context), thread(thread), format(context.spec.format),
      pair(VectorType::get({2}, format.plain)) {}

int64_t MmaDecoder::getRowWords() const {
  return kThreadElements * format.getBits() / 8 / kWordBytes;
}

Value MmaDecoder::round(Value low, Value high) {
  StringRef name = format.plain.isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                         : "llvm.nvvm.ff2f16x2.rn";
  return LLVM::CallIntrinsicOp::create(b, pair, b.getStringAttr(name),
                                       ValueRange{high, low})
      .getResult(0);
}

Value MmaDecoder::emitPair(double value) {
  auto type = cast<FloatType>(format.plain);
  llvm::APFloat each(value);
  bool losesInfo = false;
  each.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  auto bits = static_cast<uint32_t>(each.bitcastToAPInt().getZExtValue());
  return b.bitcast(pair, b.i32(bits << 16 | bits));
}

/// The products of two pairs. sm_80 has no multiplication of bf16, but one with
/// a sum: that with -0 is the product, whatever its sign.
Value MmaDecoder::multiply(Value x, Value y) {
  if (!format.plain.isBF16())
    return arith::MulFOp::create(b, x, y);
  return b.fma(x, y, b.bitcast(pair, b.i32(kSigns)));
}

/// A pair of scales of two bytes (i32), with the part of the factor of E2M1
/// that they take.
Value MmaDecoder::emitScalePair(Lanes low, Lanes high) {
  if (format.scale == numerics::ScaleFormat::E4M3)
    return emitE4M3Pair(low | (high << 16));
  return round(numerics::decodeE8M0Bits(low), numerics::decodeE8M0Bits(high));
}

Value MmaDecoder::emitE4M3Pair(Lanes bytes) {
  constexpr int64_t magnitudes = 0x007F007F;
  const E4M3Bits &bits = format.plain.isBF16() ? kBF16Scale : kF16Scale;
  Lanes magnitude = bytes & magnitudes;
  Value scale =
      b.bitcast(pair, (magnitude << bits.shift) | ((bytes << 8) & kSigns));
  for (int i = 0; i < bits.factors; ++i)
    scale = multiply(scale, emitPair(std::ldexp(1.0, bits.exponent)));
  // Infinity times zero is NaN; of numbers, the sum with zero is the scale.
  Value large = multiply(scale, emitPair(bits.overflow));
  return b.fma(large, emitPair(0), scale);
}

MmaDecoder::Words MmaDecoder::loadCodes(Value slot, Value inStage) {
  const MmaLayout &shared = context.shared;
  int64_t rowBytes = context.spec.getCodeBytes();
  int64_t threadBytes = getRowWords() * kWordBytes;
  Lanes own = (Lanes(b, thread.warpRow) + Lanes(b, thread.row)) * rowBytes +
              Lanes(b, thread.member) * threadBytes +
              Lanes(b, inStage) * (context.tile.scaledRows * rowBytes);
  Value base =
      b.offset(context.getShared(b, shared.codes, slot, shared.codeBytes),
               b.getI8Type(), own);
  Words words;
  for (int64_t i = 0; i < kThreadRows; ++i)
    for (Lanes word : emitLoadWords(
             b,
             b.offset(base, b.getI8Type(), b.i32(i * kRowDistance * rowBytes)),
             threadBytes, threadBytes))
      words.push_back(word);
  return words;
}

MmaDecoder::Words MmaDecoder::loadFactors(const TileCoord &tile, Value slot,
                                          Value inStage, Value step,
                                          Value depth) {
  const MmaSpec &spec = context.spec;
  const MmaLayout &shared = context.shared;
  // The first row of the warp among those of its product, and in its band.
  // Tiles of fewer rows than a band have a part of one.
  int64_t ofEach = context.tile.scaledRowsOfEach;
  Lanes inTile(b, thread.warpRow);
  Lanes owner = inTile >> llvm::Log2_64(ofEach);
  Lanes row = inTile & (ofEach - 1);
  if (ofEach < kTileRows)
    row = row +
          ((Lanes(b, context.getScaledTile(tile)) * ofEach) & (kTileRows - 1));
  Lanes band =
      owner * context.tile.bandsOfEach + (row >> llvm::Log2_64(kTileRows));
  row = (row & (kTileRows - 1)) + Lanes(b, thread.row);
  Lanes scaleTile =
      band * spec.getStageScaleTiles() +
      (Lanes(b, inStage) >> llvm::Log2_64(spec.getSharedTileSteps()));
  Lanes ofThread =
      Lanes(b, thread.member) >> llvm::Log2_64(format.block / kThreadElements);
  Lanes inRow =
      (Lanes(b, step) & (spec.getTileSteps() - 1)) * spec.getStepScales() +
      ofThread;
  Lanes byte = scaleTile * kTileBytes +
               numerics::getByteInTile(row, row.like(0)) + inRow;
  Value base =
      b.offset(context.getShared(b, shared.scales, slot, shared.scaleBytes),
               b.getI8Type(), byte);
  int64_t distance = numerics::getByteInTile(kRowDistance, int64_t(0));
  // Beyond K are zeros, and in the last step scales that can be anything.
  Lanes first =
      Lanes(b, step) * kMmaStep + Lanes(b, thread.member) * kThreadElements;
  Lanes exists = isBelow(first, Lanes(b, depth));
  SmallVector<Lanes> bytes;
  for (int64_t i = 0; i < kThreadRows; ++i) {
    Value address = b.offset(base, b.getI8Type(), b.i32(i * distance));
    Lanes byte = extend(Lanes(b, b.load(b.getI8Type(), address, 1)), 32);
    bytes.push_back(spec.isMultipleOf(kMmaStep)
                        ? byte
                        : select(exists, byte, byte.like(0)));
  }
  Words factors;
  for (int64_t i = 0; i < kThreadRows; i += 2) {
    Value both = emitScalePair(bytes[i], bytes[i + 1]);
    for (int64_t j = 0; j < 2; ++j)
      factors.push_back(b.toBits(b.splat(b.extract(both, j), 2)));
  }
  return factors;
}

/// The pairs of elements of a word of codes, times `factor`, as i32.
MmaDecoder::Words MmaDecoder::decodeWord(Lanes word, Value factor) {
  Words pairs;
  Value scale = b.bitcast(pair, factor);
  if (format.getBits() == 4) {
    const E2M1Bits &bits = getE2M1Bits(format.plain);
    // Codes of even elements come to the upper halves of bytes.
    Lanes even = word << 4;
    for (uint32_t i = 0; i < kWordBytes; ++i) {
      // PTX ISA, "prmt": the fourth bit of a place stands for the byte's sign.
      constexpr uint32_t both = 0x11, sign = 0x80;
      uint32_t selector = (i * both | sign) | ((i + kWordBytes) * both | sign)
                                                  << 8;
      Lanes bytes(
          b, b.callIntrinsic("llvm.nvvm.prmt", {even, word, b.i32(selector)}));
      Lanes elements = (bytes << bits.shift) & bits.bits;
      Value value = b.bitcast(pair, elements);
      if (!format.getSumShift())
        value = multiply(value, emitPair(std::ldexp(1.0, bits.exponent)));
      pairs.push_back(b.toBits(multiply(value, scale)));
    }
    return pairs;
  }
  for (int64_t i = 0; i < 2; ++i) {
    Lanes codes = word >> (16 * i);
    Value low, high;
    if (format.element == numerics::ElementFormat::E4M3) {
      std::tie(low, high) = createCvtEmitter(*context.spec.chip)
                                ->decodeE4M3Pair(b, truncate(codes, 16));
    } else {
      low = numerics::decodeByProduct(format.element, codes & 0xFF);
      high = numerics::decodeByProduct(format.element, (codes >> 8) & 0xFF);
    }
    pairs.push_back(b.toBits(multiply(round(low, high), scale)));
  }
  return pairs;
}

MmaDecoder::Words MmaDecoder::decodeRow(ArrayRef<Value> codes,
                                        ArrayRef<Value> factors, int64_t half,
                                        int64_t row) {
  int64_t rowWords = getRowWords(), halfWords = rowWords / 2;
  Words pairs;
  for (Value word : codes.slice(row * rowWords + half * halfWords, halfWords))
    llvm::append_range(pairs, decodeWord(Lanes(b, word), factors[row]));
  return pairs;
}

MmaDecoder::Words MmaDecoder::getRegisters(ArrayRef<Words> rows) {
  // PTX ISA, "Matrix Fragments for mma.m16n8k16": both rows of the first pair,
  // then of the second.
  constexpr int64_t instructions = kThreadElements / 2 / 4;
  Words registers;
  for (int64_t i = 0; i < kWarpFragments; ++i)
    for (int64_t j = 0; j < instructions; ++j)
      for (int64_t pairs = 0; pairs < 2; ++pairs)
        for (int64_t row = 0; row < 2; ++row)
          registers.push_back(rows[2 * i + row][2 * j + pairs]);
  return registers;
}

} // namespace blockscale::gemm

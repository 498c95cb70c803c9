//===- WgmmaDecode.cpp - Scaled elements in registers ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each instruction of 16 elements of K a thread has elements 2 m, 2 m + 1,
// 2 m + 8 and 2 m + 9 of its two rows, where m is its number among the four
// threads of a row (PTX ISA, "Register Fragments for
// wgmma.mma_async.m64nNk16"). It loads each pair by itself: a byte of codes of
// 4 bits, or two bytes.
//
// Codes of 4 bits become elements in the low bits of exponent and mantissa of
// bf16 or f16, which is the element times a power of two, and are multiplied by
// the inverse of that and by the scale in that type. Wider ones become f32, are
// multiplied there, and rounded. Both round once, where a value is not exact at
// all.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "WgmmaRoles.h"
#include "blockscale/Numerics/Codec.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;

/// Bytes that a swizzle moves together, and those of a line that it moves them
/// in.
static constexpr int64_t kPiece = 16;
static constexpr int64_t kSwizzleLine = 128;

namespace {

/// How the two codes of a byte, each a sign, two bits of exponent and one of
/// mantissa, become elements in the halves of a word. Multiplication by two
/// powers of two moves them to both places at once.
struct E2M1Places {
  /// Moves magnitudes to the lowest bits of the exponents, and to the highest
  /// ones of the mantissas, and signs to theirs.
  uint32_t magnitudeFactor, magnitudes, signFactor, signs;
  /// The factor that makes them the elements, twice: the exponent of E2M1 has a
  /// bias of 1.
  uint32_t scale;
};

// Of bf16 the bits are 15, 8, 7 and 6, of f16 they are 15, 11, 10 and 9.
constexpr E2M1Places kBF16Places = {1u << 6 | 1u << 18, 0x01C001C0,
                                    1u << 12 | 1u << 24, 0x80008000,
                                    /*2^(127 - 1)=*/0x7E807E80};
constexpr E2M1Places kF16Places = {1u << 9 | 1u << 21, 0x0E000E00,
                                   1u << 12 | 1u << 24, 0x80008000,
                                   /*2^(15 - 1)=*/0x74007400};

/// Bits of a word of packed codes that a shift to the left, or to the right if
/// it is negative, brings to their places in a pair.
struct PackedPart {
  int shift;
  uint32_t mask;
};

/// Where the pairs of a word of packed codes are ("blockscale/Numerics/
/// DataLayout.h"), for bf16 and for f16: up to three parts of each.
using PackedParts = PackedPart[3];
constexpr PackedParts kPackedBF16[] = {
    {{0, 0x81C081C0}},
    {{3, 0x81C081C0}},
    {{6, 0x81C081C0}},
    {{1, 0x80008000}, {-5, 0x01000100}, {-4, 0x00C000C0}}};
constexpr PackedParts kPackedF16[] = {
    {{0, 0x80008000}, {3, 0x0E000E00}},
    {{3, 0x80008000}, {6, 0x0E000E00}},
    {{6, 0x80008000}, {9, 0x0E000E00}},
    {{1, 0x80008000}, {-2, 0x08000800}, {-1, 0x06000600}}};

class DecodeEmitter {
public:
  DecodeEmitter(KernelBuilder &b, const WgmmaContext &context,
                const WgmmaThread &thread)
      : b(b), context(context), thread(thread), format(context.spec.format),
        pair(VectorType::get({2}, format.plain)),
        cvt(createCvtEmitter(*context.spec.chip)) {}

  SmallVector<Value> emit(const WgmmaStep &step, Value tileOfRows);

private:
  /// The scales of a row, one for each of the step's, f32.
  SmallVector<Value> loadScales(Value scales, Lanes row, Value tileStep);
  /// The pairs that the thread has in both rows, two for each instruction, i32:
  /// their bits in the plain type if codes have 4 bits, and codes of others.
  using RowCodes = SmallVector<Lanes, 2 * kStepProducts>;
  std::array<RowCodes, 2> loadCodes(const WgmmaStep &step);
  std::array<RowCodes, 2> loadPackedCodes(const WgmmaStep &step);
  /// Pairs of elements, times a scale: a pair of the plain type for codes of 4
  /// bits, and f32 for others.
  Value emitE2M1Pair(Lanes bits, Value scale);
  /// The bits of a pair of elements of a byte of codes, and of pair `number` of
  /// a word of packed codes.
  Lanes emitE2M1Bits(Lanes codes);
  Lanes emitPackedBits(Lanes word, int64_t number);
  Value emitPair(Lanes codes, Value scale);
  /// Two f32 as a pair of the plain type.
  Value round(Value low, Value high);
  Value word(uint32_t bits) { return b.i32(bits); }

  KernelBuilder &b;
  const WgmmaContext &context;
  const WgmmaThread &thread;
  const WgmmaFormat &format;
  Type pair;
  std::unique_ptr<CvtEmitter> cvt;
};

} // namespace

Value DecodeEmitter::round(Value low, Value high) {
  StringRef name = format.plain.isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                         : "llvm.nvvm.ff2f16x2.rn";
  return LLVM::CallIntrinsicOp::create(b, pair, b.getStringAttr(name),
                                       ValueRange{high, low})
      .getResult(0);
}

SmallVector<Value> DecodeEmitter::loadScales(Value scales, Lanes row,
                                             Value tileStep) {
  Value address = b.offset(scales, b.getI8Type(),
                           numerics::getByteInTile(row, row.like(0)));
  Lanes bytes(b, b.load(b.getI32Type(), address, kWordBytes));
  int64_t count = format.getStepScales();
  if (format.getTileSteps() > 1)
    bytes = bytes >> (Lanes(b, tileStep) * (count * 8));
  SmallVector<Value> values;
  if (format.scale == numerics::ScaleFormat::E8M0) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(numerics::decodeE8M0Bits((bytes >> (8 * i)) & 0xFF));
    return values;
  }
  for (int64_t i = 0; i < count; i += 2) {
    auto [low, high] = cvt->decodeE4M3Pair(b, truncate(bytes >> (8 * i), 16));
    values.push_back(low);
    values.push_back(high);
  }
  return values;
}

Lanes DecodeEmitter::emitE2M1Bits(Lanes codes) {
  const E2M1Places &places = format.plain.isBF16() ? kBF16Places : kF16Places;
  Lanes magnitudes = (codes * places.magnitudeFactor) & places.magnitudes;
  return magnitudes | ((codes * places.signFactor) & places.signs);
}

Lanes DecodeEmitter::emitPackedBits(Lanes word, int64_t number) {
  const PackedParts &parts =
      (format.plain.isBF16() ? kPackedBF16 : kPackedF16)[number];
  Lanes bits = word.like(0);
  for (const PackedPart &part : parts) {
    if (part.mask == 0)
      continue;
    Lanes moved = part.shift < 0   ? word >> -part.shift
                  : part.shift > 0 ? word << part.shift
                                   : word;
    bits = bits | (moved & part.mask);
  }
  return bits;
}

Value DecodeEmitter::emitE2M1Pair(Lanes bits, Value scale) {
  const E2M1Places &places = format.plain.isBF16() ? kBF16Places : kF16Places;
  Value elements = arith::MulFOp::create(b, b.bitcast(pair, bits),
                                         b.bitcast(pair, word(places.scale)));
  return arith::MulFOp::create(b, elements, scale);
}

Value DecodeEmitter::emitPair(Lanes codes, Value scale) {
  Value low, high;
  if (format.element == numerics::ElementFormat::E4M3) {
    std::tie(low, high) = cvt->decodeE4M3Pair(b, truncate(codes, 16));
  } else {
    low = numerics::decodeByProduct(format.element, codes & 0xFF);
    high = numerics::decodeByProduct(format.element, (codes >> 8) & 0xFF);
  }
  Lanes factor(b, scale);
  return round(Lanes(b, low) * factor, Lanes(b, high) * factor);
}

std::array<DecodeEmitter::RowCodes, 2>
DecodeEmitter::loadCodes(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  // A swizzle exchanges pieces by the lines of 128 bytes that they are in
  // (CUDA driver API, cuTensorMapEncodeTiled). Both rows have the same order.
  Lanes rowByte = Lanes(b, thread.row) * shared.boxBytes;
  Lanes exchange =
      (rowByte >> llvm::Log2_64(kSwizzleLine)) & (shared.boxBytes / kPiece - 1);
  int64_t pairBytes = format.getBits() / 4;
  Lanes own = rowByte + exchange * kPiece + Lanes(b, thread.member) * pairBytes;
  Type type = b.getIntegerType(8 * pairBytes);
  std::array<RowCodes, 2> rows;
  for (int64_t at = 0; at < format.getCodeBytes(); at += kPiece) {
    Lanes byte = Lanes(b, step.inStage) * format.getCodeBytes() + at;
    Lanes box = byte >> llvm::Log2_64(shared.boxBytes);
    Lanes piece = byte & (shared.boxBytes - 1);
    Value address = b.offset(
        codes, b.getI8Type(),
        (own ^ piece) + box * (context.tile.scaledRows * shared.boxBytes));
    // Pairs are eight elements apart.
    for (int64_t inPiece = 0; inPiece < kPiece; inPiece += 4 * pairBytes)
      for (auto [i, pairs] : llvm::enumerate(rows)) {
        int64_t offset = i * kRowDistance * shared.boxBytes + inPiece;
        Lanes loaded(b, b.load(type,
                               b.offset(address, b.getI8Type(), b.i32(offset)),
                               pairBytes));
        Lanes pair = extend(loaded, 32);
        pairs.push_back(format.getBits() == 4 ? emitE2M1Bits(pair) : pair);
      }
  }
  return rows;
}

std::array<DecodeEmitter::RowCodes, 2>
DecodeEmitter::loadPackedCodes(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  int64_t blockBytes = kWarpgroupRows * format.getCodeBytes();
  Lanes own =
      Lanes(b, thread.warpgroup) * (context.spec.getStageSteps() * blockBytes) +
      Lanes(b, step.inStage) * blockBytes +
      (Lanes(b, thread.number) & (kWarpgroupThreads - 1)) * kPiece;
  std::array<RowCodes, 2> rows;
  for (int64_t at = 0; at < blockBytes; at += kWarpgroupThreads * kPiece) {
    Value address = b.offset(codes, b.getI8Type(), own + at);
    SmallVector<Lanes> words = emitLoadWords(b, address, kPiece, kPiece);
    // Pairs of both rows, and those behind them along K.
    for (const auto &[i, word] : llvm::enumerate(words)) {
      if (format.getBits() == 4) {
        for (int64_t pair = 0; pair < 4; ++pair)
          rows[pair % 2].push_back(emitPackedBits(word, pair));
        continue;
      }
      rows[0].push_back(word & 0xFFFF);
      rows[1].push_back(word >> 16);
    }
  }
  return rows;
}

SmallVector<Value> DecodeEmitter::emit(const WgmmaStep &step,
                                       Value tileOfRows) {
  const WgmmaLayout &shared = context.shared;
  Value scales =
      context.getShared(b, shared.scales, step.slot, shared.scaleBytes);
  Lanes scaleTile =
      Lanes(b, step.inStage) >> llvm::Log2_64(format.getTileSteps());
  Lanes row(b, thread.row), scaleRow = row;
  // Each warpgroup has a product.
  if (context.tile.scaleTiles > 1)
    scaleTile = scaleTile +
                Lanes(b, thread.warpgroup) * context.spec.getStageScaleTiles();
  // Tiles can have half of a band.
  if (context.tile.scaledRowsOfEach < kTileRows)
    scaleRow = (row & (kWarpgroupRows - 1)) +
               (Lanes(b, tileOfRows) & 1) * kWarpgroupRows;
  scales = b.offset(scales, b.getI8Type(), scaleTile * kTileBytes);
  Lanes tileStep = Lanes(b, step.inProduct) & (format.getTileSteps() - 1);
  bool isE2M1 = format.getBits() == 4;
  std::array<SmallVector<Value>, 2> pairs;
  for (auto [i, codes] : llvm::enumerate(format.isPacked ? loadPackedCodes(step)
                                                         : loadCodes(step))) {
    SmallVector<Value> factors =
        loadScales(scales, scaleRow + i * kRowDistance, tileStep);
    if (isE2M1)
      for (size_t j = 0; j < factors.size(); j += 2) {
        // Two are rounded at a time.
        Value both = round(factors[j], factors[j + 1]);

        for (int64_t k = 0; k < 2; ++k)
          factors[j + k] = b.splat(b.extract(both, k), 2);
      }
    for (auto [j, code] : llvm::enumerate(codes)) {
      Value factor = factors[j * (kWgmmaElements / 2) / format.block];
      Value elements =
          isE2M1 ? emitE2M1Pair(code, factor) : emitPair(code, factor);
      pairs[i].push_back(b.toBits(elements));
    }
  }
  SmallVector<Value> registers;
  for (int64_t i = 0; i < 2 * kStepProducts; ++i)
    for (const SmallVector<Value> &row : pairs)
      registers.push_back(row[i]);
  return registers;
}

SmallVector<Value> emitDecode(KernelBuilder &b, const WgmmaContext &context,
                              const WgmmaThread &thread, const WgmmaStep &step,
                              Value tileOfRows) {
  return DecodeEmitter(b, context, thread).emit(step, tileOfRows);
}

} // namespace blockscale::gemm

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
// wgmma.mma_async.m64nNk16"). The four load the same words, which costs no more
// than one of them, and each picks its bytes.
//
// Codes of 4 bits become the two bytes of bf16 or f16 by tables of eight bytes,
// in which `prmt` looks up four codes at a time, and are multiplied by the
// scale in that type. Wider ones become f32, are multiplied there, and rounded.
// Both round once, where a value is not exact at all.
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

/// Bytes of a, which are numbered 0 to 3, and of b, 4 to 7, by the numbers in
/// the low bits of the four nibbles of `selector`. The high bit of a nibble
/// puts the sign of the byte into all its bits.
static Lanes permute(KernelBuilder &b, Value low, Value high, Value selector) {
  return Lanes(b, b.callIntrinsic("llvm.nvvm.prmt", {low, high, selector}));
}

namespace {

/// The bytes of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6 of E2M1 in a type
/// of 16 bits: words of the high bytes, and of the low ones.
struct E2M1Table {
  uint32_t high[2];
  uint32_t low[2];
};

constexpr E2M1Table kBF16Table = {{0x3F3F3F00, 0x40404040},
                                  {0xC0800000, 0xC0804000}};
constexpr E2M1Table kF16Table = {{0x3E3C3800, 0x46444240}, {0, 0}};

class DecodeEmitter {
public:
  DecodeEmitter(KernelBuilder &b, const WgmmaContext &context,
                const WgmmaThread &thread)
      : b(b), context(context), thread(thread), format(context.spec.format),
        pair(VectorType::get({2}, format.plain)),
        cvt(createCvtEmitter(*context.spec.chip)) {}

  SmallVector<Value> emit(const WgmmaStep &step, Value tileCol);

private:
  /// The scales of a row, one for each of the step's, f32.
  SmallVector<Value> loadScales(Value scales, Lanes row, Value tileStep);
  /// Both pairs of elements that the thread has in a row, for each instruction.
  using RowPairs = SmallVector<std::array<Value, 2>, kStepProducts>;
  RowPairs emitRow(ArrayRef<Lanes> words, ArrayRef<Value> scales);
  /// The codes of both rows.
  std::array<SmallVector<Lanes>, 2> loadCodes(const WgmmaStep &step);
  std::array<Value, 2> emitE2M1(Lanes low, Lanes high, Value scale);
  std::array<Value, 2> emitBytes(ArrayRef<Lanes> words, Value scale);
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

/// `scale` is a pair of the plain type. Of the 8 bytes of codes of an
/// instruction, `low` and `high`, the thread has m and m + 4.
std::array<Value, 2> DecodeEmitter::emitE2M1(Lanes low, Lanes high,
                                             Value scale) {
  const E2M1Table &table = format.plain.isBF16() ? kBF16Table : kF16Table;
  Lanes member(b, thread.member);
  Lanes codes = permute(b, low, high, member | ((member + 4) << 4));
  Lanes magnitudes = codes & 0x7777;
  Lanes highBytes =
      permute(b, word(table.high[0]), word(table.high[1]), magnitudes);
  Value lowBytes = word(0);
  if (table.low[0] != 0)
    lowBytes = permute(b, word(table.low[0]), word(table.low[1]), magnitudes);
  // A byte 0xFF where a code has a sign, and 0x80 elsewhere: bit 6 tells them
  // apart.
  Lanes signs = permute(b, word(0x80808080), word(0x80808080), codes);
  highBytes = highBytes | ((signs << 1) & 0x80808080u);
  auto scaled = [&](uint32_t selector) -> Value {
    Value elements =
        b.bitcast(pair, permute(b, lowBytes, highBytes, word(selector)));
    return arith::MulFOp::create(b, elements, scale);
  };
  Value first = scaled(0x5140);
  return {first, scaled(0x7362)};
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

/// Of the 16 bytes of codes of an instruction, the thread has two from 2 m on,
/// and two from 2 m + 8 on.
std::array<Value, 2> DecodeEmitter::emitBytes(ArrayRef<Lanes> words,
                                              Value scale) {
  Lanes first = Lanes(b, thread.member) << 1;
  Lanes selector = first | ((first + 1) << 4);
  Value low = emitPair(permute(b, words[0], words[1], selector), scale);
  return {low, emitPair(permute(b, words[2], words[3], selector), scale)};
}

DecodeEmitter::RowPairs DecodeEmitter::emitRow(ArrayRef<Lanes> words,
                                               ArrayRef<Value> scales) {
  bool isPacked = format.getBits() == 4;
  SmallVector<Value> factors(scales);
  if (isPacked)
    for (Value &factor : factors)
      factor = round(factor, factor);
  int64_t productWords = words.size() / kStepProducts;
  RowPairs pairs;
  for (int64_t i = 0; i < kStepProducts; ++i) {
    ArrayRef<Lanes> own = words.slice(i * productWords, productWords);
    Value factor = factors[i * kWgmmaElements / format.block];
    pairs.push_back(isPacked ? emitE2M1(own[0], own[1], factor)
                             : emitBytes(own, factor));
  }
  return pairs;
}

std::array<SmallVector<Lanes>, 2>
DecodeEmitter::loadCodes(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  // A swizzle exchanges pieces by the lines of 128 bytes that they are in
  // (CUDA driver API, cuTensorMapEncodeTiled). Both rows have the same order.
  Lanes rowByte = Lanes(b, thread.row) * shared.boxBytes;
  Lanes exchange =
      (rowByte >> llvm::Log2_64(kSwizzleLine)) & (shared.boxBytes / kPiece - 1);
  Lanes own = rowByte + exchange * kPiece;
  std::array<SmallVector<Lanes>, 2> rows;
  for (int64_t at = 0; at < format.getCodeBytes(); at += kPiece) {
    Lanes byte = Lanes(b, step.inStage) * format.getCodeBytes() + at;
    Lanes box = byte >> llvm::Log2_64(shared.boxBytes);
    Lanes piece = byte & (shared.boxBytes - 1);
    Value address =
        b.offset(codes, b.getI8Type(),
                 (own ^ piece) + box * (kScaledRows * shared.boxBytes));
    for (auto [i, words] : llvm::enumerate(rows))
      llvm::append_range(words, emitLoadWords(b,
                                              b.offset(address, b.getI8Type(),
                                                       b.i32(i * kRowDistance *
                                                             shared.boxBytes)),
                                              kPiece, kPiece));
  }
  return rows;
}

SmallVector<Value> DecodeEmitter::emit(const WgmmaStep &step, Value tileCol) {
  const WgmmaLayout &shared = context.shared;
  Value scales =
      context.getShared(b, shared.scales, step.slot, shared.scaleBytes);
  Lanes scaleTile =
      Lanes(b, step.inStage) >> llvm::Log2_64(format.getTileSteps());
  Lanes row(b, thread.row), scaleRow = row;
  if (context.tile.scaleTiles > 1) {
    // Each warpgroup has a product, whose tiles have half of a band.
    scaleTile = scaleTile +
                Lanes(b, thread.warpgroup) * context.spec.getStageScaleTiles();
    scaleRow =
        (row & (kWarpgroupRows - 1)) + (Lanes(b, tileCol) & 1) * kWarpgroupRows;
  }
  scales = b.offset(scales, b.getI8Type(), scaleTile * kTileBytes);
  Lanes tileStep = Lanes(b, step.inProduct) & (format.getTileSteps() - 1);
  std::array<SmallVector<Lanes>, 2> codes = loadCodes(step);
  SmallVector<RowPairs, 2> rows;
  for (auto [i, words] : llvm::enumerate(codes))
    rows.push_back(emitRow(
        words, loadScales(scales, scaleRow + i * kRowDistance, tileStep)));
  SmallVector<Value> registers;
  for (int64_t i = 0; i < kStepProducts; ++i)
    for (int half : {0, 1})
      for (const RowPairs &pairs : rows)
        registers.push_back(b.toBits(pairs[i][half]));
  return registers;
}

SmallVector<Value> emitDecode(KernelBuilder &b, const WgmmaContext &context,
                              const WgmmaThread &thread, const WgmmaStep &step,
                              Value tileCol) {
  return DecodeEmitter(b, context, thread).emit(step, tileCol);
}

} // namespace blockscale::gemm

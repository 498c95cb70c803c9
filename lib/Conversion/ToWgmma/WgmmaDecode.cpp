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
// the inverse of that. A scale of E4M3 takes that factor, too, as far as it
// fits; sums are smaller by what is left (`DecodedFormat::getSumShift`). A
// scale of E8M0 takes it as a whole if it is 2 at most, as those of weights
// are. If a thread of a warp has a larger one, or NaN, all of them multiply
// twice in this step, as they always do where there are few teams. Wider codes
// become bf16 or f16, which have all of them: E4M3 by conversions, others by
// moving bits (Products/PlainPairs.h). Then the product with the scale rounds
// once, where a value is not exact at all.
//
// A global scale of elements makes an f32 of each scale, by which an element is
// multiplied as f32, too. Beside bf16 most global scales let this factor be
// split into two numbers of bf16 (Numerics/SplitFactor.h), for which the bits
// of codes stay as they are. As it takes longer to make them than to exchange
// them, each thread makes those of two scales. To make up for that, it loads
// the codes of all four threads of its rows at once, and takes its bytes by the
// same instruction that puts both codes of a byte into the halves of a word.
//
// Where blocks lie across K, rows of W are those of the sum, and a pair of a
// thread has two of their columns. So each warp decodes 16 columns of all rows,
// matrices of 8 x 8 elements in registers that `movmatrix` transposes, once
// they are multiplied by the scales of their rows.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"
#include "Emission/BitMoves.h"
#include "Products/PlainPairs.h"
#include "WgmmaRoles.h"
#include "blockscale/Numerics/Accumulators.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <cmath>

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using numerics::getCodeBit;
using numerics::getRegisterWord;
using numerics::getUnitProducts;
using numerics::getUnitRegisters;
using numerics::isInRest;
using numerics::kProductCols;
using numerics::kRestBits;
using numerics::kUnitWords;

/// Bytes that a swizzle moves together.
static constexpr int64_t kPiece = numerics::kSwizzlePiece;

/// Threads that have elements of a row.
static constexpr int64_t kRowThreads =
    numerics::kWgmmaAccumulator.getPlace<int64_t>(/*row=*/1, /*col=*/0,
                                                  numerics::kSumThread);

/// The most plain rows of a tile whose steps take longer to decode than to
/// multiply.
static constexpr int64_t kMaxExchangeRows = 128;

namespace {

/// How codes of E2M1, each a sign, two bits of exponent and one of mantissa,
/// become elements in the halves of a word.
struct E2M1Places {
  /// The places of bits m, e0, e1 and s in the lower half: the lowest bits of
  /// the exponent and the highest one of the mantissa.
  int bits[4];
  /// Of the two codes of a byte: multiplication by two powers of two moves them
  /// to both places at once.
  uint32_t magnitudeFactor, magnitudes, signFactor, signs;
};

constexpr E2M1Places kBF16Places = {{6, 7, 8, 15},
                                    1u << 6 | 1u << 18,
                                    0x01C001C0,
                                    1u << 12 | 1u << 24,
                                    0x80008000};
constexpr E2M1Places kF16Places = {{9, 10, 11, 15},
                                   1u << 9 | 1u << 21,
                                   0x0E000E00,
                                   1u << 12 | 1u << 24,
                                   0x80008000};

class DecodeEmitter {
public:
  DecodeEmitter(KernelBuilder &b, const WgmmaContext &context,
                const WgmmaThread &thread, const ElementScale &global)
      : b(b), context(context), thread(thread), format(context.spec.format),
        pairs(b, format.plain), cvt(createCvtEmitter(*context.spec.chip)),
        global(global) {}

  SmallVector<Value> emit(const WgmmaStep &step, Value tileOfRows);

private:
  bool isAcross() const { return format.isAcross(); }
  /// The scales of both rows in the step that the thread loads, twice 8 bits
  /// each: all of them, or the two that it decodes for others, too.
  /// `tileOfRows` (i32) is the number of the tile along the rows with scales.
  SmallVector<Lanes> loadScales(const WgmmaStep &step, Value tileOfRows);
  /// Where blocks lie across K: those of all rows of the step that the thread
  /// has elements of, in pairs of rows 32 apart.
  SmallVector<Lanes> loadScalesAcross(const WgmmaStep &step, Lanes tileOfRows);
  /// The factors of the elements of both rows: one for each of the step's
  /// scales, twice in a pair of the plain type; or an f32 where there is a
  /// global scale of elements. `convert` makes a pair of the plain type of two
  /// scales.
  std::array<SmallVector<Value>, 2>
  emitFactors(ArrayRef<Lanes> scales, function_ref<Value(Lanes)> convert);
  /// Split factors of the elements of both rows, one for each of the step's
  /// scales.
  using SplitPair = PlainPairs::SplitPair;
  std::array<SmallVector<SplitPair>, 2> splitFactors(Lanes ownScales);
  /// Two scales of `bytes`, twice 8 bits, as a pair of the plain type.
  Value emitScalePair(Lanes bytes);
  /// The pairs that the thread has in both rows, two for each instruction, i32:
  /// their bits in the plain type if codes have 4 bits, and codes of others.
  using RowCodes = SmallVector<Lanes, 2 * kStepProducts>;
  std::array<RowCodes, 2> loadCodes(const WgmmaStep &step);
  std::array<RowCodes, 2> loadPackedCodes(const WgmmaStep &step);
  /// Where blocks lie across K, pairs along these: before they are transposed,
  /// the first of "both rows" has the lower 8 columns of the warp, and the
  /// second one the others.
  std::array<RowCodes, 2> loadCodesAcross(const WgmmaStep &step);
  /// Bytes of a block of packed codes, or of the part of it that a tile has.
  int64_t getBlockBytes() const {
    return std::min(context.tile.scaledRows, kWarpgroupRows) *
           format.getCodeBytes();
  }
  /// The bits of a pair of elements of a byte of codes of E2M1, and of register
  /// `reg` of a unit of packed codes, whose word is `source`.
  Lanes emitE2M1Bits(Lanes codes);
  Lanes emitPackedBits(Lanes source, int64_t reg);
  /// The rest of both words of a unit.
  static Lanes getRest(ArrayRef<Lanes> words) {
    return ((words[0] ^ words[1]) & kRestBits) ^ words[1];
  }
  /// A pair of elements. Where factors bring the one of E2M1, too, its bits are
  /// taken as they are.
  Value emitElements(Lanes codes, bool takesFactor);
  const E2M1Places &getPlaces() const {
    return format.plain.isBF16() ? kBF16Places : kF16Places;
  }
  bool isE2M1() const { return format.getBits() == 4; }
  /// Whether scales take the factor of E2M1 in most steps, but not in all. The
  /// branch costs a warp more than it saves, unless others run meanwhile.
  bool takesFactorMostly() const {
    return isE2M1() && format.scale == numerics::ScaleFormat::E8M0 &&
           context.spec.getWarpgroups() > kFewTeams;
  }

  KernelBuilder &b;
  const WgmmaContext &context;
  const WgmmaThread &thread;
  const DecodedFormat &format;
  PlainPairs pairs;
  std::unique_ptr<CvtEmitter> cvt;
  ElementScale global;
};

} // namespace

Value DecodeEmitter::emitScalePair(Lanes bytes) {
  Value low, high;
  if (format.scale == numerics::ScaleFormat::E4M3) {
    std::tie(low, high) = cvt->decodeE4M3Pair(b, bytes);
  } else {
    Lanes wide = extend(bytes, 32);
    low = numerics::decodeE8M0Bits(wide & 0xFF);
    high = numerics::decodeE8M0Bits(wide >> 8);
  }
  Value both = pairs.round(low, high);
  if (int shift = format.getSumShift())
    both = arith::MulFOp::create(
        b, both,
        pairs.emitConstant(
            std::ldexp(1.0, pairs.getBiasDistance(format.element) - shift)));
  return both;
}

SmallVector<Lanes> DecodeEmitter::loadScales(const WgmmaStep &step,
                                             Value tileOfRows) {
  if (isAcross())
    return loadScalesAcross(step, Lanes(b, tileOfRows));
  const WgmmaLayout &shared = context.shared;
  Value scales =
      context.getShared(b, shared.scales, step.slot, shared.scaleBytes);
  Lanes scaleTile = step.inStage >> llvm::Log2_64(format.getTileSteps());
  Lanes row = thread.row;
  // Each warpgroup has a product.
  if (context.tile.scaledOwners > 1)
    scaleTile =
        scaleTile + thread.warpgroup * context.spec.getStageScaleTiles();
  // Tiles can have half of a band, or a quarter.
  if (int64_t rows = context.tile.scaledRowsOfEach; rows < kTileRows)
    row = (row & (rows - 1)) +
          (Lanes(b, tileOfRows) & (kTileRows / rows - 1)) * rows;
  scales = b.offset(scales, b.getI8Type(), scaleTile * kTileBytes);
  Lanes tileStep = step.inProduct & (format.getTileSteps() - 1);
  int64_t ofRow = format.getStepScales() / 2;
  int64_t all = 2 * ofRow;
  auto load = [&](Lanes number) {
    auto [which, pair] = numerics::splitBits(number, ofRow);
    Lanes ownRow = row + which * kRowDistance;
    Lanes byte = numerics::k128x4.getByteInTile(ownRow, ownRow.like(0)) +
                 tileStep * format.getStepScales() + pair * 2;
    Value address = b.offset(scales, b.getI8Type(), byte);
    return Lanes(b, b.load(b.getIntegerType(16), address, 2));
  };
  // Four threads have elements of the same rows. Where decoding sets the pace,
  // each decodes two scales, and they exchange them.
  if (context.tile.plainRows <= kMaxExchangeRows || global.isSplit)
    return {load(numerics::splitBits(thread.member, all).second)};
  SmallVector<Lanes> loaded;
  for (int64_t i = 0; i < all; ++i)
    loaded.push_back(load(Lanes(b, b.i32(i))));
  return loaded;
}

SmallVector<Lanes> DecodeEmitter::loadScalesAcross(const WgmmaStep &step,
                                                   Lanes tileOfRows) {
  // Rows of a pair are neighbouring words of a tile.
  constexpr int64_t kPairRows = 32;
  static_assert(numerics::k128x4.getByteInTile<int64_t>(kPairRows, 0) ==
                kWordBytes);
  const WgmmaSpec &spec = context.spec;
  const WgmmaLayout &shared = context.shared;
  int64_t rows = context.tile.scaledRowsOfEach;
  Lanes column = thread.row;
  if (context.tile.scaledOwners > 1)
    column = numerics::splitBits(column, rows).second;
  // Tiles of the product can have half of those of scales.
  Lanes before =
      numerics::splitBits(tileOfRows * (rows / format.block), kTileCols).second;
  auto [tile, byte] = numerics::splitBits(
      before + numerics::splitBits(column, format.block).first, kTileCols);
  Lanes band = numerics::splitBits(step.inStage, format.getTileSteps()).first;
  Lanes half =
      numerics::splitBits(step.inProduct, format.getTileSteps()).second;
  tile = tile + band * spec.getTilesAcross();
  if (context.tile.scaledOwners > 1)
    tile = tile + thread.warpgroup * spec.getStageScaleTiles();
  Lanes row = numerics::getPairs(numerics::kMmaAccumulator)
                  .getElementOf(numerics::kSumThread, thread.lane)
                  .row +
              half * kDecodedStep;
  Value scales = b.offset(
      context.getShared(b, shared.scales, step.slot, shared.scaleBytes),
      b.getI8Type(),
      tile * kTileBytes + numerics::k128x4.getByteInTile(row, row.like(0)));
  // Both bytes of the words of a pair.
  Lanes selector = byte * 0x11 + (kWordBytes << 4);
  SmallVector<Lanes> loaded;
  for (int64_t i = 0; i < kPairRows; i += kRowDistance) {
    int64_t at = numerics::k128x4.getByteInTile<int64_t>(i, 0);
    SmallVector<Lanes> words =
        emitLoadWords(b, b.offset(scales, b.getI8Type(), b.i32(at)),
                      2 * kWordBytes, 2 * kWordBytes);
    loaded.push_back(truncate(
        b.callIntrinsic("llvm.nvvm.prmt", {words[0], words[1], selector}), 16));
  }
  return loaded;
}

std::array<SmallVector<Value>, 2>
DecodeEmitter::emitFactors(ArrayRef<Lanes> scales,
                           function_ref<Value(Lanes)> convert) {
  if (isAcross()) {
    // One for each pair of rows of an instruction, both halves of the columns.
    SmallVector<Value> factors(2 * scales.size());
    for (auto [i, bytes] : llvm::enumerate(scales)) {
      Value both = convert(bytes);
      for (size_t j = 0; j < 2; ++j)
        factors[j * scales.size() + i] = b.splat(b.extract(both, j), 2);
    }
    return {factors, factors};
  }
  int64_t ofRow = format.getStepScales() / 2;
  int64_t all = 2 * ofRow;
  bool isOwn = scales.size() < static_cast<size_t>(all);
  Lanes own = isOwn ? b.toBits(convert(scales.front())) : Lanes();
  std::array<SmallVector<Value>, 2> factors;
  for (int64_t i = 0; i < all; ++i) {
    Value both = isOwn ? b.bitcast(pairs.getType(),
                                   emitShuffleFrom(b, own, i, kRowThreads))
                       : convert(scales[i]);
    SmallVector<Value> &ofBoth = factors[i / ofRow];
    if (global.value) {
      auto [first, second] = pairs.widen(both);
      ofBoth.push_back(pairs.getBlockFactor(first, global.value));
      ofBoth.push_back(pairs.getBlockFactor(second, global.value));
      continue;
    }
    for (int64_t j = 0; j < 2; ++j)
      ofBoth.push_back(b.splat(b.extract(both, j), 2));
  }
  return factors;
}

std::array<SmallVector<DecodeEmitter::SplitPair>, 2>
DecodeEmitter::splitFactors(Lanes ownScales) {
  auto [low, high] = cvt->decodeE4M3Pair(b, ownScales);
  SplitPair own = pairs.splitFactors(pairs.getBlockFactor(low, global.value),
                                     pairs.getBlockFactor(high, global.value));
  auto getFrom = [&](int64_t thread, Lanes both) {
    return b.bitcast(pairs.getType(),
                     emitShuffleFrom(b, b.toBits(both), thread, kRowThreads));
  };
  auto getTwice = [&](Lanes both, int64_t i) {
    return b.splat(b.extract(both, i), 2);
  };
  int64_t ofRow = format.getStepScales() / 2;
  std::array<SmallVector<SplitPair>, 2> factors;
  for (int64_t i = 0; i < 2 * ofRow; ++i) {
    Lanes main = getFrom(i, own.main), rest = getFrom(i, own.rest);
    for (int64_t j = 0; j < 2; ++j)
      factors[i / ofRow].push_back({getTwice(main, j), getTwice(rest, j)});
  }
  return factors;
}

Lanes DecodeEmitter::emitE2M1Bits(Lanes codes) {
  const E2M1Places &places = getPlaces();
  Lanes magnitudes = (codes * places.magnitudeFactor) & places.magnitudes;
  return magnitudes | ((codes * places.signFactor) & places.signs);
}

Lanes DecodeEmitter::emitPackedBits(Lanes source, int64_t reg) {
  emit::BitMoves moves;
  for (int half = 0; half < 2; ++half)
    for (int bit = 0; bit < 4; ++bit)
      moves.add(getCodeBit(bit, reg, half).distance + bit,
                getPlaces().bits[bit] + 16 * half);
  return moves.emit(source);
}

Value DecodeEmitter::emitElements(Lanes codes, bool takesFactor) {
  if (isE2M1()) {
    Value elements = b.bitcast(pairs.getType(), codes);
    if (takesFactor)
      return elements;
    return arith::MulFOp::create(
        b, elements,
        pairs.emitConstant(
            std::ldexp(1.0, pairs.getBiasDistance(format.element))));
  }
  if (format.element != numerics::ElementFormat::E4M3)
    return pairs.decode(format.element,
                        getCodePairs(format.element, codes).front());
  auto [low, high] = cvt->decodeE4M3Pair(b, truncate(codes, 16));
  return pairs.round(low, high);
}

std::array<DecodeEmitter::RowCodes, 2>
DecodeEmitter::loadCodes(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  // Both rows of the thread are exchanged alike.
  Lanes row = thread.row;
  int64_t pairBytes = format.getBits() / 4;
  Lanes own = numerics::getSwizzledByte(row, row.like(0), shared.boxBytes);
  if (!global.isSplit)
    own = own + thread.member * pairBytes;
  Type type = b.getIntegerType(8 * pairBytes);
  std::array<RowCodes, 2> rows;
  for (int64_t at = 0; at < format.getCodeBytes(); at += kPiece) {
    Lanes byte = step.inStage * format.getCodeBytes() + at;
    Lanes box = byte >> llvm::Log2_64(shared.boxBytes);
    Lanes piece = byte & (shared.boxBytes - 1);
    Value address = b.offset(
        codes, b.getI8Type(),
        (own ^ piece) + box * (context.tile.scaledRows * shared.boxBytes));
    auto getAddress = [&](int64_t row, int64_t inPiece) {
      int64_t offset = row * kRowDistance * shared.boxBytes + inPiece;
      return b.offset(address, b.getI8Type(), b.i32(offset));
    };
    // Pairs are eight elements apart.
    if (global.isSplit) {
      for (auto [i, row] : llvm::enumerate(rows))
        for (Lanes word :
             emitLoadWords(b, getAddress(i, /*inPiece=*/0), kPiece, kPiece)) {
          CodePair pair = getCodePairs(format.element, word).front();
          pair.moreBytes = thread.member;
          row.push_back(b.toBits(pairs.decodeFields(format.element, pair)));
        }
      continue;
    }
    for (int64_t inPiece = 0; inPiece < kPiece; inPiece += 4 * pairBytes)
      for (auto [i, row] : llvm::enumerate(rows)) {
        Lanes loaded(b, b.load(type, getAddress(i, inPiece), pairBytes));
        Lanes pair = extend(loaded, 32);
        row.push_back(format.getBits() == 4 ? emitE2M1Bits(pair) : pair);
      }
  }
  return rows;
}

std::array<DecodeEmitter::RowCodes, 2>
DecodeEmitter::loadPackedCodes(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  int64_t blockBytes = getBlockBytes();
  Lanes own =
      thread.warpgroup * (context.spec.getStageSteps() * blockBytes) +
      step.inStage * blockBytes +
      numerics::splitBits(thread.number, kWarpgroupThreads).second * kPiece;
  std::array<RowCodes, 2> rows;
  for (int64_t at = 0; at < blockBytes; at += kWarpgroupThreads * kPiece) {
    Value address = b.offset(codes, b.getI8Type(), own + at);
    SmallVector<Lanes> words = emitLoadWords(b, address, kPiece, kPiece);
    // Pairs of both rows, and those behind them along K.
    for (size_t i = 0; i < words.size(); i += kUnitWords) {
      auto unit = ArrayRef(words).slice(i, kUnitWords);
      for (int64_t reg = 0; reg < getUnitRegisters(format.getBits()); ++reg)
        rows[reg % 2].push_back(
            !isE2M1()
                ? unit[reg / 2] >> (reg % 2 * 16)
                : emitPackedBits(isInRest(reg) ? getRest(unit)
                                               : unit[getRegisterWord(reg)],
                                 reg));
    }
  }
  return rows;
}

std::array<DecodeEmitter::RowCodes, 2>
DecodeEmitter::loadCodesAcross(const WgmmaStep &step) {
  const WgmmaLayout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, step.slot, shared.codeBytes);
  int64_t blockBytes = getBlockBytes();
  int64_t warpgroups = context.tile.scaledRows / kWarpgroupRows;
  // The 16 columns of the warp are those of a product of the layout.
  Lanes product =
      numerics::splitBits(
          numerics::splitBits(thread.row, kWarpgroupRows).second, kProductCols)
          .first;
  std::pair<Lanes, Lanes> units =
      numerics::splitBits(product, getUnitProducts(format.getBits()));
  Lanes ofUnit = units.second;
  Lanes own = step.inStage * (warpgroups * blockBytes) +
              thread.warpgroup * blockBytes +
              numerics::getUnitByte(thread.lane, units.first);
  Value address = b.offset(codes, b.getI8Type(), own);
  std::array<RowCodes, 2> halves;
  for (int64_t i = 0; i < kStepProducts; ++i) {
    // What warp i of a forward product has.
    int64_t place =
        numerics::getUnitByte<int64_t>(i * kWarpThreads, /*unit=*/0);
    constexpr int64_t unitBytes = kUnitWords * kWordBytes;
    SmallVector<Lanes> words =
        emitLoadWords(b, b.offset(address, b.getI8Type(), b.i32(place)),
                      unitBytes, unitBytes);
    Lanes source, rest;
    if (isE2M1()) {
      auto rotate = [&](Lanes word, int by) {
        return b.callIntrinsic("llvm.fshl", {word, word, ofUnit * by});
      };
      source = rotate(select(isEqual(ofUnit, 0), words[0], words[1]),
                      numerics::kNextRotation);
      rest = rotate(getRest(words), numerics::kNextRestRotation);
    }
    // Registers of both halves of the columns, of the lower rows first.
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t half = 0; half < 2; ++half) {
        int64_t reg = row + 2 * half;
        halves[half].push_back(
            isE2M1() ? emitPackedBits(isInRest(reg) ? rest : source, reg)
                     : words[reg / 2] >> (reg % 2 * 16));
      }
  }
  return halves;
}

SmallVector<Value> DecodeEmitter::emit(const WgmmaStep &step,
                                       Value tileOfRows) {
  SmallVector<Lanes> loaded = loadScales(step, tileOfRows);
  std::array<RowCodes, 2> codes = isAcross()        ? loadCodesAcross(step)
                                  : format.isPacked ? loadPackedCodes(step)
                                                    : loadCodes(step);
  // The registers of pairs, whose elements `scale` multiplies by the factor of
  // a number of a row.
  auto forEachPair =
      [&](function_ref<Value(Lanes codes, int64_t row, int64_t number)> scale) {
        SmallVector<Value> registers;
        for (int64_t i = 0; i < 2 * kStepProducts; ++i)
          for (int64_t row = 0; row < 2; ++row) {
            int64_t number =
                isAcross() ? i : i * (kWgmmaElements / 2) / format.block;
            registers.push_back(b.toBits(scale(codes[row][i], row, number)));
          }
        return registers;
      };
  if (global.isSplit) {
    auto factors = splitFactors(loaded.front());
    return forEachPair([&](Lanes codes, int64_t row, int64_t number) {
      return pairs.multiplySplit(b.bitcast(pairs.getType(), codes),
                                 factors[row][number]);
    });
  }
  auto multiply = [&](bool takesFactor, function_ref<Value(Lanes)> convert) {
    std::array<SmallVector<Value>, 2> factors = emitFactors(loaded, convert);
    return forEachPair([&](Lanes codes, int64_t row, int64_t number) -> Value {
      Value factor = factors[row][number];
      Value elements = emitElements(codes, takesFactor);
      if (global.value)
        return pairs.dequantize(elements, Lanes(b, factor));
      return arith::MulFOp::create(b, elements, factor);
    });
  };
  auto multiplyByScales = [&] {
    return multiply(/*takesFactor=*/format.getSumShift() != 0,
                    [&](Lanes bytes) { return emitScalePair(bytes); });
  };
  if (!takesFactorMostly())
    return multiplyByScales();
  SmallVector<Type> types(kStepRegisters, b.getI32Type());
  return emitIfElse(b, pairs.hasLargeScale(format.element, loaded), types,
                    multiplyByScales, [&] {
                      return multiply(/*takesFactor=*/true, [&](Lanes bytes) {
                        return pairs.emitWholeFactors(format.element, bytes);
                      });
                    });
}

SmallVector<Value> emitDecode(KernelBuilder &b, const WgmmaContext &context,
                              const WgmmaThread &thread, const WgmmaStep &step,
                              Value tileOfRows, const ElementScale &global) {
  return DecodeEmitter(b, context, thread, global).emit(step, tileOfRows);
}

SmallVector<Value> emitFirstOperand(KernelBuilder &b,
                                    const WgmmaContext &context,
                                    ArrayRef<Value> elements) {
  SmallVector<Value> operand(elements);
  if (context.spec.format.isAcross())
    for (Value &each : operand)
      each = LLVM::InlineAsmOp::create(
                 b, b.getI32Type(), each,
                 "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                 /*has_side_effects=*/true, /*is_align_stack=*/false,
                 LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                 /*operand_attrs=*/ArrayAttr())
                 .getRes();
  return operand;
}

} // namespace blockscale::products

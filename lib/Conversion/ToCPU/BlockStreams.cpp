//===- BlockStreams.cpp - Quantization of neighbours at full speed --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements whose codes share an i32 of the data travel in equal lanes of as
// many vectors, streams. They come apart with the moves of lanes that the amax
// needs anyway, share the lanes of the factors, and their codes come together
// without moving a lane.
//
// Lanes of streams are not in the order of memory. Vector registers move lanes
// cheaply within pieces of 128 bits alone, and this takes rows of words apart
// in such pieces. Codes and scales get their order back when they are stored,
// where they are few.
//
// From an amax to a factor it is a long way of dependent operations. So the
// scales of a chunk of blocks are computed before the codes of any, in a loop
// whose iterations overlap.
//
// E2M1 codes of bf16 elements are found by comparison with where codes begin
// (Numerics/E2M1Starts.h), in half words, two to a lane. Groups with a block
// whose factor has no such starts take the other way.
//
//===----------------------------------------------------------------------===//

#include "BlockStreams.h"
#include "blockscale/Numerics/E2M1Starts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Elements of a chunk, whose words stay in the first cache.
static constexpr int64_t kElementsPerChunk = 2048;

/// How far ahead elements are asked for: hardware does not look beyond a page,
/// which is a row or less.
static constexpr int64_t kElementsAhead = 2048;

/// Elements whose codes are neighbours in memory and fill an i32, in equal
/// lanes of vectors: vector i has the elements i, i + n, .. as f32 bits, or of
/// bf16 the elements 2 i and 2 i + 1 and so on, paired in a word. `StreamOrder`
/// says which i32 of the data a lane belongs to.
using Streams = SmallVector<Lanes>;

/// The largest magnitudes of each lane, as i16 pairs or f32 bits. Magnitude
/// bits order as the magnitudes do, NaN on top, so that NaN propagates.
static Lanes maxMagnitude(Lanes a, Lanes b, bool isPaired) {
  if (!isPaired)
    return maxUnsigned(a, b);
  ImplicitLocOpBuilder &builder = a.getBuilder();
  Lanes larger = maxSigned(bitcastLanes(a, builder.getI16Type()),
                           bitcastLanes(b, builder.getI16Type()));
  return bitcastLanes(larger, builder.getI32Type());
}

static Lanes emitLaneAmax(const Streams &streams, bool isPaired) {
  auto getMagnitude = [&](Lanes x) {
    return x & (isPaired ? 0x7FFF7FFFu : numerics::kFloatMagnitudeMask);
  };
  Lanes amax = getMagnitude(streams.front());
  for (Lanes stream : ArrayRef<Lanes>(streams).drop_front())
    amax = maxMagnitude(amax, getMagnitude(stream), isPaired);
  return isPaired ? maxMagnitude(amax, amax >> 16, isPaired) : amax;
}

/// The amax of each block from that of its lanes, in the order of
/// `StreamOrder::blockOfLane`.
static Lanes emitBlockAmax(Lanes amax, const StreamOrder &order,
                           bool isPaired) {
  for (const StreamOrder::Halves &halves : order.reductions)
    amax = maxMagnitude(shuffleLanes(amax, amax, halves.left),
                        shuffleLanes(amax, amax, halves.right), isPaired);
  return toF32(isPaired ? amax << 16 : amax);
}

//===----------------------------------------------------------------------===//
// Codes of one vector of i32 of the data
//===----------------------------------------------------------------------===//

/// The elements of the streams (f32 bits) in the order of their codes.
static SmallVector<Lanes> getElements(const Streams &streams, bool isPaired) {
  if (!isPaired)
    return streams;
  SmallVector<Lanes> elements;
  for (Lanes stream : streams)
    elements.append({stream << 16, stream & 0xFFFF0000u});
  return elements;
}

/// The codes of E2M1, packed. Sums rather than unions: what is added to each
/// code is added to all of them at once.
static Lanes encodeNibbles(const BlockFormat &format, ArrayRef<Lanes> elements,
                           Lanes factor) {
  auto encode = [&](Lanes bits) {
    return emitEncodeElements(format, bits, factor);
  };
  Lanes data = encode(elements.back());
  for (Lanes bits : llvm::reverse(elements.drop_back()))
    data = (data << 4) + encode(bits);
  return data;
}

/// Bits of codes at the place of the sign, for the bits of bf16 elements (i16),
/// of which those that are NaN have none. As numbers with sign, the bits of -0
/// to -infinity are the smallest ones.
static Lanes getSigns(const BlockFormat &format, Lanes x) {
  constexpr uint32_t kMinusInfinity = 0xFF80;
  Lanes isNegative = numerics::keepsNegativeZero(format.recipe)
                         ? isLess(x, x.like(kMinusInfinity + 1))
                         : isLess(x - 1, x.like(kMinusInfinity));
  return select(isNegative, x.like(8), x.like(0));
}

/// The codes of E2M1, packed, of streams of pairs of bf16. `starts` has the
/// starts for each half word.
static Lanes countNibbles(const BlockFormat &format, const Streams &streams,
                          const numerics::E2M1Starts<Lanes> &starts) {
  ImplicitLocOpBuilder &b = streams.front().getBuilder();
  SmallVector<Lanes> codes;
  for (Lanes stream : streams) {
    Lanes x = bitcastLanes(stream, b.getI16Type());
    codes.push_back(numerics::countE2M1Code(x & 0x7FFF, starts) +
                    getSigns(format, x));
  }
  // Bytes of half words have the codes of two streams: those of even elements
  // in the lower one, those of odd elements in the upper one.
  auto merge = [&](Lanes first, Lanes second) {
    Lanes pairs = bitcastLanes(first + (second << 8), b.getI32Type());
    return pairs | (pairs >> 12);
  };
  Lanes low = merge(codes[0], codes[1]) & 0xFFFF;
  return low | (merge(codes[2], codes[3]) << 16);
}

/// Codes of other formats, without signs, in the order of memory.
static Lanes encodeBytes(const BlockFormat &format, ArrayRef<Lanes> elements,
                         Lanes factor) {
  auto encode = [&](int64_t i) {
    return emitEncodeMagnitudes(format, elements[i], factor);
  };
  Lanes low = (encode(0) | (encode(1) << 8)) & 0xFFFF;
  return low | ((encode(2) << 16) | (encode(3) << 24));
}

/// Codes of numbers, with the signs of the elements `x`, or NaN codes: of an MX
/// block either all elements are NaN, and the factor is, or none.
static Lanes finishBytes(const BlockFormat &format, Lanes codes, Lanes x,
                         Lanes factor) {
  ImplicitLocOpBuilder &b = codes.getBuilder();
  Lanes bytes = addSigns(format, bitcastLanes(codes, b.getI8Type()), x);
  uint32_t nan = numerics::getFormatInfo(format.format).nanCode * 0x01010101u;
  return select(isNan(factor), codes.like(nan),
                bitcastLanes(bytes, b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Runs of blocks
//===----------------------------------------------------------------------===//

static int64_t getGroupElements(const BlockFormat &format) {
  return BlockStreams::kBlocks * format.getBlockSize();
}

static int64_t getGroupsPerChunk(const BlockFormat &format) {
  return kElementsPerChunk / getGroupElements(format);
}

/// Words of x whose elements' codes share an i32.
static int64_t getWordsPerLane(const BlockFormat &format, bool isPaired) {
  return 4 * format.getCodesPerByte() / (isPaired ? 2 : 1);
}

BlockStreams::BlockStreams(ImplicitLocOpBuilder &b, const BlockFormat &format,
                           Type element)
    : b(b), format(format), isPaired(getWorkingType(element).isBF16()),
      countsCodes(isPaired && format.format == numerics::ElementFormat::E2M1),
      lanesAtOnce(countsCodes ? 8 : 16) {
  int64_t groups = getGroupsPerChunk(format);
  words = allocate(b, {groups, getGroupElements(format) / (isPaired ? 2 : 1)},
                   b.getI32Type());
  factors = allocate(b, {groups, kBlocks}, b.getF32Type());
  if (countsCodes) {
    starts = allocate(b, {groups, kStarts * kBlocks}, b.getI32Type());
    haveStarts = allocate(b, {groups}, b.getI8Type());
  }
  int64_t perLane = getWordsPerLane(format, isPaired);
  int64_t elements = lanesAtOnce * perLane * (isPaired ? 2 : 1);
  order = StreamOrder(lanesAtOnce, perLane,
                      /*blocks=*/elements / format.getBlockSize());
}

void BlockStreams::emitFree() {
  memref::DeallocOp::create(b, words);
  memref::DeallocOp::create(b, factors);
  if (!countsCodes)
    return;
  memref::DeallocOp::create(b, starts);
  memref::DeallocOp::create(b, haveStarts);
}

/// Keeps the starts of the codes of a group's blocks, each twice in a word, and
/// whether all blocks have them.
void BlockStreams::emitStarts(Value group, Lanes factor) {
  Lanes all(b, vector::ReductionOp::create(
                   b, vector::CombiningKind::AND,
                   numerics::hasE2M1Starts(format.recipe, factor)));
  storeBits(extend(all, 8), haveStarts, group);
  auto found = numerics::getE2M1Starts(format.recipe, factor);
  int64_t at = 0;
  for (Lanes start : {found.beforeFirst, found.beforeSecond, found.beforeThird,
                      found.toFourth}) {
    storeLanes(start | (start << 16), starts, {group, getIndex(b, at)});
    at += kBlocks;
  }
}

/// The starts of each half word of the streams, of `blocks` blocks.
numerics::E2M1Starts<Lanes> BlockStreams::loadStarts(Value group, Value block,
                                                     int64_t blocks) {
  auto load = [&](int64_t i) {
    Lanes ofBlocks = loadLanes(
        b, starts, {group, add(b, block, getIndex(b, i * kBlocks))}, blocks);
    return bitcastLanes(shuffleLanes(ofBlocks, ofBlocks, order.blockLaneOfLane),
                        b.getI16Type());
  };
  return {load(0), load(1), load(2), load(3)};
}

void BlockStreams::emitAmaxes(const BlockRun &run, Value block, Value group,
                              const GlobalFactors &global) {
  Indices first =
      offsetBy(b, run.firstElement, mul(b, block, format.getBlockSize()));
  int64_t elements = getGroupElements(format);
  emitPrefetch(b, run.x, offsetBy(b, first, getIndex(b, kElementsAhead)),
               elements);
  Lanes x = loadElements(b, run.x, first, elements);
  Lanes all = bitcastLanes(x, b.getI32Type());
  int64_t perLane = getWordsPerLane(format, isPaired);
  int64_t step = lanesAtOnce * perLane;
  SmallVector<Lanes> amaxes;
  for (int64_t word = 0; word < all.getCount(); word += step) {
    Streams rows;
    for (int64_t i = 0; i < perLane; ++i)
      rows.push_back(slice(all, word + i * lanesAtOnce, lanesAtOnce));
    Streams streams = splitRows<Lanes>(rows, lanesAtOnce, shuffleLanes);
    for (auto [i, stream] : llvm::enumerate(streams))
      storeLanes(stream, words, {group, getIndex(b, word + i * lanesAtOnce)});
    amaxes.push_back(
        emitBlockAmax(emitLaneAmax(streams, isPaired), order, isPaired));
  }
  BlockScales scales = emitBlockScales(format, global, concatenate(amaxes));
  Lanes bytes = truncate(scales.bytes, 8);
  storeLanes(shuffleLanes(bytes, bytes, order.getLanesOfBlocks(kBlocks)),
             run.scales, offsetBy(b, run.firstScale, block));
  storeLanes(toBits(scales.factor), factors, {group, getIndex(b, 0)});
  if (countsCodes)
    emitStarts(group, scales.factor);
}

/// The codes of a group, a vector of data at a time.
void BlockStreams::emitCodes(const BlockRun &run, Value block, Value group) {
  if (!countsCodes)
    return emitCodes(run, block, group, /*byStarts=*/false);
  Lanes have = loadBits(b, haveStarts, group);
  emitIf(
      b, compare(arith::CmpIPredicate::ne, have, 0),
      [&] { emitCodes(run, block, group, /*byStarts=*/true); },
      [&] { emitCodes(run, block, group, /*byStarts=*/false); });
}

void BlockStreams::emitCodes(const BlockRun &run, Value block, Value group,
                             bool byStarts) {
  int64_t perLane = getWordsPerLane(format, isPaired);
  int64_t elements = lanesAtOnce * perLane * (isPaired ? 2 : 1);
  int64_t blocks = elements / format.getBlockSize();
  Value firstElement = mul(b, block, format.getBlockSize());
  auto emitVector = [&](Value vector) {
    Value word = mul(b, vector, perLane * lanesAtOnce);
    Streams streams;
    for (int64_t i = 0; i < perLane; ++i)
      streams.push_back(loadLanes(
          b, words, {group, add(b, word, getIndex(b, i * lanesAtOnce))},
          lanesAtOnce));
    Value firstBlock = mul(b, vector, blocks);
    Value element = add(b, firstElement, mul(b, vector, elements));
    auto sort = [&](Lanes x) { return shuffleLanes(x, x, order.laneOfData); };
    auto getData = [&] {
      if (byStarts)
        return sort(countNibbles(format, streams,
                                 loadStarts(group, firstBlock, blocks)));
      Lanes ofBlocks =
          toF32(loadLanes(b, factors, {group, firstBlock}, blocks));
      Lanes factor = shuffleLanes(ofBlocks, ofBlocks, order.blockLaneOfLane);
      SmallVector<Lanes> ordered = getElements(streams, isPaired);
      if (format.getCodesPerByte() == 2)
        return sort(encodeNibbles(format, ordered, factor));
      Lanes x = loadElements(b, run.x, offsetBy(b, run.firstElement, element),
                             elements);
      return finishBytes(format, sort(encodeBytes(format, ordered, factor)), x,
                         sort(factor));
    };
    storeLanes(
        bitcastLanes(getData(), b.getI8Type()), run.data,
        offsetBy(b, run.firstByte, div(b, element, format.getCodesPerByte())));
  };
  emitLoop(b, getIndex(b, 0), getIndex(b, kBlocks / blocks), emitVector);
}

/// The last group starts early enough to be a whole one.
void BlockStreams::emitRun(const BlockRun &run, Value count,
                           const GlobalFactors &global) {
  Value zero = getIndex(b, 0), last = sub(b, count, getIndex(b, kBlocks));
  Value groups = ceilDiv(b, count, kBlocks);
  int64_t perChunk = getGroupsPerChunk(format);
  auto isMultiple = [](Value value, int64_t unit) {
    std::optional<int64_t> known = getConstantIntValue(value);
    return known && *known % unit == 0;
  };
  auto emitChunk = [&](Value firstGroup) {
    Value end = getIndex(b, perChunk);
    if (!isMultiple(groups, perChunk))
      end = min(b, end, sub(b, groups, firstGroup));
    auto getBlock = [&](Value group) {
      Value block = mul(b, add(b, firstGroup, group), kBlocks);
      return isMultiple(count, kBlocks) ? block : min(b, block, last);
    };
    emitLoop(b, zero, end, [&](Value group) {
      emitAmaxes(run, getBlock(group), group, global);
    });
    emitLoop(b, zero, end,
             [&](Value group) { emitCodes(run, getBlock(group), group); });
  };
  emitLoop(b, zero, groups, emitChunk, perChunk);
}

} // namespace blockscale::cpu

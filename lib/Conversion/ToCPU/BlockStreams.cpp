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
//===----------------------------------------------------------------------===//

#include "BlockStreams.h"
#include "CodecEmitter.h"
#include "blockscale/Numerics/Bits.h"

using namespace mlir;

namespace blockscale::cpu {

/// Lanes of the data that are computed at once: few enough that an element
/// stays in a register from its load to its code.
static constexpr int64_t kLanesAtOnce = 16;

/// A run of elements, split so that the codes of those in equal lanes are
/// neighbours in memory and fill an i32: vector i has the elements i, i + n, ..
/// as f32 bits, or of bf16 the elements 2 i and 2 i + 1 and so on, paired in a
/// word.
using Streams = SmallVector<Lanes>;

/// Vector i of the result has the lanes i, i + count, ..
static Streams deinterleave(Lanes x, int64_t count) {
  if (count == 1)
    return {x};
  auto [even, odd] = deinterleave(x);
  Streams evens = deinterleave(even, count / 2);
  Streams odds = deinterleave(odd, count / 2);
  Streams streams;
  for (auto [left, right] : llvm::zip_equal(evens, odds))
    streams.append({left, right});
  return streams;
}

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

/// The amax of each block from that of its lanes.
static Lanes emitBlockAmax(Lanes amax, int64_t blocks, bool isPaired) {
  while (amax.getCount() > blocks) {
    auto [left, right] = deinterleave(amax);
    amax = maxMagnitude(left, right, isPaired);
  }
  return toF32(isPaired ? amax << 16 : amax);
}

/// What every element of a block shares, a lane for each of its i32 of data.
struct LaneScaling {
  ElementScaling scaling;
  std::optional<Lanes> limit;
};

static LaneScaling repeatForLanes(const BlockFormat &format,
                                  const ElementScaling &scaling,
                                  int64_t times) {
  LaneScaling repeated = {repeatScaling(scaling, times), std::nullopt};
  // A scaled element of an MX block is NaN where the amax is NaN, and so is the
  // factor; E2M1 is limited without.
  if (format.format != numerics::ElementFormat::E2M1)
    repeated.limit =
        repeatLanes(emitEncodeLimit(format.format, scaling.factor), times);
  return repeated;
}

/// The data of one group of lanes.
static Lanes encodeStreams(const BlockFormat &format, const Streams &streams,
                           bool isPaired, const LaneScaling &shared) {
  NegativeZero negativeZero = numerics::keepsNegativeZero(format.recipe)
                                  ? NegativeZero::Keep
                                  : NegativeZero::Drop;
  int64_t codeBits = 8 / format.getCodesPerByte(), shift = 0;
  std::optional<Lanes> data;
  auto append = [&](Lanes bits) {
    Lanes element = toF32(bits), factor = shared.scaling.factor;
    Lanes scaled = shared.scaling.divide ? element / factor : element * factor;
    Lanes code = emitEncode(format.format, scaled, negativeZero, shared.limit)
                 << shift;
    // Sums merge with the constants that codes of 6 and 8 bits end with; E2M1
    // has none, and unions merge with each other.
    if (data)
      code = codeBits == 4 ? *data | code : *data + code;
    data = code;
    shift += codeBits;
  };
  for (Lanes stream : streams) {
    append(isPaired ? stream << 16 : stream);
    if (isPaired)
      append(stream & 0xFFFF0000u);
  }
  return *data;
}

QuantizedBlocks emitQuantizeStreams(const BlockFormat &format,
                                    const GlobalFactors &global, Lanes x) {
  ImplicitLocOpBuilder &b = x.getBuilder();
  bool isPaired = x.getElementType().isInteger(16);
  int64_t blocks = x.getCount() / format.getBlockSize();
  Lanes words = bitcastLanes(x, b.getI32Type());
  int64_t lanes = x.getCount() / (4 * format.getCodesPerByte());
  int64_t lanesAtOnce = std::min(lanes, kLanesAtOnce);
  int64_t perLane = words.getCount() / lanes;

  SmallVector<Streams> groups;
  SmallVector<Lanes> amaxes;
  for (int64_t lane = 0; lane < lanes; lane += lanesAtOnce) {
    groups.push_back(deinterleave(
        slice(words, lane * perLane, lanesAtOnce * perLane), perLane));
    amaxes.push_back(emitLaneAmax(groups.back(), isPaired));
  }
  Lanes amax = emitBlockAmax(concatenate(amaxes), blocks, isPaired);
  BlockScales scales = emitBlockScales(format, global, amax);
  LaneScaling scaling = repeatForLanes(format, scales.scaling, lanes / blocks);

  SmallVector<Lanes> data;
  for (auto [index, streams] : llvm::enumerate(groups)) {
    auto ofGroup = [&, first = index * lanesAtOnce](Lanes all) {
      return slice(all, first, lanesAtOnce);
    };
    LaneScaling shared = scaling;
    shared.scaling.factor = ofGroup(scaling.scaling.factor);
    if (scaling.limit)
      shared.limit = ofGroup(*scaling.limit);
    data.push_back(encodeStreams(format, streams, isPaired, shared));
  }
  return {bitcastLanes(concatenate(data), b.getI8Type()),
          truncate(scales.bytes, 8)};
}

} // namespace blockscale::cpu

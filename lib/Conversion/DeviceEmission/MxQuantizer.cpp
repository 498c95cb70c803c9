//===- MxQuantizer.cpp - MX recipes ---------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceQuantizer.h"
#include "Emission/Lanes.h"
#include "blockscale/Numerics/BlockScale.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

namespace {

class MxQuantizer final : public DeviceQuantizer {
public:
  MxQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
              numerics::ElementFormat format)
      : DeviceQuantizer(cvt), recipe(recipe), format(format) {}

  void setGlobal(KernelBuilder &, Lanes) override {}
  Scales computeScales(KernelBuilder &b, ArrayRef<Lanes> amaxes,
                       ArrayRef<BlockElements> blocks) override;

  Lanes scale(KernelBuilder &b, Lanes elements, Lanes factors) override {
    return numerics::addPositiveZero(recipe, elements * factors);
  }

protected:
  numerics::ElementFormat getFormat() const override { return format; }

private:
  /// The i16 of the scale bytes of two blocks.
  Lanes computeBytes(KernelBuilder &b, Lanes low, Lanes high);

  numerics::Recipe recipe;
  numerics::ElementFormat format;
};

} // namespace

Lanes MxQuantizer::computeBytes(KernelBuilder &b, Lanes low, Lanes high) {
  if (numerics::roundsScaleUp(recipe)) {
    float inverse = numerics::getInverseMaxFinite(format);
    return cvt.encodeE8M0RoundUpPair(b, low * inverse, high * inverse,
                                     numerics::getScaleOverflow(recipe));
  }
  Lanes bytes = numerics::getE8M0ScaleBits(recipe, format, low) |
                numerics::getE8M0ScaleBits(recipe, format, high) << 8;
  return truncate(bytes, 16);
}

DeviceQuantizer::Scales MxQuantizer::computeScales(KernelBuilder &b,
                                                   ArrayRef<Lanes> amaxes,
                                                   ArrayRef<BlockElements>) {
  Scales scales;
  for (size_t i = 0; i < amaxes.size(); i += 2) {
    // A missing block is 0, whose byte is that of padding.
    bool isLast = i + 1 == amaxes.size();
    Lanes low = amaxes[i];
    Lanes pair = computeBytes(b, low, isLast ? low.like(0.0f) : amaxes[i + 1]);
    scales.pairs.push_back(pair);
    Lanes bytes = extend(pair, 32);
    scales.factors.push_back(numerics::decodeE8M0ReciprocalBits(bytes & 0xFF));
    if (!isLast)
      scales.factors.push_back(numerics::decodeE8M0ReciprocalBits(bytes >> 8));
  }
  return scales;
}

std::unique_ptr<DeviceQuantizer>
createMxQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                  numerics::ElementFormat format) {
  return std::make_unique<MxQuantizer>(cvt, recipe, format);
}

} // namespace blockscale

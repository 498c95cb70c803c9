//===- WidenKernel.cpp - Narrow codes as FP8 ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidenKernel.h"
#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/DeviceCodec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using numerics::ElementFormat;

static constexpr int64_t kWidenThreads = 128;
static constexpr int64_t kThreadElements = 32;
static constexpr int64_t kWidenAccessBytes = 16;

/// Emits the kernel that widens codes. A thread has 32 elements.
static void emitWiden(KernelBuilder &b, ElementFormat format,
                      const target::Chip &chip, Value data, Value widened,
                      Value elements) {
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  Value number = emitGlobalThreadNumber(b, kWidenThreads);
  Value first = emit::mul(b, number, kThreadElements);
  emit::emitIf(b, isBelow(b, first, toIndex(b, elements)), [&] {
    Value source =
        emitAddress(b, data, b.getI8Type(),
                    emit::mul(b, number, kThreadElements * bits / 8));
    SmallVector<Value> values;
    for (Lanes code : emitLoadCodes(b, source, kThreadElements, bits))
      values.push_back(numerics::decodeByProduct(format, code));
    constexpr size_t wordElements = 4;
    std::unique_ptr<CvtEmitter> cvt = createCvtEmitter(chip);
    SmallVector<Lanes> words;
    for (size_t i = 0; i < values.size(); i += wordElements)
      words.emplace_back(
          b, cvt->encodeWord(b, ElementFormat::E4M3,
                             ArrayRef(values).slice(i, wordElements)));
    emitStoreWords(b, words, emitAddress(b, widened, b.getI8Type(), first),
                   kWidenAccessBytes);
  });
}

Value launchWiden(LaunchSite &site, Value data, ElementFormat format,
                  Value elements) {
  ImplicitLocOpBuilder &b = site.b;
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  Value widened = memref::AllocOp::create(b, type, ValueRange{elements});
  site.launch(
      "widen_" + Twine(StringRef(numerics::getFormatInfo(format).name)),
      {kWidenThreads,
       getCeilDiv(b, elements, kWidenThreads * kThreadElements),
       {}},
      {{data, kWidenAccessBytes}, {widened, kWidenAccessBytes}, {elements}},
      [&](KernelBuilder &b) {
        emitWiden(b, format, site.getChip(), data, widened, elements);
      });
  return widened;
}

} // namespace blockscale::products

//===- QuantizeLeaf.cpp - Arithmetic of a recipe --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeLeaf.h"

using namespace mlir;

namespace blockscale {

QuantizeLeaf::~QuantizeLeaf() = default;

SmallVector<Value> QuantizeLeaf::encode(KernelBuilder &b,
                                        const BlockElements &block,
                                        Value factor) {
  SmallVector<Value> elements =
      block.mapToF32(b, [&](Value vector) { return scale(b, vector, factor); });
  int64_t perWord = 32 / numerics::getFormatInfo(getFormat()).storageBits;
  SmallVector<Value> words;
  for (ArrayRef<Value> rest = elements; !rest.empty();
       rest = rest.drop_front(perWord))
    words.push_back(cvt.encodeWord(b, getFormat(), rest.take_front(perWord)));
  return words;
}

} // namespace blockscale

//===- FragmentEncode.cpp - Codes and scales of blocks --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/RandomWords.h"
#include "QuantizeFragment.h"
#include "blockscale/Numerics/Philox.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// The global value of blocks of `group`; absent where there is none.
static Lanes loadGlobal(const Fragment &fragment, Lanes group) {
  KernelBuilder &b = fragment.b;
  const GlobalOperand &global = fragment.spec.global;
  Value pointer = fragment.arguments.global;
  if (!pointer || global.byValue || !fragment.spec.globalPrologue.isEmpty())
    return {b, pointer};
  Lanes index;
  switch (global.extent) {
  case GlobalExtent::Tensor:
    break;
  case GlobalExtent::Matrix:
    index = fragment.position.matrix;
    break;
  case GlobalExtent::Row:
    index = fragment.getRowNumber();
    break;
  case GlobalExtent::Group:
    index = group;
    break;
  }
  if (index)
    pointer = b.offset(pointer, b.getF32Type(), index);
  return b.load(b.getF32Type(), pointer, sizeof(float));
}

/// Draws the random words of blocks, each given by its number in the fragment;
/// none where rounding is not stochastic.
static std::function<SmallVector<Value>(int64_t)>
createDraw(const Fragment &fragment) {
  if (!fragment.spec.stochastic)
    return [](int64_t) { return SmallVector<Value>(); };
  constexpr int64_t size = numerics::kRandomGroup;
  RandomWords words(fragment.b, fragment.arguments.rng);
  Lanes row = fragment.getRowNumber();
  Lanes inRow =
      fragment.getFirstInRow(fragment.mapping.fragmentElements / size);
  Lanes first;
  if (fragment.spec.isPlaced) {
    auto [firstGroup, perRow] =
        RandomWords::loadPlace(fragment.b, fragment.arguments.rng);
    first = firstGroup + row * perRow + inRow;
  } else {
    first = row * llvm::divideCeil(fragment.spec.rowElements, size) + inRow;
  }
  int64_t perBlock = fragment.spec.getBlockElements() / size;
  return [=](int64_t block) mutable {
    SmallVector<Value> drawn;
    for (int64_t at = 0; at < perBlock; ++at)
      drawn.append(words.draw(first + (block * perBlock + at)));
    return drawn;
  };
}

FragmentCodes encodeBlocks(const Fragment &fragment,
                           ArrayRef<BlockElements> blocks,
                           ArrayRef<Lanes> givenAmaxes, int64_t first,
                           Lanes group) {
  KernelBuilder &b = fragment.b;
  const QuantizeSpec &spec = fragment.spec;
  std::unique_ptr<CvtEmitter> cvt = createCvtEmitter(fragment.chip);
  std::unique_ptr<DeviceQuantizer> quantizer = createDeviceQuantizer(
      *cvt, spec.recipe, spec.format, spec.global.kind, spec.amaxIsGiven);
  quantizer->setGlobal(b, loadGlobal(fragment, group));
  SmallVector<Lanes> amaxes(givenAmaxes);
  if (!spec.amaxIsGiven)
    for (const BlockElements &block : blocks)
      amaxes.push_back(block.computeAmax(b, *cvt));
  DeviceQuantizer::Scales scales = quantizer->computeScales(b, amaxes, blocks);

  auto draw = createDraw(fragment);
  FragmentCodes codes;
  for (auto [i, block] : llvm::enumerate(blocks))
    llvm::append_range(
        codes.words,
        quantizer->encode(b, block, scales.factors[i], draw(first + i)));
  llvm::append_range(codes.pairs, scales.pairs);
  return codes;
}

} // namespace blockscale

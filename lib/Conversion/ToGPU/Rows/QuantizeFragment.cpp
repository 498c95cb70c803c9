//===- QuantizeFragment.cpp - What a thread quantizes ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeFragment.h"
#include "DeviceEmission/DeviceCode.h"
#include "QuantizeArguments.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

Fragment::Fragment(KernelBuilder &b, const QuantizeSpec &spec,
                   const ThreadMapping &mapping, const target::Chip &chip,
                   const QuantizeOperands &arguments, FragmentPosition position)
    : b(b), spec(spec), mapping(mapping), chip(chip), arguments(arguments),
      position(position), accessBytes(getAccessBytes(chip)) {
  if (spec.batched)
    matrixExists = isBelow(position.matrix, arguments.matrices);
  if (spec.swizzled)
    rowTiles = (arguments.rows + (kTileRows - 1)) >> llvm::Log2_64(kTileRows);
}

/// Whether the fragment is below `bound`; absent where that holds for all
/// threads of a row set.
static Lanes isFragmentBelow(const Fragment &fragment, int64_t bound) {
  if (bound == fragment.mapping.getPlacesPerRow(fragment.spec))
    return {};
  return isBelow(fragment.position.fragment, bound);
}

Lanes Fragment::isFullWarp() const {
  Lanes hasFragment = isBelow(position.row, arguments.rows);
  for (Lanes holds :
       {isFragmentBelow(*this, mapping.fullFragments), matrixExists})
    if (holds)
      hasFragment = hasFragment & holds;
  // ptxas moves a vote behind a branch by which some of its lanes leave (seen
  // with CUDA 13.0). They have no bit in the ballot then, where a vote of all
  // would count those that are left.
  Lanes ballot(b, NVVM::VoteSyncOp::create(b, b.getI32Type(), b.i32(kAllLanes),
                                           hasFragment,
                                           NVVM::VoteSyncKind::ballot));
  return compare(arith::CmpIPredicate::eq, ballot, kAllLanes);
}

namespace {

/// The code of a thread for its fragment, which may be a full one, the tail of
/// its row, padding, or none.
class FragmentQuantizer {
public:
  FragmentQuantizer(const Fragment &fragment, const StagedMoves *staged,
                    const GroupedScales *grouped, BlockSource source)
      : fragment(fragment), staged(staged), grouped(grouped), source(source) {}

  void emit();

private:
  SmallVector<Lanes> emitFragment(int64_t elements);
  SmallVector<Lanes> emitRow();
  void emitSwizzled();

  const Fragment &fragment;
  const StagedMoves *staged;
  const GroupedScales *grouped;
  BlockSource source;
};

} // namespace

/// Quantizes the first `elements` elements. Returns the pairs of scale bytes of
/// a full fragment where scales are swizzled, and stores them elsewhere.
SmallVector<Lanes> FragmentQuantizer::emitFragment(int64_t elements) {
  const QuantizeSpec &spec = fragment.spec;
  FragmentCodes codes = encodeFragment(fragment, elements, source);
  storeCodes(fragment, staged, codes, elements);
  if (spec.swizzled) {
    codes.pairs.resize(llvm::divideCeil(fragment.mapping.fragmentBlocks, 2),
                       codes.pairs.front().like(0));
    return codes.pairs;
  }
  storeScales(fragment, grouped, codes.pairs, fragment.countBlocks(elements));
  return {};
}

/// Quantizes the fragment of a row that holds data.
SmallVector<Lanes> FragmentQuantizer::emitRow() {
  const ThreadMapping &mapping = fragment.mapping;
  bool hasTail = mapping.tailElements != 0;
  auto emitFull = [&] { return emitFragment(mapping.fragmentElements); };
  auto emitTail = [&] {
    return emitIfElseZero(
        fragment.b,
        isFragmentBelow(fragment, mapping.fullFragments + (hasTail ? 1 : 0)),
        [&] { return emitFragment(mapping.tailElements); });
  };
  if (mapping.fullFragments == 0)
    return emitTail();
  Lanes isFull = isFragmentBelow(fragment, mapping.fullFragments);
  return hasTail ? emitIfElse(fragment.b, isFull, emitFull, emitTail)
                 : emitIfElseZero(fragment.b, isFull, emitFull);
}

/// Rows below the last one, in its tile, and fragments beyond those of rows
/// have scales of 0. Threads beyond them have none.
void FragmentQuantizer::emitSwizzled() {
  const ThreadMapping &mapping = fragment.mapping;
  Lanes row = fragment.position.row;
  SmallVector<Lanes> pairs =
      emitIfElseZero(fragment.b, isBelow(row, fragment.arguments.rows),
                     [&] { return emitRow(); });
  Lanes hasScales = isBelow(row, fragment.rowTiles * kTileRows);
  if (Lanes isFragment = isFragmentBelow(fragment, mapping.fragmentsPerRow))
    hasScales = hasScales & isFragment;
  emit::emitIf(fragment.b, hasScales, [&] {
    storeScales(fragment, grouped, pairs, mapping.fragmentBlocks);
  });
}

void FragmentQuantizer::emit() {
  auto emitRows = [&] {
    if (fragment.spec.swizzled)
      return emitSwizzled();
    emit::emitIf(fragment.b,
                 isBelow(fragment.position.row, fragment.arguments.rows),
                 [&] { emitRow(); });
  };
  if (fragment.matrixExists)
    emit::emitIf(fragment.b, fragment.matrixExists, emitRows);
  else
    emitRows();
}

void quantizeFragment(const Fragment &fragment, const StagedMoves *staged,
                      const GroupedScales *grouped, BlockSource source) {
  FragmentQuantizer(fragment, staged, grouped, source).emit();
}

} // namespace blockscale

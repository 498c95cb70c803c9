//===- FragmentBounds.cpp - Which threads have a fragment -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentBounds.h"
#include "DeviceEmission/DeviceCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

FragmentBounds::FragmentBounds(KernelBuilder &b, const QuantizeSpec &spec,
                               const ThreadMapping &mapping,
                               const QuantizeOperands &arguments,
                               FragmentPosition position)
    : b(b), spec(spec), mapping(mapping), arguments(arguments),
      position(position) {
  if (spec.batched)
    matrixExists = isBelow(b, position.matrix, arguments.matrices);
  if (!spec.swizzled)
    return;
  rowTiles = arith::AddIOp::create(b, arguments.rows, b.i64(kTileRows - 1));
  rowTiles =
      arith::ShRUIOp::create(b, rowTiles, b.i64(llvm::Log2_64(kTileRows)));
  pairTypes.assign(llvm::divideCeil(mapping.fragmentBlocks, 2), b.getI16Type());
}

Value FragmentBounds::isFullWarp() {
  Value hasFragment = isBelow(b, position.row, arguments.rows);
  auto require = [&](Value holds) {
    if (holds)
      hasFragment = arith::AndIOp::create(b, hasFragment, holds);
  };
  require(isFragmentBelow(mapping.fullFragments));
  require(matrixExists);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(kAllLanes),
                                  hasFragment, NVVM::VoteSyncKind::all);
}

void FragmentBounds::emit(FragmentEmitter &fragment) {
  auto emitFragment = [&] {
    if (spec.swizzled)
      return emitSwizzled(fragment);
    emit::emitIf(b, isBelow(b, position.row, arguments.rows),
                 [&] { emitRow(fragment); });
  };
  if (matrixExists)
    emit::emitIf(b, matrixExists, emitFragment);
  else
    emitFragment();
}

/// Whether the fragment is below `bound`; null where that holds for all threads
/// of a row set.
Value FragmentBounds::isFragmentBelow(int64_t bound) {
  if (bound == mapping.getPlacesPerRow(spec))
    return {};
  return isBelow(b, position.fragment, b.i32(bound));
}

/// Quantizes the fragment of a row that holds data: a full one, the tail, or
/// padding. Returns its scale bytes in pairs where scales are swizzled, and
/// stores them elsewhere.
SmallVector<Value> FragmentBounds::emitRow(FragmentEmitter &fragment) {
  auto emitFragment = [&](int64_t elements) -> SmallVector<Value> {
    SmallVector<Value> pairs = fragment.emit(elements);
    if (spec.swizzled) {
      Value none = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
      pairs.resize(pairTypes.size(), none);
      return pairs;
    }
    fragment.storeScales(pairs, fragment.countBlocks(elements));
    return {};
  };
  int64_t fragments =
      mapping.fullFragments + (mapping.tailElements != 0 ? 1 : 0);
  auto emitFull = [&] { return emitFragment(mapping.fragmentElements); };
  auto emitTail = [&] {
    return emitIfElseZero(b, isFragmentBelow(fragments), pairTypes,
                          [&] { return emitFragment(mapping.tailElements); });
  };
  if (mapping.fullFragments == 0)
    return emitTail();
  Value isFull = isFragmentBelow(mapping.fullFragments);
  if (mapping.tailElements == 0)
    return emitIfElseZero(b, isFull, pairTypes, emitFull);
  return emitIfElse(b, isFull, pairTypes, emitFull, emitTail);
}

/// Rows below the last one, in its tile, and fragments beyond those of rows
/// have scales of 0. Threads beyond them have none.
void FragmentBounds::emitSwizzled(FragmentEmitter &fragment) {
  Value hasData = isBelow(b, position.row, arguments.rows);
  SmallVector<Value> pairs =
      emitIfElseZero(b, hasData, pairTypes, [&] { return emitRow(fragment); });
  Value end = arith::MulIOp::create(b, rowTiles, b.i64(kTileRows));
  Value hasScales = isBelow(b, position.row, end);
  if (Value isFragment = isFragmentBelow(mapping.fragmentsPerRow))
    hasScales = arith::AndIOp::create(b, hasScales, isFragment);
  emit::emitIf(b, hasScales,
               [&] { fragment.storeScales(pairs, mapping.fragmentBlocks); });
}

} // namespace blockscale

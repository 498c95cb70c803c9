//===- QuantizeKernel.cpp - Structure of a quantize kernel ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernel.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/LaunchSite.h"
#include "QuantizeArguments.h"
#include "QuantizeFragment.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

namespace {

class QuantizeKernelEmitter {
public:
  QuantizeKernelEmitter(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip,
                        const QuantizeOperands &operands)
      : spec(spec), chip(chip), mapping(spec, chip), b(b), arguments(operands) {
  }

  void emit();

private:
  FragmentPosition emitPosition(Lanes blockNumber);
  void emitBlock(Value blockNumber, const GroupedScales *grouped);

  const QuantizeSpec &spec;
  const target::Chip &chip;
  ThreadMapping mapping;
  KernelBuilder &b;

  /// The parameters; `global` becomes the value where the kernel computes it.
  QuantizeOperands arguments;
  /// The number of the thread in its CTA, i32.
  Lanes thread;
};

} // namespace

/// The number of a thread or CTA, an index, as i32.
static Lanes toI32(KernelBuilder &b, Value number) {
  return {b, arith::IndexCastUIOp::create(b, b.getI32Type(), number)};
}

/// `blockNumber` is that of the CTA along x, i32.
FragmentPosition QuantizeKernelEmitter::emitPosition(Lanes blockNumber) {
  using numerics::split;
  auto [warp, lane] = split(thread, kWarpThreads);
  auto [group, block] = split(blockNumber, mapping.blocksPerGroup);
  Lanes unit = block * mapping.unitsPerBlock + (spec.swizzled ? warp : thread);
  auto [rowSetInGroup, unitInRowSet] = split(unit, mapping.unitsPerRowSet);
  Lanes rowSet = extend(group, 64) * mapping.rowSetsPerGroup;
  rowSet = rowSet + extend(rowSetInGroup, 64);
  FragmentPosition position{b.i64(0), rowSet, unitInRowSet};
  if (spec.swizzled) {
    // Row 128 * tile + 32 * run + row set in the tile.
    auto [run, fragment] = split(lane, mapping.runLanes);
    constexpr int64_t stride = ThreadMapping::kRowStride;
    Lanes tile = (rowSet & -stride) * (kTileRows / stride - 1);
    position.row = rowSet + tile;
    position.row = position.row + extend(run * stride, 64);
    position.fragment = unitInRowSet * mapping.runLanes + fragment;
  }
  if (spec.batched) {
    auto getNumber = [&](gpu::Dimension dimension) {
      return extend(toI32(b, gpu::BlockIdOp::create(b, dimension)), 64);
    };
    Lanes y = getNumber(gpu::Dimension::y);
    position.matrix = getNumber(gpu::Dimension::z) * kMaxGridY + y;
  }
  return position;
}

void QuantizeKernelEmitter::emit() {
  Lanes number = emitThreadNumber(b, ThreadMapping::kThreads);
  thread = toI32(b, number);
  if (!spec.globalPrologue.isEmpty())
    arguments.global = spec.globalPrologue
                           .emit(b, thread, emitBlockNumber(b),
                                 ThreadMapping::kThreads / kWarpThreads,
                                 {arguments.global, arguments.storedAmax,
                                  arguments.storedScale})
                           .operand;
  emitInGroups(b, spec, arguments, emitBlockNumber(b), number,
               ThreadMapping::kThreads,
               [&](Lanes block, const GroupedScales *grouped) {
                 emitBlock(block, grouped);
               });
}

/// The work of a CTA on x, whose number along x is an index.
void QuantizeKernelEmitter::emitBlock(Value blockNumber,
                                      const GroupedScales *grouped) {
  FragmentPosition position = emitPosition(toI32(b, blockNumber));
  Fragment fragment(b, spec, mapping, chip, arguments, position);
  std::optional<WarpBuffer> buffer;
  std::optional<StagedMoves> moves;
  if (mapping.isStaged) {
    int64_t bytes = mapping.fragmentElements * spec.getInputBytes();
    buffer.emplace(b, thread, ThreadMapping::kThreads, bytes, mapping.runLanes);
    moves.emplace(*buffer, fragment.isFullWarp(), bytes);
  }
  const StagedMoves *staged = moves ? &*moves : nullptr;
  quantizeFragment(fragment, staged, grouped, [&](int64_t elements) {
    return loadBlocks(fragment, staged, elements);
  });
}

void emitQuantizeKernel(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip,
                        const QuantizeOperands &operands) {
  QuantizeKernelEmitter(b, spec, chip, operands).emit();
}

} // namespace blockscale

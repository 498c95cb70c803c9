//===- QuantizeKernel.cpp - Structure of a quantize kernel ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernel.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "DeviceEmission/LaunchSite.h"
#include "FragmentBounds.h"

using namespace mlir;

namespace blockscale {

namespace {

class QuantizeKernelEmitter {
public:
  QuantizeKernelEmitter(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip,
                        const QuantizeOperands &arguments)
      : spec(spec), chip(chip), mapping(spec, chip), b(b),
        arguments(arguments) {}

  void emit();

private:
  /// CTA number along a dimension of the grid, as i32.
  Value getBlockNumber(gpu::Dimension dimension);
  void emitPosition(Value blockNumber);
  void emitBlock(Value blockNumber, const GroupedScales *grouped);

  const QuantizeSpec &spec;
  const target::Chip &chip;
  ThreadMapping mapping;
  KernelBuilder &b;

  const QuantizeOperands &arguments;
  /// The number of the thread in its CTA, i32.
  Value thread;
  FragmentPosition position;
};

} // namespace

Value QuantizeKernelEmitter::getBlockNumber(gpu::Dimension dimension) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(),
                                      gpu::BlockIdOp::create(b, dimension));
}

/// `blockNumber` is that of the CTA along x, i32.
void QuantizeKernelEmitter::emitPosition(Value blockNumber) {
  auto split = [&](Value value, int64_t by) -> std::pair<Value, Value> {
    return {arith::DivUIOp::create(b, value, b.i32(by)),
            arith::RemUIOp::create(b, value, b.i32(by))};
  };
  auto mulAdd = [&](Value x, int64_t y, Value z) -> Value {
    Value product = arith::MulIOp::create(b, x, b.i32(y));
    return arith::AddIOp::create(b, product, z);
  };
  auto [warp, lane] = split(thread, kWarpThreads);
  auto [group, block] = split(blockNumber, mapping.blocksPerGroup);
  Value unit =
      mulAdd(block, mapping.unitsPerBlock, spec.swizzled ? warp : thread);
  auto [rowSetInGroup, unitInRowSet] = split(unit, mapping.unitsPerRowSet);
  Value rowSet =
      arith::MulIOp::create(b, b.zext64(group), b.i64(mapping.rowSetsPerGroup));
  rowSet = arith::AddIOp::create(b, rowSet, b.zext64(rowSetInGroup));
  if (spec.swizzled) {
    // Row 128 * tile + 32 * run + row set in the tile.
    auto [run, fragment] = split(lane, mapping.runLanes);
    constexpr int64_t stride = ThreadMapping::kRowStride;
    Value tile = arith::AndIOp::create(b, rowSet, b.i64(-stride));
    tile = arith::MulIOp::create(b, tile, b.i64(kTileRows / stride - 1));
    position.row = arith::AddIOp::create(b, rowSet, tile);
    position.row = arith::AddIOp::create(
        b, position.row,
        b.zext64(arith::MulIOp::create(b, run, b.i32(stride))));
    position.fragment = mulAdd(unitInRowSet, mapping.runLanes, fragment);
  } else {
    position.row = rowSet;
    position.fragment = unitInRowSet;
  }
  position.matrix = b.i64(0);
  if (!spec.batched)
    return;
  Value y = b.zext64(getBlockNumber(gpu::Dimension::y));
  Value z = b.zext64(getBlockNumber(gpu::Dimension::z));
  z = arith::MulIOp::create(b, z, b.i64(kMaxGridY));
  position.matrix = arith::AddIOp::create(b, z, y);
}

void QuantizeKernelEmitter::emit() {
  Value number = emitThreadNumber(b, ThreadMapping::kThreads);
  thread = arith::IndexCastUIOp::create(b, b.getI32Type(), number);
  if (arguments.offsets) {
    GroupEnds ends = getGroupEnds(b, spec, arguments);
    emitCheckGroups(b, {runtime::ErrorOp::Quantize, ends.unit}, ends.offsets,
                    ends.count, ends.extent, emitBlockNumber(b));
  }
  if (!spec.groupedTiles)
    return emitBlock(getBlockNumber(gpu::Dimension::x), /*grouped=*/nullptr);
  int64_t blockElements = spec.getBlockElements();
  bool inColumns = spec.groupDim == GroupDim::Columns;
  GroupedScales grouped(b, {{ScaleExtent{0, 1}, {1, blockElements}},
                            inColumns,
                            spec.getGroupUnit(),
                            arguments.scale,
                            arguments.offsets,
                            toIndex(b, arguments.groups),
                            toIndex(b, arguments.rows),
                            emit::getIndex(b, spec.rowElements),
                            toIndex(b, arguments.tiles)});
  grouped.emitBlocks(
      emitBlockNumber(b), emit::div(b, number, kWarpThreads),
      emit::rem(b, number, kWarpThreads),
      ThreadMapping::kThreads / kWarpThreads, [&](Value other) {
        emitBlock(arith::IndexCastUIOp::create(b, b.getI32Type(), other),
                  &grouped);
      });
}

/// The work of a CTA on x.
void QuantizeKernelEmitter::emitBlock(Value blockNumber,
                                      const GroupedScales *grouped) {
  emitPosition(blockNumber);
  FragmentBounds places(b, spec, mapping, arguments, position);
  FragmentEmitter fragment(b, spec, chip, arguments, position,
                           places.getRowTiles(), grouped);
  std::optional<WarpBuffer> buffer;
  if (mapping.isStaged) {
    buffer.emplace(b, thread, ThreadMapping::kThreads,
                   mapping.fragmentElements * spec.getInputBytes(),
                   mapping.runLanes);
    fragment.useBuffer(*buffer, places.isFullWarp());
  }
  places.emit(fragment);
}

void emitQuantizeKernel(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip,
                        const QuantizeOperands &operands) {
  QuantizeKernelEmitter(b, spec, chip, operands).emit();
}

} // namespace blockscale

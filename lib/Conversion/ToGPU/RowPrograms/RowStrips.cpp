//===- RowStrips.cpp - Norms that are quantized in strips -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowStrips.h"
#include "DeviceEmission/DeviceCode.h"
#include "ToGPU/Strips/StripChoice.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Warps of a CTA, twice those of one that has a piece of x: there are as few
/// CTAs as strips below each other.
static constexpr int64_t kRowStripWarps = 8;
/// The fewest rows of a CTA, which a layout of rows goes through in whole
/// pieces.
static constexpr int64_t kFewestRows =
    kRowStripWarps * ThreadMapping::kRowSetRows;

static StripMember toMember(ArrayRef<QuantizeOp> quantizes) {
  StripMember member;
  llvm::append_range(member.quantizes, quantizes);
  return member;
}

RowStrips::RowStrips(LaunchSite &site, ArrayRef<QuantizeOp> quantizes)
    : site(site), member(toMember(quantizes)), request(member, site.getChip()) {
  // Lower strips make more CTAs.
  int64_t rows = 0;
  for (const RatedStrip &strip : rateStrips(request))
    if (strip.rows >= kFewestRows && (rows == 0 || strip.rows < rows))
      rows = strip.rows;
  request.setLaneRows(rows / request.shape->fragmentRows);
  request.warps = kRowStripWarps;
}

LogicalResult RowStrips::verify() {
  for (QuantizeOp op : member.quantizes)
    if (failed(verifyStripFeatures(op, site)))
      return failure();
  return success();
}

RowLayout RowStrips::getLayout(int64_t rowElements, int64_t inputBytes) const {
  return {rowElements, inputBytes, request.warps};
}

std::string RowStrips::getName() const {
  return request.getKernelName(site.getChip());
}

int64_t RowStrips::getResidentBlocks() const {
  return request.wantsRegisters(site.getChip()) ? 1 : 0;
}

Lanes RowStrips::prepareLaunch(KernelSignature &signature, Lanes rows) {
  ImplicitLocOpBuilder &b = site.b;
  SmallVector<emit::CallSite::Check> checks;
  for (QuantizeOp op : member.quantizes)
    requireStripOperands(op, site, checks);
  for (const emit::CallSite::Check &check : checks)
    emit::createAssert(b, check);
  request.source->emitSizeAsserts(site);

  operands = getStripOperands(site, request, member);
  // Sizes and what the elements are computed from are those of the rows.
  operands.inputs.assign(operands.inputs.size(), Value());
  operands.rows = operands.columns = operands.matrices = Lanes();
  operands.addSlots(signature, request);

  StripGrid grid(b, request, emit::getIndex(b, request.shape->columns));
  blockRows = grid.blockRows;
  return getCeilDiv(b, emit::roundUp(b, rows, grid.rowGranule), blockRows) +
         countFillingBlocks(b, request, operands);
}

void RowStrips::emit(KernelBuilder &b, const RowLayout &layout,
                     const IRMapping &arguments, Lanes rows, Lanes matrices,
                     function_ref<void(Lanes)> emitPiece) {
  operands.rows = rows;
  if (isBatched())
    operands.matrices = matrices;
  emitStripRows(b, request, site.getChip(), operands, emitBlockNumber(b),
                [&](Lanes block) {
                  emitRows(b, layout, block, emitPiece);
                  return getInputs(b, arguments, block);
                });
}

/// Computes the values of the rows of a CTA, of those on x the one of a number.
void RowStrips::emitRows(KernelBuilder &b, const RowLayout &layout, Lanes block,
                         function_ref<void(Lanes)> emitPiece) {
  for (const ElementSource::Input &input :
       request.source->getWhole().getInputs())
    if (input.isMade() && !shared.contains(input.logical))
      shared[input.logical] = createSharedArray(
          b, "rows" + std::to_string(shared.size()), input.element, blockRows);

  int64_t pieceRows = layout.rowSetsPerBlock * ThreadMapping::kRowSetRows;
  int64_t pieces = blockRows / pieceRows;
  emit::emitLoop(
      b, emit::getIndex(b, 0), emit::getIndex(b, pieces), [&](Lanes piece) {
        pieceRow =
            Lanes(b, arith::IndexCastUIOp::create(b, b.getI32Type(), piece)) *
            pieceRows;
        emitPiece(block * pieces + piece);
        // The next piece takes the shared memory of this one.
        gpu::BarrierOp::create(b);
      });
}

/// What the strips of that CTA compute the elements from. They ask for rows by
/// their numbers.
SmallVector<Value> RowStrips::getInputs(KernelBuilder &b,
                                        const IRMapping &arguments,
                                        Lanes block) {
  Lanes first(b, arith::IndexCastUIOp::create(b, b.getI64Type(), block));
  first = first * blockRows;
  if (isBatched()) {
    Lanes matrix(b, arith::IndexCastUIOp::create(b, b.getI64Type(),
                                                 emitMatrixNumber(b)));
    first = first + matrix * operands.rows;
  }
  Lanes before = first.like(0) - first;
  const ElementSource &source = request.source->getWhole();
  SmallVector<Value> inputs;
  for (const ElementSource::Input &input : source.getInputs())
    inputs.push_back(input.isMade() ? b.offset(shared.lookup(input.logical),
                                               input.element, before)
                                    : arguments.lookup(input.logical));
  for (Value kept : source.getKept())
    inputs.push_back(arguments.lookup(kept));
  return inputs;
}

void RowStrips::storeRows(KernelBuilder &b, RowEmitter &rows,
                          const RowPosition &position) {
  Lanes row = pieceRow + position.rowSet * ThreadMapping::kRowSetRows;
  row = row + position.run;
  SmallVector<Value> values;
  for (const auto &[logical, array] : shared)
    values.push_back(rows.getRow(logical));
  emit::emitIf(b, isEqual(position.fragment.fragment, 0), [&] {
    for (auto [entry, value] : llvm::zip_equal(shared, values)) {
      Type type = value.getType();
      b.store(value, b.offset(entry.second, type, row),
              type.getIntOrFloatBitWidth() / 8);
    }
  });
}

} // namespace blockscale

//===- GroupedQuantizer.cpp - Quantization of groups ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedQuantizer.h"
#include "GlobalFactorsSource.h"
#include "GroupedClear.h"
#include "PanelQuantizer.h"
#include "RowQuantizer.h"
#include "ScaleTiles.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

/// How the matrix is walked over.
enum class GroupedWalk {
  /// Bands of rows of x, with all groups that they have.
  Bands,
  /// Pieces of groups, row by row.
  RowPieces,
  /// Pieces of groups, cut across the groups in panels.
  Panels
};

static GroupedWalk getWalk(const QuantizeSpec &spec) {
  if (!spec.hasRowBlocks())
    return GroupedWalk::Panels;
  return spec.hasGroupTiles && spec.groupDim == 0 ? GroupedWalk::RowPieces
                                                  : GroupedWalk::Bands;
}

/// Rows of a band: those of a tile, fewer where scales are linear.
static int64_t getBandRows(const QuantizeSpec &spec) {
  return spec.hasLayout() ? spec.layout.getTileRows() : 16;
}

static int64_t getPieceSize(const QuantizeSpec &spec) {
  return spec.groupDim == 0 ? kQuantizePanelRows : kQuantizePanelCols;
}

/// Elements of a panel across the groups.
static int64_t getPanelSizeAcross(const QuantizeSpec &spec) {
  return spec.groupDim == 0 ? kQuantizePanelCols : kQuantizePanelRows;
}

/// Whether all groups have the same factors and linear scales, so that their
/// blocks are quantized alike. Then what they cover is one group, whose pieces
/// begin at whole bytes.
static bool isOneGroup(const QuantizeSpec &spec) {
  return !spec.hasLayout() && spec.global.isSingle();
}

namespace {

class GroupedQuantizer {
public:
  explicit GroupedQuantizer(const QuantizeSpec &spec)
      : spec(spec), b(spec.b), scale(spec.scale),
        form(spec, getPieceSize(spec)), factors(spec), isOne(isOneGroup(spec)),
        rows(spec.getRows()) {}

  /// Emits items [begin, end) of one way.
  void emitBands(Value begin, Value end);
  void emitRowPieces(Value begin, Value end);
  void emitPanels(Value begin, Value end);

  const GroupedForm &getForm() const { return form; }

private:
  using PieceBody =
      function_ref<void(const Group &group, Value first, Value size)>;

  void emitPiece(Value item, PieceBody body);
  void emitRowGroups(RowQuantizer &quantizer, Value first, Value last,
                     ScaleBand *band);
  void emitColGroups(RowQuantizer &quantizer, Value first, Value last,
                     ScaleBand *band);

  Value getScaleCols() const { return form.getScaleCols(); }
  GlobalFactors getFactors(const Group &group) const {
    return factors.get({group.index});
  }
  /// Clears the band's rows from `count` on and stores it to the row of tiles
  /// `rowTile` of scales without groups.
  void emitStoreBand(ScaleBand &band, Value count, Value rowTile);

  const QuantizeSpec &spec;
  ImplicitLocOpBuilder &b;
  Value scale;
  GroupedForm form;
  GlobalFactorsSource factors;
  bool isOne;
  Value rows;
};

} // namespace

//===----------------------------------------------------------------------===//
// Bands
//===----------------------------------------------------------------------===//

void GroupedQuantizer::emitStoreBand(ScaleBand &band, Value count,
                                     Value rowTile) {
  band.emitClearRows(count);
  band.emitStoreTiles(scale, ceilDiv(b, getScaleCols(), kTileCols),
                      [&](Value col) { return Indices{rowTile, col}; });
}

/// Quantizes rows [first, last) of x, which may be rows of several groups, and
/// behind the last of no group.
void GroupedQuantizer::emitRowGroups(RowQuantizer &quantizer, Value first,
                                     Value last, ScaleBand *band) {
  Value covered = emitGroupLoop(b, form.getDim(), [&](const Group &group) {
    GlobalFactors global = getFactors(group);
    emitLoop(b, max(b, first, group.begin), min(b, last, group.end),
             [&](Value row) {
               if (band)
                 quantizer.emitRow(row, band->getBuffer(), {sub(b, row, first)},
                                   global);
               else
                 quantizer.emitRow(row, scale, row, global);
             });
  });
  if (band)
    emitStoreBand(*band, sub(b, min(b, max(b, covered, first), last), first),
                  div(b, first, kTileRows));
}

/// Quantizes rows [first, last) of x, whose columns are those of groups. In the
/// band a group of a grouped layout begins with a tile.
void GroupedQuantizer::emitColGroups(RowQuantizer &quantizer, Value first,
                                     Value last, ScaleBand *band) {
  bool isGrouped = form.isGroupedLayout();
  emitLoop(b, first, last, [&](Value row) {
    quantizer.emitBeginRow(row);
    emitGroupLoop(b, form.getDim(), [&](const Group &group) {
      Value firstCol =
          isGrouped ? mul(b, group.tilesBefore, kTileCols) : group.begin;
      ScaleRow target =
          band ? ScaleRow{band->getBuffer(), {sub(b, row, first)}, firstCol}
               : ScaleRow{scale, {row}, firstCol};
      quantizer.emitBlocks(row, group.begin, sub(b, group.end, group.begin),
                           target, getFactors(group));
    });
  });
  if (!band)
    return;
  Value count = sub(b, last, first), rowTile = div(b, first, kTileRows);
  if (!isGrouped)
    return emitStoreBand(*band, count, rowTile);
  band->emitClearRows(count);
  emitGroupLoop(b, form.getDim(), [&](const Group &group) {
    Value before = group.tilesBefore;
    Value tiles = ceilDiv(b, sub(b, group.end, group.begin), kTileCols);
    Value firstTile =
        add(b, mul(b, before, form.getTilesAcross()), mul(b, rowTile, tiles));
    band->emitStoreTiles(scale, before, add(b, before, tiles), [&](Value col) {
      return Indices{add(b, firstTile, sub(b, col, before))};
    });
  });
}

void GroupedQuantizer::emitBands(Value begin, Value end) {
  int64_t bandRows = getBandRows(spec);
  RowQuantizer quantizer(spec);
  std::optional<ScaleBand> band;
  if (form.hasLayout())
    band.emplace(b, form.isGroupedLayout()
                        ? mul(b, form.getPieceCount(), kTileCols)
                        : getScaleCols());
  emitLoop(b, begin, end, [&](Value item) {
    Value first = mul(b, item, bandRows);
    Value last = min(b, add(b, first, getIndex(b, bandRows)), rows);
    ScaleBand *target = band ? &*band : nullptr;
    if (form.alongRows())
      return emitRowGroups(quantizer, first, last, target);
    emitColGroups(quantizer, first, last, target);
  });
  if (band)
    band->emitFree();
  quantizer.emitFree();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Emits `body` for the piece `item` of the group that has it: blocks from
/// `first` on, `size` elements.
void GroupedQuantizer::emitPiece(Value item, PieceBody body) {
  const GroupedDim &dim = form.getDim();
  auto emitIn = [&](const Group &group) {
    Value tiles = ceilDiv(b, sub(b, group.end, group.begin), dim.tileSize);
    Value end = add(b, group.tilesBefore, tiles);
    emitIf(b, isIn(b, item, group.tilesBefore, end), [&] {
      Value first = add(b, group.begin,
                        mul(b, sub(b, item, group.tilesBefore), dim.tileSize));
      Value blocks =
          min(b, sub(b, group.end, first), getIndex(b, dim.tileSize));
      body(group, first, form.toElements(blocks));
    });
  };
  if (!isOne) {
    emitGroupLoop(b, dim, emitIn);
    return;
  }
  Lanes zero = getIndex(b, 0);
  emitIn({zero, zero, emitBehindGroups(b, dim).begin, zero});
}

void GroupedQuantizer::emitRowPieces(Value begin, Value end) {
  RowQuantizer quantizer(spec);
  ScaleBand band(b, getScaleCols());
  Value colTiles = form.getTilesAcross();
  emitLoop(b, begin, end, [&](Value item) {
    emitPiece(item, [&](const Group &group, Value first, Value size) {
      GlobalFactors global = getFactors(group);
      emitLoop(b, getIndex(b, 0), size, [&](Value i) {
        quantizer.emitRow({add(b, first, i)}, band.getBuffer(), i, global);
      });
      band.emitClearRows(size);
      Value firstTile = mul(b, item, colTiles);
      band.emitStoreTiles(scale, colTiles, [&](Value col) {
        return Indices{add(b, firstTile, col)};
      });
    });
  });
  band.emitFree();
  quantizer.emitFree();
}

void GroupedQuantizer::emitPanels(Value begin, Value end) {
  int64_t sizeAcross = getPanelSizeAcross(spec);
  Value across = form.getAcross();
  Indices sizes = {form.getPieceCount(), ceilDiv(b, across, sizeAcross)};
  PanelQuantizer quantizer(spec);
  emitLoop(b, begin, end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    emitPiece(index[0], [&](const Group &group, Value first, Value size) {
      Value firstAlong = form.toElements(first);
      Value firstAcross = mul(b, index[1], sizeAcross);
      Value rest = getExtent(b, across, firstAcross, sizeAcross);
      Panel panel = form.alongRows()
                        ? Panel{{}, firstAlong, firstAcross, size, rest}
                        : Panel{{}, firstAcross, firstAlong, rest, size};
      quantizer.emitPanel(panel, form.getScales(group), getFactors(group));
    });
  });
  quantizer.emitFree();
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

/// Items of the groups, before those of what they leave.
static Value countItemsOfGroups(const QuantizeSpec &spec,
                                const GroupedForm &form) {
  ImplicitLocOpBuilder &b = spec.b;
  switch (getWalk(spec)) {
  case GroupedWalk::Bands:
    return ceilDiv(b, spec.getRows(), getBandRows(spec));
  case GroupedWalk::RowPieces:
    return form.getPieceCount();
  case GroupedWalk::Panels:
    break;
  }
  return mul(b, form.getPieceCount(),
             ceilDiv(b, form.getAcross(), getPanelSizeAcross(spec)));
}

Value countGroupedItems(const QuantizeSpec &spec) {
  GroupedForm form(spec, getPieceSize(spec));
  return add(spec.b, countItemsOfGroups(spec, form),
             GroupedClear(spec, form).getItemCount());
}

void emitGroupedItems(const QuantizeSpec &spec, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  GroupedQuantizer quantizer(spec);
  const GroupedForm &form = quantizer.getForm();
  Value first = countItemsOfGroups(spec, form);
  Value end = min(b, range.end, first);
  switch (getWalk(spec)) {
  case GroupedWalk::Bands:
    quantizer.emitBands(range.begin, end);
    break;
  case GroupedWalk::RowPieces:
    quantizer.emitRowPieces(range.begin, end);
    break;
  case GroupedWalk::Panels:
    quantizer.emitPanels(range.begin, end);
    break;
  }
  GroupedClear clear(spec, form);
  emitLoop(b, max(b, range.begin, first), range.end,
           [&](Value item) { clear.emitItem(sub(b, item, first)); });
}

} // namespace blockscale::cpu

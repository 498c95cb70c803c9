//===- BranchOnRows.cpp - Kernels of products for few and many rows -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductFamilies.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_BRANCHONROWS
#include "blockscale/Conversion/Passes.h.inc"

/// Numbers of rows, of each group where there are groups, for which tiles are
/// compared: those of tiles, and further powers of two.
static constexpr std::array<int64_t, 7> kRows = {16,  32,  64,  128,
                                                 256, 512, 1024};
/// The most bounds of a product, each of which costs a kernel.
static constexpr size_t kMostBounds = 3;
/// The share of the time of a tile that each of its rows adds that has no data,
/// about that of Hopper's tiles of 64 and 128 rows.
static constexpr double kEmptyRow = 0.006;

/// Rows up to which a kernel multiplies with a tile.
struct RowBound {
  int64_t rows;
  GemmScheduleAttr schedule;
};

/// Says that the products of a kernel have at most so many rows.
static void setMaxRows(KernelOp kernel, int64_t rows) {
  Builder b(kernel.getContext());
  for (Operation *op : getProducts(kernel))
    op->setAttr(kMaxRowsAttrName, b.getI64IntegerAttr(rows));
}

/// The schedules of the kernel's products where they have at most so many rows,
/// the best first.
static SmallVector<products::RatedSchedule>
rateUpTo(KernelOp kernel, int64_t rows, const target::Chip &chip) {
  setMaxRows(kernel, rows);
  products::Product first(
      cast<ProductOpInterface>(getProducts(kernel).front()));
  auto rated = products::getProductFamily(first, chip).rate(first, chip, false);
  for (Operation *op : getProducts(kernel))
    op->removeAttr(kMaxRowsAttrName);
  return rated;
}

namespace {

/// The times of a kernel's products by their rows and tiles.
class RowTimes {
public:
  /// `most` is the schedule of rows without a bound, and `groups` the number of
  /// groups that rows are in.
  RowTimes(KernelOp kernel, GemmScheduleAttr most, int64_t groups,
           const target::Chip &chip)
      : groups(groups), most(most) {
    for (auto [i, rows] : llvm::enumerate(kRows))
      rated[i] = rateUpTo(kernel, rows * groups, chip);
  }

  /// Bounds, the smallest of which comes first; none where no number of rows
  /// takes more than `gain` times as long as with its best tile. The first is
  /// the smallest of kRows, since one row is what is multiplied most often,
  /// token by token. With it go the fewest further ones with which no number of
  /// rows takes so long, or those by which the largest such factor is the
  /// least.
  SmallVector<RowBound> findBounds(double gain) const;

private:
  GemmScheduleAttr getBest(size_t i) const { return rated[i].front().schedule; }
  /// The largest factor by which rows take longer than with their best tile,
  /// where `bounds` are numbers of kRows.
  double getRegret(ArrayRef<size_t> bounds) const;

  std::array<SmallVector<products::RatedSchedule>, kRows.size()> rated;
  int64_t groups;
  GemmScheduleAttr most;
};

} // namespace

/// How long `rows` rows take with a schedule.
static double getTime(const products::RatedSchedule &rated, int64_t rows) {
  int64_t empty = std::max<int64_t>(rated.schedule.getRows() - rows, 0);
  return rated.timeline.total * (1 + kEmptyRow * static_cast<double>(empty));
}

double RowTimes::getRegret(ArrayRef<size_t> bounds) const {
  double regret = 1;
  for (auto [i, schedules] : llvm::enumerate(rated)) {
    const size_t *bound = llvm::lower_bound(bounds, i);
    GemmScheduleAttr tile = bound == bounds.end() ? most : getBest(*bound);
    const auto *own = llvm::find_if(schedules, [&](const auto &each) {
      return each.schedule.getRows() == tile.getRows() &&
             each.schedule.getCols() == tile.getCols();
    });
    // Some rows alone have that tile.
    if (own == schedules.end())
      continue;
    // One row is among the fewest.
    for (int64_t rows : {kRows[i], i ? kRows[i] : 1})
      regret = std::max(regret,
                        getTime(*own, rows) / getTime(schedules.front(), rows));
  }
  return regret;
}

SmallVector<RowBound> RowTimes::findBounds(double gain) const {
  if (getRegret({}) <= gain)
    return {};
  SmallVector<size_t> best = {0};
  double least = getRegret(best);
  for (size_t count = 2; count <= kMostBounds && least > gain; ++count)
    // Each bit of a number says whether one of kRows is a bound.
    for (uint32_t bits = 1; bits < 1u << kRows.size(); bits += 2) {
      if (llvm::popcount(bits) != static_cast<int>(count))
        continue;
      SmallVector<size_t> bounds;
      for (size_t i = 0; i < kRows.size(); ++i)
        if (bits >> i & 1)
          bounds.push_back(i);
      if (double regret = getRegret(bounds); regret < least) {
        least = regret;
        best = std::move(bounds);
      }
    }
  // The tile of the fewest rows may be that of more.
  if (best.size() > 1 && getBest(best[0]) == getBest(best[1]))
    best.erase(best.begin());
  return llvm::map_to_vector(
      best, [&](size_t i) { return RowBound{kRows[i] * groups, getBest(i)}; });
}

/// The rows of A of a kernel's products, where an operand of the kernel has
/// them and only a call knows how many.
static Value createRows(OpBuilder &b, KernelOp kernel) {
  auto first = cast<ProductOpInterface>(getProducts(kernel).front());
  auto argument = dyn_cast<BlockArgument>(first.getA());
  if (!argument || argument.getArgNumber() >= kernel.getInputs().size())
    return {};
  auto logical = cast<RankedTensorType>(argument.getType());
  Value stored = kernel.getInputs()[argument.getArgNumber()];
  auto memory = dyn_cast<MemRefType>(stored.getType());
  int64_t dim = getProductDims(first, /*ofB=*/false).rows;
  if (!memory || memory.getRank() != logical.getRank() ||
      logical.getEncoding() || !memory.isDynamicDim(dim))
    return {};
  return memref::DimOp::create(b, kernel.getLoc(), stored, dim);
}

/// Says at the product which tile its rows have.
static void remarkBounds(Operation *product, ArrayRef<RowBound> bounds,
                         GemmScheduleAttr most) {
  std::string text;
  for (const RowBound &bound : bounds)
    text += llvm::formatv("up to {0} {1}; ", bound.rows,
                          products::printTile(bound.schedule));
  remark::analysis(product->getLoc(),
                   remark::RemarkOpts::name("rows").category("gpu-launch"))
      << remark::add("tiles by the rows of a call: {0}else {1}", text,
                     products::printTile(most));
}

/// Says at the product why there is one kernel for all rows.
static void remarkUnknownRows(Operation *product) {
  remark::missed(product->getLoc(),
                 remark::RemarkOpts::name("rows").category("gpu-launch"))
      << remark::add("one tile for any number of rows: expected A in memory "
                     "whose type has its rows, but got one that the kernel "
                     "computes or has in a layout");
}

/// Chooses a kernel by the rows of a call.
///
///   blockscale.kernel ins(%x, ...) { scaled_mm ... }
///
/// becomes
///
///   %rows = memref.dim %x, 0
///   scf.if %rows <= 16 {
///     blockscale.kernel ins(%x, ...) {
///       scaled_mm ... {blockscale.max_rows = 16}
///     }
///   } else {
///     blockscale.kernel ins(%x, ...) { scaled_mm ... }
///   }
static void branchOnRows(OpBuilder &b, KernelOp kernel, Value rows,
                         ArrayRef<RowBound> bounds) {
  Location loc = kernel.getLoc();
  // The fewest rows are asked for first, around all else.
  for (const RowBound &bound : bounds) {
    Value limit = arith::ConstantIndexOp::create(b, loc, bound.rows);
    Value isFew =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rows, limit);
    auto branch = scf::IfOp::create(b, loc, isFew, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    setMaxRows(cast<KernelOp>(b.clone(*kernel)), bound.rows);
    b.setInsertionPointToStart(branch.elseBlock());
  }
  kernel->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

namespace {

struct BranchOnRowsPass : public impl::BranchOnRowsBase<BranchOnRowsPass> {
  using BranchOnRowsBase::BranchOnRowsBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(verifyChipOption(context, chip)))
      return failure();
    if (gain >= 1 && std::isfinite(gain))
      return success();
    return emitError(UnknownLoc::get(context))
           << "expected option 'gain' to be finite and at least 1, but got "
           << gain;
  }

  void runOnOperation() override;

private:
  void visit(KernelOp kernel, const target::Chip &chip);
};

} // namespace

void BranchOnRowsPass::visit(KernelOp kernel, const target::Chip &chip) {
  SmallVector<Operation *> ops = getProducts(kernel);
  // A kernel on memory, whose products have no schedules yet.
  if (ops.empty() || kernel.getNumResults() ||
      llvm::any_of(ops, [](Operation *op) {
        return op->hasAttr(products::kScheduleAttrName);
      }))
    return;
  products::Product product(cast<ProductOpInterface>(ops.front()));
  if (!ShapedType::isDynamic(product.getMaxRows()))
    return;
  auto rated =
      products::getProductFamily(product, chip).rate(product, chip, false);
  if (rated.empty())
    return;
  GemmScheduleAttr most = rated.front().schedule;
  int64_t groups =
      product.groups == GroupDim::Rows ? products::countGroups(product) : 1;
  SmallVector<RowBound> bounds =
      RowTimes(kernel, most, groups, chip).findBounds(gain);
  if (bounds.empty())
    return;
  OpBuilder b(kernel);
  Value rows = createRows(b, kernel);
  if (!rows)
    return remarkUnknownRows(product.op);
  remarkBounds(product.op, bounds, most);
  branchOnRows(b, kernel, rows, bounds);
}

void BranchOnRowsPass::runOnOperation() {
  const target::Chip *target = target::findChip(chip);
  if (!target->hasProducts())
    return;
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
  for (KernelOp kernel : kernels)
    visit(kernel, *target);
}

} // namespace blockscale

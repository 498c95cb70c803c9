//===- PlainToLoops.cpp - Ops without a kernel of ours as loops -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's convert-linalg-to-parallel-loops is not used here, for three
// reasons. Where a reduction comes before a parallel loop, it leaves a
// sequential loop around the parallel one, which would be a launch for each
// iteration. It loads and stores the sum in memory for each element. And its
// order of sums is not that of the other targets.
//
//===----------------------------------------------------------------------===//

#include "Emission/LinalgElement.h"
#include "Emission/LoopEmitter.h"
#include "Emission/PlainLoop.h"
#include "Emission/ReductionTree.h"
#include "PlainScalars.h"
#include "SinkPlaces.h"
#include "blockscale/Analysis/RowProgram.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_PLAINTOLOOPS
#include "blockscale/Conversion/Passes.h.inc"

/// What the kernel of an op is called: the op's name, or what a generic op does
/// if it only moves elements, and the type of an element of its result.
static std::string getPlainName(linalg::LinalgOp op) {
  Operation *yield = op.getBlock()->getTerminator();
  bool isCopy = isa<linalg::GenericOp>(op) &&
                llvm::hasSingleElement(*op.getBlock()) &&
                isa<BlockArgument>(yield->getOperand(0));
  std::string name;
  llvm::raw_string_ostream os(name);
  os << (isCopy ? "copy" : op->getName().stripDialect()) << "_"
     << getElementTypeOrSelf(op.getDpsInits().front().getType());
  return name;
}

namespace {

/// Emits the loops of a linalg op: parallel ones around all others, whose order
/// is kept.
class PlainLoops {
public:
  explicit PlainLoops(linalg::LinalgOp op)
      : op(op), b(op.getLoc(), op), combiner(findOrderedCombiner(op)) {}

  /// Returns how many loops are not parallel.
  size_t emit();

private:
  void findLoops();
  void emitBody(ValueRange indices);
  SmallVector<Value> emitSequential(size_t depth, ValueRange outputs);
  SmallVector<Value> emitElement(ValueRange outputs);
  Value emitTree(Value output);
  Value combine(Value lhs, Value rhs) {
    return emit::emitCombination(b, b.getLoc(), combiner, lhs, rhs);
  }
  emit::LinalgElement getElement() { return {b, op, place}; }

  linalg::LinalgOp op;
  ImplicitLocOpBuilder b;
  /// What combines elements in the order of RowProgram.h; null for other ops.
  Operation *combiner;
  SmallVector<Value> sizes;
  SmallVector<unsigned> parallel, sequential;
  /// Whether the element of an output is one for all iterations of the
  /// sequential loops, which read it and so carry it in a register.
  SmallVector<bool> isCarried;
  /// The index of each loop, as far as they are emitted.
  SmallVector<Value> place;
};

} // namespace

/// Loops may run at the same time if they are parallel and each of their
/// iterations has its own element of every output. Maps of other outputs than
/// those of dimensions tell nothing about that.
void PlainLoops::findLoops() {
  SmallVector<AffineMap> maps;
  for (OpOperand &output : op.getDpsInitsMutable())
    maps.push_back(op.getMatchingIndexingMap(&output));
  auto hasOwnElements = [&](unsigned loop) {
    return llvm::all_of(maps, [&](AffineMap map) {
      return llvm::is_contained(map.getResults(),
                                getAffineDimExpr(loop, op.getContext()));
    });
  };
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isParallel =
        type == utils::IteratorType::parallel && hasOwnElements(loop);
    (isParallel ? parallel : sequential).push_back(loop);
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    bool isFixed = llvm::none_of(sequential, [&](unsigned loop) {
      return maps[i].isFunctionOfDim(loop);
    });
    isCarried.push_back(isFixed && !op.getRegionOutputArgs()[i].use_empty());
  }
}

/// Combines a row in the innermost loop.
Value PlainLoops::emitTree(Value output) {
  unsigned loop = sequential.back();
  Value total = emit::emitReductionTree(
      b, op.getStaticLoopRanges()[loop],
      [&](Value index) {
        place[loop] = index;
        return getElement().evaluate(emit::emitNeutral(b, combiner)).front();
      },
      [&](Value lhs, Value rhs) { return combine(lhs, rhs); });
  return combine(output, total);
}

SmallVector<Value> PlainLoops::emitElement(ValueRange outputs) {
  SmallVector<Value> before(outputs);
  for (auto [i, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (!isCarried[i])
      before[i] = op.getRegionOutputArgs()[i].use_empty()
                      ? Value()
                      : getElement().load(output);
  SmallVector<Value> after = getElement().evaluate(before);
  for (auto [i, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (!isCarried[i])
      getElement().store(after[i], output);
  return after;
}

/// Emits the sequential loops from number `depth` on. `outputs` has a value for
/// each output that is carried, and so has the result.
SmallVector<Value> PlainLoops::emitSequential(size_t depth,
                                              ValueRange outputs) {
  if (depth == sequential.size())
    return emitElement(outputs);
  bool isTree = combiner && depth + 1 == sequential.size() && isCarried[0];
  if (isTree)
    return {emitTree(outputs.front())};
  SmallVector<Value> carried, after(outputs);
  for (auto [i, output] : llvm::enumerate(outputs))
    if (isCarried[i])
      carried.push_back(output);
  auto scatter = [&](ValueRange values) {
    for (size_t i = 0; i < after.size(); ++i)
      if (isCarried[i]) {
        after[i] = values.front();
        values = values.drop_front();
      }
  };
  unsigned loop = sequential[depth];
  if (carried.empty()) {
    emit::emitLoop(b, emit::getIndex(b, 0), sizes[loop], [&](Value index) {
      place[loop] = index;
      emitSequential(depth + 1, outputs);
    });
    return after;
  }
  SmallVector<Value> last =
      emit::emitReduction(b, emit::getIndex(b, 0), sizes[loop], carried,
                          [&](Value index, ValueRange values) {
                            place[loop] = index;
                            scatter(values);
                            SmallVector<Value> next;
                            for (auto [i, value] : llvm::enumerate(
                                     emitSequential(depth + 1, after)))
                              if (isCarried[i])
                                next.push_back(value);
                            return next;
                          });
  scatter(last);
  return after;
}

void PlainLoops::emitBody(ValueRange indices) {
  place.assign(op.getNumLoops(), Value());
  for (auto [loop, index] : llvm::zip_equal(parallel, indices))
    place[loop] = index;
  // Maps of outputs that are carried read no index of a sequential loop.
  Value zero = emit::getIndex(b, 0);
  for (unsigned loop : sequential)
    place[loop] = zero;
  SmallVector<Value> outputs(op.getNumDpsInits());
  for (auto [i, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (isCarried[i])
      outputs[i] = getElement().load(output);
  outputs = emitSequential(0, outputs);
  for (unsigned loop : sequential)
    place[loop] = zero;
  for (auto [i, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (isCarried[i])
      getElement().store(outputs[i], output);
}

size_t PlainLoops::emit() {
  findLoops();
  for (Range range : op.createLoopRanges(b, b.getLoc()))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), range.size));
  SmallVector<Value> most;
  for (unsigned loop : parallel)
    most.push_back(sizes[loop]);
  emit::createPlainLoop(b, most, getPlainName(op),
                        [&](ValueRange indices) { emitBody(indices); });
  return sequential.size();
}

/// Says what takes the plain path, and how.
static void remarkPlain(linalg::LinalgOp op, size_t sequential) {
  remark::analysis(op.getLoc(),
                   remark::RemarkOpts::name("plain").category("gpu-launch"))
      << remark::add("'{0}' has a plain kernel: a thread computes an element "
                     "of the result{1}",
                     op->getName().getStringRef().str(),
                     sequential ? ", and all that it reduces for it" : "");
}

namespace {

struct PlainToLoopsPass : public impl::PlainToLoopsBase<PlainToLoopsPass> {
  static LogicalResult lower(func::FuncOp function) {
    SmallVector<linalg::LinalgOp> ops;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<KernelOp, scf::ParallelOp>(op))
        return WalkResult::skip();
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
        ops.push_back(linalgOp);
        return WalkResult::skip();
      }
      return WalkResult::advance();
    });
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics())
        return op->emitOpError("expected operands that are memrefs (run "
                               "one-shot-bufferize), but got tensors");
      remarkPlain(op, PlainLoops(op).emit());
      op->erase();
    }
    // What stores sizes for the host is no work of the device.
    if (!function.getName().ends_with(kResultSizesSuffix)) {
      sinkPlaces(function);
      return moveScalars(function);
    }
    dropElementAssertions(function);
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(lower(function)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace blockscale

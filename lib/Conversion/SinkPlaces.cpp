//===- SinkPlaces.cpp - Parts that begin at elements of memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SinkPlaces.h"
#include "DeviceEmission/DevicePlaces.h"
#include "Emission/LoopEmitter.h"
#include "Emission/PlainLoop.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Affine/ViewLikeInterfaceUtils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscale {

using Slice = llvm::SetVector<Operation *>;

static bool readsMemory(const Slice &slice) {
  return llvm::any_of(slice, llvm::IsaPred<memref::LoadOp>);
}

namespace {

/// Moves what computes places in front of kernels and loops.
class PlaceSinker {
public:
  explicit PlaceSinker(func::FuncOp function) : function(function) {}

  void sink();

private:
  bool isUnchanged(Value memref);
  bool collect(Value value, Slice &slice);
  bool collectPlace(memref::SubViewOp subview, Slice &slice);
  bool isPlace(Value memref);
  void cloneSlice(OpBuilder &builder, Slice &slice, IRMapping &values);
  void sink(KernelOp kernel);
  void expand(memref::CopyOp copy);
  void sink(scf::ParallelOp loop);

  func::FuncOp function;
  /// Assertions of elements, and what each asserts about.
  SmallVector<std::pair<cf::AssertOp, Slice>> checks;
  /// What has copies before kernels and loops.
  Slice sunk;
  llvm::SetVector<cf::AssertOp> sunkChecks;
};

} // namespace

/// Whether `memref` is an argument of the function that is only read: neither
/// the buffer of a result, nor given away.
bool PlaceSinker::isUnchanged(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return false;
  auto given =
      function->getAttrOfType<DenseI64ArrayAttr>(kWritableArgumentsAttrName);
  if (given && llvm::is_contained(given.asArrayRef(), argument.getArgNumber()))
    return false;
  auto signature = function->getAttrOfType<TypeAttr>(kSignatureAttrName);
  auto type =
      signature ? dyn_cast<FunctionType>(signature.getValue()) : FunctionType();
  return type && argument.getArgNumber() < type.getNumInputs();
}

/// Adds the ops that compute a scalar to `slice`, in order, but for those of
/// sizes, which the host has. Fails where a kernel cannot compute it.
bool PlaceSinker::collect(Value value, Slice &slice) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<memref::DimOp>(op) || slice.contains(op))
    return true;
  auto load = dyn_cast<memref::LoadOp>(op);
  if (load ? !isUnchanged(load.getMemRef())
           : op->getNumRegions() != 0 || !isPure(op))
    return false;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  ValueRange numbers = op->getOperands();
  if (load)
    numbers = load.getIndices();
  if (!llvm::all_of(numbers.getTypes(), isNumber) ||
      !llvm::all_of(op->getResultTypes(), isNumber))
    return false;
  for (Value number : numbers)
    if (!collect(number, slice))
      return false;
  slice.insert(op);
  return true;
}

/// Adds what computes the offsets of a part that the host cannot compute.
/// Returns whether there are such, and all can be computed by a kernel.
bool PlaceSinker::collectPlace(memref::SubViewOp subview, Slice &slice) {
  Slice found;
  for (Value offset : subview.getOffsets()) {
    Slice one;
    if (!collect(offset, one))
      return false;
    if (readsMemory(one))
      found.insert(one.begin(), one.end());
  }
  slice.insert(found.begin(), found.end());
  return !found.empty();
}

bool PlaceSinker::isPlace(Value memref) {
  auto subview = memref.getDefiningOp<memref::SubViewOp>();
  Slice slice;
  return subview && collectPlace(subview, slice);
}

static Operation *cloneMarked(OpBuilder &builder, Operation *op,
                              IRMapping &values) {
  Operation *copy = builder.clone(*op, values);
  copy->setAttr(kPlaceAttrName, builder.getUnitAttr());
  return copy;
}

/// Copies the ops of `slice`, to which those are added that assert something of
/// the same elements, and marks the copies.
void PlaceSinker::cloneSlice(OpBuilder &builder, Slice &slice,
                             IRMapping &values) {
  SmallVector<cf::AssertOp> asserted;
  for (auto &[check, about] : checks)
    if (llvm::any_of(about, [&](Operation *op) {
          return isa<memref::LoadOp>(op) && slice.contains(op);
        })) {
      asserted.push_back(check);
      slice.insert(about.begin(), about.end());
    }
  for (Operation *op : slice)
    cloneMarked(builder, op, values);
  for (cf::AssertOp check : asserted)
    cloneMarked(builder, check, values);
  sunk.insert(slice.begin(), slice.end());
  sunkChecks.insert(asserted.begin(), asserted.end());
}

void PlaceSinker::sink(KernelOp kernel) {
  Slice slice;
  SmallVector<OpOperand *> parts;
  for (OpOperand &operand : kernel.getOutputsMutable())
    if (auto subview = operand.get().getDefiningOp<memref::SubViewOp>())
      if (collectPlace(subview, slice))
        parts.push_back(&operand);
  if (parts.empty())
    return;
  OpBuilder builder(kernel);
  IRMapping values;
  cloneSlice(builder, slice, values);
  for (OpOperand *part : parts) {
    Operation *subview = part->get().getDefiningOp();
    sunk.insert(subview);
    part->set(cloneMarked(builder, subview, values)->getResult(0));
  }
}

/// Makes a copy of a part at a place a loop over elements.
void PlaceSinker::expand(memref::CopyOp copy) {
  if (!isPlace(copy.getSource()) && !isPlace(copy.getTarget()))
    return;
  ImplicitLocOpBuilder b(copy.getLoc(), copy);
  auto type = cast<MemRefType>(copy.getTarget().getType());
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(emit::getDim(b, copy.getTarget(), i));
  std::string name;
  llvm::raw_string_ostream(name) << "copy_" << type.getElementType();
  emit::createPlainLoop(b, sizes, name, [&](ValueRange indices) {
    Value element = memref::LoadOp::create(b, copy.getSource(), indices);
    memref::StoreOp::create(b, element, copy.getTarget(), indices);
  });
  copy.erase();
}

/// The part that `op`, an access of an element, accesses; null where it is
/// another op, or another buffer.
static memref::SubViewOp getPart(Operation *op) {
  if (!isa<memref::LoadOp, memref::StoreOp>(op))
    return {};
  return op->getOperand(isa<memref::StoreOp>(op) ? 1 : 0)
      .getDefiningOp<memref::SubViewOp>();
}

void PlaceSinker::sink(scf::ParallelOp loop) {
  Slice slice;
  SmallVector<std::pair<Operation *, memref::SubViewOp>> accesses;
  loop->walk([&](Operation *op) {
    memref::SubViewOp part = getPart(op);
    if (part && !loop->isAncestor(part) && collectPlace(part, slice))
      accesses.emplace_back(op, part);
  });
  if (accesses.empty())
    return;
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  IRMapping values;
  cloneSlice(rewriter, slice, values);
  for (auto [op, part] : accesses) {
    SmallVector<OpFoldResult> offsets = part.getMixedOffsets();
    for (OpFoldResult &offset : offsets)
      if (auto value = dyn_cast<Value>(offset))
        offset = values.lookupOrDefault(value);
    auto store = dyn_cast<memref::StoreOp>(op);
    ValueRange indices =
        store ? store.getIndices() : cast<memref::LoadOp>(op).getIndices();
    SmallVector<Value> resolved;
    rewriter.setInsertionPoint(op);
    affine::resolveIndicesIntoOpWithOffsetsAndStrides(
        rewriter, op->getLoc(), offsets, part.getMixedStrides(),
        part.getDroppedDims(), indices, resolved);
    if (store)
      rewriter.replaceOpWithNewOp<memref::StoreOp>(op, store.getValue(),
                                                   part.getSource(), resolved);
    else
      rewriter.replaceOpWithNewOp<memref::LoadOp>(op, part.getSource(),
                                                  resolved);
    sunk.insert(part);
  }
}

void PlaceSinker::sink() {
  SmallVector<KernelOp> kernels;
  SmallVector<memref::CopyOp> copies;
  function->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies)
    expand(copy);
  SmallVector<scf::ParallelOp> loops;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) {
      loops.push_back(loop);
      return WalkResult::skip();
    }
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      if (getFamily(kernel) == KernelFamily::Rows)
        kernels.push_back(kernel);
      return WalkResult::skip();
    }
    if (auto check = dyn_cast<cf::AssertOp>(op))
      if (Slice slice; collect(check.getArg(), slice) && readsMemory(slice))
        checks.emplace_back(check, std::move(slice));
    return WalkResult::advance();
  });
  for (KernelOp kernel : kernels)
    sink(kernel);
  for (scf::ParallelOp loop : loops)
    sink(loop);
  for (cf::AssertOp check : sunkChecks)
    check.erase();
  // What is used stands before what uses it, but parts of several kernels are
  // in any order.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    auto ops = sunk.takeVector();
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty()) {
        op->erase();
        isChanged = true;
      } else {
        sunk.insert(op);
      }
  }
}

void sinkPlaces(func::FuncOp function) { PlaceSinker(function).sink(); }

} // namespace blockscale

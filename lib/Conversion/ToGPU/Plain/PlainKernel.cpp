//===- PlainKernel.cpp - Loops whose iterations are threads ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's convert-parallel-loops-to-gpu is not used here, for two reasons.
// It makes a dimension of the grid or the block of each loop, whose limits
// (65535, 1024) sizes of tensors exceed. And its kernels take descriptors of
// memrefs, which launch plans do not have: a kernel here takes pointers and
// integers.
//
//===----------------------------------------------------------------------===//

#include "PlainKernel.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/DevicePlaces.h"
#include "DeviceEmission/LaunchSite.h"
#include "DeviceEmission/PlainBody.h"
#include "Emission/PlainLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

static constexpr int64_t kPlainThreads = 128;

namespace {

class PlainKernel {
public:
  PlainKernel(scf::ParallelOp loop, KernelTable &kernels,
              const target::Chip &chip)
      : loop(loop), site(loop, kernels, chip), places(loop) {}

  LogicalResult launch();

private:
  void hoistSizes();
  void sinkScalars();
  void flatten();
  LogicalResult collectOperands();
  Value getInside(KernelBuilder &b, Value operand);
  PlainMemory getMemory(KernelBuilder &b, Value memref);
  void emitThread(KernelBuilder &b);

  scf::ParallelOp loop;
  Launcher site;
  /// Numbers that threads compute from elements of memory.
  PlaceNumbers places;
  /// Values of the host that the kernel takes, and what holds each: in host
  /// code the value, in the kernel the parameter.
  llvm::SetVector<Value> operands;
  SmallVector<Value> variables;
  /// The strides of buffers that their types do not tell, in order.
  llvm::DenseMap<Value, SmallVector<Value>> strides;
};

} // namespace

/// Computes the sizes of buffers outside of the loop.
void PlainKernel::hoistSizes() {
  SmallVector<memref::DimOp> dims;
  loop->walk([&](memref::DimOp dim) { dims.push_back(dim); });
  for (memref::DimOp dim : dims) {
    std::optional<int64_t> number = dim.getConstantIndex();
    if (!number || !loop.isDefinedOutsideOfLoop(dim.getSource()))
      continue;
    dim.replaceAllUsesWith(emit::getDim(site.b, dim.getSource(), *number));
    dim.erase();
  }
}

/// Whether a thread may compute `op` for itself.
static bool isSunk(Operation *op) {
  return op && !op->hasAttr(kPlaceAttrName) && op->getNumRegions() == 0 &&
         isPure(op) &&
         isa<arith::ArithDialect, affine::AffineDialect, math::MathDialect>(
             op->getDialect());
}

/// Lets the loop compute for itself what it reads of scalars, so that no more
/// is left than arguments of the function and sizes.
void PlainKernel::sinkScalars() {
  while (true) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.getRegion(), captured);
    llvm::SetVector<Operation *> sunk;
    for (Value value : captured)
      if (isSunk(value.getDefiningOp()))
        sunk.insert(value.getDefiningOp());
    if (sunk.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
    for (Operation *op : sunk) {
      builder.setInsertionPointToStart(loop.getBody());
      Operation *clone = builder.clone(*op);
      for (auto [from, to] :
           llvm::zip_equal(op->getResults(), clone->getResults()))
        replaceAllUsesInRegionWith(from, to, loop.getRegion());
    }
  }
}

/// Whether the parameter of a kernel can be a scalar of this type.
static bool isPassed(Type type) {
  return type.isIndex() || type.isInteger(32) || type.isInteger(64) ||
         type.isF32();
}

/// Makes a loop over one index of one over several, or over other indices than
/// those from 0 on:
///
///   scf.parallel (%i, %j) = (%c0, %a) to (%m, %b) step (%c1, %s)
/// becomes
///   scf.parallel (%t) = (%c0) to (%m * %n) step (%c1) {
///     %i = %t / %n
///     %j = %a + %t % %n * %s
///
/// where %n = ceildiv(%b - %a, %s).
void PlainKernel::flatten() {
  ImplicitLocOpBuilder &b = site.b;
  Value zero = emit::getIndex(b, 0);
  SmallVector<Value> counts;
  for (auto [begin, end, step] : llvm::zip_equal(
           loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    // Sizes are no less than 0, but differences may be.
    Value length = matchPattern(begin, m_Zero())
                       ? end
                       : emit::max(b, emit::sub(b, end, begin), zero);
    counts.push_back(b.createOrFold<arith::CeilDivUIOp>(length, step));
  }
  Value total = emit::getProduct(b, counts), one = emit::getIndex(b, 1);
  auto flat = scf::ParallelOp::create(b, ValueRange(zero), ValueRange(total),
                                      ValueRange(one));
  flat->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(flat.getBody());
  emit::Indices places =
      emit::delinearize(b, flat.getInductionVars().front(), counts);
  SmallVector<Value> indices;
  for (auto [place, begin, step] :
       llvm::zip_equal(places, loop.getLowerBound(), loop.getStep()))
    indices.push_back(emit::add(b, begin, emit::mul(b, place, step)));
  flat.getBody()->getTerminator()->erase();
  flat.getBody()->getOperations().splice(flat.getBody()->end(),
                                         loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip_equal(loop.getInductionVars(), indices))
    from.replaceAllUsesWith(to);
  loop.erase();
  loop = flat;
}

LogicalResult PlainKernel::collectOperands() {
  Value total = loop.getUpperBound().front();
  if (!getConstantIntValue(total))
    operands.insert(total);
  getUsedValuesDefinedAbove(loop.getRegion(), operands);
  operands.remove_if([](Value operand) {
    Operation *op = operand.getDefiningOp();
    return op && op->hasAttr(kPlaceAttrName);
  });
  operands.insert(places.getOperands().begin(), places.getOperands().end());
  for (Value operand : llvm::to_vector(operands)) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type && !isPassed(operand.getType()))
      return loop.emitOpError()
             << "expected values from outside that kernels take (memrefs, "
                "index, i32, i64, f32), but got one of type "
             << operand.getType();
    if (!type)
      continue;
    if (!type.isStrided())
      return loop.emitOpError()
             << "expected memrefs with strides, but got " << type;
    SmallVector<int64_t> known = type.getStridesAndOffset().first;
    if (!llvm::is_contained(known, ShapedType::kDynamic))
      continue;
    auto metadata = memref::ExtractStridedMetadataOp::create(site.b, operand);
    for (auto [stride, value] : llvm::zip_equal(known, metadata.getStrides()))
      if (ShapedType::isDynamic(stride)) {
        strides[operand].push_back(value);
        operands.insert(value);
      }
  }
  variables.assign(operands.begin(), operands.end());
  return success();
}

/// An operand in the kernel.
Value PlainKernel::getInside(KernelBuilder &b, Value operand) {
  Value parameter = variables[llvm::find(operands, operand) - operands.begin()];
  return operand.getType().isIndex() ? toIndex(b, parameter) : parameter;
}

PlainMemory PlainKernel::getMemory(KernelBuilder &b, Value memref) {
  PlainMemory memory{getInside(b, memref), {}};
  ArrayRef<Value> dynamic = strides[memref];
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t stride : type.getStridesAndOffset().first) {
    if (!ShapedType::isDynamic(stride)) {
      memory.strides.push_back(emit::getIndex(b, stride));
      continue;
    }
    memory.strides.push_back(getInside(b, dynamic.front()));
    dynamic = dynamic.drop_front();
  }
  return memory;
}

/// The iteration of one thread.
void PlainKernel::emitThread(KernelBuilder &b) {
  Value thread = emitGlobalThreadNumber(b, kPlainThreads);
  IRMapping values;
  values.map(loop.getInductionVars().front(), thread);
  llvm::MapVector<Value, PlainMemory> memories;
  for (Value operand : operands)
    if (isa<MemRefType>(operand.getType()))
      memories[operand] = getMemory(b, operand);
    else
      values.map(operand, getInside(b, operand));
  Value total = loop.getUpperBound().front();
  std::optional<int64_t> known = getConstantIntValue(total);
  total = known ? emit::getIndex(b, *known) : values.lookup(total);
  auto emitIteration = [&] {
    emit::emitIf(b, isBelow(b, thread, total),
                 [&] { emitPlainBody(b, loop, values, memories); });
  };
  if (places.isEmpty())
    return emitIteration();
  SmallVector<Value> given;
  for (Value operand : places.getOperands())
    given.push_back(
        variables[llvm::find(operands, operand) - operands.begin()]);
  places.emit(b, kPlainThreads, given, [&](IRMapping &numbers) {
    for (auto [from, to] : numbers.getValueMap())
      values.map(from, to);
    emitIteration();
  });
}

LogicalResult PlainKernel::launch() {
  hoistSizes();
  if (failed(verifyPlainBody(loop)) || failed(places.verify(loop)))
    return failure();
  flatten();
  site.b.setInsertionPoint(loop);
  sinkScalars();
  if (failed(collectOperands()))
    return failure();
  KernelSignature signature;
  for (Value &variable : variables)
    signature.add(variable);
  auto name = loop->getAttrOfType<StringAttr>(emit::kPlainAttrName);
  Value blocks =
      getCeilDiv(site.b, loop.getUpperBound().front(), kPlainThreads);
  site.launch("plain_" + (name ? name.getValue() : "loop"),
              {kPlainThreads, blocks, {}}, signature,
              [&](KernelBuilder &b) { emitThread(b); });
  loop.erase();
  return success();
}

LogicalResult launchPlainLoop(scf::ParallelOp loop, KernelTable &kernels,
                              const target::Chip &chip) {
  return PlainKernel(loop, kernels, chip).launch();
}

} // namespace blockscale

//===- GemmRequest.cpp - The products of a kernel -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmRequest.h"
#include "DeviceEmission/ElementSource.h"
#include "Emission/OperandChecks.h"
#include "SplitSum.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/Analysis/RowMoves.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale::products {

/// Whether what follows products takes no other values of the kernel's body.
static LogicalResult verifyInputs(const Epilogue &epilogue) {
  if (epilogue.elementwise.empty())
    return success();
  ElementSource source(epilogue.getValue());
  for (const ElementSource::Input &input : source.getInputs()) {
    Operation *definition = input.logical.getDefiningOp();
    if (definition && !isProduct(definition))
      return definition->emitOpError(
          "expected elementwise ops after a product to take products, inputs "
          "of the kernel and constants, but got this op");
  }
  return success();
}

FailureOr<GemmRequest> GemmRequest::find(ArrayRef<Operation *> ops) {
  Operation *op = *llvm::find_if(ops, isProduct);
  std::optional<FusionObstacle> obstacle;
  GemmRequest request;
  request.epilogue = findWholeEpilogue(ops, obstacle);
  if (obstacle)
    return op->emitOpError("does not share its kernel ") << *obstacle;
  if (failed(verifyInputs(request.epilogue)))
    return failure();
  for (Operation *product : request.epilogue.products)
    request.products.emplace_back(cast<ProductOpInterface>(product));
  return request;
}

/// Sets the rows and K of data of the type; blocks in memory do not tell those
/// of prepacked data, which are static.
static void setMatrixSizes(const emit::CallSite &call, Product::Tensor data,
                           emit::CallSite::Sizes &sizes) {
  if (!isPrepacked(data.getType()))
    return;
  ArrayRef<int64_t> matrix = data.getType().getShape().take_back(2);
  for (auto [size, known] :
       llvm::zip_equal(MutableArrayRef(sizes).take_back(2), matrix))
    size = call.b.getIndexAttr(known);
}

GemmSizes GemmRequest::getSizes(const LaunchSite &site) const {
  const Product &product = getFirst();
  const emit::CallSite &call = site.call;
  auto op = cast<ProductOpInterface>(product.op);
  emit::CallSite::Sizes a = emit::getSizesOfA(call, op);
  emit::CallSite::Sizes bSizes = call.getSizes(product.b);
  setMatrixSizes(call, product.a, a);
  setMatrixSizes(call, product.b, bSizes);
  size_t rank = a.size();
  Value matrices = emit::getIndex(call.b, 1);
  if (product.offsets)
    matrices = emit::toIndex(call.b, call.getSizes(product.offsets).front());
  for (OpFoldResult size : ArrayRef(a).drop_back(2))
    matrices = emit::mul(call.b, matrices, emit::toIndex(call.b, size));
  return {a[rank - 2], bSizes[getProductDims(op, /*ofB=*/true).rows],
          a[rank - 1], matrices};
}

/// Counts matrices of `interleaved`, of which dimension `rows` are the rows.
static GemmRequest::Interleaving
countMatrices(const LaunchSite &site, Value interleaved, int64_t rows) {
  ImplicitLocOpBuilder &b = site.call.b;
  emit::CallSite::Sizes sizes = site.call.getSizes(interleaved);
  GemmRequest::Interleaving found{emit::getIndex(b, 1), emit::getIndex(b, 1)};
  for (auto [dim, size] : llvm::enumerate(ArrayRef(sizes).drop_back()))
    if (static_cast<int64_t>(dim) != rows) {
      Value &count =
          static_cast<int64_t>(dim) > rows ? found.inner : found.outer;
      count = emit::mul(b, count, emit::toIndex(b, size));
    }
  return found;
}

GemmRequest::Interleaving GemmRequest::getInterleaving(const LaunchSite &site,
                                                       Value data) const {
  Value source = emit::getGatheredSource(data);
  if (!source)
    return {};
  return countMatrices(site, source, *getGatheredRows(data.getDefiningOp()));
}

GemmRequest::Interleaving
GemmRequest::getResultInterleaving(const LaunchSite &site) const {
  if (!epilogue.scatter)
    return {};
  return countMatrices(site, epilogue.getStored(),
                       *getScatteredRows(epilogue.getStored().getDefiningOp()));
}

GemmArguments GemmRequest::getResultArguments(LaunchSite &site,
                                              const GemmSpec &spec) const {
  GemmArguments arguments(spec);
  if (spec.epilogue) {
    arguments.sink = spec.epilogue->sink->getArguments(site);
    for (const EpilogueSpec::Kept &kept : spec.epilogue->kept)
      arguments.kept.push_back(kept.store->getArguments(site));
  } else
    arguments.result = site.lookup(epilogue.getStored());
  arguments.innerResult = getResultInterleaving(site).inner;
  for (auto [product, own] : llvm::zip_equal(products, arguments.products)) {
    own.factorA = site.lookup(product.factorA.value);
    own.factorB = site.lookup(product.factorB.value);
    own.bias = site.lookup(product.bias);
  }
  return arguments;
}

static void requireOperands(Operation *op, emit::CallSite &call) {
  llvm::TypeSwitch<Operation *>(op).Case<ScaledMMOp, ScaledGroupedMMOp>(
      [&](auto product) { emit::requireOperands(product, call); });
}

/// Asserts that memory of the epilogue has the sizes of the products.
static void requireEpilogueSizes(const GemmRequest &request, LaunchSite &site,
                                 const GemmSizes &sizes) {
  const Epilogue &epilogue = request.epilogue;
  ImplicitLocOpBuilder &b = site.b;
  emit::CallSite::Sizes result = {sizes.rows, sizes.cols};
  if (request.getFirst().result.getType().getRank() > 2) {
    result = site.call.getSizes(request.getFirst().a);
    if (request.getFirst().groups == GroupDim::Columns)
      result.insert(result.begin(), getAsOpFoldResult(sizes.matrices));
    result.end()[-2] = sizes.rows;
    result.back() = sizes.cols;
  }
  if (!epilogue.scatter)
    createSink(epilogue)->requireSizes(site.call, result);
  for (Operation *product : epilogue.products)
    if (isStored(product->getResult(0)))
      createStore(product->getResult(0))->requireSizes(site.call, result);
  for (linalg::LinalgOp op : epilogue.elementwise)
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value input = operand->get();
      if (!isa<BlockArgument>(input) || !isa<RankedTensorType>(input.getType()))
        continue;
      emit::CallSite::Sizes expected;
      AffineMap map = op.getMatchingIndexingMap(operand);
      for (AffineExpr expr : map.getResults()) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        expected.push_back(loop ? result[loop.getPosition()]
                                : OpFoldResult(b.getIndexAttr(1)));
      }
      site.call.requireSizes("an input of an elementwise op", input, expected,
                             "the product");
    }
}

void GemmRequest::requireSizes(LaunchSite &site, const GemmSizes &sizes) const {
  for (Operation *product : epilogue.products)
    requireOperands(product, site.call);
  if (!epilogue.isEmpty())
    requireEpilogueSizes(*this, site, sizes);
  if (!epilogue.scatter)
    return;
  emit::CallSite::Sizes result = site.call.getSizes(getFirst().a);
  result.back() = sizes.cols;
  result.end()[-2] = sizes.rows;
  Value stored = epilogue.getStored();
  applyPermutationToVector(result, getPermutation(stored.getDefiningOp()));
  site.call.requireSizes("the result", stored, result, "the product");
}

/// Whether some product, or part of K, may have no step of K.
static bool mayBeEmptySum(const Product &product, const GemmSpec &spec,
                          OpFoldResult size) {
  int64_t depth = getConstantIntValue(size).value_or(0);
  if (depth == 0 || product.groups == GroupDim::Columns)
    return true;
  int64_t steps = llvm::divideCeil(depth, spec.stageElements);
  int64_t splits = spec.schedule.getSplits();
  int64_t part = llvm::divideCeil(steps, splits);
  return (splits - 1) * part >= steps;
}

/// Whether no product has a step of K behind its end.
static bool hasWholeStages(const Product &product, const GemmSpec &spec,
                           OpFoldResult size) {
  std::optional<int64_t> depth = getConstantIntValue(size);
  return depth && *depth % spec.stageElements == 0 &&
         product.groups != GroupDim::Columns;
}

void GemmRequest::setResults(GemmSpec &spec, const LaunchSite &site,
                             const GemmSizes &sizes, bool hasFragments) const {
  const Product &product = getFirst();
  spec.result = product.result.getType().getElementType();
  spec.groups = product.groups;
  if (product.bias) {
    RankedTensorType bias = product.bias.getType();
    spec.bias = bias.getElementType();
    spec.hasBiasOfEach = bias.getRank() > 1;
  }
  spec.factorA = product.factorA;
  spec.factorB = product.factorB;
  spec.scalesAfterRounding = product.scalesAfterRounding;
  spec.elementFactor = product.elementFactor;
  spec.mayBeEmptySum = mayBeEmptySum(product, spec, sizes.depth);
  if (spec.hasWholeStages)
    spec.hasWholeStages = hasWholeStages(product, spec, sizes.depth);
  spec.products = static_cast<int64_t>(products.size());
  for (auto [name, data] : {std::pair("a", product.a), {"b", product.b}})
    if (emit::getGatheredSource(data))
      spec.interleaved += name;
  if (epilogue.scatter)
    spec.interleaved += "r";
  if (!epilogue.isEmpty())
    spec.epilogue = std::make_shared<const EpilogueSpec>(
        epilogue, site.getChip(), hasFragments);
}

void GemmRequest::setSizes(GemmArguments &arguments, LaunchSite &site,
                           const GemmSpec &spec, const GemmSizes &sizes,
                           Value cols) const {
  if (spec.epilogue)
    for (const ElementSource::Input &input : spec.epilogue->getOtherInputs())
      arguments.inputs.push_back(site.lookup(input.logical));
  arguments.offsets = site.lookup(getFirst().offsets);
  arguments.rows = emit::toIndex(site.b, sizes.rows);
  arguments.cols = cols;
  arguments.depth = emit::toIndex(site.b, sizes.depth);
  arguments.matrices = sizes.matrices;
}

Value countTiles(LaunchSite &site, const GemmSpec &spec, const GemmSizes &sizes,
                 Value cols) {
  ImplicitLocOpBuilder &b = site.b;
  GemmScheduleAttr schedule = spec.schedule;
  Value rows = emit::toIndex(b, sizes.rows);
  Value tileRows = getCeilDiv(b, rows, schedule.getRows());
  if (spec.groups == GroupDim::Rows)
    tileRows = emit::min(b, emit::add(b, tileRows, sizes.matrices), rows);
  else
    tileRows = emit::mul(b, tileRows, sizes.matrices);
  Value tiles = emit::mul(
      b, tileRows,
      getCeilDiv(b, cols, spec.getResultCols() * schedule.getMulticast()));
  return spec.hasRest() ? emit::max(b, tiles, emit::getIndex(b, 1)) : tiles;
}

void launchSplit(const GemmRequest &request, LaunchSite &site,
                 const GemmSpec &spec, const GemmSizes &sizes,
                 function_ref<void(Value sums, Value cols)> launch) {
  ImplicitLocOpBuilder &b = site.b;
  Value rows = emit::toIndex(b, sizes.rows),
        cols = emit::toIndex(b, sizes.cols);
  Value fragments = getCeilDiv(b, cols, kFragment);
  Value filledCols = emit::mul(b, fragments, kFragment);
  Value parts = emit::mul(b, sizes.matrices, spec.schedule.getSplits());
  auto type = MemRefType::get(SmallVector<int64_t>(3, ShapedType::kDynamic),
                              b.getF32Type());
  Value sums =
      memref::AllocOp::create(b, type, ValueRange{parts, rows, filledCols});
  launch(sums, filledCols);

  GemmArguments arguments = request.getResultArguments(site, spec);
  arguments.rows = rows;
  arguments.cols = cols;
  arguments.matrices = sizes.matrices;
  KernelSignature signature = {{sums, kResultBytes}};
  arguments.addSlots(signature, spec);
  Value threads = emit::mul(b, emit::mul(b, sizes.matrices, rows), fragments);
  site.launch(
      "sum_of_" + spec.getName(),
      {kSumThreads, getCeilDiv(b, threads, kSumThreads), {}}, signature,
      [&](KernelBuilder &b) { emitSplitSum(b, spec, sums, arguments); });
  memref::DeallocOp::create(b, sums);
}

} // namespace blockscale::products

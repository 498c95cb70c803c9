//===- GemmLaunch.cpp - Products of block-scaled matrices -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/OperandChecks.h"
#include "GemmClauses.h"
#include "GemmMaps.h"
#include "GemmRoles.h"
#include "GemmSchedule.h"
#include "Kernels.h"
#include "ResultWriter.h"
#include "SplitSum.h"
#include "WidenKernel.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale::sm100 {

static GemmSizes getSizes(const Product &product, const LaunchSite &site) {
  const emit::CallSite &call = site.call;
  emit::CallSite::Sizes a = call.getDataSizes(product.a, product.b);
  emit::CallSite::Sizes bSizes = call.getSizes(product.b);
  size_t rank = a.size();
  Value matrices = emit::getIndex(call.b, 1);
  if (product.offsets)
    matrices = emit::toIndex(call.b, call.getSizes(product.offsets).front());
  for (OpFoldResult size : ArrayRef(a).drop_back(2))
    matrices = emit::mul(call.b, matrices, emit::toIndex(call.b, size));
  return {a[rank - 2], bSizes[bSizes.size() - 2], a[rank - 1], matrices};
}

/// The products that a kernel computes, and the epilogue that follows them.
struct GemmRequest {
  llvm::SmallVector<Product, kMostProducts> products;
  Epilogue epilogue;

  const Product &getFirst() const { return products.front(); }
};

/// The result, and what it is made of besides sums.
static GemmArguments getResultArguments(const GemmRequest &request,
                                        LaunchSite &site,
                                        const GemmSpec &spec) {
  GemmArguments arguments(spec);
  if (spec.epilogue)
    arguments.sink = spec.epilogue->sink->getArguments(site);
  else
    arguments.result = site.lookup(request.epilogue.getValue());
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    own.factorA = site.lookup(product.factorA.value);
    own.factorB = site.lookup(product.factorB.value);
    own.bias = site.lookup(product.bias);
  }
  return arguments;
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
    result.back() = sizes.cols;
  }
  createSink(epilogue)->requireSizes(site.call, result);
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

/// Data in the format that is multiplied: those of memory, or a workspace.
static OperandData getData(LaunchSite &site, Value data,
                           numerics::ElementFormat format, Value matrices,
                           Value rows, Value depth) {
  ImplicitLocOpBuilder &b = site.b;
  numerics::ElementFormat stored = emit::getElementFormat(data);
  Value memory = site.lookup(data);
  bool isWidened = stored != format;
  if (isWidened)
    memory = launchWiden(site, memory, stored,
                         emit::mul(b, emit::mul(b, matrices, rows), depth));
  return {memory, format, matrices, rows, depth, isWidened};
}

/// Tiles of all products, or as many as there can be: groups of rows may end
/// within a tile, but none is without a row.
static Value countTiles(LaunchSite &site, const GemmSpec &spec,
                        const GemmSizes &sizes, Value cols) {
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
  if (spec.hasRest())
    return emit::max(b, tiles, emit::getIndex(b, 1));
  return emit::mul(b, tiles, schedule.getSplits());
}

/// Multiplies. `arguments` have the result and what it is made of, with rows of
/// `cols`.
static void launchGemm(const GemmRequest &request, LaunchSite &site,
                       const GemmSpec &spec, const GemmSizes &sizes, Value cols,
                       GemmArguments arguments) {
  ImplicitLocOpBuilder &b = site.b;
  GemmScheduleAttr schedule = spec.schedule;
  BlockRows mine(schedule.getRows(), schedule.getCols());
  Value rows = emit::toIndex(b, sizes.rows),
        depth = emit::toIndex(b, sizes.depth);
  Value one = emit::getIndex(b, 1);
  bool isBatch = spec.groups == GroupDim::None;
  const Product &first = request.getFirst();
  auto getScale = [&](Value scale) {
    return Cluster::getTileBlocks(schedule) > 1
               ? createScaleMap(site, spec, scale)
               : site.lookup(scale);
  };
  SmallVector<OperandData> operands = {getData(site, first.a, spec.format.a,
                                               isBatch ? sizes.matrices : one,
                                               rows, depth)};
  arguments.mapA = createDataMap(site, spec, operands.front(),
                                 mine.dataA / schedule.getMulticast());
  arguments.scaleA = getScale(first.scaleA);
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    operands.push_back(
        getData(site, product.b, spec.format.b,
                spec.groups == GroupDim::Columns ? one : sizes.matrices,
                emit::toIndex(b, sizes.cols), depth));
    own.mapB = createDataMap(site, spec, operands.back(),
                             std::min(mine.dataB, spec.getResultCols()));
    own.scaleB = getScale(product.scaleB);
  }
  if (spec.epilogue)
    for (const ElementSource::Input &input : spec.epilogue->getOtherInputs())
      arguments.inputs.push_back(site.lookup(input.logical));
  arguments.offsets = site.lookup(first.offsets);
  arguments.rows = rows;
  arguments.cols = cols;
  arguments.depth = depth;
  arguments.matrices = sizes.matrices;

  int64_t clusterBlocks = Cluster::getBlocks(schedule);
  int64_t clusters = std::max<int64_t>(schedule.getCtas() / clusterBlocks, 1);
  Value blocks = emit::mul(b,
                           emit::min(b, countTiles(site, spec, sizes, cols),
                                     emit::getIndex(b, clusters)),
                           clusterBlocks);
  LaunchSite::Shape shape{kGemmThreads, blocks, {}};
  shape.clusterBlocks = clusterBlocks;
  // Shared memory has no room for more.
  shape.residentBlocks = 1;
  shape.sharedBytes = SharedLayout(spec.format, schedule.getRows(),
                                   schedule.getCols(), schedule.getStages())
                          .bytes;
  KernelSignature signature;
  arguments.addSlots(signature, spec);
  site.launch(spec.getName(), shape, signature,
              [&](KernelBuilder &b) { emitGemm(b, spec, arguments); });
  for (const OperandData &data : operands)
    if (data.isWidened)
      memref::DeallocOp::create(b, data.memory);
}

/// Multiplies parts of K into a workspace, and adds them.
static void launchSplitGemm(const GemmRequest &request, LaunchSite &site,
                            const GemmSpec &spec, const GemmSizes &sizes) {
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
  GemmSpec partial = getPartialSpec(spec);
  GemmArguments partialArguments(partial);
  partialArguments.result = sums;
  launchGemm(request, site, partial, sizes, filledCols, partialArguments);

  GemmArguments arguments = getResultArguments(request, site, spec);
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

/// Whether some product, or part of K, may have no step of K.
static bool mayBeEmptySum(const Product &product, const GemmFormat &format,
                          OpFoldResult size, int64_t splits) {
  int64_t depth = getConstantIntValue(size).value_or(0);
  if (depth == 0 || product.groups == GroupDim::Columns)
    return true;
  int64_t steps = llvm::divideCeil(depth, format.getTileElements());
  int64_t part = llvm::divideCeil(steps, splits);
  return (splits - 1) * part >= steps;
}

static GemmSpec getSpec(const GemmRequest &request, const LaunchSite &site,
                        const GemmFormat &format, GemmScheduleAttr schedule,
                        const GemmSizes &sizes) {
  const Product &product = request.getFirst();
  GemmSpec spec{format, schedule, product.result.getType().getElementType(),
                product.groups};
  if (product.bias) {
    RankedTensorType bias = product.bias.getType();
    spec.bias = bias.getElementType();
    spec.hasBiasOfEach = bias.getRank() > 1;
  }
  spec.factorA = product.factorA;
  spec.factorB = product.factorB;
  spec.scalesAfterRounding = product.scalesAfterRounding;
  spec.mayBeEmptySum =
      mayBeEmptySum(product, format, sizes.depth, schedule.getSplits());
  spec.products = static_cast<int64_t>(request.products.size());
  if (!request.epilogue.isEmpty())
    spec.epilogue =
        std::make_shared<const EpilogueSpec>(request.epilogue, site.getChip());
  return spec;
}

static void requireOperands(Operation *op, emit::CallSite &call) {
  llvm::TypeSwitch<Operation *>(op).Case<ScaledMMOp, ScaledGroupedMMOp>(
      [&](auto product) { emit::requireOperands(product, call); });
}

static GemmRequest getRequest(Epilogue epilogue) {
  GemmRequest request;
  for (Operation *op : epilogue.products)
    request.products.emplace_back(cast<ProductOpInterface>(op));
  request.epilogue = std::move(epilogue);
  return request;
}

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

LogicalResult lowerProducts(ArrayRef<Operation *> ops, LaunchSite &site) {
  Operation *op = *llvm::find_if(ops, isProduct);
  std::optional<FusionObstacle> obstacle;
  Epilogue epilogue = findWholeEpilogue(ops, obstacle);
  if (obstacle)
    return op->emitOpError("does not share its kernel ") << *obstacle;
  if (failed(verifyInputs(epilogue)))
    return failure();
  GemmRequest request = getRequest(std::move(epilogue));
  const Product &product = request.getFirst();
  for (const Product &each : request.products)
    if (failed(verifyScales(each, site)))
      return failure();
  FailureOr<GemmFormat> found = verifyFormat(product, site);
  if (failed(found))
    return failure();
  const GemmFormat &format = *found;
  for (Operation *each : request.epilogue.products)
    requireOperands(each, site.call);
  GemmSizes sizes = getSizes(product, site);
  if (!request.epilogue.isEmpty())
    requireEpilogueSizes(request, site, sizes);
  if (failed(verifyDepth(product, site, format, sizes.depth)))
    return failure();
  site.emitAsserts();
  if (failed(verifySizes(product, site, sizes)))
    return failure();

  auto schedule = op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule = rateSchedules(product, format, site.getChip()).front().schedule;
  if (failed(verifySchedule(product, site, format, schedule)))
    return failure();
  for (const Product &each : request.products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return failure();
  GemmSpec spec = getSpec(request, site, format, schedule, sizes);
  if (schedule.getSplits() > 1)
    launchSplitGemm(request, site, spec, sizes);
  else
    launchGemm(request, site, spec, sizes, emit::toIndex(site.b, sizes.cols),
               getResultArguments(request, site, spec));
  return success();
}

} // namespace blockscale::sm100

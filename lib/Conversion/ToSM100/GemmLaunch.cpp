//===- GemmLaunch.cpp - Products of block-scaled matrices -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmClauses.h"
#include "GemmMaps.h"
#include "GemmRoles.h"
#include "GemmSchedule.h"
#include "Kernels.h"
#include "Products/OperandData.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

/// Multiplies. `arguments` have the result and what it is made of, with rows of
/// `cols`.
static void launchGemm(const GemmRequest &request, LaunchSite &site,
                       const ScaledGemmSpec &spec, const GemmSizes &sizes,
                       Value cols, GemmArguments arguments) {
  ImplicitLocOpBuilder &b = site.b;
  GemmScheduleAttr schedule = spec.schedule;
  BlockRows mine(schedule.getRows(), schedule.getCols());
  Value rows = emit::toIndex(b, sizes.rows);
  Value one = emit::getIndex(b, 1);
  bool isBatch = spec.groups == GroupDim::None;
  const Product &first = request.getFirst();
  auto getScale = [&](Value scale) {
    return Cluster::getTileBlocks(schedule) > 1
               ? createScaleMap(site, spec, scale)
               : site.lookup(scale);
  };
  SmallVector<OperandData> operands = {
      getOperandData(site, first.a, spec.format.a,
                     isBatch ? sizes.matrices : one, rows, sizes.depth)};
  arguments.mapA = createDataMap(site, spec, operands.front(),
                                 mine.dataA / schedule.getMulticast());
  arguments.scaleA = getScale(first.scaleA);
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    operands.push_back(
        getOperandData(site, product.b, spec.format.b,
                       spec.groups == GroupDim::Columns ? one : sizes.matrices,
                       emit::toIndex(b, sizes.cols), sizes.depth));
    own.mapB = createDataMap(site, spec, operands.back(),
                             std::min(mine.dataB, spec.getResultCols()));
    own.scaleB = getScale(product.scaleB);
  }
  request.setSizes(arguments, site, spec, sizes, cols);

  int64_t clusterBlocks = Cluster::getBlocks(schedule);
  int64_t clusters = std::max<int64_t>(schedule.getCtas() / clusterBlocks, 1);
  Value tiles =
      emit::mul(b, countTiles(site, spec, sizes, cols), schedule.getSplits());
  Value blocks = emit::mul(b, emit::min(b, tiles, emit::getIndex(b, clusters)),
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
    if (data.isWorkspace)
      memref::DeallocOp::create(b, data.memory);
}

LogicalResult lowerTcgen05Products(ArrayRef<Operation *> ops,
                                   LaunchSite &site) {
  FailureOr<GemmRequest> request = GemmRequest::find(ops);
  if (failed(request))
    return failure();
  const Product &product = request->getFirst();
  for (const Product &each : request->products)
    if (failed(verifyScales(each, site)))
      return failure();
  FailureOr<GemmFormat> found = verifyFormat(product, site, kTileSteps);
  if (failed(found))
    return failure();
  GemmFormat format = getFormatOn(*found, site.getChip());
  GemmSizes sizes = request->getSizes(site);
  request->requireSizes(site, sizes);
  requireDepth(site, format, sizes.depth);
  site.emitAsserts();
  if (failed(verifySizes(product, site, sizes)))
    return failure();

  auto schedule =
      product.op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule = rateSchedules(product, format, site.getChip()).front().schedule;
  if (failed(verifySchedule(product, site, format, schedule)))
    return failure();
  for (const Product &each : request->products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return failure();
  // A long step may have a part of two stages.
  format.hasLongSteps &= schedule.getStages() > 1;
  ScaledGemmSpec spec{
      {format.getName(), format.block, format.getStageElements(), schedule},
      format};
  request->setResults(spec, site, sizes);
  launchParts(*request, site, spec, sizes,
              [&](const ScaledGemmSpec &spec, Value cols,
                  const GemmArguments &arguments) {
                launchGemm(*request, site, spec, sizes, cols, arguments);
              });
  return success();
}

} // namespace blockscale::gemm

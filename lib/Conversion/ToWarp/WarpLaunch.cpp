//===- WarpLaunch.cpp - Products of block-scaled matrices -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Products/OperandData.h"
#include "WarpClauses.h"
#include "WarpRoles.h"
#include "WarpSchedule.h"

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
  Value one = emit::getIndex(b, 1);
  const Product &first = request.getFirst();
  SmallVector<OperandData> operands = {
      getOperandData(site, first.a, spec.format.a,
                     spec.groups == GroupDim::None ? sizes.matrices : one,
                     emit::toIndex(b, sizes.rows), sizes.depth)};
  arguments.mapA =
      createDataMap(site, spec, operands.front(), schedule.getRows());
  arguments.scaleA = site.lookup(first.scaleA);
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    operands.push_back(
        getOperandData(site, product.b, spec.format.b,
                       spec.groups == GroupDim::Columns ? one : sizes.matrices,
                       emit::toIndex(b, sizes.cols), sizes.depth));
    own.mapB = createDataMap(site, spec, operands.back(), spec.getResultCols());
    own.scaleB = site.lookup(product.scaleB);
  }
  request.setSizes(arguments, site, spec, sizes, cols);

  Value tiles =
      emit::mul(b, countTiles(site, spec, sizes, cols), schedule.getSplits());
  Value blocks = emit::min(b, tiles, emit::getIndex(b, schedule.getCtas()));
  LaunchSite::Shape shape{kWarpGemmThreads, blocks, {}};
  // Shared memory has no room for more.
  shape.residentBlocks = 1;
  shape.sharedBytes = WarpLayout(spec).bytes;
  KernelSignature signature;
  arguments.addSlots(signature, spec);
  site.launch(spec.getName(), shape, signature,
              [&](KernelBuilder &b) { emitWarpGemm(b, spec, arguments); });
  for (const OperandData &data : operands)
    if (data.isWorkspace)
      memref::DeallocOp::create(b, data.memory);
}

LogicalResult lowerWarpProducts(ArrayRef<Operation *> ops, LaunchSite &site) {
  FailureOr<GemmRequest> request = GemmRequest::find(ops);
  if (failed(request))
    return failure();
  const Product &product = request->getFirst();
  for (const Product &each : request->products)
    if (failed(verifyScales(each, site)))
      return failure();
  FailureOr<GemmFormat> found = verifyFormat(product, site, kWarpStageSteps);
  if (failed(found))
    return failure();
  const GemmFormat &format = *found;
  GemmSizes sizes = request->getSizes(site);
  request->requireSizes(site, sizes);
  requireDepth(site, format, sizes.depth);
  site.emitAsserts();
  if (failed(verifySizes(product, site, sizes)))
    return failure();

  auto schedule =
      product.op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule =
        rateWarpSchedules(product, format, site.getChip()).front().schedule;
  ScaledGemmSpec spec{
      {format.getName(), format.block, format.getStageElements(), schedule},
      format};
  spec.products = static_cast<int64_t>(request->products.size());
  if (failed(verifyWarpSchedule(product, site, spec)))
    return failure();
  for (const Product &each : request->products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return failure();
  request->setResults(spec, site, sizes);
  launchParts(*request, site, spec, sizes,
              [&](const ScaledGemmSpec &spec, Value cols,
                  const GemmArguments &arguments) {
                launchGemm(*request, site, spec, sizes, cols, arguments);
              });
  return success();
}

} // namespace blockscale::gemm

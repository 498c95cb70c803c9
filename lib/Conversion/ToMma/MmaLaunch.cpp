//===- MmaLaunch.cpp - Products of a scaled and a plain matrix ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Kernels.h"
#include "MmaClauses.h"
#include "MmaRoles.h"
#include "MmaSchedule.h"
#include "Products/AlignedRows.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

/// Multiplies. `arguments` have the result and what it is made of, with rows of
/// `cols`.
static void launchGemm(const GemmRequest &request, LaunchSite &site,
                       const MmaSpec &spec, const GemmSizes &sizes, Value cols,
                       GemmArguments arguments) {
  ImplicitLocOpBuilder &b = site.b;
  const Product &first = request.getFirst();
  Value one = emit::getIndex(b, 1);
  SmallVector<Value> workspaces;
  auto getData = [&](Value data, bool isA, Value matrices, OpFoldResult rows) {
    int64_t bits = isA == spec.format.isScaledA
                       ? spec.format.getBits()
                       : spec.format.plain.getIntOrFloatBitWidth();
    AlignedRows aligned =
        alignRows(site, site.lookup(data), bits,
                  emit::mul(b, matrices, emit::toIndex(b, rows)), sizes.depth);
    if (aligned.isWorkspace)
      workspaces.push_back(aligned.memory);
    return aligned.memory;
  };
  arguments.packedA =
      getData(first.a, /*isA=*/true,
              spec.groups == GroupDim::None ? sizes.matrices : one, sizes.rows);
  arguments.scaleA = site.lookup(first.scaleA);
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    own.packedB = getData(
        product.b, /*isA=*/false,
        spec.groups == GroupDim::Columns ? one : sizes.matrices, sizes.cols);
    own.scaleB = site.lookup(product.scaleB);
  }
  request.setSizes(arguments, site, spec, sizes, cols);

  GemmScheduleAttr schedule = spec.schedule;
  Value tiles =
      emit::mul(b, countTiles(site, spec, sizes, cols), schedule.getSplits());
  Value blocks = emit::min(b, tiles, emit::getIndex(b, schedule.getCtas()));
  LaunchSite::Shape shape{spec.getThreads(), blocks, {}};
  shape.residentBlocks = MmaLayout::getResidentBlocks(spec);
  shape.sharedBytes = MmaLayout(spec).bytes;
  KernelSignature signature;
  arguments.addSlots(signature, spec);
  site.launch(spec.getName(), shape, signature,
              [&](KernelBuilder &b) { emitMmaGemm(b, spec, arguments); });
  for (Value workspace : workspaces)
    memref::DeallocOp::create(b, workspace);
}

LogicalResult lowerMmaProducts(ArrayRef<Operation *> ops, LaunchSite &site) {
  FailureOr<GemmRequest> request = GemmRequest::find(ops);
  if (failed(request))
    return failure();
  const Product &product = request->getFirst();
  for (const Product &each : request->products)
    if (failed(verifyDecodedFormat(each, site, "mma.sync")))
      return failure();
  DecodedFormat format = *DecodedFormat::find(product);
  GemmSizes sizes = request->getSizes(site);
  request->requireSizes(site, sizes);
  requireDecodedDepth(site, format, sizes.depth);
  site.emitAsserts();
  if (failed(verifySizes(product, site, sizes)))
    return failure();

  auto schedule =
      product.op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule =
        rateMmaSchedules(product, format, site.getChip()).front().schedule;
  for (const Product &each : request->products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return failure();
  if (failed(verifyMmaTile(product, site, format, schedule)))
    return failure();
  MmaSpec spec(format, schedule, site.getChip());
  spec.products = static_cast<int64_t>(request->products.size());
  if (std::optional<int64_t> depth = getConstantIntValue(sizes.depth))
    spec.setDepth(*depth);
  if (failed(verifyMmaSchedule(product, site, spec)))
    return failure();
  request->setResults(spec, site, sizes);
  launchParts(*request, site, spec, sizes,
              [&](const MmaSpec &spec, Value cols, GemmArguments arguments) {
                // Rows of sums may be longer than those of the result.
                if (spec.schedule.getSplits() > 1)
                  arguments.dataCols = emit::toIndex(site.b, sizes.cols);
                launchGemm(*request, site, spec, sizes, cols,
                           std::move(arguments));
              });
  return success();
}

} // namespace blockscale::gemm

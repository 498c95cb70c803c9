//===- ProductFamily.cpp - What families of kernels have alike ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductFamily.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::products {

/// Verifies clause c4 for the number of stages of a schedule. Where no number
/// fits, the error is about the tile.
static LogicalResult verifyStages(const Product &product,
                                  const LaunchSite &site,
                                  GemmScheduleAttr schedule,
                                  const RingStages &stages,
                                  int64_t leastBytes) {
  if (stages.most < stages.least)
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected a schedule with tiles whose " << stages.least
           << " stages, the fewest, fit into "
           << site.getChip().limits.getSharedBytesOfBlock()
           << " bytes of shared memory, but those of " << schedule.getRows()
           << " x " << schedule.getCols() << " take " << leastBytes;
  int64_t own = schedule.getStages();
  if (own >= stages.least && own <= stages.most)
    return success();
  InFlightDiagnostic diag =
      refuseProduct(product, site, ProductClause::Schedule);
  diag << "expected a schedule of " << stages.least;
  if (stages.most > stages.least)
    diag << " to " << stages.most;
  return diag << " stages, which shared memory holds, but got " << own;
}

LogicalResult verifySchedule(const Product &product, const LaunchSite &site,
                             GemmScheduleAttr schedule,
                             const RingStages &stages, int64_t leastBytes,
                             bool hasMulticast, bool addsInCluster) {
  if (!hasMulticast && schedule.getMulticast() != 1)
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected a schedule without multicast, but got "
           << schedule.getMulticast();
  if (failed(verifyStages(product, site, schedule, stages, leastBytes)))
    return failure();
  if (product.keepsChain && schedule.getSplits() > 1)
    return refuseProduct(product, site, ProductClause::Chain)
           << "expected a schedule of order chain to have K in one part, whose "
              "sums have one order, but got "
           << schedule.getSplits();
  if (!addsInCluster && product.needsWholeSums() && schedule.getSplits() > 1)
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected a schedule of groups, or with ops that follow, to have "
              "K in one part, but got "
           << schedule.getSplits();
  return success();
}

void launchGemm(const GemmRequest &request, LaunchSite &site,
                const GemmSpec &spec, const GemmSizes &sizes, Value cols,
                GemmArguments arguments, const KernelLaunch &kernel) {
  ImplicitLocOpBuilder &b = site.b;
  GemmScheduleAttr schedule = spec.schedule;
  Value one = emit::getIndex(b, 1);
  SmallVector<Value> workspaces;
  const Product &first = request.getFirst();
  // Where rows of a group are, the launch before may have computed.
  auto canLoadEarly = [&](Value memory) {
    return kernel.waitsInRoles && spec.groups == GroupDim::None &&
           (!memory || site.canLoadBeforeWait(memory));
  };
  auto setData = [&](Value data, bool isA, bool isBatch, OpFoldResult rows,
                     Value &map, Value &packed, Value &inner, bool &isEarly) {
    GemmRequest::Interleaving sets = request.getInterleaving(site, data);
    inner = sets.inner;
    OperandData found = kernel.getData(
        {site, isA, data, isBatch ? sizes.matrices : one,
         emit::toIndex(b, rows), sizes.depth,
         isA ? first.isMnMajorA : first.isMnMajorB, sets.inner, sets.outer});
    map = found.map;
    if (!map)
      packed = found.memory;
    if (found.isWorkspace)
      workspaces.push_back(found.memory);
    isEarly = canLoadEarly(found.memory);
  };
  setData(first.a, /*isA=*/true, spec.groups == GroupDim::None, sizes.rows,
          arguments.mapA, arguments.packedA, arguments.innerA,
          arguments.loadsAEarly);
  arguments.scaleA = kernel.getScale(first.scaleA);
  arguments.loadsAEarly &= canLoadEarly(arguments.scaleA);
  arguments.loadsBEarly = true;
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    bool isEarly = false;
    setData(product.b, /*isA=*/false, spec.groups != GroupDim::Columns,
            sizes.cols, own.mapB, own.packedB, arguments.innerB, isEarly);
    own.scaleB = kernel.getScale(product.scaleB);
    arguments.loadsBEarly &= isEarly && canLoadEarly(own.scaleB);
    own.elementFactor = site.lookup(product.elementFactor.value);
  }
  // Rows of sums may be longer than those of the result, which a map tells.
  bool hasSums = schedule.getSplits() > 1 && !kernel.addsInCluster;
  if (hasSums && arguments.products.front().packedB)
    arguments.dataCols = emit::toIndex(b, sizes.cols);
  request.setSizes(arguments, site, spec, sizes, cols);

  int64_t clusterBlocks = kernel.block.clusterBlocks;
  int64_t clusters = std::max<int64_t>(schedule.getCtas() / clusterBlocks, 1);
  Value tiles = countTiles(site, spec, sizes, cols);
  if (hasSums)
    tiles = emit::mul(b, tiles, schedule.getSplits());
  LaunchSite::Shape shape{
      kernel.block.threads,
      emit::mul(b, emit::min(b, tiles, emit::getIndex(b, clusters)),
                clusterBlocks),
      {}};
  shape.clusterBlocks = clusterBlocks;
  shape.residentBlocks = kernel.block.residentBlocks;
  shape.sharedBytes = kernel.block.sharedBytes;
  shape.waitsInBody = arguments.loadsAEarly || arguments.loadsBEarly;
  KernelSignature signature;
  arguments.addSlots(signature, spec);
  site.launch(spec.getName(), shape, signature,
              [&](KernelBuilder &b) { kernel.emit(b, arguments); });
  for (Value workspace : workspaces)
    memref::DeallocOp::create(b, workspace);
}

} // namespace blockscale::products

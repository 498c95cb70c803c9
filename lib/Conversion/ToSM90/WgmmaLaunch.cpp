//===- WgmmaLaunch.cpp - Products of a scaled and a plain matrix ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceEmission/DeviceCode.h"
#include "Kernels.h"
#include "Products/AlignedRows.h"
#include "WgmmaClauses.h"
#include "WgmmaRoles.h"
#include "WgmmaSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

namespace {

/// Data of an operand in memory; sizes are index.
struct OperandData {
  AlignedRows data;
  Value matrices, rows, depth;
};

} // namespace

/// A map of rows of elements of `bits` bits, of which a copy brings `boxBytes`
/// bytes of `boxRows` rows. Maps have no empty dimensions; of what is empty
/// nothing is loaded.
static Value createMap(LaunchSite &site, const OperandData &data, int64_t bits,
                       int64_t boxRows, int64_t boxBytes) {
  ImplicitLocOpBuilder &b = site.b;
  Value memory = data.data.memory;
  requireAlignment(b, memory, kCopyBytes);
  Value one = emit::getIndex(b, 1);
  Value depth = data.depth;
  if (!data.data.pitch)
    depth = emit::max(b, depth, emit::getIndex(b, kCopyBytes * 8 / bits));
  Value rows = emit::max(b, data.rows, one);
  Value matrices = emit::max(b, data.matrices, one);
  Value bytes =
      bits < 8 ? emit::div(b, depth, 8 / bits) : emit::mul(b, depth, bits / 8);
  Value dims[] = {bytes, rows, matrices};
  Value pitch = data.data.pitch ? data.data.pitch : bytes;
  Value strides[] = {pitch, emit::mul(b, rows, pitch)};
  return TensorMapOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                             getGlobalPointer(b, memory), dims, strides,
                             ArrayRef<int64_t>{boxBytes, boxRows, 1},
                             MapElement::UInt8,
                             /*swizzle=*/boxBytes);
}

/// Multiplies. `arguments` have the result and what it is made of.
static void launchWgmma(const GemmRequest &request, LaunchSite &site,
                        const WgmmaSpec &spec, const GemmSizes &sizes,
                        GemmArguments arguments) {
  ImplicitLocOpBuilder &b = site.b;
  WgmmaTile tile(spec);
  WgmmaLayout shared(spec);
  bool isScaledA = spec.format.isScaledA;
  Value depth = emit::toIndex(b, sizes.depth), one = emit::getIndex(b, 1);
  Value cols = emit::toIndex(b, sizes.cols);
  SmallVector<Value> workspaces;
  auto getMap = [&](Value data, bool isA, Value matrices, OpFoldResult size) {
    bool isScaled = isA == isScaledA;
    int64_t bits = isScaled ? spec.format.getBits()
                            : spec.format.plain.getIntOrFloatBitWidth();
    Value rows = emit::toIndex(b, size);
    AlignedRows aligned = alignRows(site, site.lookup(data), bits,
                                    emit::mul(b, matrices, rows), sizes.depth);
    if (aligned.isWorkspace)
      workspaces.push_back(aligned.memory);
    OperandData operand = {aligned, matrices, rows, depth};
    return isScaled ? createMap(site, operand, bits, tile.scaledRowsOfEach,
                                shared.boxBytes)
                    : createMap(site, operand, bits, tile.plainRowsOfEach,
                                kPlainRowBytes);
  };
  const Product &first = request.getFirst();
  bool isBatch = spec.groups == GroupDim::None;
  if (spec.format.isPacked && isScaledA)
    arguments.packedA = site.lookup(first.a);
  else
    arguments.mapA = getMap(first.a, /*isA=*/true,
                            isBatch ? sizes.matrices : one, sizes.rows);
  arguments.scaleA = site.lookup(first.scaleA);
  for (auto [product, own] :
       llvm::zip_equal(request.products, arguments.products)) {
    if (spec.format.isPacked && !isScaledA)
      own.packedB = site.lookup(product.b);
    else
      own.mapB = getMap(product.b, /*isA=*/false,
                        spec.groups == GroupDim::Columns ? one : sizes.matrices,
                        sizes.cols);
    own.scaleB = site.lookup(product.scaleB);
  }
  request.setSizes(arguments, site, spec, sizes, cols);

  int64_t clusters =
      std::max<int64_t>(spec.schedule.getCtas() / spec.getParts(), 1);
  Value blocks = emit::mul(b,
                           emit::min(b, countTiles(site, spec, sizes, cols),
                                     emit::getIndex(b, clusters)),
                           spec.getParts());
  LaunchSite::Shape shape{getWgmmaThreads(spec), blocks, {}};
  shape.clusterBlocks = spec.getParts();
  // Threads that multiply need all registers.
  shape.residentBlocks = 1;
  shape.sharedBytes = shared.bytes;
  KernelSignature signature;
  arguments.addSlots(signature, spec);
  site.launch(spec.getName(), shape, signature,
              [&](KernelBuilder &b) { emitWgmma(b, spec, arguments); });
  for (Value workspace : workspaces)
    memref::DeallocOp::create(b, workspace);
}

LogicalResult lowerWgmmaProducts(ArrayRef<Operation *> ops, LaunchSite &site) {
  FailureOr<GemmRequest> request = GemmRequest::find(ops);
  if (failed(request))
    return failure();
  const Product &product = request->getFirst();
  for (const Product &each : request->products)
    if (failed(verifyWgmmaFormat(each, site)))
      return failure();
  WgmmaFormat format = *WgmmaFormat::find(product);
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
        rateWgmmaSchedules(product, format, site.getChip()).front().schedule;
  for (const Product &each : request->products)
    if (failed(verifySameSchedule(each, site, schedule)))
      return failure();
  WgmmaSpec spec(format, schedule, site.getChip());
  request->setResults(spec, site, sizes);
  if (failed(verifyWgmmaSchedule(product, site, spec)))
    return failure();
  launchWgmma(*request, site, spec, sizes,
              request->getResultArguments(site, spec));
  return success();
}

} // namespace blockscale::gemm

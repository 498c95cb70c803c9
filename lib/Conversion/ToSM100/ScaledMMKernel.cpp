//===- ScaledMMKernel.cpp - Products of block-scaled matrices -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a product must be for the kernel to compute it:
//
//   sm100_mm_c1  scales of both operands are in the layout swizzle_128x4
//   sm100_mm_c2  a row of data is a multiple of 16 bytes
//   sm100_mm_c3  M, N, K and the number of matrices are below 2^31
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/Kernels.h"
#include "GemmRoles.h"
#include "GemmSchedule.h"
#include "Kernels.h"
#include "ResultWriter.h"
#include "SplitSum.h"
#include "WidenKernel.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::sm100 {

using cpu::CallSite;

/// What addresses that copies and wide loads read from are multiples of, and
/// those of wide stores.
static constexpr int64_t kCopyBytes = 16;
static constexpr int64_t kStoreBytes = 32;

namespace {

/// The sizes of a product, as the host knows them.
struct Sizes {
  OpFoldResult rows, cols, depth;
  Value matrices;
};

/// Data as the kernel reads them.
struct Data {
  Value memory;
  numerics::ElementFormat format;
  /// In a workspace.
  bool isWidened = false;
};

} // namespace

static InFlightDiagnostic refuse(ScaledMMOp op, const LaunchSite &site,
                                 StringRef clause) {
  return op.emitOpError() << "has no kernel on " << site.getChip().name << " ("
                          << clause << "): ";
}

static LogicalResult verifyScales(ScaledMMOp op, const LaunchSite &site) {
  std::pair<StringRef, Value> scales[] = {{"scale_a", op.getScaleA()},
                                          {"scale_b", op.getScaleB()}};
  for (auto [name, scale] : scales)
    if (!getLayout(scale.getType()))
      return refuse(op, site, "sm100_mm_c1")
             << "expected " << name
             << " to be in the layout swizzle_128x4, but got linear scales; "
                "bring them there by blockscale.swizzle first";
  return success();
}

/// The multiple of elements that a row of data is.
static int64_t getRowMultiple(const GemmFormat &format) {
  if (format.isPadded(format.a) || format.isPadded(format.b))
    return kRowBytes;
  // cuTensorMapEncodeTiled, "globalStrides".
  bool isPacked = format.a == numerics::ElementFormat::E2M1;
  return isPacked ? 2 * kCopyBytes : kCopyBytes;
}

/// Refuses a K that copies cannot read, or asserts it where it is dynamic.
static LogicalResult verifyDepth(ScaledMMOp op, LaunchSite &site,
                                 const GemmFormat &format, OpFoldResult depth) {
  constexpr StringLiteral clause = "sm100_mm_c2";
  int64_t multiple = getRowMultiple(format);
  std::optional<int64_t> known = getConstantIntValue(depth);
  if (known && *known % multiple != 0)
    return refuse(op, site, clause)
           << "expected K to be a multiple of " << multiple << ", but got "
           << *known << "; pad K with zeros, in data and scales";
  // What is not packed has blocks of whole rows.
  if (multiple > format.block)
    site.call.requireMultiple(depth, multiple,
                              "K, on " + Twine(site.getChip().name) + " (" +
                                  clause + "),");
  return success();
}

/// Refuses sizes that copies have no coordinates for, or asserts that dynamic
/// ones are not such.
static LogicalResult verifySizes(ScaledMMOp op, LaunchSite &site,
                                 const Sizes &sizes) {
  constexpr StringLiteral clause = "sm100_mm_c3";
  constexpr int64_t end = int64_t(1) << 31;
  ImplicitLocOpBuilder &b = site.b;
  std::pair<StringRef, OpFoldResult> named[] = {
      {"M", sizes.rows},
      {"N", sizes.cols},
      {"K", sizes.depth},
      {"the number of matrices", getAsOpFoldResult(sizes.matrices)}};
  for (auto [name, size] : named) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (known && *known >= end)
      return refuse(op, site, clause)
             << "expected " << name << " to be below 2^31, but got " << *known
             << "; divide the product";
    if (known)
      continue;
    Value isSmall =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                              cpu::toIndex(b, size), cpu::getIndex(b, end));
    cf::AssertOp::create(b, isSmall,
                         ("scaled_mm: expected " + name + ", on " +
                          StringRef(site.getChip().name) + " (" + clause +
                          "), to be below 2^31")
                             .str());
  }
  return success();
}

static FactorForm getFactorForm(ScaledMMOp op, Value factor) {
  if (!factor)
    return FactorForm::Absent;
  auto type = dyn_cast<RankedTensorType>(factor.getType());
  if (!type)
    return FactorForm::Scalar;
  if (type.getRank() == 0)
    return FactorForm::Single;
  return type.getRank() == op.getResult().getType().getRank() - 1
             ? FactorForm::EachRow
             : FactorForm::EachMatrix;
}

static Sizes getSizes(ScaledMMOp op, const LaunchSite &site) {
  CallSite::Sizes a = site.call.getDataSizes(op.getA(), op.getB());
  size_t rank = a.size();
  Value matrices = cpu::getIndex(site.call.b, 1);
  for (OpFoldResult size : ArrayRef(a).drop_back(2))
    matrices = cpu::mul(site.call.b, matrices, cpu::toIndex(site.call.b, size));
  return {a[rank - 2], site.call.getSizes(op.getB())[rank - 2], a[rank - 1],
          matrices};
}

/// A map of the data of an operand with `rows` rows, of which a copy brings
/// `boxRows`.
static Value createMap(LaunchSite &site, const GemmSpec &spec, const Data &data,
                       int64_t boxRows, Value rows, const Sizes &sizes) {
  ImplicitLocOpBuilder &b = site.b;
  bool isPadded = spec.format.isPadded(data.format);
  bool isPacked = data.format == numerics::ElementFormat::E2M1;
  requireAlignment(b, data.memory, isPadded ? 2 * kCopyBytes : kCopyBytes);

  // Maps have no empty dimensions; of an empty K no tile is loaded.
  Value elements = cpu::toIndex(b, sizes.depth);
  if (spec.mayBeEmptySum)
    elements =
        cpu::max(b, elements, cpu::getIndex(b, getRowMultiple(spec.format)));
  Value bytes = isPacked ? cpu::div(b, elements, 2) : elements;
  Value dims[] = {isPadded ? elements : bytes, rows, sizes.matrices};
  Value strides[] = {bytes, cpu::mul(b, rows, bytes)};
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return TensorMapOp::create(
      b, pointer, getGlobalPointer(b, data.memory), dims, strides,
      ArrayRef<int64_t>{kRowBytes, boxRows, 1},
      isPadded ? MapElement::U4Padded : MapElement::UInt8, kRowBytes);
}

/// A map of the scales of `boxRows` rows of a step, of an operand with `rows`
/// rows: quarters of atoms along K, bands of 128 rows, matrices.
static Value createScaleMap(LaunchSite &site, const GemmSpec &spec, Value scale,
                            int64_t boxRows, Value rows, const Sizes &sizes) {
  ImplicitLocOpBuilder &b = site.b;
  Value memory = site.lookup(scale);
  requireAlignment(b, memory, kCopyBytes);
  Value atoms = getCeilDiv(b, cpu::toIndex(b, sizes.depth),
                           spec.format.block * kAtomScales);
  if (spec.mayBeEmptySum)
    atoms = cpu::max(b, atoms, cpu::getIndex(b, 1));
  constexpr int64_t quarters = kAtomBytes / kRowBytes;
  Value row = cpu::getIndex(b, kRowBytes);
  Value bands = getCeilDiv(b, rows, kAtomRows);
  Value bandBytes = cpu::mul(b, atoms, kAtomBytes);
  Value dims[] = {row, cpu::mul(b, atoms, quarters), bands, sizes.matrices};
  Value strides[] = {row, bandBytes, cpu::mul(b, bands, bandBytes)};
  return TensorMapOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()),
      getGlobalPointer(b, memory), dims, strides,
      ArrayRef<int64_t>{kRowBytes, spec.format.getTileAtoms() * quarters,
                        boxRows / kAtomRows, 1},
      MapElement::UInt8, /*swizzle=*/0);
}

/// The result, and what it is made of besides sums.
static SmallVector<LaunchSite::Argument>
getResultArguments(ScaledMMOp op, const LaunchSite &site) {
  SmallVector<LaunchSite::Argument> arguments = {
      {site.lookup(op.getResult()), kStoreBytes}};
  for (Value factor : {op.getGlobalScaleA(), op.getGlobalScaleB()}) {
    if (!factor)
      continue;
    bool isScalar = factor.getType().isF32();
    arguments.push_back({site.lookup(factor), isScalar ? 0 : kCopyBytes});
  }
  if (op.getBias())
    arguments.push_back({site.lookup(op.getBias()), kCopyBytes});
  return arguments;
}

/// Data of `rows` rows, in the format that is multiplied.
static Data getData(LaunchSite &site, Value data,
                    numerics::ElementFormat format, Value rows,
                    const Sizes &sizes) {
  numerics::ElementFormat stored = cpu::getElementFormat(data);
  Value memory = site.lookup(data);
  if (stored == format)
    return {memory, stored};
  ImplicitLocOpBuilder &b = site.b;
  Value elements = cpu::mul(b, cpu::mul(b, sizes.matrices, rows),
                            cpu::toIndex(b, sizes.depth));
  return {launchWiden(site, memory, stored, elements), format, true};
}

/// Multiplies. `results` are the result and what it is made of, with rows of
/// `cols`.
static void launchGemm(ScaledMMOp op, LaunchSite &site, const GemmSpec &spec,
                       const Sizes &sizes, Value cols,
                       ArrayRef<LaunchSite::Argument> results) {
  ImplicitLocOpBuilder &b = site.b;
  Value rows = cpu::toIndex(b, sizes.rows);
  Value operandCols = cpu::toIndex(b, sizes.cols);
  int64_t tileRows = spec.schedule.getRows();
  int64_t tileCols = spec.schedule.getCols();
  BlockRows mine(tileRows, tileCols);
  bool isPair = Cluster::getTileBlocks(spec.schedule) > 1;
  int64_t multicast = spec.schedule.getMulticast();
  auto getScale = [&](Value scale, int64_t boxRows,
                      Value size) -> LaunchSite::Argument {
    if (isPair)
      return {createScaleMap(site, spec, scale, boxRows, size, sizes)};
    return {site.lookup(scale), kCopyBytes};
  };
  Data a = getData(site, op.getA(), spec.format.a, rows, sizes);
  Data bData = getData(site, op.getB(), spec.format.b, operandCols, sizes);
  SmallVector<LaunchSite::Argument> arguments = {
      {createMap(site, spec, a, mine.dataA / multicast, rows, sizes)},
      {createMap(site, spec, bData, mine.dataB, operandCols, sizes)},
      getScale(op.getScaleA(), mine.scaleA, rows),
      getScale(op.getScaleB(), mine.scaleB, operandCols)};
  llvm::append_range(arguments, results);
  for (Value size : {rows, cols, cpu::toIndex(b, sizes.depth), sizes.matrices})
    arguments.push_back({size});

  int64_t clusterBlocks = Cluster::getBlocks(spec.schedule);
  Value tiles = cpu::mul(b, getCeilDiv(b, rows, tileRows),
                         getCeilDiv(b, cols, tileCols * multicast));
  tiles = cpu::mul(b, tiles, sizes.matrices);
  tiles = cpu::mul(b, tiles, spec.schedule.getSplits());
  int64_t clusters =
      std::max<int64_t>(spec.schedule.getCtas() / clusterBlocks, 1);
  Value blocks = cpu::mul(b, cpu::min(b, tiles, cpu::getIndex(b, clusters)),
                          clusterBlocks);
  LaunchSite::Shape shape{kGemmThreads, blocks, {}};
  shape.clusterBlocks = clusterBlocks;
  // Shared memory has no room for more.
  shape.residentBlocks = 1;
  shape.sharedBytes =
      SharedLayout(spec.format, tileRows, tileCols, spec.schedule.getStages())
          .bytes;
  site.launch(spec.getName(), shape, arguments,
              [&](KernelBuilder &b, ValueRange parameters) {
                emitGemm(b, spec, parameters);
              });
  for (const Data &data : {a, bData})
    if (data.isWidened)
      memref::DeallocOp::create(b, data.memory);
}

/// Multiplies parts of K into a workspace, and adds them.
static void launchSplitGemm(ScaledMMOp op, LaunchSite &site,
                            const GemmSpec &spec, const Sizes &sizes) {
  ImplicitLocOpBuilder &b = site.b;
  Value rows = cpu::toIndex(b, sizes.rows), cols = cpu::toIndex(b, sizes.cols);
  Value chunks = getCeilDiv(b, cols, kChunk);
  Value filledCols = cpu::mul(b, chunks, kChunk);
  Value parts = cpu::mul(b, sizes.matrices, spec.schedule.getSplits());
  auto type = MemRefType::get(SmallVector<int64_t>(3, ShapedType::kDynamic),
                              b.getF32Type());
  Value sums =
      memref::AllocOp::create(b, type, ValueRange{parts, rows, filledCols});
  launchGemm(op, site, getPartialSpec(spec), sizes, filledCols,
             LaunchSite::Argument{sums, kStoreBytes});

  SmallVector<LaunchSite::Argument> arguments = {{sums, kStoreBytes}};
  llvm::append_range(arguments, getResultArguments(op, site));
  for (Value size : {rows, cols, sizes.matrices})
    arguments.push_back({size});
  Value threads = cpu::mul(b, cpu::mul(b, sizes.matrices, rows), chunks);
  site.launch("sum_of_" + spec.getName(),
              {kSumThreads, getCeilDiv(b, threads, kSumThreads), {}}, arguments,
              [&](KernelBuilder &b, ValueRange parameters) {
                emitSplitSum(b, spec, parameters);
              });
  memref::DeallocOp::create(b, sums);
}

LogicalResult lowerKernel(ScaledMMOp op, LaunchSite &site) {
  if (failed(verifyScales(op, site)))
    return failure();
  GemmFormat format = getGemmFormat(op);
  cpu::prepareCall(op, site.call);
  Sizes sizes = getSizes(op, site);
  if (failed(verifyDepth(op, site, format, sizes.depth)))
    return failure();
  site.emitAsserts();
  if (failed(verifySizes(op, site, sizes)))
    return failure();

  auto schedule = op->getAttrOfType<GemmScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    schedule = rateSchedules(op, format, site.getChip()).front().schedule;
  int64_t most = SharedLayout::getMaxStages(format, schedule.getRows(),
                                            schedule.getCols());
  if (schedule.getStages() > most)
    return op.emitOpError() << "expected a schedule of at most " << most
                            << " stages, which shared memory holds, but got "
                            << schedule.getStages();

  GemmSpec spec{format, schedule, op.getResult().getType().getElementType()};
  if (op.getBias())
    spec.bias = op.getBias().getType().getElementType();
  spec.factorA = getFactorForm(op, op.getGlobalScaleA());
  spec.factorB = getFactorForm(op, op.getGlobalScaleB());
  spec.scalesAfterRounding =
      op.getGlobalScaling() == GlobalScaling::AfterRounding;
  // Also where a part of K has no step.
  int64_t depth = getConstantIntValue(sizes.depth).value_or(0);
  int64_t steps = llvm::divideCeil(depth, format.getTileElements());
  int64_t splits = schedule.getSplits();
  spec.mayBeEmptySum =
      depth == 0 ||
      (splits - 1) * static_cast<int64_t>(llvm::divideCeil(steps, splits)) >=
          steps;
  if (splits > 1)
    launchSplitGemm(op, site, spec, sizes);
  else
    launchGemm(op, site, spec, sizes, cpu::toIndex(site.b, sizes.cols),
               getResultArguments(op, site));
  return success();
}

} // namespace blockscale::sm100

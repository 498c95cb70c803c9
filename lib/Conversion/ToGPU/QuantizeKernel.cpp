//===- QuantizeKernel.cpp - Structure of a quantize kernel ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernel.h"
#include "ScaleStore.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

ThreadMapping::ThreadMapping(const QuantizeSpec &spec)
    : chunkBlocks(kChunkElements / spec.getBlockElements()) {
  int64_t rowBlocks = spec.getBlocksPerRow();
  fullChunks = rowBlocks / chunkBlocks;
  tailBlocks = rowBlocks % chunkBlocks;
  int64_t columns =
      spec.swizzled ? llvm::alignTo(rowBlocks, kTileCols) : rowBlocks;
  chunksPerRow = llvm::divideCeil(columns, chunkBlocks);
  int64_t common = std::gcd(chunksPerRow, kThreads);
  rowsPerGroup = kThreads / common;
  blocksPerGroup = chunksPerRow / common;
}

SmallVector<Type> getArgumentTypes(MLIRContext *context,
                                   const QuantizeSpec &spec) {
  // NVPTX address space 1 is global memory.
  Type pointer = LLVM::LLVMPointerType::get(context, /*addressSpace=*/1);
  Type size = IntegerType::get(context, 64);
  SmallVector<Type> types(3, pointer);
  if (spec.globalKind != GlobalKind::Absent)
    types.push_back(spec.globalByValue ? Float32Type::get(context) : pointer);
  types.push_back(size);
  if (spec.batched)
    types.push_back(size);
  return types;
}

/// Bytes of the widest global access.
static int64_t getAccessBytes(const target::Chip &chip) {
  return chip.hasWideGlobalAccess() ? 32 : 16;
}

/// Rows start where their length allows; in a row, chunks are wider than any
/// access.
static int64_t getDataStoreBytes(const QuantizeSpec &spec,
                                 int64_t accessBytes) {
  return std::gcd(spec.rowElements * spec.getDataBits() / 8, accessBytes);
}

/// Scale bytes of a chunk that are stored together.
static int64_t getScaleStoreBytes(const QuantizeSpec &spec,
                                  int64_t chunkBlocks) {
  return spec.swizzled ? chunkBlocks
                       : std::gcd(spec.getBlocksPerRow(), chunkBlocks);
}

SmallVector<int64_t> getPointerAlignments(const QuantizeSpec &spec,
                                          const target::Chip &chip) {
  int64_t accessBytes = getAccessBytes(chip);
  SmallVector<int64_t> alignments = {
      accessBytes, getDataStoreBytes(spec, accessBytes),
      getScaleStoreBytes(spec, ThreadMapping(spec).chunkBlocks)};
  if (spec.globalKind != GlobalKind::Absent && !spec.globalByValue)
    alignments.push_back(sizeof(float));
  return alignments;
}

namespace {

class QuantizeKernelEmitter {
public:
  QuantizeKernelEmitter(gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                        const target::Chip &chip);

  void emit();

private:
  /// Emits `body` to run where the i1 `condition` holds, and `otherwise`, if
  /// given, to run elsewhere. Null conditions always hold.
  void emitIf(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr);
  Value isBelow(Value value, Value bound);
  /// Thread block number along a dimension of the grid, as i32.
  Value getBlockNumber(gpu::Dimension dimension);
  void emitPosition();

  void emitRow();
  void emitChunk(int64_t blocks);
  void emitPadding();

  Value getRowNumber();
  Value loadGlobal();
  void storeData(Value element, ArrayRef<Value> words);
  void storeScales(SmallVector<Value, 2> pairs, int64_t blocks);
  void storeZeroScales();

  const QuantizeSpec &spec;
  ThreadMapping mapping;
  std::unique_ptr<CvtEmitter> cvt;
  /// Bytes of the chip's widest global access.
  int64_t accessBytes;
  KernelBuilder b;

  Value x, data, scales, global, rows, matrices;
  ChunkPosition position;
  /// ceil(rows / 128).
  Value rowTiles;
};

} // namespace

QuantizeKernelEmitter::QuantizeKernelEmitter(gpu::GPUFuncOp kernel,
                                             const QuantizeSpec &spec,
                                             const target::Chip &chip)
    : spec(spec), mapping(spec), cvt(createCvtEmitter(chip)),
      accessBytes(getAccessBytes(chip)),
      b(kernel.getLoc(), OpBuilder::atBlockBegin(&kernel.front())) {
  const auto *next = kernel.getArguments().begin();
  x = *next++;
  data = *next++;
  scales = *next++;
  if (spec.globalKind != GlobalKind::Absent)
    global = *next++;
  rows = *next++;
  if (spec.batched)
    matrices = *next++;
}

void QuantizeKernelEmitter::emitIf(Value condition, function_ref<void()> body,
                                   function_ref<void()> otherwise) {
  if (!condition)
    return body();
  auto branch =
      scf::IfOp::create(b, condition,
                        /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (otherwise) {
    b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

Value QuantizeKernelEmitter::isBelow(Value value, Value bound) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, bound);
}

Value QuantizeKernelEmitter::getBlockNumber(gpu::Dimension dimension) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(),
                                      gpu::BlockIdOp::create(b, dimension));
}

void QuantizeKernelEmitter::emitPosition() {
  Value thread = arith::IndexCastUIOp::create(
      b, b.getI32Type(),
      gpu::ThreadIdOp::create(b, gpu::Dimension::x,
                              b.getIndexAttr(ThreadMapping::kThreads)));
  Value block = getBlockNumber(gpu::Dimension::x);
  Value blocksPerGroup = b.i32(mapping.blocksPerGroup);
  Value group = arith::DivUIOp::create(b, block, blocksPerGroup);
  Value inGroup = arith::RemUIOp::create(b, block, blocksPerGroup);
  inGroup = arith::MulIOp::create(b, inGroup, b.i32(ThreadMapping::kThreads));
  inGroup = arith::AddIOp::create(b, inGroup, thread);

  Value chunksPerRow = b.i32(mapping.chunksPerRow);
  position.chunk = arith::RemUIOp::create(b, inGroup, chunksPerRow);
  position.row =
      arith::MulIOp::create(b, b.zext64(group), b.i64(mapping.rowsPerGroup));
  position.row = arith::AddIOp::create(
      b, position.row,
      b.zext64(arith::DivUIOp::create(b, inGroup, chunksPerRow)));
  position.matrix = b.i64(0);
  if (!spec.batched)
    return;
  Value y = b.zext64(getBlockNumber(gpu::Dimension::y));
  Value z = b.zext64(getBlockNumber(gpu::Dimension::z));
  z = arith::MulIOp::create(b, z, b.i64(ThreadMapping::kMaxGridY));
  position.matrix = arith::AddIOp::create(b, z, y);
}

void QuantizeKernelEmitter::emit() {
  emitPosition();
  Value matrixExists;
  if (spec.batched)
    matrixExists = isBelow(position.matrix, matrices);
  if (spec.swizzled) {
    rowTiles = arith::AddIOp::create(b, rows, b.i64(kTileRows - 1));
    rowTiles =
        arith::ShRUIOp::create(b, rowTiles, b.i64(llvm::Log2_64(kTileRows)));
  }
  auto emitData = [&] { emitRow(); };
  auto emitRest = [&] { emitPadding(); };
  emitIf(matrixExists, [&] {
    Value hasData = isBelow(position.row, rows);
    if (spec.swizzled)
      emitIf(hasData, emitData, emitRest);
    else
      emitIf(hasData, emitData);
  });
  gpu::ReturnOp::create(b);
}

/// A row that holds data: full chunks, then the tail, then padding.
void QuantizeKernelEmitter::emitRow() {
  auto isChunkBelow = [&](int64_t bound) -> Value {
    if (bound == mapping.chunksPerRow)
      return {};
    return isBelow(position.chunk, b.i32(bound));
  };
  auto emitTail = [&] {
    if (mapping.tailBlocks == 0)
      return storeZeroScales();
    emitIf(
        isChunkBelow(mapping.fullChunks + 1),
        [&] { emitChunk(mapping.tailBlocks); }, [&] { storeZeroScales(); });
  };
  if (mapping.fullChunks == 0)
    return emitTail();
  emitIf(
      isChunkBelow(mapping.fullChunks), [&] { emitChunk(mapping.chunkBlocks); },
      emitTail);
}

/// A row below the last one: scales only, in its tile.
void QuantizeKernelEmitter::emitPadding() {
  Value end = arith::MulIOp::create(b, rowTiles, b.i64(kTileRows));
  emitIf(isBelow(position.row, end), [&] { storeZeroScales(); });
}

/// Number of the row among all rows of the batch.
Value QuantizeKernelEmitter::getRowNumber() {
  Value before = arith::MulIOp::create(b, position.matrix, rows);
  return arith::AddIOp::create(b, before, position.row);
}

Value QuantizeKernelEmitter::loadGlobal() {
  if (!global || spec.globalByValue)
    return global;
  Value pointer = global;
  if (spec.globalPerMatrix && spec.batched)
    pointer = b.offset(pointer, b.getF32Type(), position.matrix);
  return b.load(b.getF32Type(), pointer, sizeof(float));
}

void QuantizeKernelEmitter::emitChunk(int64_t blocks) {
  // The first element of the chunk among all elements.
  Value element =
      arith::MulIOp::create(b, getRowNumber(), b.i64(spec.rowElements));
  Value inRow = arith::MulIOp::create(b, b.zext64(position.chunk),
                                      b.i64(ThreadMapping::kChunkElements));
  element = arith::AddIOp::create(b, element, inRow);

  // All loads come before the first use, so that they are in flight together.
  Value pointer = b.offset(x, spec.inputType, element);
  int64_t blockBytes = spec.getBlockElements() * spec.getInputBytes();
  SmallVector<BlockElements> inputs;
  for (int64_t i = 0; i < blocks; ++i)
    inputs.push_back(BlockElements::load(
        b, b.offset(pointer, b.getI8Type(), b.i64(i * blockBytes)),
        spec.inputType, spec.getBlockElements(), accessBytes));
  std::unique_ptr<QuantizeLeaf> leaf =
      numerics::isNvfp4(spec.recipe)
          ? createNvfp4Leaf(*cvt, spec.recipe, spec.globalKind)
          : createMxLeaf(*cvt, spec.recipe, spec.format);
  leaf->setGlobal(b, loadGlobal());

  SmallVector<Value> amaxes, words;
  for (const BlockElements &input : inputs)
    amaxes.push_back(input.computeAmax(b));
  QuantizeLeaf::Scales blockScales = leaf->computeScales(b, amaxes);
  for (auto [input, factor] : llvm::zip_equal(inputs, blockScales.factors))
    llvm::append_range(words, leaf->encode(b, input, factor));
  storeData(element, words);
  storeScales(blockScales.pairs, blocks);
}

void QuantizeKernelEmitter::storeData(Value element, ArrayRef<Value> words) {
  int64_t width = getDataStoreBytes(spec, accessBytes);
  if (spec.getDataBits() == 4)
    element = arith::ShRUIOp::create(b, element, b.i64(1));
  Value pointer = b.offset(data, b.getI8Type(), element);
  constexpr int64_t wordBytes = 4;
  for (int64_t done = 0, total = words.size() * wordBytes; done < total;) {
    int64_t size =
        std::min<int64_t>(width, llvm::bit_floor<uint64_t>(total - done));
    ArrayRef<Value> piece = words.slice(done / wordBytes, size / wordBytes);
    b.store(b.pack(piece), b.offset(pointer, b.getI8Type(), b.i64(done)), size);
    done += size;
  }
}

/// Stores the scale bytes of the `blocks` blocks of the chunk, and of its
/// padding where scales are swizzled.
void QuantizeKernelEmitter::storeScales(SmallVector<Value, 2> pairs,
                                        int64_t blocks) {
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t chunkBlocks = mapping.chunkBlocks;
  if (!spec.swizzled) {
    Value address = getLinearScaleAddress(b, scales, rows, position, rowBlocks,
                                          chunkBlocks);
    return storeScaleBytes(b, pairs, address, blocks,
                           getScaleStoreBytes(spec, chunkBlocks));
  }
  Value zero = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  pairs.resize(chunkBlocks / 2, zero);
  Value address = getSwizzledScaleAddress(b, scales, rowTiles, position,
                                          rowBlocks, chunkBlocks);
  storeScaleBytes(b, pairs, address, chunkBlocks,
                  getScaleStoreBytes(spec, chunkBlocks));
}

void QuantizeKernelEmitter::storeZeroScales() { storeScales({}, 0); }

void emitQuantizeKernel(gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                        const target::Chip &chip) {
  QuantizeKernelEmitter(kernel, spec, chip).emit();
}

} // namespace blockscale

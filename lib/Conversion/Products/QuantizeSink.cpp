//===- QuantizeSink.cpp - Results that are quantized ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "DeviceEmission/BlockDecoding.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/DeviceQuantizer.h"
#include "GemmSpec.h"
#include "Sink.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

namespace {

/// The quantization of a result, in blocks of one row.
class QuantizeSink final : public Sink {
public:
  explicit QuantizeSink(QuantizeOp op);

  std::string getName() const override;
  void requireSizes(emit::CallSite &call,
                    const emit::CallSite::Sizes &result) const override;
  SinkArguments getArguments(LaunchSite &site) const override;
  std::unique_ptr<SinkWriter>
  createWriter(const SinkContext &context) const override;

  /// Tiles of scales of groups of rows, which may be more than rows need.
  bool hasRest() const override { return isGrouped; }
  /// Stores zeros to the tiles of scales behind those of all groups.
  void emitRest(KernelBuilder &b, const SinkArguments &arguments, Value cols,
                const SinkRest &rest) const override;

  bool hasPadding() const override { return isSwizzled; }

  int64_t getDataBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }

  QuantizeOp op;
  numerics::Recipe recipe;
  numerics::ElementFormat format;
  int64_t blockElements;
  /// The global scale: one for all of the result, or one for each group.
  GlobalOperand global;
  /// Whether rows of no group are zeros, and whether scales are stored in tiles
  /// of 128 x 4, of all rows or of each group.
  bool isOfGroups, isSwizzled = false, isGrouped = false;
  /// The dequantization of the codes, and how it computes their values; absent
  /// where they are not decoded.
  DequantizeOp decoder;
  std::optional<BlockDecoding> decoding;
};

class QuantizeWriter final : public SinkWriter {
public:
  QuantizeWriter(const QuantizeSink &sink, const SinkContext &context);

  void emitFragment(Value col, Value exists, Compute compute) override;
  void emitZeros(Value col, Value exists, Compute compute) override;
  void emitPadding(Value col) override;

private:
  /// Stores codes and their values, and returns the bytes of their scales.
  Value emitCodes(ValueRange words, Value col);
  /// Stores the bytes (i16) of scales of a fragment, or zeros in the padding.
  void emitScales(Value bytes, Value col);
  /// The words, in which elements of columns that do not exist are zero.
  SmallVector<Value> maskWords(ValueRange words, Value col);
  /// Whether the block after the first of the fragment is in columns that
  /// exist.
  Lanes hasSecondBlock(Value col);

  Value getData() const { return context.arguments.memory[0].value; }
  Value getScale() const { return context.arguments.memory[1].value; }
  Value getDecoded() const { return context.arguments.memory[3].value; }

  const QuantizeSink &sink;
  SinkContext context;
  KernelBuilder &b;
  std::unique_ptr<CvtEmitter> cvt;
  std::unique_ptr<DeviceQuantizer> quantizer;
};

} // namespace

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

QuantizeSink::QuantizeSink(QuantizeOp op)
    : op(op), recipe(op.getArithmetic()),
      format(getElementFormat(op.getData().getType().getElementType())),
      blockElements(op.getBlockSize()), global(op.getGlobalOperand()),
      isOfGroups(op.getOffsets() != nullptr), decoder(findDecoder(op)) {
  // Scales need no memory where they are decoded.
  if (!decoder || isStored(op.getScale())) {
    Type scale = op.getScale().getType();
    isSwizzled = getScaleLayout(scale) == numerics::k128x4;
    isGrouped = getGroupedLayout(scale) != nullptr;
  }
  if (decoder)
    decoding.emplace(decoder);
}

std::string QuantizeSink::getName() const {
  std::string name = "_to_" +
                     std::string(numerics::getFormatInfo(format).name) + "_" +
                     std::string(numerics::getName(recipe));
  if (decoding)
    name += decoding->getName();
  if (isOfGroups)
    name += "_of_groups";
  if (isSwizzled)
    name += isGrouped ? "_grouped" : "_swizzled";
  return name + getGlobalName(global);
}

void QuantizeSink::requireSizes(emit::CallSite &call,
                                const emit::CallSite::Sizes &result) const {
  ImplicitLocOpBuilder &b = call.b;
  QuantizeOp quantize = op;
  // x stays in registers. Messages are those of the op alone.
  auto kernel = quantize->getParentOfType<KernelOp>();
  emit::CallSite own(b, emit::KernelOperands(kernel, kernel.getOperands()),
                     quantize->getName().stripDialect());
  if (!acceptsTails(quantize.getEffectiveRecipe()))
    own.requireMultiple(result.back(), blockElements,
                        "the last dimension of x");
  emit::CallSite::Sizes globals;
  if (quantize.getOffsets())
    globals = own.getSizes(quantize.getOffsets());
  own.requireSizes("data", quantize.getData(), result, "x");
  own.requireSizes("scale", quantize.getScale(),
                   getScaleSizes(b, b.getLoc(), result, blockElements), "x",
                   globals.empty() ? OpFoldResult() : globals.front());
  StringRef source = quantize.getOffsets() ? "offsets" : "x";
  own.requireGlobalSizes("global_scale", quantize.getGlobalScale(), globals,
                         source);
  own.requireGlobalSizes("global_amax", quantize.getGlobalAmax(), globals,
                         source);
  for (const emit::CallSite::Check &check : own.getChecks())
    emit::createAssert(b, check);
  if (DequantizeOp dequantize = decoder)
    call.requireSizes("the result of dequantize", dequantize.getResult(),
                      result, "the product");
}

SinkArguments QuantizeSink::getArguments(LaunchSite &site) const {
  QuantizeOp quantize = op;
  Value scale = site.lookup(quantize.getScale());
  SinkArguments arguments = {{{site.lookup(quantize.getData()), kResultBytes},
                              {scale, kCopyBytes},
                              {site.lookup(global.value), kCopyBytes}},
                             {}};
  if (DequantizeOp dequantize = decoder)
    arguments.memory.push_back(
        {site.lookup(dequantize.getResult()), kResultBytes});
  if (isGrouped)
    arguments.sizes.push_back(emit::getDim(site.b, scale, 0));
  return arguments;
}

//===----------------------------------------------------------------------===//
// On the device
//===----------------------------------------------------------------------===//

QuantizeWriter::QuantizeWriter(const QuantizeSink &sink,
                               const SinkContext &context)
    : sink(sink), context(context), b(context.b),
      cvt(createCvtEmitter(context.chip)),
      quantizer(createDeviceQuantizer(*cvt, sink.recipe, sink.format,
                                      sink.global.kind,
                                      /*amaxIsGiven=*/false)) {
  Value global = context.arguments.memory[2].value;
  if (global && !sink.global.byValue) {
    if (!sink.global.isSingle())
      global = b.offset(global, b.getF32Type(), context.row.product);
    global = b.load(b.getF32Type(), global, sizeof(float));
  }
  quantizer->setGlobal(b, Lanes(b, global));
}

SmallVector<Value> QuantizeWriter::maskWords(ValueRange words, Value col) {
  if (context.isWhole)
    return words;
  int64_t perWord = kWordBytes / getByteSize(context.element);
  SmallVector<Value> masked;
  for (auto [i, word] : llvm::enumerate(words)) {
    Lanes first = Lanes(b, col) + static_cast<int64_t>(i) * perWord;
    Lanes left(b, word);
    Lanes zero = left.like(0), cols(b, context.cols);
    if (perWord > 1)
      left = select(isBelow(first + 1, cols), left, left & 0xFFFF);
    masked.push_back(select(isBelow(first, cols), left, zero));
  }
  return masked;
}

Lanes QuantizeWriter::hasSecondBlock(Value col) {
  return isBelow(Lanes(b, col) + sink.blockElements, Lanes(b, context.cols));
}

Value QuantizeWriter::emitCodes(ValueRange given, Value col) {
  SmallVector<Value> allWords = maskWords(given, col);
  ArrayRef<Value> words = allWords;
  Type type = context.element;
  int64_t perBlock = sink.blockElements * getByteSize(type) / kWordBytes;
  constexpr int64_t perVector = 4;
  SmallVector<BlockElements> blocks;
  SmallVector<Lanes> amaxes;
  for (size_t first = 0; first < words.size(); first += perBlock) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < perBlock; i += perVector)
      vectors.push_back(b.pack(words.slice(first + i, perVector)));
    blocks.push_back(BlockElements::fromWords(vectors, type));
    amaxes.push_back(blocks.back().computeAmax(b, *cvt));
  }
  DeviceQuantizer::Scales scales = quantizer->computeScales(b, amaxes, blocks);
  SmallVector<Value> codes;
  for (auto [block, factor] : llvm::zip_equal(blocks, scales.factors))
    llvm::append_range(codes, quantizer->encode(b, block, factor, {}));
  if (getData())
    emitStoreFragment(context, getData(), codes, col, sink.getDataBits());
  if (sink.decoding)
    emitStoreFragment(context, getDecoded(),
                      sink.decoding->emit(b, codes, scales.pairs), col,
                      sink.decoding->getValueBits());
  return scales.pairs.front();
}

void QuantizeWriter::emitScales(Value bytes, Value col) {
  if (!getScale())
    return;
  const ResultRow &row = context.row;
  int64_t block = sink.blockElements;
  int64_t count = kFragment / block;
  if (count == 1)
    bytes = arith::TruncIOp::create(b, b.getI8Type(), bytes);
  Lanes scaleCol = Lanes(b, col) >> llvm::Log2_64(block);
  // Where a fragment may have one block alone, its row need not have an even
  // number of scales.
  bool mayBeOne = count > 1 && !context.isWhole;
  auto store = [&](Lanes byte) {
    Value address = b.offset(getScale(), b.getI8Type(), byte);
    if (!mayBeOne || sink.isSwizzled)
      return b.store(bytes, address, count);
    Lanes both(b, bytes);
    b.store(truncate(both, 8), address, 1);
    emit::emitIf(b, hasSecondBlock(col), [&] {
      b.store(truncate(both >> 8, 8),
              b.offset(address, b.getI8Type(), b.i64(1)), 1);
    });
  };
  if (!sink.isSwizzled) {
    Lanes rowScales = toI64(
        b, context.isWhole ? Lanes(b, context.cols) >> llvm::Log2_64(block)
                           : emitCeilDiv(b, context.cols, block));
    Value isInside = isBelow(b, col, context.cols);
    emit::emitIf(b, Lanes(b, row.exists) & Lanes(b, isInside), [&] {
      store(Lanes(b, row.number) * rowScales + toI64(b, scaleCol));
    });
    return;
  }
  if (mayBeOne)
    bytes =
        select(hasSecondBlock(col), Lanes(b, bytes), Lanes(b, bytes) & 0xFF);
  Lanes scaleTiles = emitCeilDiv(b, context.cols, block * kTileCols);
  Lanes tileCol = scaleCol >> llvm::Log2_64(kTileCols);
  Lanes inProduct(b, row.inProduct);
  Lanes band = inProduct >> llvm::Log2_64(kTileRows);
  // The last band of a product is whole, and so is its last tile.
  Lanes bandExists(b, isBelow(b, band * kTileRows, row.rows));
  Lanes isInside(b, isBelow(b, tileCol, scaleTiles));
  emit::emitIf(b, bandExists & isInside, [&] {
    Lanes tile = numerics::k128x4.getTileNumber(
        toI64(b, row.firstBand), toI64(b, inProduct), toI64(b, scaleCol),
        toI64(b, scaleTiles));
    store(tile * kTileBytes +
          toI64(b, numerics::k128x4.getByteInTile(inProduct, scaleCol)));
  });
}

void QuantizeWriter::emitFragment(Value col, Value exists, Compute compute) {
  Value scales = emitIfElseZero(b, exists, b.getI16Type(), [&] {
                   return SmallVector<Value>{emitCodes(compute(), col)};
                 }).front();
  emitScales(scales, col);
}

void QuantizeWriter::emitPadding(Value col) {
  if (sink.isSwizzled)
    emitScales(arith::ConstantOp::create(b, b.getI16IntegerAttr(0)), col);
}

/// Codes and scales are zero in a row of no group if the quantization is
/// grouped as well.
void QuantizeWriter::emitZeros(Value col, Value exists, Compute compute) {
  if (!sink.isOfGroups)
    return emitFragment(col, exists, compute);
  emit::emitIf(b, exists, [&] {
    auto storeZeros = [&](Value memory, int64_t bits) {
      emitStoreFragment(context, memory,
                        SmallVector<Value>(kFragment * bits / 32, b.i32(0)),
                        col, bits);
    };
    if (getData())
      storeZeros(getData(), sink.getDataBits());
    if (sink.decoding)
      storeZeros(getDecoded(), sink.decoding->getValueBits());
  });
  // Tiles of groups have no places for these rows.
  if (!sink.isSwizzled)
    emitScales(arith::ConstantOp::create(b, b.getI16IntegerAttr(0)), col);
}

std::unique_ptr<SinkWriter>
QuantizeSink::createWriter(const SinkContext &context) const {
  return std::make_unique<QuantizeWriter>(*this, context);
}

void QuantizeSink::emitRest(KernelBuilder &b, const SinkArguments &arguments,
                            Value cols, const SinkRest &rest) const {
  Lanes scaleTiles = emitCeilDiv(b, cols, blockElements * kTileCols);
  Lanes first = Lanes(b, rest.bands) * scaleTiles + Lanes(b, rest.cluster);
  emitWhile(
      b, Value(first),
      [&](ValueRange values) {
        return isBelow(b, values.front(), arguments.sizes.front());
      },
      [&](ValueRange values) {
        Lanes byte = toI64(b, values.front()) * kTileBytes +
                     toI64(b, rest.thread) * kWordBytes;
        b.store(b.i32(0),
                b.offset(arguments.memory[1].value, b.getI8Type(), byte),
                kWordBytes);
        return SmallVector<Value>{Lanes(b, values.front()) +
                                  Lanes(b, rest.clusters)};
      });
}

std::unique_ptr<const Sink> makeSink(QuantizeOp op) {
  return std::make_unique<QuantizeSink>(op);
}

} // namespace blockscale::products

//===- EpilogueWriter.cpp - From sums to what follows products ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueWriter.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale::sm100 {

using emit::Lanes;

/// Bytes of loads of inputs, and the most of stores; rows are whole chunks.
static constexpr int64_t kInputLoadBytes = 16;
static constexpr int64_t kMostStoreBytes = 32;

EpilogueWriter::EpilogueWriter(KernelBuilder &b, const GemmSpec &spec,
                               const GemmArguments &arguments,
                               const ResultRow &row)
    : b(b), spec(spec), epilogue(*spec.epilogue), arguments(arguments),
      row(row), cvt(createCvtEmitter(*spec.epilogue->chip)) {
  for (const ProductArguments &product : this->arguments.products)
    values.emplace_back(b, spec, product, arguments.cols, this->row);
  if (!epilogue.quantize)
    return;
  const QuantizeEpilogue &quantize = *epilogue.quantize;
  leaf =
      createLeaf(*cvt, quantize.recipe, quantize.format, quantize.global.kind,
                 /*amaxIsGiven=*/false);
  Value global = arguments.global;
  if (global && !quantize.global.byValue) {
    if (!quantize.global.isSingle())
      global = b.offset(global, b.getF32Type(), row.product);
    global = b.load(b.getF32Type(), global, sizeof(float));
  }
  leaf->setGlobal(b, global);
}

static Value getZeros(KernelBuilder &b, Type element) {
  return arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({kChunk}, element)));
}

static ElementWords toWords(KernelBuilder &b, Value vector) {
  int64_t words =
      kChunk * getByteSize(getElementTypeOrSelf(vector.getType())) / kWordBytes;
  return b.extractAll(
      b.bitcast(VectorType::get({words}, b.getI32Type()), vector));
}

ElementWords EpilogueWriter::loadInput(const ElementSource::Input &input,
                                       Value argument, Value col) {
  if (!input.isAlongRows()) {
    Value index = input.spread == Spread::Rows ? row.number : b.i64(0);
    return epilogue.source.loadOne(b, input, argument, index);
  }
  Lanes first = toI64(b, col);
  if (input.spread == Spread::Elements)
    first = first + Lanes(b, row.number) * toI64(b, arguments.cols);
  return llvm::to_vector_of<Value>(
      emitLoadWords(b, b.offset(argument, input.element, first),
                    kChunk * input.getBytes(), kInputLoadBytes));
}

ElementWords EpilogueWriter::emitWords(ValueRange sums, Value col) {
  // Inputs in memory are loaded first, so that their loads are under way while
  // the others are computed.
  ArrayRef<ElementSource::Input> inputs = epilogue.source.getInputs();
  SmallVector<ElementWords> words(inputs.size());
  auto *argument = arguments.inputs.begin();
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product == EpilogueSpec::kNone)
      words[i] = loadInput(inputs[i], *argument++, col);
  for (auto [i, product] : llvm::enumerate(epilogue.productOf))
    if (product != EpilogueSpec::kNone)
      words[i] = toWords(
          b, sums.empty() ? getZeros(b, spec.result)
                          : values[product].emit(sums[product], col, kChunk));
  return epilogue.source.evaluate(b, words).x;
}

void EpilogueWriter::storeWords(ValueRange words, Value col, int64_t bits) {
  Lanes element =
      Lanes(b, row.number) * toI64(b, arguments.cols) + toI64(b, col);
  Lanes byte = bits < 8 ? element >> 1 : element * (bits / 8);
  int64_t bytes = kChunk * bits / 8;
  SmallVector<Value> stored(words);
  emitStoreBytes(b, stored, b.offset(arguments.result, b.getI8Type(), byte),
                 bytes, std::min(bytes, kMostStoreBytes));
}

Value EpilogueWriter::emitCodes(ValueRange words, Value col) {
  const QuantizeEpilogue &quantize = *epilogue.quantize;
  Type type = epilogue.source.getElementType();
  int64_t perBlock =
      quantize.getBlockElements() * getByteSize(type) / kWordBytes;
  constexpr int64_t perVector = 4;
  SmallVector<BlockElements> blocks;
  SmallVector<Value> amaxes;
  for (size_t first = 0; first < words.size(); first += perBlock) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < perBlock; i += perVector)
      vectors.push_back(b.pack(words.slice(first + i, perVector)));
    blocks.push_back(BlockElements::fromWords(vectors, type));
    amaxes.push_back(blocks.back().computeAmax(b, *cvt));
  }
  QuantizeLeaf::Scales scales = leaf->computeScales(b, amaxes, blocks);
  SmallVector<Value> codes;
  for (auto [block, factor] : llvm::zip_equal(blocks, scales.factors))
    llvm::append_range(codes, leaf->encode(b, block, factor, {}));
  storeWords(codes, col, quantize.getDataBits());
  return scales.pairs.front();
}

/// Stores the bytes (i16) of scales of a chunk, or zeros in the padding.
void EpilogueWriter::emitScales(Value bytes, Value col) {
  const QuantizeEpilogue &quantize = *epilogue.quantize;
  int64_t block = quantize.getBlockElements();
  int64_t count = kChunk / block;
  if (count == 1)
    bytes = arith::TruncIOp::create(b, b.getI8Type(), bytes);
  Lanes scaleCol = Lanes(b, col) >> llvm::Log2_64(block);
  auto store = [&](Lanes byte) {
    b.store(bytes, b.offset(arguments.resultScale, b.getI8Type(), byte), count);
  };
  if (!quantize.isSwizzled) {
    Lanes rowScales =
        toI64(b, Lanes(b, arguments.cols) >> llvm::Log2_64(block));
    Value isInside = isBelow(b, col, arguments.cols);
    emit::emitIf(b, Lanes(b, row.exists) & Lanes(b, isInside), [&] {
      store(Lanes(b, row.number) * rowScales + toI64(b, scaleCol));
    });
    return;
  }
  Lanes scaleTiles(b, emitCeilDiv(b, arguments.cols, block * kTileCols));
  Lanes tileCol = scaleCol >> llvm::Log2_64(kTileCols);
  Lanes inProduct(b, row.inProduct);
  Lanes band = inProduct >> llvm::Log2_64(kTileRows);
  // The last band of a product is whole, and so is its last tile.
  Lanes bandExists(b, isBelow(b, band * kTileRows, row.rows));
  Lanes isInside(b, isBelow(b, tileCol, scaleTiles));
  emit::emitIf(b, bandExists & isInside, [&] {
    Lanes tile =
        numerics::getTileNumber(toI64(b, row.firstBand), toI64(b, inProduct),
                                toI64(b, scaleCol), toI64(b, scaleTiles));
    store(tile * kTileBytes +
          toI64(b, numerics::getByteInTile(inProduct, scaleCol)));
  });
}

void EpilogueWriter::emitChunk(ValueRange sums, Value col) {
  Value isInside = isBelow(b, col, arguments.cols);
  Value exists = Lanes(b, row.exists) & Lanes(b, isInside);
  if (!epilogue.quantize) {
    int64_t bits = epilogue.source.getElementType().getIntOrFloatBitWidth();
    emit::emitIf(b, exists,
                 [&] { storeWords(emitWords(sums, col), col, bits); });
    return;
  }
  Type type = b.getI16Type();
  Value scales =
      emitIfElseZero(b, exists, type, [&] {
        return SmallVector<Value>{emitCodes(emitWords(sums, col), col)};
      }).front();
  emitScales(scales, col);
}

/// Writes the row as the epilogue makes it from sums of zero, which need not
/// give zeros, unless the quantization is grouped as well: then codes and
/// scales are zero.
void EpilogueWriter::emitZeros(Value col) {
  if (!epilogue.quantize || !epilogue.quantize->isOfGroups)
    return emitChunk(ValueRange(), col);
  Value isInside = isBelow(b, col, arguments.cols);
  emit::emitIf(b, Lanes(b, row.exists) & Lanes(b, isInside), [&] {
    int64_t bits = epilogue.quantize->getDataBits();
    storeWords(SmallVector<Value>(kChunk * bits / 32, b.i32(0)), col, bits);
  });
  // Tiles of groups have no places for these rows.
  if (!epilogue.quantize->isSwizzled)
    emitScales(arith::ConstantOp::create(b, b.getI16IntegerAttr(0)), col);
}

std::unique_ptr<RowWriter> createRowWriter(KernelBuilder &b,
                                           const GemmSpec &spec,
                                           const GemmArguments &arguments,
                                           const ResultRow &row) {
  if (spec.epilogue)
    return std::make_unique<EpilogueWriter>(b, spec, arguments, row);
  return std::make_unique<ResultWriter>(b, spec, arguments, row);
}

void emitClearScales(KernelBuilder &b, const GemmSpec &spec,
                     const GemmArguments &arguments, Value bands, Value thread,
                     Value cluster, Value clusters) {
  int64_t block = spec.epilogue->quantize->getBlockElements();
  Lanes scaleTiles(b, emitCeilDiv(b, arguments.cols, block * kTileCols));
  Lanes first = Lanes(b, bands) * scaleTiles + Lanes(b, cluster);
  emitWhile(
      b, Value(first),
      [&](ValueRange values) {
        return isBelow(b, values.front(), arguments.resultTiles);
      },
      [&](ValueRange values) {
        Lanes byte = toI64(b, values.front()) * kTileBytes +
                     toI64(b, thread) * kWordBytes;
        b.store(b.i32(0), b.offset(arguments.resultScale, b.getI8Type(), byte),
                kWordBytes);
        return SmallVector<Value>{Lanes(b, values.front()) +
                                  Lanes(b, clusters)};
      });
}

} // namespace blockscale::sm100

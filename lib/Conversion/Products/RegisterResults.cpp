//===- RegisterResults.cpp - Sums of registers into results ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterResults.h"

#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"
#include "EpilogueWriter.h"
#include "InterleavedRows.h"
#include "TilePadding.h"
#include "blockscale/Numerics/Accumulators.h"

#include <cmath>

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

RegisterResults::RegisterResults(KernelBuilder &b, const GemmSpec &spec,
                                 const GemmArguments &arguments, Value thread,
                                 int64_t allThreads)
    // Results are stored by 16 bytes, so that threads beside each other store
    // whole lines, unless a sink takes all columns of a fragment.
    : b(b), width(spec.epilogue ? spec.epilogue->width
                                : kCopyBytes / getByteSize(spec.result)),
      spec(spec), arguments(arguments), thread(thread), allThreads(allThreads) {
}

void RegisterResults::emitItems(
    const TileCoord &tile, Lanes part,
    function_ref<void(const ResultRow &row, Value place, Value col)> write) {
  int64_t count = parts.sharedRows * parts.fragments;
  std::optional<MatrixRows> inMemory;
  if (arguments.innerResult)
    inMemory.emplace(b, tile.product.number, arguments.rows,
                     arguments.innerResult);
  emitCount(b, b.i32(llvm::divideCeil(count, parts.threads)), {},
            [&](Lanes i, ValueRange) {
              Lanes item = i * parts.threads + parts.number;
              auto emitItem = [&] {
                Lanes inPart = item >> llvm::Log2_64(parts.fragments);
                if (parts.firstRow)
                  inPart = inPart + parts.firstRow;
                Lanes fragment = (item & (parts.fragments - 1)) * width;
                if (parts.firstCol)
                  fragment = fragment + parts.firstCol;
                Lanes row = tile.row * spec.schedule.getRows() + inPart;
                Lanes col = tile.col * spec.getResultCols() + fragment;
                if (parts.areColumns)
                  col = col + part * parts.cols;
                else
                  row = row + part * parts.rows;
                const ProductRange &product = tile.product;
                ResultRow result{product.number,
                                 tile.firstResult + toI64(b, row),
                                 isBelow(b, row, product.rows),
                                 row,
                                 product.rows,
                                 product.firstBand};
                if (inMemory)
                  result.inMemory = inMemory->get(toI64(b, row));
                write(result, inPart * parts.pitch + fragment, col);
              };
              if (count % parts.threads == 0)
                emitItem();
              else
                emit::emitIf(b, compare(Predicate::ult, item, count), emitItem);
              return SmallVector<Value>();
            });
}

/// The `width` sums (f32) from `place` on: those of each copy, added in the
/// order of their numbers, and brought to the size of results.
Value RegisterResults::loadSums(Value place) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < parts.copies; ++i)
    for (auto [j, word] : llvm::enumerate(emitLoadWords(
             b, getSumAddress(i, place), width * kWordBytes, kCopyBytes))) {
      Value value = b.bitcast(b.getF32Type(), word);
      if (i == 0)
        sums.push_back(value);
      else
        sums[j] = Lanes(b, sums[j]) + Lanes(b, value);
    }
  if (parts.shift != 0)
    for (Value &sum : sums)
      sum = Lanes(b, sum) * std::ldexp(1.0f, parts.shift);
  return b.pack(sums);
}

/// The `width` results from `place` on.
Value RegisterResults::loadResults(Value place) {
  SmallVector<Value> words;
  for (Lanes word : emitLoadWords(b, getSumAddress(/*copy=*/0, place),
                                  width * getByteSize(spec.result), kCopyBytes))
    words.push_back(word);
  return b.bitcast(VectorType::get({width}, spec.result), b.pack(words));
}

void RegisterResults::storeFragments(
    const numerics::BitLayout &layout, ValueRange sums, Value base,
    int64_t rowPitch, int64_t colPitch,
    function_ref<numerics::ElementIndex<int64_t>(int64_t)> getOrigin) {
  using numerics::kSumRegister;
  int64_t registers = int64_t(1) << layout.getPlaceBits(kSumRegister);
  // Neighbours in a row of the fragment are registers beside each other.
  int64_t run =
      colPitch == 1 ? int64_t(1) << layout.getContiguousBits(kSumRegister) : 1;
  for (int64_t i = 0, end = sums.size(); i < end; i += run) {
    auto [firstRow, firstCol] = getOrigin(i / registers);
    auto [row, col] = layout.getElementOf<int64_t>(kSumRegister, i % registers);
    int64_t place = (firstRow + row) * rowPitch + (firstCol + col) * colPitch;
    ValueRange values = sums.slice(i, run);
    b.store(run > 1 ? b.pack(values) : values.front(),
            b.offset(base, b.getF32Type(), b.i32(place)), run * kWordBytes);
  }
}

void RegisterResults::emitStorePart(Lanes part, ValueRange sums) {
  size_t each = sums.size() / parts.count;
  for (int64_t i = 0; i < parts.count; ++i)
    emit::emitIf(b, compare(Predicate::eq, part, i),
                 [&] { emitStoreSums(sums.slice(i * each, each)); });
}

SmallVector<Value> RegisterResults::emitSums(const TileCoord &tile,
                                             ValueRange sums,
                                             ValueRange carried) {
  SmallVector<Value> last = emitCount(
      b, b.i32(parts.count), carried, [&](Lanes part, ValueRange carried) {
        emitBegin(carried);
        // What makes results of the stored sums is there once.
        emitStorePart(part, sums);
        emitStored(carried);
        emitItems(
            tile, part, [&](const ResultRow &row, Value place, Value col) {
              SmallVector<Value> ofProducts;
              if (parts.areRounded)
                ofProducts.push_back(loadResults(place));
              else
                for (int64_t i = 0; i < spec.products; ++i)
                  ofProducts.push_back(loadSums(
                      Lanes(b, place) + i * (parts.cols / spec.products)));
              createRowWriter(b, spec, arguments, row, width)
                  ->emitFragment(ofProducts, col);
            });
        return emitRead(carried);
      });
  if (spec.hasPadding())
    emitOnce(
        [&] { emitTilePadding(b, spec, arguments, tile, thread, allThreads); });
  return last;
}

void RegisterResults::emitTile(const TileCoord &tile) {
  emitCount(b, b.i32(parts.count), {}, [&](Lanes part, ValueRange) {
    emitItems(tile, part, [&](const ResultRow &row, Value, Value col) {
      createRowWriter(b, spec, arguments, row, width)->emitZeros(col);
    });
    return SmallVector<Value>();
  });
}

void RegisterResults::emitRest(const ProductRange &product, Value cluster,
                               Value clusters) {
  if (spec.hasRest())
    emitOnce([&] {
      emitSinkRest(b, spec, arguments, product, thread, cluster, clusters);
    });
}

} // namespace blockscale::products

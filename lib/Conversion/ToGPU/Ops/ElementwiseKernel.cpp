//===- ElementwiseKernel.cpp - Elementwise ops on their own ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has some consecutive elements of a row: as many as an access of 16
// bytes of the result where rows are a multiple of them.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/ElementSource.h"
#include "Kernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kElementwiseThreads = 128;
static constexpr int64_t kElementwiseBytes = 16;

/// `count` elements of `bits` at element `index`; one of 16 bits in both
/// halves of its word.
static ElementWords loadWords(KernelBuilder &b, Value pointer, Type element,
                              Lanes index, int64_t count) {
  int64_t bytes = count * element.getIntOrFloatBitWidth() / 8;
  Value address = emitAddress(b, pointer, element, index);
  if (bytes < kWordBytes) {
    Value word = b.zext32(b.load(b.getI16Type(), address, bytes));
    return {word};
  }
  int64_t access = std::min(bytes, kElementwiseBytes);
  return llvm::to_vector_of<Value>(emitLoadWords(b, address, bytes, access));
}

static void storeWords(KernelBuilder &b, ArrayRef<Value> words, Value address,
                       int64_t bytes) {
  if (bytes < kWordBytes) {
    Value half = arith::TruncIOp::create(b, b.getI16Type(), words.front());
    return b.store(half, address, bytes);
  }
  SmallVector<Lanes> lanes;
  for (Value word : words.take_front(bytes / kWordBytes))
    lanes.emplace_back(b, word);
  emitStoreWords(b, lanes, address, std::min(bytes, kElementwiseBytes));
}

/// Elements [fragment * width, (fragment + 1) * width) of all.
static void emitFragment(KernelBuilder &b, const ElementSource &source,
                         ValueRange arguments, Value result, Lanes fragment,
                         Lanes columns, int64_t width) {
  Lanes first = fragment * width;
  auto [row, column] = numerics::split(first, columns);
  SmallVector<ElementWords> words;
  for (auto [input, argument] :
       llvm::zip_equal(source.getInputs(), arguments)) {
    if (!input.isAlongRows()) {
      Lanes index = input.spread == Spread::Rows ? row : emit::getIndex(b, 0);
      words.push_back(source.loadOne(b, input, argument, index));
      continue;
    }
    Lanes index = input.spread == Spread::Elements ? first : column;
    words.push_back(loadWords(b, argument, input.element, index, width));
    // Elements are evaluated in pairs.
    if (width == 1 && input.element.isF32())
      words.back().push_back(words.back().front());
  }
  Type element = source.getElementType();
  storeWords(b, source.evaluate(b, words).x,
             emitAddress(b, result, element, first),
             width * element.getIntOrFloatBitWidth() / 8);
}

LogicalResult lowerElementwise(KernelOp kernel, LaunchSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  Value logical = kernel.getBody().front().getTerminator()->getOperand(0);
  ElementSource source(logical);
  source.emitSizeAsserts(site);
  Value result = site.lookup(logical);
  auto type = cast<MemRefType>(result.getType());
  emit::Indices sizes = emit::getLeadingSizes(b, result, type.getRank());
  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  int64_t width = 1;
  if (!type.isDynamicDim(type.getRank() - 1))
    width = std::gcd(type.getShape().back(), kElementwiseBytes / elementBytes);

  std::string name;
  llvm::raw_string_ostream os(name);
  os << "elementwise_" << type.getElementType() << "_by" << width
     << source.getName();
  Lanes columns(b, sizes.back());
  Lanes fragments = emit::getProduct(b, sizes) / width;
  // The last is the result, which is kept.
  SmallVector<Value> operands = source.getOperands(site);
  KernelSignature signature;
  source.addSlots(signature, operands, width * elementBytes, kElementwiseBytes);
  signature.add(fragments);
  signature.add(columns);
  site.launch(name,
              {kElementwiseThreads,
               getCeilDiv(b, fragments, kElementwiseThreads),
               {},
               width * source.getBytes()},
              signature, [&](KernelBuilder &b) {
                Lanes fragment = emitGlobalThreadNumber(b, kElementwiseThreads);
                ArrayRef<Value> inputs(operands);
                emit::emitIf(b, isBelow(fragment, toIndex(b, fragments)), [&] {
                  emitFragment(b, source, inputs.drop_back(), inputs.back(),
                               fragment, toIndex(b, columns), width);
                });
              });
  return success();
}

} // namespace blockscale

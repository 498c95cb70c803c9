//===- Sink.cpp - Where the values of an epilogue go ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sink.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"
#include "GemmSpec.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// The most bytes of a store.
static constexpr int64_t kMostStoreBytes = 32;

SinkWriter::~SinkWriter() = default;
Sink::~Sink() = default;

/// Stores the elements of `bits` that exist of a fragment at `address`, the
/// first of which is in column `col`: `kPieceCols` at a time where rows begin
/// at multiples of these, and else one by one, or in bytes of two.
static void emitStorePieces(const SinkContext &context, Value address,
                            ArrayRef<Value> words, Value col, int64_t bits) {
  KernelBuilder &b = context.b;
  Lanes first(b, col);
  auto emitIfExists = [&](int64_t i, function_ref<void()> body) {
    emit::emitIf(b, isBelow(b, first + i, context.cols), body);
  };
  auto storePieces = [&] {
    int64_t cols = std::min(context.width, kPieceCols);
    int64_t bytes = cols * bits / 8;
    for (int64_t i = 0; i < context.width; i += cols)
      emitIfExists(i, [&] {
        emitStoreBytes(b, words.slice(i * bits / 32, cols * bits / 32),
                       b.offset(address, b.getI8Type(), b.i64(i * bits / 8)),
                       bytes, bytes);
      });
  };
  auto storeElements = [&] {
    int64_t stored = std::max<int64_t>(bits, 8);
    Type type = b.getIntegerType(stored);
    for (int64_t i = 0; i < context.width; i += stored / bits)
      emitIfExists(i, [&] {
        Lanes value = Lanes(b, words[i * bits / 32]) >> (i * bits % 32);
        // A last byte of one code has zero above it.
        if (bits < 8)
          value = select(isBelow(first + (i + 1), Lanes(b, context.cols)),
                         value, value & ((1u << bits) - 1));
        b.store(stored < 32 ? truncate(value, stored) : value,
                b.offset(address, type, b.i64(i * bits / stored)), stored / 8);
      });
  };
  Value isAligned = compare(arith::CmpIPredicate::eq,
                            Lanes(b, context.cols) & (kPieceCols - 1), 0);
  emit::emitIf(b, isAligned, storePieces, storeElements);
}

void emitStoreFragment(const SinkContext &context, Value memory,
                       ValueRange words, Value col, int64_t bits) {
  KernelBuilder &b = context.b;
  if (!context.isWhole) {
    Lanes cols = toI64(b, context.cols), first = toI64(b, col);
    Lanes rowBytes = bits < 8 ? (cols + 1) >> 1 : cols * (bits / 8);
    Lanes byte = bits < 8 ? first >> 1 : first * (bits / 8);
    Lanes row(b, context.row.getStored());
    return emitStorePieces(
        context, b.offset(memory, b.getI8Type(), row * rowBytes + byte),
        llvm::to_vector(words), col, bits);
  }
  Lanes element = Lanes(b, context.row.getStored()) * toI64(b, context.cols) +
                  toI64(b, col);
  Lanes byte = bits < 8 ? element >> 1 : element * (bits / 8);
  int64_t bytes = context.width * bits / 8;
  SmallVector<Value> stored(words);
  emitStoreBytes(b, stored, b.offset(memory, b.getI8Type(), byte), bytes,
                 std::min(bytes, kMostStoreBytes));
}

namespace {

class StoreWriter final : public SinkWriter {
public:
  explicit StoreWriter(const SinkContext &context) : context(context) {}

  void emitFragment(Value col, Value exists, Compute compute) override {
    int64_t bits = context.element.getIntOrFloatBitWidth();
    emit::emitIf(context.b, exists, [&] {
      emitStoreFragment(context, context.arguments.memory.front().value,
                        compute(), col, bits);
    });
  }

private:
  SinkContext context;
};

/// Stores the values as they are.
class StoreSink final : public Sink {
public:
  explicit StoreSink(Value result) : result(result) {}

  std::string getName() const override { return ""; }
  void requireSizes(emit::CallSite &call,
                    const emit::CallSite::Sizes &sizes) const override {
    call.requireSizes("the result", result, sizes, "the product");
  }
  SinkArguments getArguments(LaunchSite &site) const override {
    return {{{site.lookup(result), kResultBytes}}, {}};
  }
  std::unique_ptr<SinkWriter>
  createWriter(const SinkContext &context) const override {
    return std::make_unique<StoreWriter>(context);
  }

private:
  Value result;
};

} // namespace

template <typename... Ops>
static std::unique_ptr<const Sink> makeSink(Operation *op, SinkOpList<Ops...>) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<const Sink>>(op)
      .Case<Ops...>([](auto each) { return makeSink(each); })
      .Default([](Operation *) { return nullptr; });
}

std::unique_ptr<const Sink> createStore(Value result) {
  return std::make_unique<StoreSink>(result);
}

std::unique_ptr<const Sink> createSink(const Epilogue &epilogue) {
  if (epilogue.sink)
    return makeSink(epilogue.sink, SinkOps());
  return createStore(epilogue.getStored());
}

} // namespace blockscale::products

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

/// The most bytes of a store; rows are whole fragments.
static constexpr int64_t kMostStoreBytes = 32;

SinkWriter::~SinkWriter() = default;
Sink::~Sink() = default;

void emitStoreFragment(const SinkContext &context, Value memory,
                       ValueRange words, Value col, int64_t bits) {
  KernelBuilder &b = context.b;
  Lanes element =
      Lanes(b, context.row.number) * toI64(b, context.cols) + toI64(b, col);
  Lanes byte = bits < 8 ? element >> 1 : element * (bits / 8);
  int64_t bytes = kFragment * bits / 8;
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

std::unique_ptr<const Sink> createSink(const Epilogue &epilogue) {
  if (epilogue.sink)
    return makeSink(epilogue.sink, SinkOps());
  return std::make_unique<StoreSink>(epilogue.getValue());
}

} // namespace blockscale::products

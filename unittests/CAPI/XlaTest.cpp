//===- XlaTest.cpp - Functions called by XLA ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/Jax has XLA itself call the handler.
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include "../../lib/CAPI/XlaAbi.h"
#include "blockscale-c/Xla.h"

#include <vector>

using namespace blockscale::capi::xla;

namespace {

constexpr int kF32 = 11, kS64 = 5, kU8 = 6, kF8E4M3FN = 20;

std::string *createError(ErrorArguments *arguments) {
  return new std::string(arguments->message);
}

/// A call of XLA's, with buffers and the number of a function.
class Frame {
public:
  explicit Frame(int64_t number) : number(number) {
    api.createError = [](ErrorArguments *arguments) -> void * {
      return createError(arguments);
    };
  }

  void addArgument(int dtype, void *data, std::vector<int64_t> shape) {
    add(arguments, dtype, data, std::move(shape));
  }
  void addResult(int dtype, void *data, std::vector<int64_t> shape) {
    add(results, dtype, data, std::move(shape));
  }

  /// What is wrong, or nothing.
  std::string call(int stage = kExecuteStage) {
    Scalar scalar = {attributeType, &number};
    Name name = {attributeName.data(), attributeName.size()};
    Name *names[] = {&name};
    void *values[] = {&scalar};
    int types[] = {kScalarAttribute};
    CallFrame frame = {};
    frame.structSize = sizeof(CallFrame);
    frame.api = &api;
    frame.stage = stage;
    frame.arguments = getValues(arguments);
    frame.results = getValues(results);
    frame.attributes = {sizeof(Attributes), nullptr, 1, types, names, values};
    auto *handler = reinterpret_cast<Handler *>(blockscale_xla_handler());
    std::unique_ptr<std::string> error(
        static_cast<std::string *>(handler(&frame)));
    return error ? *error : "";
  }

  std::string attributeName = "call";
  int attributeType = kS64;
  int valueType = kBuffer;

private:
  struct Buffers {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<Buffer> buffers;
    std::vector<void *> pointers;
    std::vector<int> types;
  };

  static void add(Buffers &buffers, int dtype, void *data,
                  std::vector<int64_t> shape) {
    buffers.shapes.push_back(std::move(shape));
    buffers.buffers.push_back({sizeof(Buffer), nullptr, dtype, data, 0, {}});
  }

  Values getValues(Buffers &from) const {
    from.pointers.clear();
    for (size_t i = 0; i < from.buffers.size(); ++i) {
      from.buffers[i].rank = static_cast<int64_t>(from.shapes[i].size());
      from.buffers[i].dims = from.shapes[i].data();
      from.pointers.push_back(&from.buffers[i]);
    }
    from.types.assign(from.buffers.size(), valueType);
    return {sizeof(Values), nullptr, static_cast<int64_t>(from.buffers.size()),
            from.types.data(), from.pointers.data()};
  }

  int64_t number;
  Api api = {};
  Buffers arguments, results;
};

/// @dequantize of Modules.h, whose scales, and global scale where that is
/// wanted, are the same in each call.
class XlaTest : public testing::Test {
protected:
  void SetUp() override {
    blockscale_executable_config config =
        blockscale_executable_config_default();
    ASSERT_EQ(blockscale_executable_create(
                  kDequantize.data(), kDequantize.size(), &config, &executable),
              BLOCKSCALE_OK)
        << blockscale_last_error();
  }

  void TearDown() override {
    if (!isAdded)
      blockscale_executable_destroy(executable);
  }

  blockscale_array getScales() {
    return {scales.data(), BLOCKSCALE_UINT8, 2, scaleShape, nullptr};
  }
  blockscale_array getGlobal() {
    return {&global, BLOCKSCALE_FLOAT32, 0, nullptr, nullptr};
  }

  int64_t add(const std::vector<blockscale_array> &constants) {
    int64_t number = -1;
    isAdded = true;
    EXPECT_EQ(blockscale_xla_add_call(executable, constants.data(),
                                      constants.size(), &number),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    return number;
  }

  void expectRefused(const std::string &message,
                     const std::vector<blockscale_array> &constants) {
    int64_t number = -7;
    EXPECT_EQ(blockscale_xla_add_call(executable, constants.data(),
                                      constants.size(), &number),
              BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
    EXPECT_EQ(number, -7);
  }

  blockscale_executable *executable = nullptr;
  /// Executables that XLA may call live as long as the process.
  bool isAdded = false;
  std::vector<uint8_t> data = std::vector<uint8_t>(4 * 32, 0x22);
  std::vector<uint8_t> scales = std::vector<uint8_t>(4 * 4, 0x38);
  std::vector<float> x = std::vector<float>(4 * 64, -1);
  float global = 2;
  int64_t scaleShape[2] = {4, 4};
};

TEST_F(XlaTest, CallsWithConstants) {
  scales[1] = 0x40;
  int64_t first = add({getScales(), getGlobal()});
  int64_t second = add({getGlobal()});
  EXPECT_NE(first, second);
  // The shape was copied.
  scaleShape[0] = 1000;
  Frame frame(first);
  frame.addArgument(kU8, data.data(), {4, 32});
  frame.addResult(kF32, x.data(), {4, 64});
  EXPECT_EQ(frame.call(), "");
  EXPECT_EQ(x[0], 2.0f);
  EXPECT_EQ(x[16], 4.0f);
  EXPECT_EQ(x.back(), 2.0f);

  Frame other(second);
  other.addArgument(kU8, data.data(), {4, 32});
  other.addArgument(kF8E4M3FN, scales.data(), {4, 4});
  other.addResult(kF32, x.data(), {4, 64});
  scales.assign(scales.size(), 0x30);
  EXPECT_EQ(other.call(), "");
  EXPECT_EQ(x[16], 1.0f);
}

TEST_F(XlaTest, ScalesThatAreNaNAreTaken) {
  scales[0] = 0x7F;
  Frame frame(add({getScales(), getGlobal()}));
  frame.addArgument(kU8, data.data(), {4, 32});
  frame.addResult(kF32, x.data(), {4, 64});
  EXPECT_EQ(frame.call(), "");
  EXPECT_NE(x[0], x[0]);
}

TEST_F(XlaTest, CallsThatAreWrongAreErrors) {
  int64_t number = add({getScales(), getGlobal()});
  Frame frame(number);
  EXPECT_TRUE(contains(frame.call(), "expected 3 arguments, but got 2"));
  frame.addArgument(kF32, data.data(), {4, 32});
  EXPECT_EQ(frame.call(), "expected a buffer of uint8, but got type 11 of XLA");
  frame.valueType = kBuffer + 1;
  EXPECT_EQ(frame.call(), "expected buffers, but got another kind of value");

  Frame wrong(number);
  wrong.addArgument(kU8, data.data(), {4, 31});
  wrong.addResult(kF32, x.data(), {4, 64});
  EXPECT_TRUE(contains(wrong.call(), "argument 0: expected storage shape"));
  EXPECT_EQ(x[0], -1);

  Frame many(number);
  for (int i = 0; i < 4; ++i)
    many.addArgument(i == 2 ? kF32 : kU8, data.data(), {});
  EXPECT_TRUE(contains(many.call(), "number of a slot below 3, but got 3"));
}

TEST_F(XlaTest, FunctionsThatNobodyAddedAreErrors) {
  int64_t number = add({});
  const char *expected = "expected a function that this process imported";
  EXPECT_TRUE(contains(Frame(number + 1).call(), expected));
  EXPECT_TRUE(contains(Frame(-1).call(), expected));
  Frame frame(number);
  frame.attributeName = "calls";
  EXPECT_TRUE(contains(frame.call(), expected));
  frame.attributeName = "call";
  frame.attributeType = kF32;
  EXPECT_TRUE(contains(frame.call(), expected));
}

// XLA asks a handler for its version, and calls it before it executes.
TEST_F(XlaTest, OtherStages) {
  EXPECT_EQ(Frame(-1).call(kExecuteStage - 1), "");
  auto *handler = reinterpret_cast<Handler *>(blockscale_xla_handler());
  Metadata metadata = {};
  metadata.version.major = metadata.version.minor = 9;
  metadata.traits = 9;
  MetadataExtension extension = {
      {sizeof(MetadataExtension), kMetadataExtension, nullptr}, &metadata};
  CallFrame frame = {};
  frame.extensions = &extension.base;
  EXPECT_EQ(handler(&frame), nullptr);
  EXPECT_EQ(metadata.version.major, 0);
  EXPECT_EQ(metadata.version.minor, 1);
  EXPECT_EQ(metadata.traits, 0u);
}

// Arrays of XLA are never written to, so that one in them is no other.
TEST_F(XlaTest, ArgumentsAreNotGivenAway) {
  blockscale_executable_destroy(executable);
  blockscale_executable_config config = blockscale_executable_config_default();
  ASSERT_EQ(blockscale_executable_create(kAppend.data(), kAppend.size(),
                                         &config, &executable),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  expectRefused("expected a function that writes to no argument, whose array "
                "is XLA's, but argument 0 is given away",
                {});
}

TEST_F(XlaTest, NothingIsReducedOverRanks) {
  blockscale_executable_destroy(executable);
  blockscale_executable_config config = blockscale_executable_config_default();
  ASSERT_EQ(blockscale_executable_create(kOverRanks.data(), kOverRanks.size(),
                                         &config, &executable),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  expectRefused(
      "expected a function without amaxes over ranks, which XLA would "
      "have to reduce, but got one with them",
      {});
}

TEST_F(XlaTest, ConstantsAreChecked) {
  expectRefused("expected at most 3 constants, but got 4",
                {getScales(), getScales(), getScales(), getGlobal()});
  expectRefused("argument 2: expected dtype float32", {getScales()});
  blockscale_array wrong = getScales();
  wrong.data = nullptr;
  expectRefused("argument 1: expected data, but got null",
                {wrong, getGlobal()});
  int64_t number = 0;
  for (auto [called, constants, counted, to, message] :
       std::vector<std::tuple<blockscale_executable *, blockscale_array *,
                              size_t, int64_t *, const char *>>{
           {nullptr, nullptr, 0, &number, "expected executable to be"},
           {executable, nullptr, 0, nullptr, "expected number to be"},
           {executable, nullptr, 2, &number, "expected constants to be"}}) {
    EXPECT_EQ(blockscale_xla_add_call(called, constants, counted, to),
              BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
  }
}

} // namespace

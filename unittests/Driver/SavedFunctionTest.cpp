//===- SavedFunctionTest.cpp - Functions as bytes ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedFixture.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::NpyArray;
using blockscale::runtime::NpyType;
using blockscale::runtime::Result;

namespace {

constexpr const char *kDecode = R"(
func.func @decode(%d: tensor<?x64xf4E2M1FN>, %s: tensor<?x4xf8E4M3FN>, %g: f32)
    -> (tensor<?x64xf32>, tensor<f32>) {
  %x = blockscale.dequantize %d, %s block [1, 16] global_scale(%g : f32)
      : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xf32>
  %a = blockscale.amax %x : tensor<?x64xf32> -> tensor<f32>
  return %x, %a : tensor<?x64xf32>, tensor<f32>
})";

bool equal(const Slot &a, const Slot &b) {
  return a.logicalType == b.logicalType && a.type == b.type &&
         a.shape == b.shape && a.isScalar == b.isScalar && a.scale == b.scale &&
         a.isWritable == b.isWritable && a.argument == b.argument;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

NpyArray allocate(NpyType type, std::vector<int64_t> shape) {
  Result<NpyArray> array = NpyArray::allocate(type, std::move(shape));
  EXPECT_TRUE(array.ok());
  return std::move(*array);
}

class SavedFunctionTest : public testing::Test {
protected:
  SavedFunctionTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  SavedFunction save(Place place, const std::string &chip = "") {
    ExecutableOptions options;
    options.place = place;
    options.chip = chip;
    options.optimize = false;
    return saveFunction(context, kDecode, options);
  }

  /// The failure of reading bytes.
  static std::string refuse(const std::string &bytes) {
    Result<SavedFunction> read = readSavedFunction(bytes);
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(read.status().kind(), ErrorKind::InvalidBundle);
    return read.message();
  }

  /// The failure of making it callable.
  static std::string refuse(const SavedFunction &saved, Place place,
                            ErrorKind kind) {
    auto loaded = Executable::load(saved, place, 0);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().kind(), kind) << loaded.message();
    return loaded.message();
  }

  MLIRContext context;
};

TEST_F(SavedFunctionTest, ReadsWhatItWrote) {
  for (Place place : {Place::CPU, Place::Emulator}) {
    SavedFunction saved = save(place);
    saved.key = "a key";
    Result<std::string> bytes = writeSavedFunction(saved);
    ASSERT_TRUE(bytes.ok()) << bytes.message();
    Result<SavedFunction> read = readSavedFunction(*bytes);
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read->target, place == Place::CPU ? "cpu" : "sm_100a");
    EXPECT_EQ(read->features, saved.features);
    EXPECT_EQ(read->features.empty(), place != Place::CPU);
    EXPECT_EQ(read->key, "a key");
    EXPECT_EQ(read->code, saved.code);
    EXPECT_EQ(read->signature.name, "decode");
    ASSERT_EQ(read->signature.arguments.size(), 3u);
    ASSERT_EQ(read->signature.results.size(), 2u);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(
          equal(read->signature.arguments[i], saved.signature.arguments[i]));
    EXPECT_EQ(read->signature.arguments[1].scale, Slot::Scale::E4M3);
    EXPECT_EQ(read->signature.arguments[2].scale, Slot::Scale::Global);
    EXPECT_TRUE(read->signature.arguments[2].isScalar);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(
          equal(read->signature.results[i], saved.signature.results[i]));
  }
}

/// A function whose result may be in an argument that is given away.
SavedFunction saveGiven() {
  Signature signature;
  signature.name = "f";
  Slot slot;
  slot.logicalType = "tensor<4xi8>";
  slot.type = NpyType::UInt8;
  slot.shape = {4};
  signature.results = {slot, slot};
  signature.results[1].argument = 1;
  slot.isWritable = true;
  signature.arguments = {slot, slot};
  return {"cpu", {}, signature, "", "code"};
}

TEST_F(SavedFunctionTest, KeepsWhatIsGivenAway) {
  SavedFunction saved = saveGiven();
  Result<SavedFunction> read = readSavedFunction(*writeSavedFunction(saved));
  ASSERT_TRUE(read.ok()) << read.message();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        equal(read->signature.arguments[i], saved.signature.arguments[i]));
    EXPECT_TRUE(equal(read->signature.results[i], saved.signature.results[i]));
  }
}

TEST_F(SavedFunctionTest, ResultsAreInArgumentsThatFit) {
  const std::string message =
      "expected 'in' of a result to be the number of an argument that is "
      "writable, of the same dtype and shape, and in no other result";
  auto change = [&](auto edit) {
    SavedFunction saved = saveGiven();
    edit(saved.signature);
    return refuse(*writeSavedFunction(saved));
  };
  EXPECT_TRUE(contains(change([](Signature &s) { s.results[1].argument = 2; }),
                       message));
  EXPECT_TRUE(contains(change([](Signature &s) { s.results[0].argument = 1; }),
                       message));
  EXPECT_TRUE(
      contains(change([](Signature &s) { s.arguments[1].isWritable = false; }),
               message));
  EXPECT_TRUE(contains(change([](Signature &s) { s.arguments[1].shape = {5}; }),
                       message));
  EXPECT_TRUE(contains(
      change([](Signature &s) { s.arguments[1].type = NpyType::Int8; }),
      message));
  EXPECT_TRUE(contains(
      change([](Signature &s) { s.results[0].isWritable = true; }), message));
  EXPECT_TRUE(
      contains(change([](Signature &s) { s.arguments[0].argument = 1; }),
               "expected no argument in the memory of another"));
}

TEST_F(SavedFunctionTest, ComputesTheSameAfterwards) {
  for (Place place : {Place::CPU, Place::Emulator}) {
    Result<std::string> bytes = writeSavedFunction(save(place));
    auto loaded = Executable::load(*readSavedFunction(*bytes), place, 0);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    EXPECT_EQ((*loaded)->getTarget(), place == Place::CPU ? "cpu" : "sm_100a");
    std::vector<NpyArray> arguments;
    arguments.push_back(allocate(NpyType::UInt8, {3, 32}));
    arguments.push_back(allocate(NpyType::UInt8, {3, 4}));
    arguments.push_back(allocate(NpyType::Float32, {}));
    std::fill_n(arguments[0].getAs<uint8_t>(), 3 * 32, 0x72);
    std::fill_n(arguments[1].getAs<uint8_t>(), 3 * 4, 0x38);
    *arguments[2].getAs<float>() = 2;
    CallReport report;
    auto results = (*loaded)->run(arguments, 1, CallOptions(), report);
    ASSERT_TRUE(results.ok()) << results.message();
    const auto *x = (*results)[0].getAs<float>();
    EXPECT_EQ(x[0], 2.0f);
    EXPECT_EQ(x[3 * 64 - 1], 12.0f);
    EXPECT_EQ(*(*results)[1].getAs<float>(), 12.0f);
  }
}

TEST_F(SavedFunctionTest, DamageIsFound) {
  std::string bytes = *writeSavedFunction(save(Place::Emulator));
  EXPECT_TRUE(contains(refuse(""), "expected a saved function, which begins"));
  EXPECT_TRUE(contains(refuse(bytes.substr(0, 55)), "but got 55 other bytes"));
  EXPECT_TRUE(contains(refuse(bytes.substr(1)), "which begins with 89 42"));
  for (size_t size : {size_t(56), bytes.size() / 2, bytes.size() - 1})
    EXPECT_TRUE(contains(refuse(bytes.substr(0, size)),
                         "bytes after its header, but got " +
                             std::to_string(size - 56)));
  EXPECT_TRUE(contains(refuse(bytes + "x"), "bytes after its header"));
  for (size_t at : {size_t(24), size_t(55), size_t(60), bytes.size() / 2,
                    bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_TRUE(contains(refuse(damaged), "they are damaged")) << at;
  }
  std::string newer = bytes;
  newer[8] = 7;
  EXPECT_EQ(refuse(newer), "expected version 1 of saved functions, but got 7");
  std::string huge = bytes;
  huge[23] = 0x7F;
  EXPECT_TRUE(contains(refuse(huge), "bytes after its header"));
}

TEST_F(SavedFunctionTest, NamesThatAreNoTextAreRefused) {
  SavedFunction saved = save(Place::Emulator);
  saved.signature.name = "\xFF";
  EXPECT_TRUE(contains(writeSavedFunction(saved).message(),
                       "expected a function whose name and types are UTF-8"));
}

TEST_F(SavedFunctionTest, OnlyWhereItCanRun) {
  SavedFunction cpu = save(Place::CPU), gpu = save(Place::Emulator, "sm_90a");
  EXPECT_EQ(refuse(cpu, Place::Emulator, ErrorKind::WrongChip),
            "expected a function for a GPU, but got one for cpu");
  EXPECT_EQ(refuse(gpu, Place::CPU, ErrorKind::WrongChip),
            "expected a function for the CPU, but got one for sm_90a");
  SavedFunction other = cpu;
  other.features.push_back("wings");
  EXPECT_EQ(refuse(other, Place::CPU, ErrorKind::WrongChip),
            "expected a CPU with the features that the code may use, but this "
            "one has not wings");
  other = gpu;
  other.target = "sm_80";
  EXPECT_EQ(refuse(other, Place::Emulator, ErrorKind::InvalidBundle),
            "expected a saved function to have kernels for sm_80, but got some "
            "for sm_90a");
  other = gpu;
  other.signature.results.pop_back();
  EXPECT_TRUE(contains(refuse(other, Place::Emulator, ErrorKind::InvalidBundle),
                       "the arguments and results of its plan"));
  other.signature.name = "encode";
  EXPECT_TRUE(contains(refuse(other, Place::Emulator, ErrorKind::InvalidBundle),
                       "encode"));
  other.code = "no bundle";
  EXPECT_TRUE(contains(refuse(other, Place::Emulator, ErrorKind::InvalidBundle),
                       "expected a bundle"));
}

TEST_F(SavedFunctionTest, CodeWithoutTheFunctionIsRefused) {
  SavedFunction saved = save(Place::CPU);
  SavedFunction other = saved;
  other.signature.name = "encode";
  EXPECT_TRUE(contains(refuse(other, Place::CPU, ErrorKind::Compilation),
                       "blockscale_packed_encode"));
  other = saved;
  other.code = "no object";
  refuse(other, Place::CPU, ErrorKind::InvalidBundle);
}

} // namespace

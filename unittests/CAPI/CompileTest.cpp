//===- CompileTest.cpp - Modules compiled from C --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace {

struct Diagnostic {
  blockscale_severity severity;
  std::string message, file;
  unsigned line;
  size_t notes;
};

void collect(const blockscale_diagnostic *diagnostic, void *user) {
  static_cast<std::vector<Diagnostic> *>(user)->push_back(
      {diagnostic->severity, diagnostic->message, diagnostic->file,
       diagnostic->line, diagnostic->note_count});
}

/// A configuration and what becomes of it.
class CompileTest : public testing::Test {
protected:
  CompileTest() {
    config.on_diagnostic = collect;
    config.user = &diagnostics;
    setTarget("sm_100a", BLOCKSCALE_EMIT_PTX);
  }
  ~CompileTest() override { blockscale_output_destroy(output); }

  void setTarget(const char *name, blockscale_emission emission) {
    target = name;
    config.targets = &target;
    config.target_count = 1;
    config.emission = emission;
  }

  blockscale_status compile(const std::string &source) {
    return blockscale_compile(source.data(), source.size(), &config, &output);
  }

  void expectFailure(blockscale_status status, const std::string &message,
                     const std::string &source = kQuantize) {
    EXPECT_EQ(compile(source), status);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
    EXPECT_EQ(output, nullptr);
  }

  blockscale_compile_config config = blockscale_compile_config_default();
  const char *target = nullptr;
  std::vector<Diagnostic> diagnostics;
  blockscale_output *output = nullptr;
};

TEST_F(CompileTest, EmitsEachFormOfCode) {
  const std::pair<const char *, blockscale_emission> forms[] = {
      {"cpu", BLOCKSCALE_EMIT_MLIR},     {"cpu", BLOCKSCALE_EMIT_LLVM},
      {"cpu", BLOCKSCALE_EMIT_OBJECT},   {"sm_80", BLOCKSCALE_EMIT_MLIR},
      {"sm_90a", BLOCKSCALE_EMIT_PTX},   {"sm_90a", BLOCKSCALE_EMIT_PLAN},
      {"sm_90a", BLOCKSCALE_EMIT_BUNDLE}};
  for (auto [name, emission] : forms) {
    setTarget(name, emission);
    ASSERT_EQ(compile(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
    EXPECT_GT(blockscale_output_size(output), 100u);
    EXPECT_EQ(blockscale_output_stage_count(output), 0u);
    EXPECT_EQ(blockscale_output_stage_name(output, 0), nullptr);
    blockscale_output_destroy(output);
    output = nullptr;
  }
}

// The table of chips: each GPU has the chip of its capability where there is
// one, else the best one that has no features of one capability alone.
TEST(Chips, AreFoundByCapability) {
  std::string chips = blockscale_chips();
  std::vector<std::tuple<int, int, std::string>> known = {
      {8, 0, "sm_80"},    {8, 6, "sm_86"},    {8, 7, "sm_86"},
      {8, 9, "sm_89"},    {9, 0, "sm_90a"},   {10, 0, "sm_100a"},
      {10, 3, "sm_103a"}, {11, 0, "sm_110a"}, {12, 0, "sm_120a"},
      {12, 1, "sm_121a"}, {13, 0, "sm_89"}};
  for (const auto &[major, minor, name] : known) {
    const char *chip = blockscale_chip_for_capability(major, minor);
    ASSERT_NE(chip, nullptr) << name;
    EXPECT_EQ(chip, name);
    EXPECT_TRUE((", " + chips + ",").find(", " + name + ",") !=
                std::string::npos)
        << name;
  }
  EXPECT_EQ(blockscale_chip_for_capability(7, 5), nullptr);
}

TEST(Chips, SayWhichProductsTheyHave) {
  EXPECT_TRUE(blockscale_chip_has_products("sm_90a", 0));
  EXPECT_TRUE(blockscale_chip_has_products("sm_90a", 1));
  EXPECT_TRUE(blockscale_chip_has_products("sm_100a", 0));
  EXPECT_TRUE(blockscale_chip_has_products("sm_100a", 1));
  EXPECT_FALSE(blockscale_chip_has_products("sm_100", 0));
  EXPECT_FALSE(blockscale_chip_has_products(nullptr, 0));
  // A chip has both kinds of products or none.
  std::istringstream names(blockscale_chips());
  for (std::string name; std::getline(names >> std::ws, name, ',');)
    EXPECT_EQ(blockscale_chip_has_products(name.c_str(), 0),
              blockscale_chip_has_products(name.c_str(), 1))
        << name;
}

// Bytecode is read by the program that is beside the library, or by the one
// that the configuration names, of a compilation and of an executable.
TEST_F(CompileTest, ReadsBytecodeByAProgram) {
  std::ifstream file(BLOCKSCALE_TEST_DATA "/../Package/Inputs/damaged.mlirbc",
                     std::ios::binary);
  const std::string damaged((std::istreambuf_iterator<char>(file)), {});
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "'<source>' is damaged", damaged);
  config.bytecode_reader = "/nowhere/reader";
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "no program '/nowhere/reader'",
                damaged);
  blockscale_executable_config run = blockscale_executable_config_default();
  run.bytecode_reader = "/nowhere/reader";
  blockscale_executable *executable = nullptr;
  EXPECT_EQ(blockscale_executable_create(damaged.data(), damaged.size(), &run,
                                         &executable),
            BLOCKSCALE_COMPILE_ERROR);
  EXPECT_TRUE(
      contains(blockscale_last_error(), "no program '/nowhere/reader'"));
  // Text needs none.
  EXPECT_EQ(compile(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
}

TEST_F(CompileTest, VerifiesWithoutCompiling) {
  config = blockscale_compile_config_default();
  ASSERT_EQ(
      blockscale_verify(kQuantize.data(), kQuantize.size(), &config, &output),
      BLOCKSCALE_OK);
  EXPECT_TRUE(
      contains(static_cast<const char *>(blockscale_output_data(output)),
               "module {\n  func.func @quantize("));
  blockscale_output *none = nullptr;
  EXPECT_EQ(blockscale_verify(kInvalid.data(), kInvalid.size(), &config, &none),
            BLOCKSCALE_COMPILE_ERROR);
  EXPECT_TRUE(contains(blockscale_last_error(), "<source>:4:"));
  EXPECT_EQ(none, nullptr);
}

TEST_F(CompileTest, ChecksNesting) {
  config = blockscale_compile_config_default();
  config.source_name = "m.mlir";
  // Nothing is parsed: an op may be one of another MLIR.
  std::string text = "\"other.op\"() {a = " + std::string(250, '[') +
                     std::string(250, ']') + "} : () -> ()";
  EXPECT_EQ(blockscale_check_nesting(text.data(), text.size(), &config),
            BLOCKSCALE_OK);
  text = "module {\n  " + std::string(300, '(');
  EXPECT_EQ(blockscale_check_nesting(text.data(), text.size(), &config),
            BLOCKSCALE_COMPILE_ERROR);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "m.mlir:2:258: expected text of MLIR to nest at most "
                       "256 levels deep, but got level 257"));
  EXPECT_EQ(blockscale_check_nesting(nullptr, 0, &config),
            BLOCKSCALE_INVALID_ARGUMENT);
}

TEST_F(CompileTest, KeepsStages) {
  config.keep_stages = 1;
  ASSERT_EQ(compile(kQuantize), BLOCKSCALE_OK);
  EXPECT_STREQ(blockscale_output_stage_name(output, 0), "input");
  EXPECT_TRUE(
      contains(blockscale_output_stage_text(output, 0), "blockscale.quantize"));
  size_t last = blockscale_output_stage_count(output) - 1;
  EXPECT_TRUE(
      contains(blockscale_output_stage_text(output, last), "gpu.module"));
}

TEST_F(CompileTest, RemarksComeThroughTheCallback) {
  config.remarks = 1;
  ASSERT_EQ(compile(kQuantize), BLOCKSCALE_OK);
  ASSERT_FALSE(diagnostics.empty());
  for (const Diagnostic &diagnostic : diagnostics)
    EXPECT_EQ(diagnostic.severity, BLOCKSCALE_REMARK) << diagnostic.message;
  EXPECT_EQ(diagnostics.front().file, "<source>");
}

TEST_F(CompileTest, DiagnosticsHaveTheirPlace) {
  config.source_name = "layer.mlir";
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "layer.mlir:4:", kInvalid);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].severity, BLOCKSCALE_ERROR);
  EXPECT_EQ(diagnostics[0].file, "layer.mlir");
  EXPECT_EQ(diagnostics[0].line, 4u);
  EXPECT_TRUE(contains(diagnostics[0].message, "but got 60"));
}

TEST_F(CompileTest, WhatIsNoModuleIsAnError) {
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "expected", "func.func @f(");
  expectFailure(
      BLOCKSCALE_COMPILE_ERROR, "unregistered",
      "func.func @f() { \"blockscale.nothing\"() : () -> ()\n return }");
  // Deep text does not reach the parser, which would end the process.
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "\"a.b\"() ({\n";
  expectFailure(BLOCKSCALE_COMPILE_ERROR,
                ":129:6: expected text of MLIR to nest at most 256 levels "
                "deep, but got level 257",
                deep);
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "could not be read",
                std::string("ML\xefR\x0d\x01", 6));
}

// Products of SM100 take no integers.
TEST_F(CompileTest, WhatAChipCannotDoIsAnError) {
  setTarget("sm_100a", BLOCKSCALE_EMIT_PTX);
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "failed", R"(
func.func @f(%a: tensor<128x256xi8>,
             %s: tensor<128x8xf8E8M0FNU>) -> tensor<128x128xbf16> {
  %r = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<128x256xi8>, tensor<128x256xi8>, tensor<128x8xf8E8M0FNU>,
        tensor<128x8xf8E8M0FNU> -> tensor<128x128xbf16>
  return %r : tensor<128x128xbf16>
})");
  EXPECT_FALSE(diagnostics.empty());
}

TEST_F(CompileTest, OptionsAreChecked) {
  setTarget("sm_1000", BLOCKSCALE_EMIT_PTX);
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "but got 'sm_1000'");
  setTarget("cpu", BLOCKSCALE_EMIT_PTX);
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "but got ptx");
  setTarget("cpu", static_cast<blockscale_emission>(9));
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "from 0 to 6, but got 9");
  setTarget(nullptr, BLOCKSCALE_EMIT_PTX);
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "but got null");
  setTarget("cpu", BLOCKSCALE_EMIT_OBJECT);
  config.cpu = "x87";
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "but got 'x87'");
  config.targets = nullptr;
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "expected targets to be");
  config.target_count = 0;
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "expected a target");
  setTarget("sm_100a", BLOCKSCALE_EMIT_CUBIN);
  config.ptxas = "/nowhere/ptxas";
  expectFailure(BLOCKSCALE_NOT_FOUND, "/nowhere/ptxas");
  setTarget("sm_100a", BLOCKSCALE_EMIT_BUNDLE);
  config.machine_code = 1;
  expectFailure(BLOCKSCALE_NOT_FOUND, "/nowhere/ptxas");
  // Nothing of a bundle without machine code needs it.
  config.machine_code = 0;
  EXPECT_EQ(compile(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
}

// Launches overlap where that is asked for and a GPU can do it.
TEST_F(CompileTest, OverlapsLaunches) {
  auto overlaps = [&](const char *chip) {
    setTarget(chip, BLOCKSCALE_EMIT_PLAN);
    EXPECT_EQ(compile(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
    const auto *text =
        static_cast<const char *>(blockscale_output_data(output));
    bool overlaps = contains(text, "\"programmatic\": true");
    blockscale_output_destroy(output);
    output = nullptr;
    return overlaps;
  };
  EXPECT_FALSE(overlaps("sm_90a"));
  config.overlap_launches = 1;
  EXPECT_TRUE(overlaps("sm_90a"));
  EXPECT_FALSE(overlaps("sm_80"));
}

// A folder without choices leaves the schedule to the model, with a remark.
TEST_F(CompileTest, ReadsChoicesOfSchedules) {
  setTarget("sm_100a", BLOCKSCALE_EMIT_PLAN);
  config.tuned = "/nowhere/choices";
  config.remarks = 1;
  ASSERT_EQ(compile(R"(
#s = #blockscale.layout<swizzle_128x4>
func.func @f(%a: tensor<128x256xf4E2M1FN>, %s: tensor<128x16xf8E4M3FN, #s>)
    -> tensor<128x128xbf16> {
  %r = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      : tensor<128x256xf4E2M1FN>, tensor<128x256xf4E2M1FN>,
        tensor<128x16xf8E4M3FN, #s>, tensor<128x16xf8E4M3FN, #s>
      -> tensor<128x128xbf16>
  return %r : tensor<128x128xbf16>
})"),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_TRUE(std::any_of(
      diagnostics.begin(), diagnostics.end(), [](const Diagnostic &each) {
        return contains(each.message.c_str(),
                        "'/nowhere/choices' has no environment");
      }));
  blockscale_output_destroy(output);
  output = nullptr;
  setTarget("cpu", BLOCKSCALE_EMIT_OBJECT);
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                "expected tuned schedules with a chip as target, but got cpu");
  config.tuned = nullptr;
  config.overlap_launches = 1;
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                "expected launches that overlap with a chip as target, but got "
                "cpu");
  config.overlap_launches = 0;
}

// Products are quantized before the first stage.
TEST_F(CompileTest, QuantizesByPolicy) {
  setTarget("cpu", BLOCKSCALE_EMIT_MLIR);
  config.keep_stages = 1;
  std::string path = testing::TempDir() + "blockscale_policy.json";
  std::ofstream(path) << R"({"version": 1, "rules": [{"format": "mxfp8"}]})";
  config.policy = path.c_str();
  ASSERT_EQ(compile(R"(
func.func @f(%x: tensor<8x64xf32>, %w: tensor<64x32xf32> {blockscale.weight})
    -> tensor<8x32xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>)
      outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
})"),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_TRUE(contains(blockscale_output_stage_text(output, 0),
                       "blockscale.scaled_mm"));
  blockscale_output_destroy(output);
  output = nullptr;
  std::ofstream(path) << R"({"version": 1, "rules": [{"format": "fp8"}]})";
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                "blockscale_policy.json:1:37: expected 'format' to be one of");
  config.policy = "/nowhere/policy.json";
  expectFailure(BLOCKSCALE_FILE, "'/nowhere/policy.json': No such file");
}

TEST_F(CompileTest, NullIsAnError) {
  EXPECT_EQ(blockscale_compile(nullptr, 0, &config, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_compile("", 0, nullptr, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_compile("", 0, &config, nullptr),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_compile_file(nullptr, &config, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  blockscale_output_destroy(nullptr);
  EXPECT_EQ(blockscale_output_data(nullptr), nullptr);
  EXPECT_EQ(blockscale_output_size(nullptr), 0u);
}

TEST_F(CompileTest, FilesAreRead) {
  std::string path = testing::TempDir() + "blockscale_compile_test.mlir";
  std::ofstream(path) << kQuantize;
  EXPECT_EQ(blockscale_compile_file(path.c_str(), &config, &output),
            BLOCKSCALE_OK);
  blockscale_output *none = nullptr;
  EXPECT_EQ(blockscale_compile_file("/nowhere/q.mlir", &config, &none),
            BLOCKSCALE_FILE);
  EXPECT_TRUE(
      contains(blockscale_last_error(), "cannot read '/nowhere/q.mlir'"));
}

/// What programs with older and newer headers give.
TEST_F(CompileTest, ConfigurationsOfOtherSizes) {
  config.struct_size = offsetof(blockscale_compile_config, source_name);
  config.source_name = reinterpret_cast<const char *>(1);
  EXPECT_EQ(compile(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_TRUE(
      contains(static_cast<const char *>(blockscale_output_data(output)),
               ".target sm_100a"));
  blockscale_output_destroy(output);
  output = nullptr;

  struct {
    blockscale_compile_config config;
    uint64_t added;
  } newer = {blockscale_compile_config_default(), 0};
  newer.config.targets = &target;
  newer.config.target_count = 1;
  newer.config.struct_size = sizeof(newer);
  EXPECT_EQ(blockscale_compile(kQuantize.data(), kQuantize.size(),
                               &newer.config, &output),
            BLOCKSCALE_OK);
  newer.added = 1;
  EXPECT_EQ(blockscale_compile(kQuantize.data(), kQuantize.size(),
                               &newer.config, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(), "does not know"));
  newer.config.struct_size = 0;
  EXPECT_EQ(blockscale_compile(kQuantize.data(), kQuantize.size(),
                               &newer.config, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
}

int stopAtSecond(const char *, size_t number, size_t, void *) {
  return number == 1;
}

TEST_F(CompileTest, ProgressCanEndTheWork) {
  config.on_progress = stopAtSecond;
  expectFailure(BLOCKSCALE_CANCELLED, "ended the work before 'canonicalize'");
}

TEST_F(CompileTest, AnyNumberOfThreadsAtATime) {
  std::vector<std::string> outputs(4);
  std::vector<std::thread> threads;
  for (std::string &text : outputs)
    threads.emplace_back([&text, config = config]() mutable {
      config.on_diagnostic = nullptr;
      blockscale_output *made = nullptr;
      if (blockscale_compile(kQuantize.data(), kQuantize.size(), &config,
                             &made) == BLOCKSCALE_OK)
        text = static_cast<const char *>(blockscale_output_data(made));
      blockscale_output_destroy(made);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(contains(outputs[0], ".target sm_100a"));
  for (const std::string &text : outputs)
    EXPECT_EQ(text, outputs[0]);
}

} // namespace

//===- SavedTest.cpp - Functions without a compiler, from C --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace {

/// @quantize of Modules.h in a cache, and as bytes.
class SavedTest : public testing::TestWithParam<blockscale_place> {
protected:
  void SetUp() override {
    std::string made = std::filesystem::temp_directory_path() / "cache.XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder = made;
    config.place = GetParam();
    config.user = &steps;
    config.on_progress = [](const char *, size_t, size_t, void *user) {
      ++*static_cast<int *>(user);
      return 0;
    };
  }
  void TearDown() override {
    unsetenv("BLOCKSCALE_CACHE_DIR");
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    blockscale_executable_destroy(executable);
  }

  void useCache() { setenv("BLOCKSCALE_CACHE_DIR", folder.c_str(), 1); }

  /// Makes it, and counts the steps that compiled it.
  int create() {
    blockscale_executable_destroy(executable);
    executable = nullptr;
    steps = 0;
    EXPECT_EQ(blockscale_executable_create(kQuantize.data(), kQuantize.size(),
                                           &config, &executable),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    EXPECT_EQ(blockscale_executable_is_loaded(executable), steps == 0);
    return steps;
  }

  std::string save() {
    blockscale_output *output = nullptr;
    EXPECT_EQ(blockscale_executable_save(executable, &output), BLOCKSCALE_OK)
        << blockscale_last_error();
    std::string bytes(static_cast<const char *>(blockscale_output_data(output)),
                      blockscale_output_size(output));
    blockscale_output_destroy(output);
    return bytes;
  }

  blockscale_status load(const std::string &bytes) {
    blockscale_executable_destroy(executable);
    executable = nullptr;
    return blockscale_executable_load(bytes.data(), bytes.size(), &config,
                                      &executable);
  }

  void expectRefused(const std::string &bytes, blockscale_status status,
                     const std::string &message) {
    EXPECT_EQ(load(bytes), status);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
    EXPECT_EQ(executable, nullptr);
  }

  /// The codes that it computes.
  std::vector<uint8_t> call() {
    std::vector<float> x(2 * 64);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 7) - 3;
    std::vector<uint8_t> data(2 * 32), scales(2 * 4);
    int64_t shape[] = {2, 64}, dataShape[] = {2, 32}, scaleShape[] = {2, 4};
    blockscale_array argument = {x.data(), BLOCKSCALE_FLOAT32, 2, shape,
                                 nullptr};
    blockscale_array results[] = {
        {data.data(), BLOCKSCALE_UINT8, 2, dataShape, nullptr},
        {scales.data(), BLOCKSCALE_UINT8, 2, scaleShape, nullptr}};
    EXPECT_EQ(blockscale_executable_call(executable, &argument, 1, results, 2,
                                         nullptr),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    EXPECT_NE(data, std::vector<uint8_t>(data.size()));
    return data;
  }

  blockscale_executable_config config = blockscale_executable_config_default();
  blockscale_executable *executable = nullptr;
  int steps = 0;
  std::string folder;
};

TEST_P(SavedTest, AWarmCacheCompilesNothing) {
  EXPECT_GT(create(), 0);
  std::vector<uint8_t> expected = call();
  useCache();
  EXPECT_GT(create(), 0);
  EXPECT_EQ(create(), 0);
  EXPECT_EQ(call(), expected);
  // Remarks, other options and code to save come of compilation.
  config.remarks = 1;
  EXPECT_GT(create(), 0);
  config.remarks = 0;
  config.keep_code = 1;
  EXPECT_GT(create(), 0);
  config.keep_code = 0;
  config.no_fusion = 1;
  EXPECT_GT(create(), 0);
  EXPECT_EQ(create(), 0);
  config.source_name = "other";
  EXPECT_GT(create(), 0);
}

TEST_P(SavedTest, AFolderThatIsNoneIsNoError) {
  setenv("BLOCKSCALE_CACHE_DIR", "/proc/self/nothing", 1);
  EXPECT_GT(create(), 0);
  EXPECT_GT(create(), 0);
  call();
}

TEST_P(SavedTest, OwnersOfACacheAreNamed) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files to another user";
  useCache();
  EXPECT_GT(create(), 0);
  ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_GT(create(), 0);
  call();
  EXPECT_EQ(blockscale_set_cache_owners("12345"), BLOCKSCALE_OK);
  EXPECT_EQ(create(), 0);
  EXPECT_EQ(blockscale_set_cache_owners("12345,nobody-of-this-name"),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "expected names or numbers of users, separated by "
                       "commas, but got 'nobody-of-this-name'"));
  EXPECT_EQ(create(), 0);
  EXPECT_EQ(blockscale_set_cache_owners(nullptr), BLOCKSCALE_OK);
  EXPECT_GT(create(), 0);
}

TEST_P(SavedTest, BytesMakeItAgain) {
  config.keep_code = 1;
  create();
  std::vector<uint8_t> expected = call();
  std::string bytes = save();
  steps = 0;
  ASSERT_EQ(load(bytes), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(blockscale_executable_is_loaded(executable), 1);
  EXPECT_STREQ(blockscale_executable_target(executable),
               GetParam() == BLOCKSCALE_ON_CPU ? "cpu" : "sm_100a");
  EXPECT_STREQ(blockscale_executable_entry(executable), "quantize");
  EXPECT_EQ(call(), expected);
}

TEST_P(SavedTest, BytesThatAreWrongAreRefused) {
  config.keep_code = 1;
  create();
  std::string bytes = save();
  expectRefused("", BLOCKSCALE_INVALID_BUNDLE, "expected a saved function");
  expectRefused(bytes.substr(0, bytes.size() - 1), BLOCKSCALE_INVALID_BUNDLE,
                "bytes after its header");
  std::string damaged = bytes;
  damaged.back() ^= 1;
  expectRefused(damaged, BLOCKSCALE_INVALID_BUNDLE, "they are damaged");
  config.place = GetParam() == BLOCKSCALE_ON_CPU ? BLOCKSCALE_ON_EMULATOR
                                                 : BLOCKSCALE_ON_CPU;
  expectRefused(bytes, BLOCKSCALE_WRONG_CHIP, "expected a function for");
  config.place = static_cast<blockscale_place>(9);
  expectRefused(bytes, BLOCKSCALE_INVALID_ARGUMENT, "from 0 to 2, but got 9");
  EXPECT_EQ(blockscale_executable_load(nullptr, 0, &config, &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_executable_load(bytes.data(), bytes.size(), nullptr,
                                       &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  blockscale_output *output = nullptr;
  EXPECT_EQ(blockscale_executable_save(nullptr, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_executable_is_loaded(nullptr), 0);
  EXPECT_EQ(blockscale_executable_target(nullptr), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Places, SavedTest,
                         testing::Values(BLOCKSCALE_ON_CPU,
                                         BLOCKSCALE_ON_EMULATOR));

/// Outputs of blockscale_compile in a cache.
class CachedOutputTest : public SavedTest {
protected:
  /// Compiles it, and counts the steps.
  int compile(blockscale_emission emission, const char *target) {
    blockscale_compile_config compiler = blockscale_compile_config_default();
    compiler.targets = &target;
    compiler.target_count = 1;
    compiler.emission = emission;
    compiler.remarks = remarks;
    compiler.keep_stages = stages;
    compiler.cpu = cpu;
    compiler.user = &steps;
    compiler.on_progress = config.on_progress;
    blockscale_output *output = nullptr;
    steps = 0;
    EXPECT_EQ(blockscale_compile(kQuantize.data(), kQuantize.size(), &compiler,
                                 &output),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    data.assign(static_cast<const char *>(blockscale_output_data(output)),
                blockscale_output_size(output));
    blockscale_output_destroy(output);
    return steps;
  }

  int remarks = 0, stages = 0;
  const char *cpu = nullptr;
  std::string data;
};

TEST_P(CachedOutputTest, IsCompiledOnce) {
  useCache();
  for (auto [emission, target] : {std::pair(BLOCKSCALE_EMIT_BUNDLE, "sm_90a"),
                                  std::pair(BLOCKSCALE_EMIT_BUNDLE, "sm_80"),
                                  std::pair(BLOCKSCALE_EMIT_PTX, "sm_90a"),
                                  std::pair(BLOCKSCALE_EMIT_PLAN, "sm_90a"),
                                  std::pair(BLOCKSCALE_EMIT_LLVM, "cpu"),
                                  std::pair(BLOCKSCALE_EMIT_OBJECT, "cpu")}) {
    EXPECT_GT(compile(emission, target), 0);
    std::string expected = data;
    EXPECT_EQ(compile(emission, target), 0);
    EXPECT_EQ(data, expected);
  }
  cpu = "x86-64-v3";
  EXPECT_GT(compile(BLOCKSCALE_EMIT_OBJECT, "cpu"), 0);
  EXPECT_EQ(compile(BLOCKSCALE_EMIT_OBJECT, "cpu"), 0);
}

TEST_P(CachedOutputTest, WhatComesOfCompilationIsCompiled) {
  useCache();
  for (int i = 0; i < 2; ++i)
    EXPECT_GT(compile(BLOCKSCALE_EMIT_MLIR, "sm_90a"), 0);
  EXPECT_GT(compile(BLOCKSCALE_EMIT_PTX, "sm_90a"), 0);
  remarks = 1;
  EXPECT_GT(compile(BLOCKSCALE_EMIT_PTX, "sm_90a"), 0);
  remarks = 0;
  stages = 1;
  EXPECT_GT(compile(BLOCKSCALE_EMIT_PTX, "sm_90a"), 0);
}

INSTANTIATE_TEST_SUITE_P(Places, CachedOutputTest,
                         testing::Values(BLOCKSCALE_ON_CPU));

class SavedCpuTest : public SavedTest {};

TEST_P(SavedCpuTest, CodeIsKeptWhereThatIsAskedFor) {
  create();
  blockscale_output *output = nullptr;
  EXPECT_EQ(blockscale_executable_save(executable, &output),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "expected a function whose code is kept"));
  EXPECT_EQ(output, nullptr);
}

TEST_P(SavedCpuTest, OlderCpus) {
  std::vector<uint8_t> expected = (create(), call());
  config.cpu = "x86-64";
  config.keep_code = 1;
  EXPECT_GT(create(), 0);
  EXPECT_EQ(call(), expected);
  std::string bytes = save();
  EXPECT_FALSE(contains(bytes, "\"avx2\""));
  config.cpu = "quantum";
  EXPECT_EQ(blockscale_executable_create(kQuantize.data(), kQuantize.size(),
                                         &config, &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(), "but got 'quantum'"));
  config.place = BLOCKSCALE_ON_EMULATOR;
  EXPECT_EQ(blockscale_executable_create(kQuantize.data(), kQuantize.size(),
                                         &config, &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(), "expected no CPU for a GPU"));
}

TEST_P(SavedCpuTest, MachineCodeOfKernelsIsForTheEmulator) {
  config.ptxas = "/nowhere/ptxas";
  EXPECT_EQ(blockscale_executable_create(kQuantize.data(), kQuantize.size(),
                                         &config, &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(), "but got '/nowhere/ptxas'"));
  config.place = BLOCKSCALE_ON_EMULATOR;
  EXPECT_EQ(blockscale_executable_create(kQuantize.data(), kQuantize.size(),
                                         &config, &executable),
            BLOCKSCALE_NOT_FOUND);
  EXPECT_TRUE(contains(blockscale_last_error(), "/nowhere/ptxas"));
  // With a search it is no error that there is none.
  config.ptxas = "";
  EXPECT_GT(create(), 0);
  call();
}

INSTANTIATE_TEST_SUITE_P(Places, SavedCpuTest,
                         testing::Values(BLOCKSCALE_ON_CPU));

} // namespace

//===- RunTest.cpp - Functions called from C ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include <cfenv>
#include <cmath>
#include <thread>
#include <vector>

namespace {

/// @quantize of Modules.h on 8 rows, and its arrays.
class RunTest : public testing::TestWithParam<blockscale_place> {
protected:
  RunTest() {
    config.place = GetParam();
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(int(i * 37 % 101) - 50) / 7.0f;
  }
  ~RunTest() override { blockscale_executable_destroy(executable); }

  blockscale_status create(const std::string &source) {
    return blockscale_executable_create(source.data(), source.size(), &config,
                                        &executable);
  }

  blockscale_status call(const blockscale_call_config *how = nullptr) {
    return blockscale_executable_call(executable, arguments.data(),
                                      arguments.size(), results.data(),
                                      results.size(), how);
  }

  void expectRefused(const std::string &message) {
    EXPECT_EQ(call(), BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
  }

  blockscale_executable_config config = blockscale_executable_config_default();
  blockscale_executable *executable = nullptr;
  std::vector<float> x = std::vector<float>(8 * 64);
  std::vector<uint8_t> data = std::vector<uint8_t>(8 * 32, 0xEE);
  std::vector<uint8_t> scales = std::vector<uint8_t>(8 * 4, 0xEE);
  int64_t shape[2] = {8, 64}, dataShape[2] = {8, 32}, scaleShape[2] = {8, 4};
  std::vector<blockscale_array> arguments = {
      {x.data(), BLOCKSCALE_FLOAT32, 2, shape, nullptr}};
  std::vector<blockscale_array> results = {
      {data.data(), BLOCKSCALE_UINT8, 2, dataShape, nullptr},
      {scales.data(), BLOCKSCALE_UINT8, 2, scaleShape, nullptr}};
};

TEST_P(RunTest, SaysWhatTheFunctionTakes) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_STREQ(blockscale_executable_entry(executable), "quantize");
  EXPECT_EQ(blockscale_executable_slot_count(executable, BLOCKSCALE_ARGUMENT),
            1u);
  EXPECT_EQ(blockscale_executable_slot_count(executable, BLOCKSCALE_RESULT),
            2u);
  EXPECT_EQ(blockscale_executable_slot_count(executable, BLOCKSCALE_CONSTANT),
            0u);
  blockscale_slot slot;
  ASSERT_EQ(blockscale_executable_slot(executable, BLOCKSCALE_RESULT, 0, &slot),
            BLOCKSCALE_OK);
  EXPECT_STREQ(slot.type, "tensor<?x64xf4E2M1FN>");
  EXPECT_EQ(slot.dtype, BLOCKSCALE_UINT8);
  ASSERT_EQ(slot.rank, 2u);
  EXPECT_LT(slot.shape[0], 0);
  EXPECT_EQ(slot.shape[1], 32);
  EXPECT_EQ(blockscale_executable_slot(executable, BLOCKSCALE_RESULT, 2, &slot),
            BLOCKSCALE_INVALID_ARGUMENT);
  int64_t found[2];
  ASSERT_EQ(blockscale_executable_result_shape(executable, arguments.data(), 1,
                                               1, found, 2),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_EQ(found[0], 8);
  EXPECT_EQ(found[1], 4);
  EXPECT_EQ(blockscale_executable_result_shape(executable, arguments.data(), 1,
                                               2, found, 2),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_executable_result_shape(executable, arguments.data(), 1,
                                               1, found, 3),
            BLOCKSCALE_INVALID_ARGUMENT);
}

TEST_P(RunTest, ArraysAreChecked) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();

  const blockscale_array argument = arguments[0], result = results[0];
  arguments[0].dtype = BLOCKSCALE_UINT16;
  expectRefused("argument 0: expected dtype float32");
  arguments[0].dtype = static_cast<blockscale_dtype>(77);
  expectRefused("expected a dtype, but got 77");
  arguments[0] = argument;
  arguments[0].rank = 1;
  expectRefused("expected storage shape (?, 64)");
  arguments[0].rank = size_t(1) << 40;
  expectRefused("expected a rank of at most 64");
  arguments[0] = argument;
  int64_t wrong[] = {8, 32};
  arguments[0].shape = wrong;
  expectRefused("expected storage shape (?, 64) for tensor<?x64xf32>, but got "
                "(8, 32)");
  int64_t negative[] = {-8, 64};
  arguments[0].shape = negative;
  expectRefused("-8");
  arguments[0].shape = nullptr;
  expectRefused("expected a shape, but got null");
  arguments[0] = argument;
  int64_t columns[] = {1, 8}, backwards[] = {-64, 1};
  arguments[0].strides = columns;
  expectRefused("copy the array into row-major order");
  arguments[0].strides = backwards;
  expectRefused("but got -64");
  arguments[0] = argument;
  arguments[0].data = nullptr;
  expectRefused("expected data, but got null");
  arguments[0].data = reinterpret_cast<char *>(x.data()) + 1;
  EXPECT_EQ(call(), BLOCKSCALE_MISALIGNED);
  arguments[0] = argument;

  int64_t shorter[] = {7, 32};
  results[0].shape = shorter;
  expectRefused("expected shape (8, 32) for result 0, but got (7, 32)");
  results[0] = result;
  results[0].data = x.data();
  expectRefused("overlaps argument 0");
  results[0].data = scales.data();
  expectRefused("overlaps");
  results[0] = result;
  results.pop_back();
  expectRefused("expected 2 results, but got 1");
  arguments.clear();
  expectRefused("expected 1 arguments, but got 0");
  EXPECT_EQ(
      blockscale_executable_call(executable, nullptr, 1, nullptr, 2, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(
      blockscale_executable_call(nullptr, nullptr, 0, nullptr, 0, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
}

TEST_P(RunTest, EmptyArraysAreFine) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK);
  shape[0] = dataShape[0] = scaleShape[0] = 0;
  arguments[0].data = results[0].data = results[1].data = nullptr;
  EXPECT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
}

TEST_P(RunTest, ScalesHaveAValue) {
  ASSERT_EQ(create(kDequantize), BLOCKSCALE_OK) << blockscale_last_error();
  float global = 1.0f;
  dataShape[0] = scaleShape[0] = shape[0] = 4;
  std::fill(scales.begin(), scales.end(), 0x38);
  arguments = {results[0],
               results[1],
               {&global, BLOCKSCALE_FLOAT32, 0, nullptr, nullptr}};
  results = {{x.data(), BLOCKSCALE_FLOAT32, 2, shape, nullptr}};
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
  scales[5] = 0xB8;
  expectRefused("argument 1: expected E4M3 scale bytes without sign, but got "
                "0xB8 at byte 5");
  for (uint8_t nan : {0x7F, 0xFF}) {
    scales[5] = nan;
    expectRefused("argument 1: expected scales to be no NaN");
  }
  scales[5] = 0x38;
  global = std::nanf("");
  expectRefused("argument 2: expected global scales to be no NaN");
  blockscale_call_config how = blockscale_call_config_default();
  how.accept_nan_scales = 1;
  EXPECT_EQ(call(&how), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_TRUE(std::isnan(x[0]));
}

TEST_P(RunTest, AnyNumberOfThreadsAtATime) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK);
  ASSERT_EQ(call(), BLOCKSCALE_OK);
  std::vector<std::vector<uint8_t>> found(4, std::vector<uint8_t>(8 * 32));
  std::vector<std::vector<uint8_t>> places(4, std::vector<uint8_t>(8 * 4));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      std::vector<blockscale_array> own = results;
      own[0].data = found[i].data();
      own[1].data = places[i].data();
      EXPECT_EQ(blockscale_executable_call(executable, arguments.data(), 1,
                                           own.data(), 2, nullptr),
                BLOCKSCALE_OK)
          << blockscale_last_error();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<uint8_t> &bytes : found)
    EXPECT_EQ(bytes, data);
}

/// Rounds upward, and takes subnormal numbers for 0 where that is known how.
class OtherFloatEnvironment {
public:
  OtherFloatEnvironment() {
    std::fegetenv(&saved);
    std::fesetround(FE_UPWARD);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
  }
  ~OtherFloatEnvironment() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
};

TEST_P(RunTest, CallersMayComputeOtherwise) {
  ASSERT_EQ(create(R"(
func.func @quantize(%x: tensor<?x64xf32>)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %data, %scales = blockscale.quantize %x block [1, 32]
      : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %data, %scales : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
})"),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  dataShape[1] = 64;
  scaleShape[1] = 2;
  // The last rows have subnormal numbers alone.
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= i < x.size() / 2 ? 1.0f : 0x1p-130f;
  std::vector<uint8_t> other(8 * 64), otherScales(8 * 2);
  data.resize(other.size());
  results[0].data = data.data();
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_NE(data.back(), 0);
  results[0].data = other.data();
  results[1].data = otherScales.data();
  {
    OtherFloatEnvironment environment;
    ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
  }
  EXPECT_EQ(other, data);
  scales.resize(otherScales.size());
  EXPECT_EQ(otherScales, scales);
}

// What a call asks for happens, or is refused.
TEST_P(RunTest, OptionsWithoutEffectAreRefused) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
  bool isCpu = GetParam() == BLOCKSCALE_ON_CPU;
  auto expect = [&](const char *name, const char *where, bool isTaken,
                    void (*change)(blockscale_call_config &)) {
    blockscale_call_config how = blockscale_call_config_default();
    change(how);
    EXPECT_EQ(call(&how), isTaken ? BLOCKSCALE_OK : BLOCKSCALE_INVALID_ARGUMENT)
        << name;
    if (!isTaken)
      EXPECT_EQ(blockscale_last_error(),
                std::string("expected ") + name + " " + where + ", but got " +
                    (isCpu ? "the CPU" : "the emulator"));
  };
  expect("adversarial", "in the emulator", !isCpu,
         [](auto &how) { how.adversarial = 1; });
  expect("seed", "in the emulator", !isCpu, [](auto &how) { how.seed = 7; });
  expect("max_steps", "in the emulator", !isCpu,
         [](auto &how) { how.max_steps = UINT64_MAX; });
  expect("stream", "on a GPU", false, [](auto &how) { how.stream = &how; });
  expect("no_wait", "on a GPU", false, [](auto &how) { how.no_wait = 1; });
}

INSTANTIATE_TEST_SUITE_P(Places, RunTest,
                         testing::Values(BLOCKSCALE_ON_CPU,
                                         BLOCKSCALE_ON_EMULATOR));

class CreateTest : public RunTest {};

TEST_P(CreateTest, ConfigurationsAreChecked) {
  auto expectFailure = [&](blockscale_status status, const std::string &message,
                           const std::string &source = kQuantize) {
    EXPECT_EQ(create(source), status);
    EXPECT_TRUE(contains(blockscale_last_error(), message));
    EXPECT_EQ(executable, nullptr);
  };
  config.entry = "nothing";
  expectFailure(BLOCKSCALE_NOT_FOUND, "(quantize), but got 'nothing'");
  config.entry = nullptr;
  expectFailure(BLOCKSCALE_COMPILE_ERROR, "<source>:4:", kInvalid);
  expectFailure(BLOCKSCALE_NOT_FOUND, "expected a public function", "");
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "argument 0 of @f",
                "func.func @f(%x: tensor<*xf32>) { return }");
  config.chip = "sm_1";
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "sm_1");
  config.chip = nullptr;
  config.tuned = "choices";
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                "expected no tuned schedules for the CPU, but got 'choices'");
  config.tuned = nullptr;
  config.overlap_launches = 1;
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                "expected launches that overlap on a GPU, but got the CPU");
  config.overlap_launches = 0;
  config.device = 3;
  for (blockscale_place place : {BLOCKSCALE_ON_CPU, BLOCKSCALE_ON_EMULATOR}) {
    config.place = place;
    expectFailure(BLOCKSCALE_INVALID_ARGUMENT,
                  "expected no number of a GPU but on one, but got 3");
  }
  config.device = 0;
  config.place = static_cast<blockscale_place>(8);
  expectFailure(BLOCKSCALE_INVALID_ARGUMENT, "from 0 to 2, but got 8");
  EXPECT_EQ(blockscale_executable_create("", 0, nullptr, &executable),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_executable_create("", 0, &config, nullptr),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_executable_create_file("/nowhere", &config, &executable),
            BLOCKSCALE_FILE);
  blockscale_executable_destroy(nullptr);
  EXPECT_EQ(blockscale_executable_entry(nullptr), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Places, CreateTest,
                         testing::Values(BLOCKSCALE_ON_CPU));

/// @append of Modules.h: results in the memory of arguments that are given
/// away.
class GivenTest : public testing::TestWithParam<blockscale_place> {
protected:
  void SetUp() override {
    config.place = GetParam();
    ASSERT_EQ(blockscale_executable_create(kAppend.data(), kAppend.size(),
                                           &config, &executable),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    std::fill(x.begin() + 32, x.end(), 4.0F);
  }
  void TearDown() override { blockscale_executable_destroy(executable); }

  blockscale_status call() {
    return blockscale_executable_call(executable, arguments.data(),
                                      arguments.size(), results.data(),
                                      results.size(), nullptr);
  }

  void expectRefused(const std::string &message) {
    EXPECT_EQ(call(), BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(blockscale_last_error()), message);
  }

  /// Whether row 5 is that of `x`: 1 and 4 as 256 with scales of 2^-8 and 2^-6,
  /// and all others are what they were.
  static void expectAppended(const std::vector<uint8_t> &data,
                             const std::vector<uint8_t> &scale) {
    for (size_t i = 0; i < data.size(); ++i)
      EXPECT_EQ(data[i], i / 64 == 5 ? 0x78 : 0x11) << i;
    for (size_t i = 0; i < scale.size(); ++i)
      EXPECT_EQ(scale[i], i == 10 ? 119 : i == 11 ? 121 : 0x22) << i;
  }

  blockscale_executable_config config = blockscale_executable_config_default();
  blockscale_executable *executable = nullptr;
  std::vector<uint8_t> data = std::vector<uint8_t>(8 * 64, 0x11);
  std::vector<uint8_t> scale = std::vector<uint8_t>(8 * 2, 0x22);
  std::vector<float> x = std::vector<float>(64, 1);
  int64_t position = 5;
  int64_t dataShape[2] = {8, 64}, scaleShape[2] = {8, 2}, xShape[2] = {1, 64};
  std::vector<blockscale_array> arguments = {
      {data.data(), BLOCKSCALE_UINT8, 2, dataShape, nullptr},
      {scale.data(), BLOCKSCALE_UINT8, 2, scaleShape, nullptr},
      {x.data(), BLOCKSCALE_FLOAT32, 2, xShape, nullptr},
      {&position, BLOCKSCALE_INT64, 0, nullptr, nullptr}};
  /// In place.
  std::vector<blockscale_array> results = {arguments[0], arguments[1]};
};

TEST_P(GivenTest, SaysWhatIsGivenAway) {
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(blockscale_executable_is_writable(executable, i), i < 2);
  EXPECT_EQ(blockscale_executable_result_argument(executable, 0), 0);
  EXPECT_EQ(blockscale_executable_result_argument(executable, 1), 1);
  EXPECT_EQ(blockscale_executable_result_argument(executable, 2), -1);
  EXPECT_EQ(blockscale_executable_is_writable(nullptr, 0), 0);
  EXPECT_EQ(blockscale_executable_result_argument(nullptr, 0), -1);
}

TEST_P(GivenTest, ResultsInTheirArguments) {
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
  expectAppended(data, scale);
}

TEST_P(GivenTest, ResultsElsewhere) {
  std::vector<uint8_t> otherData(8 * 64, 0xEE), otherScale(8 * 2, 0xEE);
  results[0].data = otherData.data();
  results[1].data = otherScale.data();
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
  expectAppended(otherData, otherScale);
}

TEST_P(GivenTest, OneElsewhere) {
  std::vector<uint8_t> other(8 * 2, 0xEE);
  results[1].data = other.data();
  ASSERT_EQ(call(), BLOCKSCALE_OK) << blockscale_last_error();
  expectAppended(data, other);
}

TEST_P(GivenTest, AliasesAreRefused) {
  const std::vector<blockscale_array> given = arguments;
  arguments[1].data = data.data() + 62;
  expectRefused("expected argument 1, which is given away, in memory of its "
                "own, but it overlaps argument 0");
  arguments = given;
  arguments[2].data = data.data() + 256;
  expectRefused("expected argument 0, which is given away, in memory of its "
                "own, but it overlaps argument 2");
  arguments = given;
  // Memory for all of a result, which overlaps nothing else then.
  std::vector<uint8_t> wide(8 * 64);
  arguments[1].data = results[0].data = wide.data();
  expectRefused("expected result 0 in memory of its own, but it overlaps "
                "argument 1");
  arguments = given;
  std::vector<uint8_t> other(9 * 64, 0xEE);
  arguments[0].data = other.data();
  results[0].data = other.data() + 64;
  expectRefused("expected result 0 in memory of its own, but it overlaps "
                "argument 0");
  std::vector<float> wideX(128, 1);
  arguments[2].data = results[0].data = wideX.data();
  expectRefused("expected result 0 in memory of its own, but it overlaps "
                "argument 2");
}

INSTANTIATE_TEST_SUITE_P(Places, GivenTest,
                         testing::Values(BLOCKSCALE_ON_CPU,
                                         BLOCKSCALE_ON_EMULATOR));

// A call that reduces over ranks is given what does that.
TEST_P(RunTest, ReducesOverRanks) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_executable_reduces(executable), 0);
  blockscale_executable_destroy(executable);
  ASSERT_EQ(create(kOverRanks), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_executable_reduces(executable), 1);
  expectRefused("@quantize: expected a function that reduces amaxes over ranks "
                "(launch_c4), but got none; give one, or say that there is one "
                "rank");
  EXPECT_EQ(scales[0], 0xEE);

  float amax = 0;
  for (float each : x)
    amax = std::max(amax, std::fabs(each));
  std::vector<float> given;
  blockscale_call_config how = blockscale_call_config_default();
  how.reduce_user = &given;
  how.reduce = [](const blockscale_reduction *reduction, void *user) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto *values = reinterpret_cast<float *>(reduction->address);
    static_cast<std::vector<float> *>(user)->push_back(*values);
    bool isRight = reduction->count == 1 && !reduction->stream &&
                   reduction->dtype == BLOCKSCALE_FLOAT32 &&
                   reduction->kind == BLOCKSCALE_REDUCTION_MAX;
    *values = 1000; // of another rank
    return isRight ? 0 : 1;
  };
  ASSERT_EQ(call(&how), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(given, std::vector<float>{amax});
  std::vector<uint8_t> ofAll = scales;
  how.reduce = blockscale_reduce_one_rank;
  ASSERT_EQ(call(&how), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_NE(scales, ofAll);

  how.reduce = [](const blockscale_reduction *, void *) { return 4; };
  EXPECT_EQ(call(&how), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(), "expected the function that reduces "
                                        "over ranks to return 0, but got 4");
}

/// What the run itself finds, and what a callback may do about it.
class EmulatorTest : public RunTest {};

TEST_P(EmulatorTest, ProgressTellsTheKernelsAndCanEndTheWork) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK);
  std::string kernel;
  blockscale_call_config how = blockscale_call_config_default();
  how.adversarial = 1;
  how.seed = 3;
  how.user = &kernel;
  how.on_progress = [](const char *step, size_t, size_t, void *user) {
    *static_cast<std::string *>(user) = step;
    return 1;
  };
  EXPECT_EQ(call(&how), BLOCKSCALE_CANCELLED);
  EXPECT_TRUE(contains(kernel, "quantize"));
}

TEST_P(EmulatorTest, StepsHaveALimit) {
  ASSERT_EQ(create(kQuantize), BLOCKSCALE_OK);
  blockscale_call_config how = blockscale_call_config_default();
  EXPECT_EQ(how.max_steps, 0u);
  EXPECT_EQ(call(&how), BLOCKSCALE_OK);
  how.max_steps = UINT64_MAX;
  EXPECT_EQ(call(&how), BLOCKSCALE_OK);
  how.max_steps = 1;
  EXPECT_NE(call(&how), BLOCKSCALE_OK);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "expected the cluster to end within 1 instructions of "
                       "its warps, but it has executed "));
}

INSTANTIATE_TEST_SUITE_P(Places, EmulatorTest,
                         testing::Values(BLOCKSCALE_ON_EMULATOR));

} // namespace

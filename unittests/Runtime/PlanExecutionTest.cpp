//===- PlanExecutionTest.cpp - Resolving and running plans ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/PlanExecution.h"

#include "gtest/gtest.h"

#include <array>
#include <cstring>

using namespace blockscale::runtime;

namespace {

constexpr const char *kPlan = R"json({
  "version": 2, "chip": "sm_100a",
  "kernels": [{"name": "k", "parameters":
      ["pointer", "pointer", "i32", "i64", "f32", "f32", "tensor_map"]}],
  "functions": [{
    "name": "f", "dims": ["m", "n"],
    "arguments": [
      {"name": "x", "type": "tensor<?x4xbf16>", "element": "bf16",
       "layout": "row_major", "dtype": "uint16", "shape": ["m", 4],
       "bytes": "m * 8", "alignment": 32},
      {"name": "z", "type": "tensor<?xi8>", "element": "i8",
       "layout": "row_major", "dtype": "uint8", "shape": ["m"], "bytes": "m",
       "alignment": 1},
      {"name": "g", "type": "f32", "scalar": true, "dtype": "float32"},
      {"name": "n", "type": "i32", "scalar": true, "dtype": "int32",
       "dim": "n"}],
    "results": [
      {"name": "y", "type": "tensor<?xi8>", "element": "i8",
       "layout": "row_major", "dtype": "uint8", "shape": ["m * 2"],
       "bytes": "m * 2", "alignment": 16}],
    "constants": [
      {"name": "c", "type": "tensor<3xi8>", "element": "i8",
       "layout": "row_major", "dtype": "uint8", "shape": [3], "bytes": 3,
       "alignment": 1, "data": "AQID"}],
    "workspaces": [],
    "constraints": [{"left": "n", "relation": "<=", "right": "m * 1000",
                     "message": "expected n to be small"}],
    "steps": [
      {"copy": {"from": {"buffer": "c", "offset": 1}, "to": {"buffer": "y"},
                "bytes": "min(m, 2)"}},
      {"launch": {"kernel": "k", "grid": ["ceildiv(m, 2)", 2, 1],
        "block": [32, 1, 1], "cluster": [1, 2, 1], "shared": "m * 16",
        "parameters": [
          {"buffer": "x"}, {"buffer": "y", "offset": "m"}, {"i32": "0 - m"},
          {"i64": "n * m"}, {"f32": "g"}, {"f32": 7},
          {"tensor_map": {"address": {"buffer": "x", "offset": 16},
            "element": "UINT16", "dims": [4, "m"], "strides": [8],
            "box": [4, 1], "element_strides": [1, 1], "interleave": "NONE",
            "swizzle": "NONE", "l2_promotion": "NONE", "fill": "ZERO"}}]}}]
  }]
})json";

/// Records what it is asked for.
class FakeDevice : public LaunchDevice {
public:
  Result<uint64_t> allocate(const std::string &name, uint64_t bytes,
                            uint64_t alignment) override {
    log += "allocate " + name + " " + std::to_string(bytes) + " " +
           std::to_string(alignment) + "\n";
    return next += 4096;
  }
  Status upload(uint64_t to, const uint8_t *from, uint64_t bytes) override {
    log += "upload " + std::to_string(to) + ":";
    for (uint64_t i = 0; i < bytes; ++i)
      log += " " + std::to_string(from[i]);
    log += "\n";
    return Status::success();
  }
  Status download(uint8_t *, uint64_t, uint64_t) override {
    return Status::success();
  }
  Status copy(uint64_t to, uint64_t from, uint64_t bytes) override {
    log += "copy " + std::to_string(to) + " " + std::to_string(from) + " " +
           std::to_string(bytes) + "\n";
    return Status::success();
  }
  Result<std::vector<uint8_t>> encodeTensorMap(const PlanTensorMap &,
                                               const ResolvedTensorMap &map,
                                               uint64_t address) override {
    log += "map " + std::to_string(address);
    for (uint64_t size : map.dims)
      log += " " + std::to_string(size);
    log += ", " + std::to_string(map.strides[0]) + "\n";
    return std::vector<uint8_t>(128, 9);
  }
  Status launch(const DeviceLaunch &launch) override {
    log += "launch " + *launch.kernel;
    for (const ResolvedDim3 *dim3 :
         {&launch.grid, &launch.block, &launch.cluster})
      for (uint32_t size : *dim3)
        log += " " + std::to_string(size);
    log += ", " + std::to_string(launch.sharedBytes) +
           (launch.isProgrammatic ? " programmatic" : "") +
           (launch.mayBeOverlapped ? " overlapped" : "") + "\n";
    parameters = launch.parameters;
    return Status::success();
  }

  Status reduceOverRanks(RankReduction reduction,
                         const RankFunction &overRanks) override {
    log += "reduce " + std::to_string(reduction.address) + " " +
           std::to_string(reduction.count) + "\n";
    return overRanks(reduction);
  }

  std::string log;
  std::vector<std::vector<uint8_t>> parameters;

private:
  uint64_t next = 0;
};

/// A call of `f` with m rows.
class PlanExecution : public testing::Test {
protected:
  PlanExecution() {
    Result<LaunchPlan> parsed = parseLaunchPlan(kPlan);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    plan = std::move(*parsed);
    setRows(3);
  }

  void setRows(int64_t m) {
    x.assign(m * 8, 1);
    z.assign(m, 2);
    arguments = {{NpyType::UInt16, {m, 4}, x.data()},
                 {NpyType::UInt8, {m}, z.data()},
                 {NpyType::Float32, {}, g},
                 {NpyType::Int32, {}, reinterpret_cast<uint8_t *>(&n)}};
  }

  Result<ResolvedFunction> resolveCall() {
    return resolve(plan, plan.functions[0], arguments);
  }

  LaunchPlan plan;
  std::vector<uint8_t> x, z;
  const uint8_t g[4] = {4, 3, 2, 1};
  int32_t n = 5;
  std::vector<PlanArgument> arguments;
  FakeDevice device;
};

TEST_F(PlanExecution, RunsStepsInOrder) {
  Result<ResolvedFunction> call = resolveCall();
  ASSERT_TRUE(call.ok()) << call.message();
  Result<BufferAddresses> addresses = allocateBuffers(*call, arguments, device);
  ASSERT_TRUE(addresses.ok());
  EXPECT_EQ(device.log,
            "allocate x 24 32\n"
            "upload 4096: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
            "allocate z 3 1\n"
            "upload 8192: 2 2 2\n"
            "allocate y 6 16\n"
            "allocate c 3 1\n"
            "upload 16384: 1 2 3\n");
  device.log.clear();
  Status status = runSteps(*call, *addresses, device);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device.log, "copy 12288 16385 2\n"
                        "map 4112 4 3, 8\n"
                        "launch k 2 2 1 32 1 1 1 2 1, 48\n");
  using Bytes = std::vector<uint8_t>;
  ASSERT_EQ(device.parameters.size(), 7u);
  EXPECT_EQ(device.parameters[0], (Bytes{0, 16, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(device.parameters[1], (Bytes{3, 48, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(device.parameters[2], (Bytes{253, 255, 255, 255}));
  EXPECT_EQ(device.parameters[3], (Bytes{15, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(device.parameters[4], (Bytes{4, 3, 2, 1}));
  EXPECT_EQ(device.parameters[5], (Bytes{7, 0, 0, 0}));
  EXPECT_EQ(device.parameters[6], Bytes(128, 9));
}

TEST_F(PlanExecution, EmptyLaunchesAndCopiesAreLeftOut) {
  setRows(0);
  n = 0;
  Result<ResolvedFunction> call = resolveCall();
  ASSERT_TRUE(call.ok()) << call.message();
  Status status = runSteps(*call, {32, 32, 0, 0, 32, 32}, device);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device.log, "");
}

/// A launch of one CTA, or of none.
static std::string describeLaunch(int shared, int grid, bool isProgrammatic) {
  return R"({"launch": {"kernel": "k", "block": [1, 1, 1],
                        "cluster": [1, 1, 1], "parameters": [], "grid": [)" +
         std::to_string(grid) + R"(, 1, 1], "shared": )" +
         std::to_string(shared) +
         (isProgrammatic ? R"(, "programmatic": true}})" : "}}");
}

/// The launches of the steps, numbered by their shared memory, where `copy` may
/// be among them. `members` are more of those of the argument.
static std::string logLaunches(const std::string &steps,
                               const RankFunction &overRanks = {},
                               const std::string &members = "") {
  Result<LaunchPlan> plan = parseLaunchPlan(
      R"({"version": 2, "chip": "sm_90",
          "kernels": [{"name": "k", "parameters": []}],
          "functions": [{"name": "f", "dims": [], "arguments": [
              {"name": "x", "type": "tensor<4xi8>", "element": "i8",
               "layout": "row_major", "dtype": "uint8", "shape": [4],
               "bytes": 4, "alignment": 1)" +
      members + R"(}],
            "results": [], "constants": [], "constraints": [],
            "workspaces": [{"name": "w", "type": "tensor<9xi8>",
              "element": "i8", "layout": "row_major", "dtype": "uint8",
              "shape": [9], "bytes": 9, "alignment": 1},
              {"name": "a", "type": "tensor<9xf32>",
              "element": "f32", "layout": "row_major", "dtype": "float32",
              "shape": [9], "bytes": 36, "alignment": 4}],
            "steps": [)" +
      steps + "]}]}");
  if (!plan.ok())
    return plan.message();
  const std::array<uint8_t, 4> x = {};
  Result<ResolvedFunction> call =
      resolve(*plan, plan->functions[0], {{NpyType::UInt8, {4}, x.data()}});
  FakeDevice device;
  Status status = call.ok()
                      ? runSteps(*call, {128, 256, 512}, device, overRanks)
                      : call.status();
  return status.ok() ? device.log : device.log + status.message();
}

/// A reduction of `count` elements of `a` from byte `offset` on.
static std::string describeReduction(int offset, int count) {
  return R"({"reduce_over_ranks": {"address": {"buffer": "a", "offset": )" +
         std::to_string(offset) + R"(}, "count": )" + std::to_string(count) +
         R"(, "reduction": "max"}})";
}

// The host reduces between two launches, which do not overlap.
TEST(PlanSteps, ReductionsComeBetweenLaunches) {
  std::string steps =
      describeLaunch(1, 1, true) + ", " + describeReduction(8, 7) + ", " +
      describeReduction(36, 0) + ", " + describeLaunch(2, 1, true);
  std::vector<RankReduction> given;
  EXPECT_EQ(logLaunches(steps,
                        [&](const RankReduction &reduction) {
                          given.push_back(reduction);
                          return Status::success();
                        }),
            "launch k 1 1 1 1 1 1 1 1 1, 1\nreduce 520 7\n"
            "launch k 1 1 1 1 1 1 1 1 1, 2\n");
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].address, 520u);
  EXPECT_EQ(given[0].count, 7u);
  EXPECT_EQ(given[0].type, NpyType::Float32);
  EXPECT_EQ(given[0].kind, ReductionKind::Max);
  EXPECT_EQ(given[0].stream, nullptr);
  EXPECT_EQ(logLaunches(steps, reduceOneRank),
            logLaunches(steps, [](const RankReduction &) {
              return Status::success();
            }));
}

// Without a function nothing runs, also where there is nothing to reduce.
TEST(PlanSteps, ReductionsNeedAFunction) {
  const char *refused =
      "@f: expected a function that reduces amaxes over ranks (launch_c4), but "
      "got none; give one, or say that there is one rank";
  EXPECT_EQ(
      logLaunches(describeLaunch(1, 1, false) + ", " + describeReduction(0, 1)),
      refused);
  EXPECT_EQ(logLaunches(describeReduction(0, 0)), refused);
}

// What the function says ends the call.
TEST(PlanSteps, ReductionsMayFail) {
  EXPECT_EQ(
      logLaunches(describeReduction(0, 1) + ", " + describeLaunch(1, 1, false),
                  [](const RankReduction &) {
                    return Status::failure("expected two ranks");
                  }),
      "reduce 512 1\nexpected two ranks");
}

TEST(PlanSteps, ReductionsAreWithinTheirBuffer) {
  EXPECT_EQ(logLaunches(describeReduction(8, 8), reduceOneRank),
            "@f: expected a to have 32 bytes from offset 8, but it has 36 in "
            "all");
  EXPECT_EQ(logLaunches(describeReduction(2, 1), reduceOneRank),
            "@f: expected a reduction over ranks to begin at a multiple of 4 "
            "bytes of a, but got 2");
  EXPECT_EQ(logLaunches(describeReduction(0, -1), reduceOneRank),
            "@f: expected the count of a reduction over ranks (-1) to be in "
            "[0, 2305843009213693951], but got -1");
}

// What comes before the call, or a copy, is not overlapped; a launch of no CTAs
// is no launch.
TEST(PlanSteps, LaunchesOverlapThoseBeforeThem) {
  const std::string copy = R"({"copy": {"from": {"buffer": "w"},
      "to": {"buffer": "w", "offset": 1}, "bytes": 1}})";
  std::string steps = describeLaunch(1, 0, true);
  for (const std::string &step :
       {describeLaunch(2, 1, true), describeLaunch(3, 0, false),
        describeLaunch(4, 1, true), describeLaunch(5, 1, false), copy,
        describeLaunch(6, 1, true), describeLaunch(7, 1, true)})
    steps += ", " + step;
  EXPECT_EQ(logLaunches(steps), "launch k 1 1 1 1 1 1 1 1 1, 2 overlapped\n"
                                "launch k 1 1 1 1 1 1 1 1 1, 4 programmatic\n"
                                "launch k 1 1 1 1 1 1 1 1 1, 5\n"
                                "copy 257 256 1\n"
                                "launch k 1 1 1 1 1 1 1 1 1, 6 overlapped\n"
                                "launch k 1 1 1 1 1 1 1 1 1, 7 programmatic\n");
}

// Where an argument is settled, the first launch overlaps what comes before the
// call, and the last one what comes behind it; a copy there does not.
TEST(PlanSteps, CallsWithSettledArgumentsOverlap) {
  const std::string settled = R"(, "settled": true)";
  const std::string copy = R"({"copy": {"from": {"buffer": "w"},
      "to": {"buffer": "w", "offset": 1}, "bytes": 1}})";
  std::string steps = describeLaunch(1, 0, true) + ", " +
                      describeLaunch(2, 1, true) + ", " +
                      describeLaunch(3, 1, true);
  EXPECT_EQ(logLaunches(steps, {}, settled),
            "launch k 1 1 1 1 1 1 1 1 1, 2 programmatic overlapped\n"
            "launch k 1 1 1 1 1 1 1 1 1, 3 programmatic overlapped\n");
  EXPECT_EQ(logLaunches(copy + ", " + steps + ", " + copy, {}, settled),
            "copy 257 256 1\n"
            "launch k 1 1 1 1 1 1 1 1 1, 2 overlapped\n"
            "launch k 1 1 1 1 1 1 1 1 1, 3 programmatic\n"
            "copy 257 256 1\n");
  EXPECT_EQ(logLaunches(describeLaunch(1, 1, false), {}, settled),
            "launch k 1 1 1 1 1 1 1 1 1, 1 overlapped\n");
  EXPECT_EQ(logLaunches(steps, {}, R"(, "settled": false)"),
            "launch k 1 1 1 1 1 1 1 1 1, 2 overlapped\n"
            "launch k 1 1 1 1 1 1 1 1 1, 3 programmatic\n");
}

TEST_F(PlanExecution, AddressesMustBeAligned) {
  Result<ResolvedFunction> call = resolveCall();
  ASSERT_TRUE(call.ok()) << call.message();
  Status status = runSteps(*call, {4096 + 16, 1, 0, 0, 32, 32}, device);
  EXPECT_EQ(status.message(), "@f: expected the address of x (launch_c1) to be "
                              "a multiple of 32, but got 4112; copy it to such "
                              "a multiple");
  EXPECT_EQ(device.log, "");
}

TEST_F(PlanExecution, ArgumentsMustFit) {
  arguments[1].shape = {4};
  EXPECT_EQ(resolveCall().message(),
            "@f: expected dimension 0 of z to be 3, as dimension 0 of x is, "
            "but got 4");
  arguments[0].shape = {3, 5};
  EXPECT_EQ(resolveCall().message(),
            "@f: expected x to have shape (m, 4), but got (3, 5)");
  arguments[0].shape = {3};
  EXPECT_EQ(resolveCall().message(),
            "@f: expected x to have shape (m, 4), but got (3,)");
  arguments[0].dtype = NpyType::Int16;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected x to have dtype uint16 (tensor<?x4xbf16>), but got "
            "int16");
  arguments.pop_back();
  EXPECT_EQ(resolveCall().message(), "@f: expected 4 arguments, but got 3");
  setRows(3);
  arguments[2].shape = {1};
  EXPECT_EQ(resolveCall().message(),
            "@f: expected g to be a scalar, but got shape (1,)");
}

TEST_F(PlanExecution, ConstraintsMustHold) {
  n = 3001;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected n to be small (<= 3000), but got 3001");
}

// What is no multiple is told, and not the rest.
TEST_F(PlanExecution, ConstraintsOnRemaindersTellTheNumber) {
  auto mod = [](const Expression &a, const Expression &b) {
    return Expression::make(Expression::Op::Mod, a, b);
  };
  Expression rows = plan.functions[0].constraints[0].left;
  Expression sum = Expression::make(Expression::Op::Add, rows, 3);
  plan.functions[0].constraints[0] = {{mod(sum, 64), Relation::EQ, 0},
                                      "expected n + 3 to be a multiple of 64"};
  n = 40;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected n + 3 to be a multiple of 64, but got 43");
  plan.functions[0].constraints[0].left = mod(rows, mod(sum, 9));
  EXPECT_EQ(resolveCall().message(),
            "@f: expected n + 3 to be a multiple of 64, but got 40");
}

TEST_F(PlanExecution, GridsHaveLimits) {
  plan.functions[0].steps[1].launch->grid[1] = 65536;
  EXPECT_EQ(resolveCall().message(), "@f: expected the grid of k's y (65536) "
                                     "to be in [0, 65535], but got 65536");
  plan.functions[0].steps[1].launch->grid[1] = -1;
  EXPECT_FALSE(resolveCall().ok());
}

TEST_F(PlanExecution, OffsetsStayInTheirBuffers) {
  PlanCopy &copy = *plan.functions[0].steps[0].copy;
  copy.from.offset = 2;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected c to have 2 bytes from offset 2, but it has 3 in "
            "all");
  copy.from.offset = 4;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected an offset into c (4) to be in [0, 3], but got 4");
}

TEST_F(PlanExecution, BytesAreThoseOfTheShape) {
  plan.functions[0].buffers[4].bytes = 5;
  EXPECT_EQ(resolveCall().message(), "@f: expected y to have the 6 bytes of "
                                     "its shape (6,), but got 5");
}

TEST_F(PlanExecution, IntegersFitTheirParameters) {
  plan.functions[0].steps[1].launch->parameters[2].value = int64_t(1) << 31;
  EXPECT_EQ(resolveCall().message(),
            "@f: expected '2147483648' to fit into 32 bits, but got "
            "2147483648");
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

/// The values that kernel k is launched with, or why there are none. The steps
/// of the plan are `steps`; n is an argument, i and j are variables.
static std::string getLaunches(const std::string &steps, int64_t n) {
  Result<LaunchPlan> plan = parseLaunchPlan(
      R"({"version": 2, "chip": "sm_90",
          "kernels": [{"name": "k", "parameters": ["i64"]}],
          "functions": [{"name": "f", "dims": ["n"], "variables": ["i", "j"],
            "arguments": [{"name": "n", "type": "index", "scalar": true,
                           "dtype": "int64", "dim": "n"}],
            "results": [], "constants": [], "workspaces": [],
            "constraints": [], "steps": [)" +
      steps + "]}]}");
  if (!plan.ok())
    return plan.message();
  PlanArgument argument{NpyType::Int64, {}, reinterpret_cast<uint8_t *>(&n)};
  Result<ResolvedFunction> resolved =
      resolve(*plan, plan->functions[0], {argument});
  if (!resolved.ok())
    return resolved.message();
  std::string values;
  for (const ResolvedStep &step : resolved->steps)
    values +=
        std::to_string(static_cast<int64_t>(step.launch.parameters[0].value)) +
        " ";
  return values;
}

static std::string launch(const std::string &value) {
  return R"({"launch": {"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
                        "cluster": [1, 1, 1], "shared": 0,
                        "parameters": [{"i64": ")" +
         value + R"("}]}})";
}

static std::string loop(const std::string &variable, const std::string &begin,
                        const std::string &end, const std::string &step,
                        const std::string &steps) {
  return R"({"loop": {"variable": ")" + variable + R"(", "begin": ")" + begin +
         R"(", "end": ")" + end + R"(", "step": ")" + step +
         R"(", "steps": [)" + steps + "]}}";
}

TEST(PlanSteps, LoopsRepeatTheirSteps) {
  EXPECT_EQ(getLaunches(loop("i", "n", "10", "3", launch("i")), 2), "2 5 8 ");
  EXPECT_EQ(getLaunches(loop("i", "0", "n", "1", launch("i")), 0), "");
  EXPECT_EQ(getLaunches(loop("i", "0", "n", "1", launch("i")), -5), "");
  EXPECT_EQ(getLaunches(loop("i", "0", "n", "1",
                             loop("j", "i", "3", "1", launch("10 * i + j"))),
                        2),
            "0 1 2 11 12 ");
}

TEST(PlanSteps, LoopsEndBeforeIntegersDo) {
  EXPECT_EQ(getLaunches(loop("i", "n", "9223372036854775807", "5", launch("i")),
                        INT64_MAX - 6),
            "9223372036854775801 9223372036854775806 ");
}

TEST(PlanSteps, LoopsGoForward) {
  EXPECT_EQ(getLaunches(loop("i", "0", "4", "n", launch("i")), 0),
            "@f: expected a step of at least 1 of a loop (n), but got 0");
}

TEST(PlanSteps, CallsHaveLimits) {
  EXPECT_EQ(getLaunches(loop("i", "0", "n", "1", ""), int64_t(1) << 40),
            "@f: expected a call to have at most 1048576 steps, but its loops "
            "have more");
}

TEST(PlanSteps, BranchesChooseSteps) {
  std::string steps = loop(
      "i", "0", "4", "1",
      R"({"branch": {"left": "i", "relation": "<", "right": "n", "then": [)" +
          launch("i") + R"(], "else": [)" + launch("-i") + "]}}");
  // The grammar has no sign.
  EXPECT_NE(getLaunches(steps, 2).find("expected"), std::string::npos);
  steps.replace(steps.find("-i"), 2, "0 - i");
  EXPECT_EQ(getLaunches(steps, 2), "0 1 -2 -3 ");
}

TEST(PlanSteps, VariablesChangeTogether) {
  EXPECT_EQ(getLaunches(launch("i") + R"(, {"set": {"i": "n", "j": 1}},
                     {"set": {"i": "j", "j": "i + j"}}, )" +
                            launch("i") + ", " + launch("j"),
                        7),
            "0 1 8 ");
}

TEST(PlanSteps, ChecksHoldWhereTheyStand) {
  std::string steps = loop("i", "0", "n", "1",
                           R"({"check": {"left": "i", "relation": "<",
                           "right": 3, "message": "expected i to be small"}})");
  EXPECT_EQ(getLaunches(steps, 3), "");
  EXPECT_EQ(getLaunches(steps, 4),
            "@f: expected i to be small (< 3), but got 3");
}

/// A function that steps write to the argument `x` of, and whose result `y` may
/// be there.
class PlanReuse : public testing::Test {
protected:
  PlanReuse() {
    std::string array =
        R"("type": "tensor<4xi8>", "element": "i8", "layout": "row_major",
           "dtype": "uint8", "shape": [4], "bytes": 4, "alignment": 1)";
    std::string text = R"({"version": 2, "chip": "sm_90",
      "kernels": [], "functions": [{"name": "f", "dims": [],
      "arguments": [{"name": "x", "writable": true, )" +
                       array + R"(}, {"name": "z", )" + array + R"(}],
      "results": [{"name": "y", "in": "x", )" +
                       array + R"(}, {"name": "v", )" + array + R"(}],
      "constants": [], "workspaces": [], "constraints": [], "steps": [
      {"copy": {"from": {"buffer": "z"}, "to": {"buffer": "x", "offset": 2},
                "bytes": 2}},
      {"copy": {"from": {"buffer": "x"}, "to": {"buffer": "y"}, "bytes": 4}},
      {"copy": {"from": {"buffer": "x"}, "to": {"buffer": "v"}, "bytes": 4}}
      ]}]})";
    Result<LaunchPlan> parsed = parseLaunchPlan(text);
    EXPECT_TRUE(parsed.ok()) << parsed.message();
    plan = std::move(*parsed);
    call = std::move(*resolve(plan, plan.functions[0], arguments));
  }

  std::string run(const BufferAddresses &addresses) {
    Status status = runSteps(call, addresses, device);
    return status.ok() ? device.log : status.message();
  }

  const uint8_t content[4] = {1, 2, 3, 4};
  std::vector<PlanArgument> arguments = {{NpyType::UInt8, {4}, content},
                                         {NpyType::UInt8, {4}, content}};
  LaunchPlan plan;
  ResolvedFunction call;
  FakeDevice device;
};

TEST_F(PlanReuse, ResultsAreAllocatedInTheirArguments) {
  Result<BufferAddresses> addresses = allocateBuffers(call, arguments, device);
  ASSERT_TRUE(addresses.ok());
  EXPECT_EQ(*addresses, (BufferAddresses{4096, 8192, 4096, 12288}));
  EXPECT_EQ(device.log, "allocate x 4 1\nupload 4096: 1 2 3 4\n"
                        "allocate z 4 1\nupload 8192: 1 2 3 4\n"
                        "allocate v 4 1\n");
}

TEST_F(PlanReuse, NothingIsCopiedToWhereItIs) {
  EXPECT_EQ(run({4096, 8192, 4096, 12288}),
            "copy 4098 8192 2\ncopy 12288 4096 4\n");
}

TEST_F(PlanReuse, ResultsMayBeElsewhere) {
  EXPECT_EQ(run({4096, 8192, 512, 12288}), "copy 4098 8192 2\n"
                                           "copy 512 4096 4\n"
                                           "copy 12288 4096 4\n");
}

TEST_F(PlanReuse, OverlapsAreRefused) {
  auto message = [](const std::string &late, const std::string &early) {
    return "@f: expected " + late +
           " (launch_c3) in memory of its own, but it overlaps " + early +
           "; give each its own";
  };
  EXPECT_EQ(run({4096, 4096, 4096, 12288}), message("z", "x"));
  EXPECT_EQ(run({4096, 4099, 4096, 12288}), message("z", "x"));
  EXPECT_EQ(run({4096, 8192, 4098, 12288}), message("y", "x"));
  EXPECT_EQ(run({4096, 8192, 4096, 4096}), message("v", "x"));
  EXPECT_EQ(run({4096, 8192, 512, 8190}), message("v", "z"));
  EXPECT_EQ(run({4096, 8192, 512, 512}), message("v", "y"));
  EXPECT_EQ(device.log, "");
  // Neighbours do not overlap.
  EXPECT_NE(run({4096, 4100, 4092, 4104}), "");
}

} // namespace

//===- CApiTest.cpp - Bundles, calls and launches, from C -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiTest.h"

#include <numeric>

using namespace blockscale::runtime;

namespace {

TEST_F(CApiTest, TellsWhatABundleHolds) {
  openBundle();
  EXPECT_EQ(blockscale_bundle_target_count(bundle), 1u);
  EXPECT_STREQ(blockscale_bundle_chip(bundle, 0), "sm_90");
  EXPECT_EQ(blockscale_bundle_chip(bundle, 1), nullptr);
  EXPECT_EQ(blockscale_function_count(bundle, 0), 3u);
  EXPECT_EQ(blockscale_function_count(bundle, 1), 0u);
  EXPECT_EQ(blockscale_function_get(bundle, 0, 3), nullptr);
  const blockscale_function *tile = blockscale_function_get(bundle, 0, 1);
  EXPECT_STREQ(blockscale_function_name(tile), "tile");
  EXPECT_EQ(blockscale_function_dim_count(tile), 1u);
  EXPECT_STREQ(blockscale_function_dim(tile, 0), "m");
  EXPECT_EQ(blockscale_function_buffer_count(tile, BLOCKSCALE_WORKSPACE), 2u);
  const blockscale_buffer *x =
      blockscale_function_buffer(tile, BLOCKSCALE_ARGUMENT, 0);
  EXPECT_STREQ(blockscale_buffer_name(x), "x");
  EXPECT_STREQ(blockscale_buffer_type(x), "tensor<?x64xf32>");
  EXPECT_STREQ(blockscale_buffer_element(x), "f32");
  EXPECT_STREQ(blockscale_buffer_layout(x), "row_major");
  EXPECT_EQ(blockscale_buffer_dtype(x), BLOCKSCALE_FLOAT32);
  EXPECT_EQ(blockscale_buffer_rank(x), 2u);
  EXPECT_STREQ(blockscale_buffer_size(x, 0), "m");
  EXPECT_STREQ(blockscale_buffer_size(x, 1), "64");
  EXPECT_EQ(blockscale_buffer_size(x, 2), nullptr);
  EXPECT_EQ(blockscale_buffer_alignment(x), 128u);
  EXPECT_EQ(blockscale_function_buffer(tile, BLOCKSCALE_ARGUMENT, 1), nullptr);
  const blockscale_buffer *g =
      blockscale_function_buffer(find("scale"), BLOCKSCALE_ARGUMENT, 1);
  EXPECT_EQ(blockscale_buffer_is_scalar(g), 1);
  EXPECT_EQ(blockscale_buffer_rank(g), 0u);
  EXPECT_STREQ(blockscale_dtype_name(BLOCKSCALE_UINT16), "uint16");
  EXPECT_EQ(blockscale_dtype_size(BLOCKSCALE_FLOAT64), 8u);
}

TEST_F(CApiTest, ResolvesSizes) {
  openBundle();
  const int64_t shape[] = {5, 64};
  blockscale_argument x = {BLOCKSCALE_FLOAT32, 2, shape, nullptr};
  blockscale_call *call = nullptr;
  ASSERT_EQ(blockscale_call_create(find("tile"), &x, 1, &call), BLOCKSCALE_OK)
      << blockscale_last_error();
  // The bundle may go first.
  blockscale_bundle_close(bundle);
  bundle = nullptr;
  EXPECT_EQ(blockscale_call_bytes(call, BLOCKSCALE_RESULT, 0), 5u * 256);
  EXPECT_EQ(blockscale_call_bytes(call, BLOCKSCALE_RESULT, 1), 0u);
  EXPECT_EQ(blockscale_call_shape(call, BLOCKSCALE_RESULT, 0)[0], 5);
  EXPECT_EQ(blockscale_call_shape(call, BLOCKSCALE_RESULT, 0)[1], 64);
  EXPECT_EQ(blockscale_call_shape(call, BLOCKSCALE_RESULT, 1), nullptr);
  // Each workspace begins at a multiple of 256.
  EXPECT_EQ(blockscale_call_workspace_bytes(call), 256u + 5u * 256);
  blockscale_call_destroy(call);
}

TEST_F(CApiTest, Launches) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_module_target(module), 0u);
  EXPECT_STREQ(blockscale_device_name(device), "Fake GPU");
  EXPECT_EQ(blockscale_device_capability(device), 90);
  EXPECT_EQ(blockscale_device_driver_version(device), 13000);
  uint64_t x = allocate(1200);
  uint64_t y = allocate(1200);
  blockscale_call *call = makeScale(300);
  takeLog();
  const uint64_t arguments[] = {x, 0};
  int stream = 0;
  EXPECT_EQ(blockscale_launch(module, call, arguments, 2, &y, 1, 0, 0, &stream),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  // Nothing else: no allocation, nothing that waits, so that a graph can
  // capture it.
  EXPECT_EQ(takeLog(), "launch scale_f32 grid 2x1x1 block 256x1x1 cluster "
                       "1x1x1 shared 0 on a stream\n");
  EXPECT_EQ(blockscale_device_synchronize(device, &stream), BLOCKSCALE_OK);
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
  blockscale_device_free(device, y);
}

/// A graph of the call is replayed, each time after the memory was overwritten.
TEST_F(CApiTest, Times) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_device_multiprocessors(device), 132);
  uint64_t x = allocate(1200);
  uint64_t y = allocate(1200);
  blockscale_call *call = makeScale(300);
  takeLog();
  const uint64_t arguments[] = {x, 0};
  double times[] = {0, 0, -1};
  EXPECT_EQ(blockscale_time(module, call, arguments, 2, &y, 1, 0, 0,
                            /*flush_bytes=*/4096, /*count=*/2, times),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_EQ(times[0], 250);
  EXPECT_EQ(times[1], 250);
  EXPECT_EQ(times[2], -1);
  std::string launch = "launch scale_f32 grid 2x1x1 block 256x1x1 cluster "
                       "1x1x1 shared 0 on a stream\n";
  std::string replay = "set 4096 on a stream\nlaunch a graph on a stream\n"
                       "wait for an event\n";
  EXPECT_EQ(takeLog(), "alloc 4096\ncreate a stream\ncreate an event\n"
                       "create an event\n" +
                           launch + "synchronize\ncapture\n" + launch +
                           "end of the capture\n" + replay + replay +
                           "free 4096\ndestroy a graph\n");
  // Nothing is overwritten where that is not wanted.
  EXPECT_EQ(
      blockscale_time(module, call, arguments, 2, &y, 1, 0, 0, 0, 1, times),
      BLOCKSCALE_OK);
  EXPECT_EQ(takeLog().find("set"), std::string::npos);
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
  blockscale_device_free(device, y);
}

TEST_F(CApiTest, KernelsCompute) {
  ASSERT_EQ(load(BLOCKSCALE_EMULATED_CUDA), BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_STREQ(blockscale_device_name(device),
               "BlockScale emulator of sm_100a");
  EXPECT_EQ(blockscale_device_capability(device), 100);
  uint64_t x = allocate(1200);
  uint64_t y = allocate(1200);
  std::vector<float> values(300);
  std::iota(values.begin(), values.end(), 0.0F);
  EXPECT_EQ(blockscale_device_upload(device, x, values.data(), 1200),
            BLOCKSCALE_OK);
  blockscale_call *call = makeScale(300);
  const uint64_t arguments[] = {x, 0};
  EXPECT_EQ(blockscale_launch(module, call, arguments, 2, &y, 1, 0, 0, nullptr),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  std::vector<float> scaled(300);
  EXPECT_EQ(blockscale_device_synchronize(device, nullptr), BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_device_download(device, scaled.data(), y, 1200),
            BLOCKSCALE_OK);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_EQ(scaled[i], 3 * values[i]);
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
  blockscale_device_free(device, y);
}

// A result may have the memory of an argument that is given away.
TEST_F(CApiTest, ResultsInArguments) {
  std::string &plan = content.targets.front().plan;
  plan = replace(plan, R"({"name": "x", "type": "tensor<?xf32>",)",
                 R"({"name": "x", "writable": true, "type": "tensor<?xf32>",)");
  plan = replace(plan, R"({"name": "y", "type": "tensor<?xf32>",)",
                 R"({"name": "y", "in": "x", "type": "tensor<?xf32>",)");
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  const blockscale_function *scale = find("scale");
  const blockscale_buffer *argument =
      blockscale_function_buffer(scale, BLOCKSCALE_ARGUMENT, 0);
  const blockscale_buffer *result =
      blockscale_function_buffer(scale, BLOCKSCALE_RESULT, 0);
  EXPECT_EQ(blockscale_buffer_is_writable(argument), 1);
  EXPECT_EQ(blockscale_buffer_argument(argument), -1);
  EXPECT_EQ(blockscale_buffer_is_writable(result), 0);
  EXPECT_EQ(blockscale_buffer_argument(result), 0);
  uint64_t x = allocate(1200);
  blockscale_call *call = makeScale(300);
  const uint64_t arguments[] = {x, 0};
  EXPECT_EQ(blockscale_launch(module, call, arguments, 2, &x, 1, 0, 0, nullptr),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  uint64_t part = x + 16;
  EXPECT_EQ(
      blockscale_launch(module, call, arguments, 2, &part, 1, 0, 0, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected y (launch_c3) in memory of its own, but it "
               "overlaps x; give each its own");
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
}

// Other results have memory of their own.
TEST_F(CApiTest, ResultsOverlapNothing) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  const blockscale_buffer *argument =
      blockscale_function_buffer(find("scale"), BLOCKSCALE_ARGUMENT, 0);
  EXPECT_EQ(blockscale_buffer_is_writable(argument), 0);
  uint64_t x = allocate(1200);
  blockscale_call *call = makeScale(300);
  const uint64_t arguments[] = {x, 0};
  takeLog();
  EXPECT_EQ(blockscale_launch(module, call, arguments, 2, &x, 1, 0, 0, nullptr),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(takeLog(), "");
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
}

TEST_F(CApiTest, TensorMapsSharedMemoryAndWorkspaces) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  // The opt-in limit, less what is static.
  EXPECT_NE(takeLog().find("attribute 8 of tile_f32 = 232432\n"),
            std::string::npos);
  const int64_t shape[] = {5, 64};
  blockscale_argument argument = {BLOCKSCALE_FLOAT32, 2, shape, nullptr};
  blockscale_call *call = nullptr;
  ASSERT_EQ(blockscale_call_create(find("tile"), &argument, 1, &call),
            BLOCKSCALE_OK);
  uint64_t x = allocate(1280);
  uint64_t y = allocate(1280);
  uint64_t workspace = allocate(blockscale_call_workspace_bytes(call));
  takeLog();
  EXPECT_EQ(blockscale_launch(module, call, &x, 1, &y, 1, 0, 0, nullptr),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@tile: expected a workspace of 1536 bytes, but got null");
  EXPECT_EQ(blockscale_launch(module, call, &x, 1, &y, 1, workspace + 128, 1536,
                              nullptr),
            BLOCKSCALE_MISALIGNED);
  EXPECT_STREQ(blockscale_last_error(),
               ("@tile: expected the address of the workspace (launch_c1) to "
                "be a multiple of 256, but got " +
                std::to_string(workspace + 128) +
                "; allocate more and begin at such a multiple")
                   .c_str());
  EXPECT_EQ(
      blockscale_launch(module, call, &x, 1, &y, 1, workspace, 1535, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@tile: expected the workspace (launch_c2) to have at least "
               "1536 bytes, but got 1535; allocate what the question for "
               "workspace bytes answers");
  EXPECT_EQ(takeLog(), "");
  EXPECT_EQ(
      blockscale_launch(module, call, &x, 1, &y, 1, workspace, 1536, nullptr),
      BLOCKSCALE_OK)
      << blockscale_last_error();
  const std::string map =
      "map of element 7: dims 64 stride 0 box 32 step 1, 5 stride 256 box 8 "
      "step 1, interleave 0, swizzle 0\n";
  EXPECT_EQ(takeLog(),
            map + map +
                "launch tile_f32 grid 2x1x1 block 32x1x1 cluster 1x1x1 shared "
                "1024\ncopy 1280\n");
  blockscale_call_destroy(call);
  for (uint64_t address : {x, y, workspace})
    blockscale_device_free(device, address);
}

TEST_F(CApiTest, ClustersAndConstants) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  blockscale_call *call = nullptr;
  ASSERT_EQ(blockscale_call_create(find("ranks"), nullptr, 0, &call),
            BLOCKSCALE_OK);
  const uint64_t results[] = {allocate(32), allocate(5)};
  EXPECT_EQ(
      blockscale_launch(module, call, nullptr, 0, results, 2, 0, 0, nullptr),
      BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_NE(takeLog().find("launch cluster_rank grid 8x1x1 block 1x1x1 cluster "
                           "2x1x1 shared 0\ncopy 5\n"),
            std::string::npos);
  char text[6] = "";
  EXPECT_EQ(blockscale_device_download(device, text, results[1], 5),
            BLOCKSCALE_OK);
  EXPECT_STREQ(text, "hello");
  blockscale_call_destroy(call);
  for (uint64_t address : results)
    blockscale_device_free(device, address);
}

/// Whether a launch may overlap the one before it is an attribute beside that
/// of clusters, or alone.
TEST_F(CApiTest, LaunchesOverlap) {
  std::string plan = content.targets[0].plan;
  for (const char *cluster : {"[2, 1, 1]", "[1, 1, 1]"}) {
    content.targets[0].plan = launchTwice(plan, cluster);
    ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
    std::string sizes = cluster[1] == '2' ? "2x1x1" : "1x1x1";
    EXPECT_EQ(launchRanks(BLOCKSCALE_OK),
              "launch cluster_rank grid 8x1x1 block 1x1x1 cluster "
              "2x1x1 shared 0\nlaunch cluster_rank grid 8x1x1 "
              "block 1x1x1 cluster " +
                  sizes + " shared 0 programmatic\ncopy 5\n");
    blockscale_module_unload(module);
    blockscale_device_close(device);
    blockscale_bundle_close(bundle);
    module = nullptr;
    device = nullptr;
    bundle = nullptr;
  }
}

/// What reduceOverRanks has.
struct Asked {
  std::string log;
  int result = 0;
};

/// Notes in the driver's log what it is asked for.
int reduceOverRanks(const blockscale_reduction *reduction, void *user) {
  auto &asked = *static_cast<Asked *>(user);
  std::ofstream(asked.log, std::ios::app)
      << "reduce " << reduction->count << " of "
      << blockscale_dtype_name(reduction->dtype) << " by " << reduction->kind
      << (reduction->stream ? " on a stream\n" : "\n");
  return asked.result;
}

// The function is called between launches, with their stream, and in the
// capture of a graph but not in its replays.
TEST_F(CApiTest, ReducesOverRanks) {
  content.targets[0].plan = replace(
      content.targets[0].plan, R"({"buffer": "x"}, {"f32": "g"}, {"i64": "n"}]
          }
        })",
      R"({"buffer": "x"}, {"f32": "g"}, {"i64": "n"}]
          }
        },
        {"reduce_over_ranks": {"address": {"buffer": "y", "offset": 4},
                               "count": "n - 1", "reduction": "max"}})");
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_function_reduces(find("scale")), 1);
  EXPECT_EQ(blockscale_function_reduces(find("tile")), 0);
  uint64_t x = allocate(1200), y = allocate(1200);
  blockscale_call *call = makeScale(300);
  takeLog();
  const uint64_t arguments[] = {x, 0};
  auto launch = [&] {
    return blockscale_launch(module, call, arguments, 2, &y, 1, 0, 0, nullptr);
  };
  EXPECT_EQ(launch(), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected a function that reduces amaxes over ranks "
               "(launch_c4), but got none; give one, or say that there is one "
               "rank");
  EXPECT_EQ(takeLog(), "");

  Asked asked{path("log")};
  blockscale_module_set_reduce(module, reduceOverRanks, &asked);
  EXPECT_EQ(launch(), BLOCKSCALE_OK) << blockscale_last_error();
  const std::string kernel = "launch scale_f32 grid 2x1x1 block 256x1x1 "
                             "cluster 1x1x1 shared 0";
  EXPECT_EQ(takeLog(), kernel + "\nreduce 299 of float32 by 0\n");
  double time = 0;
  EXPECT_EQ(
      blockscale_time(module, call, arguments, 2, &y, 1, 0, 0, 0, 1, &time),
      BLOCKSCALE_OK)
      << blockscale_last_error();
  const std::string steps = kernel + " on a stream\nreduce 299 of float32 by 0 "
                                     "on a stream\n";
  std::string log = takeLog();
  EXPECT_NE(log.find(steps + "synchronize\ncapture\n" + steps +
                     "end of the capture\nlaunch a graph on a stream\n"),
            std::string::npos)
      << log;

  asked.result = 3;
  EXPECT_EQ(launch(), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(), "expected the function that reduces "
                                        "over ranks to return 0, but got 3");
  takeLog();
  blockscale_module_set_reduce(module, blockscale_reduce_one_rank, nullptr);
  EXPECT_EQ(launch(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(takeLog(), kernel + "\n");
  blockscale_module_set_reduce(module, nullptr, nullptr);
  EXPECT_EQ(launch(), BLOCKSCALE_INVALID_ARGUMENT);
  blockscale_call_destroy(call);
  blockscale_device_free(device, x);
  blockscale_device_free(device, y);
}

TEST_F(CApiTest, NoRowsLaunchNothing) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  takeLog();
  blockscale_call *call = makeScale(0);
  // Nothing is accessed, so addresses may be anything.
  const uint64_t arguments[] = {7, 0};
  const uint64_t result = 0;
  EXPECT_EQ(
      blockscale_launch(module, call, arguments, 2, &result, 1, 0, 0, nullptr),
      BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_EQ(takeLog(), "");
  blockscale_call_destroy(call);
}

} // namespace

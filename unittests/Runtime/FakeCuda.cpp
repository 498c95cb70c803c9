//===- FakeCuda.cpp - A driver without a GPU ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda for tests of what the runtime asks a driver for, and of drivers
// that fail: the memory of its GPU is the host's, and kernels do nothing. Where
// they should do something, tests load the emulator's library
// (emulator/lib/CudaRuntime). $FAKE_CUDA says what is different, NAME=NUMBER
// with commas between them:
//
//   version=12040    of the driver
//   capability=90    of the GPU
//   devices=0        their number
//   memory=4096      bytes that can be allocated in all
//   CALL=RESULT      what a function of the driver returns instead of working
//   found=24         each launch of a kernel of a module with an error record
//                    finds that end of group 1 of a product, which is to be a
//                    multiple of 16
//   replayed=24      the same for each replay of a graph
//   asserted=7       each launch of such a kernel finds that assertion broken
//   record=8         bytes of that variable
//
// $FAKE_CUDA_LOG is a file to which the calls that matter are added: all that
// allocate, copy, wait, load, capture or launch. The functions that drivers got
// last are left out of a library that is built with FAKE_CUDA_OLD. An event is
// 0.25 ms after the other, and a call of a graph that was captured from
// launches with n CTAs in a cluster, taken together, n times as long.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ErrorRecord.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

// The driver's names.
// NOLINTBEGIN(readability-identifier-naming)

namespace {

using namespace blockscale::runtime;

struct Kernel {
  std::string name;
  std::map<int, int> attributes;
  /// That of the module; null where the module has none.
  ErrorRecordVariable *record = nullptr;
};

struct Module {
  std::string ptx;
  std::map<std::string, Kernel> kernels;
  ErrorRecordVariable record;
};

std::map<uint64_t, size_t> allocations;
size_t allocatedBytes = 0;
int contextDepth = 0;
/// CTAs of a cluster of the launches since a capture began, and of those of the
/// graph that ran last.
int capturedLaunches = 0;
int replayedLaunches = 1;
/// Whether launches go into a graph, and the record of the last of those.
bool isCapturing = false;
ErrorRecordVariable *capturedRecord = nullptr;

/// A setting of $FAKE_CUDA.
int getSetting(const std::string &name, int otherwise) {
  const char *variable = std::getenv("FAKE_CUDA");
  std::string settings = variable ? "," + std::string(variable) : "";
  size_t found = settings.find("," + name + "=");
  return found == std::string::npos
             ? otherwise
             : static_cast<int>(std::strtol(
                   settings.c_str() + found + name.size() + 2, nullptr, 10));
}

void log(const std::string &line) {
  const char *path = std::getenv("FAKE_CUDA_LOG");
  FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

/// The result of a call: what the settings say, or an error where no context
/// is current.
int begin(const char *call) {
  int result = getSetting(call, 0);
  return result == 0 && contextDepth == 0 ? 201 : result;
}

template <typename T>
T *toPointer(uint64_t address) {
  return reinterpret_cast<T *>(address); // NOLINT(performance-no-int-to-ptr)
}

std::string toText(const unsigned *sizes) {
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
         std::to_string(sizes[2]);
}

/// What a kernel does that finds an error, the first one until that is read. A
/// record without a text is shorter.
void writeRecord(ErrorRecordVariable &variable, const ErrorRecord &error) {
  ErrorRecord &record = variable.address
                            ? *toPointer<ErrorRecord>(variable.address)
                            : variable.record;
  if (record.ruleAndOp == 0)
    std::memcpy(&record, &error,
                error.getRule() == ErrorRule::Assertion
                    ? sizeof(ErrorRecord)
                    : offsetof(ErrorRecord, text));
}

void writeError(ErrorRecordVariable *variable, const char *setting) {
  int found = getSetting(setting, 0);
  if (variable && found != 0)
    writeRecord(*variable, {packRuleAndOp(ErrorRule::EndWithinBlock,
                                          ErrorOp::ScaledGroupedMM),
                            1, 16, found});
}

void writeAssertion(ErrorRecordVariable *variable) {
  int found = getSetting("asserted", 0);
  if (variable && found != 0)
    writeRecord(*variable, {packRuleAndOp(ErrorRule::Assertion, ErrorOp::None),
                            0, 3, found,
                            "tensor.extract at m.mlir:3:8: expected index 0 to "
                            "be below 3"});
}

int launch(const Kernel &kernel, const unsigned *grid, const unsigned *block,
           const unsigned *cluster, unsigned shared, void *stream,
           bool isProgrammatic = false) {
  constexpr int kMaxDynamicSharedBytes = 8;
  constexpr unsigned kWithoutAsking = 48 * 1024;
  auto limit = kernel.attributes.find(kMaxDynamicSharedBytes);
  unsigned allowed = limit == kernel.attributes.end()
                         ? kWithoutAsking
                         : static_cast<unsigned>(limit->second);
  log("launch " + kernel.name + " grid " + toText(grid) + " block " +
      toText(block) + " cluster " + toText(cluster) + " shared " +
      std::to_string(shared) + (isProgrammatic ? " programmatic" : "") +
      (stream ? " on a stream" : ""));
  if (isCapturing) {
    capturedRecord = kernel.record;
  } else {
    writeError(kernel.record, "found");
    writeAssertion(kernel.record);
  }
  // A cluster takes the time of all its CTAs.
  capturedLaunches += static_cast<int>(cluster[0] * cluster[1] * cluster[2]);
  if (grid[0] * grid[1] * grid[2] == 0 || shared > allowed)
    return 1;
  return 0;
}

struct LaunchAttribute {
  int id;
  char pad[4];
  /// The first of them is the number of other attributes.
  unsigned cluster[16];
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

} // namespace

extern "C" {

int cuInit(unsigned) { return getSetting("cuInit", 0); }

int cuDriverGetVersion(int *version) {
  *version = getSetting("version", 13000);
  return 0;
}

int cuGetErrorName(int result, const char **text) {
  *text = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 218 ? "CUDA_ERROR_INVALID_PTX"
          : result == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                          : nullptr;
  return *text ? 0 : 1;
}

int cuGetErrorString(int result, const char **text) {
  *text = result == 2 ? "out of memory" : nullptr;
  return *text ? 0 : 1;
}

int cuDeviceGetCount(int *count) {
  *count = getSetting("devices", 1);
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuDeviceGetName(char *name, int size, int) {
  std::snprintf(name, size, "Fake GPU");
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  int capability = getSetting("capability", 90);
  *value = attribute == 75   ? capability / 10
           : attribute == 76 ? capability % 10
           : attribute == 16 ? 132
           : attribute == 97 ? 232448
                             : 0;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int) {
  static char primary;
  *context = &primary;
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuCtxPushCurrent_v2(void *) {
  ++contextDepth;
  return 0;
}

int cuCtxPopCurrent_v2(void **) {
  --contextDepth;
  return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int result = begin("cuMemAlloc"))
    return result;
  log("alloc " + std::to_string(bytes));
  if (bytes == 0)
    return 1;
  if (allocatedBytes + bytes >
      static_cast<size_t>(getSetting("memory", 1 << 30)))
    return 2;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<uint64_t>(memory);
  allocations[*address] = bytes;
  allocatedBytes += bytes;
  return 0;
}

int cuMemFree_v2(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return 1;
  log("free " + std::to_string(found->second));
  allocatedBytes -= found->second;
  allocations.erase(found);
  std::free(toPointer<void>(address));
  return 0;
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  constexpr unsigned kPortableAndMapped = 3;
  if (int result = begin("cuMemHostAlloc"))
    return result;
  log("alloc " + std::to_string(bytes) + " of the host");
  *memory = std::calloc(1, bytes);
  return flags == kPortableAndMapped ? 0 : 1;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned) {
  *address = reinterpret_cast<uint64_t>(memory);
  return begin("cuMemHostGetDevicePointer");
}

int cuMemFreeHost(void *memory) {
  log("free of the host");
  std::free(memory);
  return 0;
}

int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  log("set " + std::to_string(bytes));
  std::memset(toPointer<void>(address), value, bytes);
  return begin("cuMemsetD8");
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  log("upload " + std::to_string(bytes));
  std::memcpy(toPointer<void>(to), from, bytes);
  return begin("cuMemcpyHtoD");
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  log("download " + std::to_string(bytes));
  std::memcpy(to, toPointer<void>(from), bytes);
  return begin("cuMemcpyDtoH");
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                         void *stream) {
  log("copy " + std::to_string(bytes) + (stream ? " on a stream" : ""));
  std::memcpy(toPointer<void>(to), toPointer<void>(from), bytes);
  return begin("cuMemcpyDtoDAsync");
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                       const int *options, void **values) {
  // A cubin of the tests is text behind its magic.
  auto *loaded = new Module{static_cast<const char *>(image), {}, {}};
  bool isCubin = loaded->ptx.rfind("\x7F"
                                   "ELF",
                                   0) == 0;
  log("load " + std::to_string(loaded->ptx.size()) + " bytes of " +
      (isCubin ? "a cubin" : "PTX"));
  int result = begin("cuModuleLoadDataEx");
  // Machine code of the project's ptxas is for no GPU of this driver.
  if (isCubin && loaded->ptx.find(".entry ") == std::string::npos)
    result = 209;
  if (result == 0) {
    *module = loaded;
    return 0;
  }
  delete loaded;
  constexpr int kErrorLog = 5;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == kErrorLog && result == 218)
      std::strcpy(static_cast<char *>(values[i]), "line 7: no such thing\n");
  return result;
}

int cuModuleUnload(void *module) {
  log("unload");
  delete static_cast<Module *>(module);
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto &loaded = *static_cast<Module *>(module);
  if (loaded.ptx.find(".entry " + std::string(name) + "(") == std::string::npos)
    return 500;
  Kernel &kernel = loaded.kernels[name];
  kernel.name = name;
  if (loaded.ptx.find(kErrorRecordSymbol) != std::string::npos)
    kernel.record = &loaded.record;
  *function = &kernel;
  return begin("cuModuleGetFunction");
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module,
                         const char *name) {
  auto &loaded = *static_cast<Module *>(module);
  if (name != std::string(kErrorRecordSymbol) ||
      loaded.ptx.find(name) == std::string::npos)
    return 500;
  *address = reinterpret_cast<uint64_t>(&loaded.record);
  *bytes = getSetting("record", sizeof(loaded.record));
  return begin("cuModuleGetGlobal");
}

int cuFuncGetAttribute(int *value, int, void *) {
  *value = 16;
  return begin("cuFuncGetAttribute");
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  auto &kernel = *static_cast<Kernel *>(function);
  log("attribute " + std::to_string(attribute) + " of " + kernel.name + " = " +
      std::to_string(value));
  kernel.attributes[attribute] = value;
  return begin("cuFuncSetAttribute");
}

int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared, void *stream, void **,
                   void **) {
  if (int result = begin("cuLaunchKernel"))
    return result;
  const unsigned grid[] = {gridX, gridY, gridZ};
  const unsigned block[] = {blockX, blockY, blockZ};
  const unsigned cluster[] = {1, 1, 1};
  return launch(*static_cast<Kernel *>(function), grid, block, cluster, shared,
                stream);
}

#ifndef FAKE_CUDA_OLD
int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **,
                     void **) {
  constexpr int kClusterDimension = 4, kProgrammaticSerialization = 6;
  if (int result = begin("cuLaunchKernelEx"))
    return result;
  const unsigned one[] = {1, 1, 1};
  const unsigned *cluster = one;
  bool isProgrammatic = false;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == kClusterDimension)
      cluster = attribute.cluster;
    else if (attribute.id == kProgrammaticSerialization)
      isProgrammatic = attribute.cluster[0] == 1;
    else
      return 1;
  }
  return launch(*static_cast<Kernel *>(function), config->grid, config->block,
                cluster, config->shared, config->stream, isProgrammatic);
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes,
                    void *stream) {
  log("set " + std::to_string(bytes) + (stream ? " on a stream" : ""));
  std::memset(toPointer<void>(address), value, bytes);
  return begin("cuMemsetD8Async");
}

int cuStreamBeginCapture_v2(void *, int) {
  log("capture");
  isCapturing = true;
  capturedLaunches = 0;
  return begin("cuStreamBeginCapture");
}

int cuStreamEndCapture(void *, void **graph) {
  log("end of the capture");
  isCapturing = false;
  *graph = new int(capturedLaunches);
  return begin("cuStreamEndCapture");
}

int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                unsigned long long) {
  *executable = new int(*static_cast<int *>(graph));
  return begin("cuGraphInstantiateWithFlags");
}

int cuGraphLaunch(void *executable, void *stream) {
  log(std::string("launch a graph") + (stream ? " on a stream" : ""));
  replayedLaunches = *static_cast<int *>(executable);
  writeError(capturedRecord, "replayed");
  return begin("cuGraphLaunch");
}

int cuGraphExecDestroy(void *executable) {
  log("destroy a graph");
  delete static_cast<int *>(executable);
  return 0;
}

int cuGraphDestroy(void *graph) {
  delete static_cast<int *>(graph);
  return 0;
}

int cuTensorMapEncodeTiled(void *map, int element, unsigned rank, void *,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *elementStrides,
                           int interleave, int swizzle, int, int) {
  std::string text = "map of element " + std::to_string(element);
  for (unsigned i = 0; i < rank; ++i)
    text += (i ? ", " : ": dims ") + std::to_string(dims[i]) + " stride " +
            std::to_string(i ? strides[i - 1] : 0) + " box " +
            std::to_string(box[i]) + " step " +
            std::to_string(elementStrides[i]);
  log(text + ", interleave " + std::to_string(interleave) + ", swizzle " +
      std::to_string(swizzle));
  std::memset(map, 0, 128);
  return begin("cuTensorMapEncodeTiled");
}
#endif

int cuCtxSynchronize() {
  log("wait for the context");
  return begin("cuCtxSynchronize");
}

int cuStreamCreate(void **stream, unsigned) {
  log("create a stream");
  static char only;
  *stream = &only;
  return 0;
}

int cuStreamDestroy_v2(void *) { return 0; }

int cuStreamSynchronize(void *) {
  log("synchronize");
  return begin("cuStreamSynchronize");
}

int cuEventCreate(void **event, unsigned) {
  log("create an event");
  static char only;
  *event = &only;
  return 0;
}

int cuEventDestroy_v2(void *) { return 0; }
int cuEventRecord(void *, void *) { return 0; }
int cuEventSynchronize(void *) {
  log("wait for an event");
  return begin("cuEventSynchronize");
}

int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 0.25F * static_cast<float>(replayedLaunches);
  return 0;
}

} // extern "C"

// NOLINTEND(readability-identifier-naming)

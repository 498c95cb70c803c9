//===- Execute.cpp - Compile an entry and call it -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "blockscale/Emit/Jit.h"
#include "blockscale/Runtime/HostRuntime.h"

#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::run {

namespace {

/// A memref descriptor of any rank: base pointer, aligned pointer, offset,
/// sizes, strides, each 8 bytes.
class Descriptor {
public:
  Descriptor(void *data, const std::vector<int64_t> &shape) {
    words.resize(3 + 2 * shape.size());
    words[0] = words[1] = reinterpret_cast<int64_t>(data);
    words[2] = 0;
    llvm::copy(shape, words.begin() + 3);
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      words[3 + shape.size() + i] = stride;
      stride *= shape[i];
    }
    address = words.data();
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor(Descriptor &&other)
      : words(std::move(other.words)), address(words.data()) {}

  /// What a packed call takes: the address of the pointer to the descriptor.
  void *getArgument() { return static_cast<void *>(&address); }

private:
  std::vector<int64_t> words;
  void *address;
};

} // namespace

/// Leaves of `module` what the entry needs: the rest costs compile time, and
/// may hold what this target cannot run.
static void keepOnly(ModuleOp module, const std::string &entry) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getName() != entry)
      function.setPrivate();
}

Status lowerEntry(ModuleOp module, const std::string &entry,
                  const std::vector<Stage> &stages, const std::string &target) {
  keepOnly(module, entry);
  PassManager pm(module.getContext());
  pm.addPass(createSymbolDCEPass());
  for (const Stage &stage : stages)
    stage.build(pm);
  return succeeded(pm.run(module))
             ? Status::success()
             : Status::failure("the module could not be lowered for " + target);
}

static Status toStatus(llvm::Error error) {
  return error ? Status::failure(llvm::toString(std::move(error)))
               : Status::success();
}

static Status checkReported() {
  if (auto message = runtime::takeReportedError())
    return Status::failure(*message);
  return Status::success();
}

/// Argument pointers of a packed call, in order.
static std::vector<void *> pack(const Signature &signature,
                                std::vector<NpyArray> &arguments,
                                std::vector<Descriptor> &descriptors) {
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    if (!slot.isScalar)
      descriptors.emplace_back(array.data.data(), array.shape);
  std::vector<void *> packed;
  auto descriptor = descriptors.begin();
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    packed.push_back(slot.isScalar ? array.data.data()
                                   : (descriptor++)->getArgument());
  return packed;
}

/// Replaces the dynamic sizes of the results by what the module computes.
static Status resolveResultSizes(Jit &jit, const Signature &signature,
                                 std::vector<void *> packed,
                                 std::vector<std::vector<int64_t>> &shapes) {
  std::vector<int64_t *> unknown;
  for (std::vector<int64_t> &shape : shapes)
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        unknown.push_back(&size);
  if (unknown.empty())
    return Status::success();
  std::vector<int64_t> sizes(unknown.size());
  Descriptor descriptor(sizes.data(), {static_cast<int64_t>(sizes.size())});
  packed.push_back(descriptor.getArgument());
  Status called = toStatus(jit.call(signature.name + "__result_sizes", packed));
  if (!called.ok())
    return called;
  for (auto [target, size] : llvm::zip_equal(unknown, sizes))
    *target = size;
  return checkReported();
}

Result<std::vector<NpyArray>> executeOnCPU(ModuleOp module,
                                           const Signature &signature,
                                           std::vector<NpyArray> &arguments,
                                           int repeat, double &seconds) {
  Status lowered = lowerEntry(module, signature.name,
                              getToCPUStages(ToCPUOptions()), "the CPU");
  if (!lowered.ok())
    return lowered;

  auto jit = Jit::create(
      module, {{"blockscale_parallel_for",
                reinterpret_cast<void *>(&blockscale_parallel_for)},
               {"blockscale_report_error",
                reinterpret_cast<void *>(&blockscale_report_error)}});
  if (!jit)
    return toStatus(jit.takeError());

  std::vector<Descriptor> descriptors;
  descriptors.reserve(arguments.size() + signature.results.size());
  std::vector<void *> packed = pack(signature, arguments, descriptors);

  std::vector<std::vector<int64_t>> shapes;
  shapes.reserve(signature.results.size());
  for (const Slot &slot : signature.results)
    shapes.push_back(slot.shape);
  Status sized = resolveResultSizes(*jit, signature, packed, shapes);
  if (!sized.ok())
    return sized;

  std::vector<NpyArray> results;
  results.reserve(shapes.size());
  for (auto [slot, shape] : llvm::zip_equal(signature.results, shapes)) {
    Result<NpyArray> array = NpyArray::allocate(slot.type, shape);
    if (!array.ok())
      return array.status();
    results.push_back(std::move(*array));
  }
  for (NpyArray &result : results) {
    descriptors.emplace_back(result.data.data(), result.shape);
    packed.push_back(descriptors.back().getArgument());
  }

  seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    Status called = toStatus(jit->call(signature.name, packed));
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!called.ok())
      return called;
    Status reported = checkReported();
    if (!reported.ok())
      return reported;
    seconds = std::min(seconds, elapsed.count());
  }
  return results;
}

} // namespace blockscale::run

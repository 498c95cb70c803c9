//===- CompiledCase.cpp - A compiled function with its buffers ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledCase.h"

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/HostRuntime.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>
#include <random>

#include <sys/mman.h>

using namespace mlir;

namespace blockscale::bench {

/// The largest magnitude of the input data.
static constexpr float kAmax = 4.5f;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Pages::Pages(int64_t bytes) : bytes(bytes) {
  constexpr int64_t kPage = 2 << 20;
  int64_t rounded = (bytes + kPage - 1) / kPage * kPage;
  data.reset(static_cast<uint8_t *>(std::aligned_alloc(kPage, rounded)));
  madvise(data.get(), rounded, MADV_HUGEPAGE);
  std::memset(data.get(), 0, rounded);
}

Buffer::Buffer(MemRefType type)
    : Pages(type.getNumElements() *
            llvm::divideCeil(type.getElementTypeBitWidth(), 8)) {
  auto base = reinterpret_cast<int64_t>(getData());
  descriptor = {base, base, 0};
  descriptor.insert(descriptor.end(), type.getShape().begin(),
                    type.getShape().end());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  descriptor.insert(descriptor.end(), strides.begin(), strides.end());
  address = descriptor.data();
}

/// Repeats values of `make` over the buffer. There are enough of them that no
/// branch predictor learns them.
template <typename T>
static void fill(Buffer &buffer, function_ref<T()> make) {
  auto *values = reinterpret_cast<T *>(buffer.getData());
  int64_t count = buffer.getNumBytes() / sizeof(T);
  int64_t distinct = std::min<int64_t>(count, (1 << 20) + 7);
  for (int64_t i = 0; i < distinct; ++i)
    values[i] = make();
  for (int64_t i = distinct; i < count; ++i)
    values[i] = values[i - distinct];
}

/// Fills the argument of logical type `type`: normally distributed data, codes
/// of every sort, scales around 1, groups of one size.
static void fillArgument(Buffer &buffer, RankedTensorType type, float scalar,
                         int64_t rows, std::mt19937 &random) {
  Type element = type.getElementType();
  std::normal_distribution<float> normal;
  auto draw = [&] { return std::min(std::max(normal(random), -kAmax), kAmax); };
  auto fillBytes = [&](unsigned low, unsigned count) {
    fill<uint8_t>(buffer,
                  [&] { return static_cast<uint8_t>(low + random() % count); });
  };
  if (element.isBF16())
    fill<uint16_t>(buffer, [&] {
      return static_cast<uint16_t>(llvm::bit_cast<uint32_t>(draw()) >> 16);
    });
  else if (element.isF32() && type.getRank() == 0)
    fill<float>(buffer, [&] { return scalar; });
  else if (element.isF32())
    fill<float>(buffer, [&] { return std::abs(draw()); });
  else if (element.isInteger(32)) {
    int64_t groups = type.getNumElements(), group = 0;
    fill<int32_t>(
        buffer, [&] { return static_cast<int32_t>(rows * ++group / groups); });
  } else if (element.isInteger(64))
    fill<int64_t>(buffer, [] { return 1; });
  else if (isa<Float8E8M0FNUType>(element))
    fillBytes(120, 15);
  else if (isa<Float4E2M1FNType>(element))
    fillBytes(0, 256);
  else
    fillBytes(0x20, 0x40);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static LogicalResult runStages(ModuleOp module, ArrayRef<Stage> stages) {
  PassManager pm(module.getContext());
  for (const Stage &stage : stages)
    stage.build(pm);
  return pm.run(module);
}

/// The types of a function's arguments, none of which is dynamic.
template <typename Shaped>
static llvm::Expected<SmallVector<Shaped>> getTypes(ModuleOp module,
                                                    StringRef name) {
  SmallVector<Shaped> types;
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return llvm::createStringError("there is no function @" + name);
  for (Type type : function.getArgumentTypes()) {
    auto shaped = dyn_cast<Shaped>(type);
    if (!shaped || !shaped.hasStaticShape())
      return llvm::createStringError(
          "expected arguments of @" + name +
          " to be tensors of static shapes, which become memrefs");
    types.push_back(shaped);
  }
  return types;
}

llvm::Expected<std::unique_ptr<CompiledCase>>
CompiledCase::create(const Case &source, const HostTarget &target) {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    registerAllDialects(all);
    return all;
  }();
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(source.text, &context);
  if (!module)
    return llvm::createStringError("@" + source.name + " could not be parsed");
  auto logical = getTypes<RankedTensorType>(*module, source.name);
  if (!logical)
    return logical.takeError();

  std::vector<Stage> stages = getToCPUStages(ToCPUOptions());
  auto isFirst = [](const Stage &stage) {
    return stage.name == "lower-kernels";
  };
  size_t prefix = llvm::find_if(stages, isFirst) - stages.begin();
  if (failed(runStages(*module, ArrayRef(stages).take_front(prefix))))
    return llvm::createStringError("@" + source.name + " did not bufferize");
  auto storage = getTypes<MemRefType>(*module, source.name);
  if (!storage)
    return storage.takeError();
  if (failed(runStages(*module, ArrayRef(stages).drop_front(prefix))))
    return llvm::createStringError("@" + source.name + " was not lowered");

  auto jit = Jit::create(*module,
                         {{"blockscale_parallel_for",
                           reinterpret_cast<void *>(&blockscale_parallel_for)},
                          {"blockscale_report_error",
                           reinterpret_cast<void *>(&blockscale_report_error)}},
                         target);
  if (!jit)
    return jit.takeError();
  std::unique_ptr<CompiledCase> result(
      new CompiledCase(source.name, std::move(*jit)));

  // A global operand is an amax or the decode scale that belongs to it.
  bool takesAmax = StringRef(source.text).contains("global_amax(");
  float scalar = takesAmax ? kAmax : kAmax / 2688;
  std::mt19937 random(1);
  for (auto [i, type] : llvm::enumerate(*storage)) {
    auto &buffer = result->buffers.emplace_back(std::make_unique<Buffer>(type));
    if (i < logical->size())
      fillArgument(*buffer, (*logical)[i], scalar,
                   logical->front().getDimSize(0), random);
    result->arguments.push_back(buffer->getArgument());
  }
  if (llvm::Error error = result->call())
    return error;
  return result;
}

int64_t CompiledCase::getNumBytes() const {
  int64_t bytes = 0;
  for (const auto &buffer : buffers)
    bytes += buffer->getNumBytes();
  return bytes;
}

llvm::Error CompiledCase::call() {
  if (llvm::Error error = jit.call(name, arguments))
    return error;
  if (auto message = runtime::takeReportedError())
    return llvm::createStringError(*message);
  return llvm::Error::success();
}

} // namespace blockscale::bench

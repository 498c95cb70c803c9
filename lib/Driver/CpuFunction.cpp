//===- CpuFunction.cpp - A function compiled for this CPU -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "blockscale/Emit/HostCode.h"
#include "blockscale/Emit/Jit.h"
#include "blockscale/Emit/ObjectVerifier.h"
#include "blockscale/Runtime/HostRuntime.h"
#include "blockscale/Transforms/Storage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>
#include <mutex>

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

namespace {

/// Code of this CPU in this process. Calls of a process run one after the
/// other, each on all threads of the pool.
class CpuFunction : public Executable {
public:
  CpuFunction(Signature signature, Jit jit, Jit::Function function,
              Jit::Function sizes, bool isOfRanks, SavedFunction saved)
      : Executable(std::move(signature)), jit(std::move(jit)),
        function(function), sizes(sizes), isOfRanks(isOfRanks),
        saved(std::move(saved)) {}

  Result<SavedFunction> save() const override;
  std::string getTarget() const override { return "cpu"; }
  bool reducesOverRanks() const override { return isOfRanks; }
  Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) override;
  Status call(const std::vector<ArrayView> &arguments,
              const std::vector<ArrayView> &results, const CallOptions &options,
              CallReport &report) override;

private:
  /// What the code is in.
  Jit jit;
  Jit::Function function;
  /// Computes the sizes of results that are not known; null where all are.
  Jit::Function sizes;
  /// Whether the code reduces over ranks.
  bool isOfRanks;
  /// Without code where nobody wants to save it.
  SavedFunction saved;
};

} // namespace

/// Argument pointers of a packed call, in order.
static std::vector<void *> pack(const Signature &signature,
                                const std::vector<ArrayView> &arguments,
                                std::vector<MemrefDescriptor> &descriptors) {
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    if (!slot.isScalar)
      descriptors.emplace_back(array.data, array.shape);
  std::vector<void *> packed;
  auto descriptor = descriptors.begin();
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    packed.push_back(slot.isScalar ? array.data
                                   : (descriptor++)->getArgument());
  return packed;
}

/// One at a time: what compiled code reports, and what it asks for, is the
/// process's.
static Status callCode(Jit::Function function, std::vector<void *> &packed,
                       const runtime::RankFunction &overRanks) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  runtime::RankScope scope(overRanks);
  function(packed.data());
  std::optional<std::string> reported = runtime::takeReportedError();
  return reported ? Status::failure(*reported) : Status::success();
}

Result<SavedFunction> CpuFunction::save() const {
  if (!saved.code.empty())
    return saved;
  return Status::failure("expected a function whose code is kept, but got one "
                         "whose code is not");
}

static bool hasUnknownSizes(const Signature &signature) {
  return llvm::any_of(signature.results, [](const Slot &slot) {
    return llvm::any_of(slot.shape, ShapedType::isDynamic);
  });
}

Result<Shapes>
CpuFunction::getResultShapes(const std::vector<ArrayView> &arguments) {
  Shapes shapes;
  shapes.reserve(getSignature().results.size());
  for (const Slot &slot : getSignature().results)
    shapes.push_back(slot.shape);
  std::vector<int64_t *> unknown;
  for (std::vector<int64_t> &shape : shapes)
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        unknown.push_back(&size);
  if (unknown.empty())
    return shapes;
  std::vector<MemrefDescriptor> descriptors;
  descriptors.reserve(arguments.size() + 1);
  std::vector<void *> packed = pack(getSignature(), arguments, descriptors);
  std::vector<int64_t> found(unknown.size());
  descriptors.emplace_back(
      found.data(), std::vector<int64_t>{static_cast<int64_t>(found.size())});
  packed.push_back(descriptors.back().getArgument());
  // A size that is computed from an amax over ranks is compared by the call.
  Status called = callCode(sizes, packed, runtime::reduceOneRank);
  if (!called.ok())
    return called;
  for (auto [target, size] : llvm::zip_equal(unknown, found))
    *target = size;
  // Operands that are sizes may be any numbers.
  for (auto [i, slot] : llvm::enumerate(getSignature().results))
    if (Result<int64_t> bytes =
            runtime::computeNpyByteCount(slot.type, shapes[i]);
        !bytes.ok())
      return Status::failure("@" + getSignature().name + ": result " +
                             std::to_string(i) + ": " + bytes.message());
  return shapes;
}

Status CpuFunction::call(const std::vector<ArrayView> &arguments,
                         const std::vector<ArrayView> &results,
                         const CallOptions &options, CallReport &report) {
  Status status = isOfRanks ? runtime::checkRankFunction(getSignature().name,
                                                         options.overRanks)
                            : Status::success();
  if (!status.ok())
    return status;
  auto start = std::chrono::steady_clock::now();
  std::vector<MemrefDescriptor> descriptors;
  descriptors.reserve(arguments.size() + results.size());
  std::vector<void *> packed = pack(getSignature(), arguments, descriptors);
  for (const ArrayView &result : results) {
    descriptors.emplace_back(result.data, result.shape);
    packed.push_back(descriptors.back().getArgument());
  }
  status = callCode(function, packed, options.overRanks);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  report.seconds = elapsed.count();
  return status;
}

static Status failToCompile(llvm::Error error) {
  return Status::failure(llvm::toString(std::move(error)),
                         ErrorKind::Compilation);
}

/// What code calls that reduces over ranks.
static constexpr StringLiteral kReduceOverRanks =
    "blockscale_reduce_over_ranks";

/// Links the code of `saved`, which is kept where `isSaved` says so.
static Result<std::unique_ptr<Executable>> link(SavedFunction saved,
                                                bool isSaved) {
  std::vector<std::string> missing = findMissingFeatures(saved.features);
  if (!missing.empty())
    return Status::failure("expected a CPU with the features that the code may "
                           "use, but this one has not " +
                               llvm::join(missing, ", "),
                           ErrorKind::WrongChip);
  Jit::Symbol symbols[] = {
      {"blockscale_parallel_for",
       reinterpret_cast<void *>(&blockscale_parallel_for)},
      {"blockscale_report_error",
       reinterpret_cast<void *>(&blockscale_report_error)},
      {kReduceOverRanks,
       reinterpret_cast<void *>(&blockscale_reduce_over_ranks)}};
  const std::string &name = saved.signature.name;
  llvm::Expected<Jit> jit = Jit::link(saved.code, symbols, name);
  if (!jit)
    return failToCompile(jit.takeError());
  llvm::Expected<Jit::Function> function = jit->find(name);
  if (!function)
    return failToCompile(function.takeError());
  Jit::Function sizes = nullptr;
  if (hasUnknownSizes(saved.signature)) {
    llvm::Expected<Jit::Function> found = jit->find(name + "__result_sizes");
    if (!found)
      return failToCompile(found.takeError());
    sizes = *found;
  }
  bool isOfRanks = refersTo(saved.code, kReduceOverRanks);
  if (!isSaved)
    saved.code = {};
  Signature signature = saved.signature;
  return std::unique_ptr<Executable>(std::make_unique<CpuFunction>(
      std::move(signature), std::move(*jit), *function, sizes, isOfRanks,
      std::move(saved)));
}

/// `signature` with the results that may have the memory of arguments, as
/// blockscale-reuse-arguments noted them.
static Signature addReuse(Signature signature, ModuleOp module) {
  Operation *function = module.lookupSymbol(signature.name);
  auto taken =
      function
          ? function->getAttrOfType<DenseI64ArrayAttr>(kResultArgumentsAttrName)
          : DenseI64ArrayAttr();
  if (!taken)
    return signature;
  for (auto [slot, number] :
       llvm::zip_equal(signature.results, taken.asArrayRef()))
    if (number >= 0)
      slot.argument = static_cast<size_t>(number);
  return signature;
}

Result<std::unique_ptr<Executable>>
createCpuFunction(ModuleOp module, const Signature &signature,
                  const ExecutableOptions &options, CompileObserver &observer) {
  HostTarget target;
  target.cpu = options.cpu;
  target.optimize = options.optimize;
  auto machine = createHostTargetMachine(target);
  if (!machine)
    return Status::failure(llvm::toString(machine.takeError()));
  ToCPUOptions pipeline;
  pipeline.checks = options.checks;
  Status lowered = lowerEntry(module, signature.name, getToCPUStages(pipeline),
                              "the CPU", observer);
  if (!lowered.ok())
    return lowered;
  Signature compiled = addReuse(signature, module);
  llvm::Expected<std::string> object = emitPackedObject(module, target);
  if (!object)
    return failToCompile(object.takeError());
  SavedFunction saved{"cpu", listFeatures(**machine), std::move(compiled), "",
                      std::move(*object)};
  return link(std::move(saved), options.isSaved);
}

Result<std::unique_ptr<Executable>> loadCpuFunction(SavedFunction saved) {
  if (llvm::Error error = verifyObject(saved.code))
    return Status::failure("the code of a saved function: " +
                               llvm::toString(std::move(error)),
                           ErrorKind::InvalidBundle);
  return link(std::move(saved), /*isSaved=*/false);
}

} // namespace blockscale

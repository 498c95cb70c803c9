//===- Launches.cpp - Launches of kernels ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Status.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace blockscale::emulator;

namespace blockscale::cuda {

namespace {
/// A launch as any of the functions ask for it.
struct Launch {
  Extent grid;
  Extent block;
  uint64_t sharedBytes;
  const void *stream;
  Extent cluster = {1, 1, 1};
  /// Programmatic stream serialization.
  bool isProgrammatic = false;
  /// The larger clusters that a part of the grid may run in.
  std::optional<Extent> preferred = std::nullopt;
};

/// CTAs of a cluster that every device runs.
constexpr uint32_t kPortableCluster = 8;
} // namespace

static Dim3 toDims(const Extent &extent) {
  return {extent.x, extent.y, extent.z};
}

/// Occurrences of each kind of finding.
static std::map<FaultKind, uint64_t> countFindings(const Report &report) {
  std::map<FaultKind, uint64_t> counts;
  for (const Finding &finding : report.getFindings())
    counts[finding.fault.kind] += finding.count;
  return counts;
}

/// The error that hardware would give for a kind of fault; success for what it
/// does not see.
static Error getDeviceError(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
  case FaultKind::ReadOnly:
  case FaultKind::WrongSpace:
    return Error::IllegalAddress;
  case FaultKind::Misaligned:
    return Error::MisalignedAddress;
  case FaultKind::Deadlock:
    return Error::LaunchTimeout;
  case FaultKind::Trap:
  case FaultKind::TensorMap:
  case FaultKind::Descriptor:
    return Error::LaunchFailure;
  default:
    return Error::Success;
  }
}

/// Whether each size is a multiple of that of `unit`.
static bool isMultiple(const Dim3 &sizes, const Dim3 &unit) {
  for (unsigned i = 0; i < 3; ++i)
    if (unit[i] == 0 || sizes[i] % unit[i] != 0)
      return false;
  return true;
}

/// What the device does not launch, and the code for it.
static Error checkRequest(const Kernel &kernel, const Launch &launch,
                          llvm::StringRef function) {
  if (launch.sharedBytes > kernel.maxDynamicSharedBytes)
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected at most {0} bytes of dynamic shared "
                              "memory for kernel '{1}' (more by "
                              "cudaFuncSetAttribute), but got {2}",
                              kernel.maxDynamicSharedBytes, kernel.name,
                              launch.sharedBytes)
                    .str());
  uint64_t ctas =
      uint64_t(launch.cluster.x) * launch.cluster.y * launch.cluster.z;
  if (ctas > kPortableCluster && !kernel.allowsNonPortableCluster)
    return fail(function, Error::InvalidClusterSize,
                llvm::formatv("expected at most {0} CTAs in a cluster of "
                              "kernel '{1}' (more by cudaFuncSetAttribute), "
                              "but got {2}",
                              kPortableCluster, kernel.name, ctas)
                    .str());
  if (launch.preferred &&
      (llvm::is_contained(toDims(*launch.preferred), 0U) ||
       !isMultiple(toDims(*launch.preferred), toDims(launch.cluster))))
    return fail(function, Error::InvalidClusterSize,
                llvm::formatv("expected the preferred clusters of kernel "
                              "'{0}' to be multiples of its clusters, "
                              "({1}, {2}, {3}), but got ({4}, {5}, {6})",
                              kernel.name, launch.cluster.x, launch.cluster.y,
                              launch.cluster.z, launch.preferred->x,
                              launch.preferred->y, launch.preferred->z)
                    .str());
  return Error::Success;
}

/// The code for a launch that breaks one of the emulator's limits.
static Error getLimitError(const LaunchRequest &request,
                           const std::optional<Dim3> &required) {
  if (!isMultiple(request.grid, request.cluster) ||
      (required && *required != request.cluster))
    return Error::InvalidClusterSize;
  return Error::InvalidConfiguration;
}

static Error run(const void *symbol, const Launch &launch,
                 void *const *arguments, llvm::StringRef function) {
  KernelCall call(function, symbol);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  Kernel &kernel = *call.kernel;
  const Function &code = *call.code->function;
  if (Error error = checkRequest(kernel, launch, function);
      error != Error::Success)
    return error;
  if (!arguments && !code.parameters.empty())
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected {0} arguments of kernel '{1}', but got "
                              "null",
                              code.parameters.size(), kernel.name)
                    .str());
  LaunchRequest request;
  request.kernel = kernel.name;
  request.grid = toDims(launch.grid);
  request.block = toDims(launch.block);
  request.cluster = toDims(launch.cluster);
  // A kernel that was compiled for one cluster is launched in it.
  std::optional<Dim3> required = getRequiredCluster(*call.code);
  if (required && request.cluster == Dim3{1, 1, 1})
    request.cluster = *required;
  request.dynamicSharedBytes = launch.sharedBytes;
  request.stream = &session.streams[launch.stream];
  request.isProgrammatic = launch.isProgrammatic;
  for (auto [index, parameter] : llvm::enumerate(code.parameters)) {
    const auto *bytes = static_cast<const uint8_t *>(arguments[index]);
    request.arguments.emplace_back(bytes, bytes + parameter.bytes);
  }
  std::map<FaultKind, uint64_t> before = countFindings(session.report);
  const Program *program = kernel.image->load(session, function, call.error);
  llvm::Expected<Profile> profile = runKernel(*program, session.device, request,
                                              session.options, session.report);
  if (!profile) {
    std::string why = llvm::toString(profile.takeError());
    noteNotModelled(why);
    return fail(function, Error::NotSupported, why);
  }
  if (session.printsLaunches)
    llvm::errs() << "launch of '" << kernel.name
                 << "': " << profile->warpInstructions << " warp instructions, "
                 << profile->mmas << " of the tensor core\n";
  std::map<FaultKind, uint64_t> after = countFindings(session.report);
  if (after != before)
    session.writeReport();
  for (auto [kind, count] : after) {
    if (count == before[kind])
      continue;
    if (kind == FaultKind::Limit)
      return fail(function, getLimitError(request, required),
                  "kernel '" + kernel.name +
                      "' breaks a limit, which the findings name");
    if (session.deviceError == Error::Success)
      session.deviceError = getDeviceError(kind);
  }
  // As on hardware: the next function that waits for the kernel has the error.
  return Error::Success;
}

/// Takes an attribute into the launch.
static Error addAttribute(Launch &launch, const LaunchAttribute &attribute,
                          llvm::StringRef function) {
  switch (attribute.id) {
  case LaunchAttributeId::Cluster:
    launch.cluster = attribute.value.extent;
    return Error::Success;
  // The device may run any part of the grid in the smaller clusters.
  case LaunchAttributeId::PreferredCluster:
    launch.preferred = attribute.value.extent;
    return Error::Success;
  case LaunchAttributeId::Ignore:
  case LaunchAttributeId::AccessPolicy:
  case LaunchAttributeId::ClusterPolicy:
  case LaunchAttributeId::Priority:
  case LaunchAttributeId::SharedCarveout:
    return Error::Success;
  // Kernels run one after another all the same, which is one of the orders that
  // a program must bear; what would not bear the others is a finding.
  case LaunchAttributeId::ProgrammaticSerialization:
    launch.isProgrammatic = attribute.value.number != 0;
    return Error::Success;
  case LaunchAttributeId::Cooperative:
    if (attribute.value.number == 0)
      return Error::Success;
    return failNotModelled(function, "a cooperative launch");
  }
  return failNotModelled(function,
                         "launch attribute " +
                             llvm::Twine(static_cast<int>(attribute.id)));
}

/// Launches with the attributes of a configuration, the runtime's or the
/// driver's.
template <typename Config>
static Error runConfigured(const Config &config, const void *symbol,
                           void *const *arguments, llvm::StringRef function) {
  Launch launch{config.grid, config.block, config.dynamicSharedBytes,
                config.stream};
  for (unsigned i = 0; i < config.attributeCount; ++i)
    if (Error error = addAttribute(launch, config.attributes[i], function);
        error != Error::Success)
      return error;
  return run(symbol, launch, arguments, function);
}

namespace {
/// What <<< >>> leaves for the function that launches.
struct CallConfiguration {
  Extent grid;
  Extent block;
  size_t sharedBytes;
  void *stream;
};
} // namespace

static thread_local std::vector<CallConfiguration> configurations;

// The names are those that nvcc calls.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

unsigned __cudaPushCallConfiguration(Extent grid, Extent block,
                                     size_t sharedBytes, void *stream) {
  configurations.push_back({grid, block, sharedBytes, stream});
  return 0;
}

Error __cudaPopCallConfiguration(Extent *grid, Extent *block,
                                 size_t *sharedBytes, void **stream) {
  if (configurations.empty())
    return fail("__cudaPopCallConfiguration", Error::InvalidConfiguration,
                "expected a launch that was begun");
  const CallConfiguration &last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *sharedBytes = last.sharedBytes;
  *stream = last.stream;
  configurations.pop_back();
  return Error::Success;
}

Error __cudaLaunchKernel(const void *kernel, Extent grid, Extent block,
                         void **arguments, size_t sharedBytes, void *stream) {
  return run(kernel, {grid, block, sharedBytes, stream}, arguments,
             "cudaLaunchKernel");
}

Error cudaLaunchKernel(const void *symbol, Extent grid, Extent block,
                       void **arguments, size_t sharedBytes, void *stream) {
  return run(symbol, {grid, block, sharedBytes, stream}, arguments,
             "cudaLaunchKernel");
}

Error cudaLaunchKernelExC(const LaunchConfig *config, const void *symbol,
                          void **arguments) {
  return runConfigured(*config, symbol, arguments, "cudaLaunchKernelExC");
}

// The driver's forms. `extra` is another way to pass arguments.

static Error refuseExtra(llvm::StringRef function) {
  return failNotModelled(function, "a launch with extra options");
}

Error cuLaunchKernel(const Kernel *kernel, unsigned gridX, unsigned gridY,
                     unsigned gridZ, unsigned blockX, unsigned blockY,
                     unsigned blockZ, unsigned sharedBytes, void *stream,
                     void **arguments, void **extra) {
  constexpr llvm::StringLiteral kName = "cuLaunchKernel";
  if (extra)
    return refuseExtra(kName);
  return run(
      kernel,
      {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream},
      arguments, kName);
}

Error cuLaunchKernelEx(const DriverLaunchConfig *config, const Kernel *kernel,
                       void **arguments, void **extra) {
  constexpr llvm::StringLiteral kName = "cuLaunchKernelEx";
  if (extra)
    return refuseExtra(kName);
  return runConfigured(*config, kernel, arguments, kName);
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

} // namespace blockscale::cuda

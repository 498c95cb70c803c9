//===- Launch.cpp - Execution of a kernel ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Launch.h"

#include "Emulator/Machine/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <chrono>
#include <thread>

namespace blockscale::emulator {

/// Instructions that a cluster executes before another one has its turn.
static constexpr uint64_t kClusterTurn = 1 << 20;
/// Rounds without a change after which a cluster is left for others, and after
/// which it is taken to wait for ever.
static constexpr unsigned kShortPatience = 64;
static constexpr unsigned kLongPatience = 8192;
/// Clusters that a host thread runs in turns.
static constexpr size_t kMaxResident = 256;

static constexpr llvm::StringLiteral kScheduleNames[] = {
    "prompt", "adversarial", "random"};

llvm::StringRef getName(Schedule schedule) {
  return kScheduleNames[unsigned(schedule)];
}

std::optional<Schedule> findSchedule(llvm::StringRef name) {
  const auto *found = llvm::find(kScheduleNames, name);
  if (found == std::end(kScheduleNames))
    return std::nullopt;
  return Schedule(found - std::begin(kScheduleNames));
}

void Profile::add(const Profile &other) {
  threadInstructions += other.threadInstructions;
  warpInstructions += other.warpInstructions;
  byOp.resize(std::max(byOp.size(), other.byOp.size()));
  for (auto [index, count] : llvm::enumerate(other.byOp))
    byOp[index] += count;
  for (size_t i = 0; i < bytesRead.size(); ++i) {
    bytesRead[i] += other.bytesRead[i];
    bytesWritten[i] += other.bytesWritten[i];
  }
  sectorsRead += other.sectorsRead;
  sectorsWritten += other.sectorsWritten;
  bankConflicts += other.bankConflicts;
  mmas += other.mmas;
}

std::map<std::string, uint64_t> countBySpelling(const Program &program,
                                                const Profile &profile) {
  std::map<std::string, uint64_t> counts;
  for (auto [op, count] : llvm::zip(program.getOps(), profile.byOp))
    if (count && op.instruction)
      counts[op.instruction->getSpelling()] += count;
  return counts;
}

//===----------------------------------------------------------------------===//
// Host threads
//===----------------------------------------------------------------------===//

namespace {
/// The clusters of a launch, in the order of their first CTAs.
class Grid {
public:
  explicit Grid(LaunchContext &context) : context(context) {
    const LaunchRequest &request = context.request;
    for (unsigned i = 0; i < 3; ++i)
      clusters[i] = request.grid[i] / request.cluster[i];
    count = uint64_t(clusters[0]) * clusters[1] * clusters[2];
  }

  uint64_t getCount() const { return count; }

  /// The next cluster that nobody runs; none after the last.
  std::unique_ptr<Cluster> take() {
    uint64_t index = context.nextCluster++;
    if (index >= count)
      return nullptr;
    return std::make_unique<Cluster>(context, index);
  }

private:
  LaunchContext &context;
  Dim3 clusters;
  uint64_t count;
};

/// A host thread and the clusters that it runs.
class Worker {
public:
  Worker(LaunchContext &context, Grid &grid, unsigned workers,
         std::atomic<unsigned> &idle)
      : context(context), grid(grid), workers(workers), idle(idle) {}

  void run();
  const Profile &getProfile() const { return profile; }

private:
  bool runAll(unsigned patience);
  bool waitForOthers();

  LaunchContext &context;
  Grid &grid;
  unsigned workers;
  std::atomic<unsigned> &idle;
  std::vector<std::unique_ptr<Cluster>> resident;
  Profile profile;
};
} // namespace

/// Gives each resident cluster a turn; whether one of them could use it.
bool Worker::runAll(unsigned patience) {
  bool couldGoOn = false;
  for (std::unique_ptr<Cluster> &cluster : resident) {
    Cluster::Turn turn = cluster->run(kClusterTurn, patience);
    couldGoOn |= turn != Cluster::Turn::Waiting;
    if (turn != Cluster::Turn::Done)
      continue;
    profile.add(cluster->getProfile());
    cluster.reset();
  }
  llvm::erase(resident, nullptr);
  return couldGoOn;
}

/// False where no worker can go on.
bool Worker::waitForOthers() {
  uint64_t seen = context.changes;
  if (runAll(kLongPatience))
    return true;
  ++idle;
  while (!context.isStopped) {
    // In this order: the last worker to become idle may have changed something.
    bool areAllIdle = idle == workers;
    if (context.changes != seen) {
      --idle;
      return true;
    }
    if (areAllIdle)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

void Worker::run() {
  while (!context.isStopped) {
    bool couldGoOn = runAll(kShortPatience);
    if (couldGoOn && !resident.empty())
      continue;
    std::unique_ptr<Cluster> next;
    if (resident.size() < kMaxResident)
      next = grid.take();
    if (next) {
      resident.push_back(std::move(next));
    } else if (resident.empty()) {
      // What the others wait for will not come from here.
      ++idle;
      return;
    } else if (!waitForOthers()) {
      break;
    }
  }
  if (!context.isStopped || context.isDeadlock) {
    context.isDeadlock = true;
    context.isStopped = true;
    for (std::unique_ptr<Cluster> &cluster : resident)
      cluster->reportDeadlock();
  }
  for (std::unique_ptr<Cluster> &cluster : resident)
    profile.add(cluster->getProfile());
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static llvm::Error makeLaunchError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// "x (.u64, 8 bytes), y (.b8[128], 128 bytes)".
static std::string describeParameters(const Function &kernel) {
  std::string text;
  for (const Variable &parameter : kernel.parameters) {
    text += text.empty() ? "" : ", ";
    text += llvm::formatv("{0} (.{1}, {2} bytes)", parameter.name,
                          getInfo(parameter.type).name, parameter.bytes);
  }
  return text.empty() ? "none" : text;
}

static llvm::Error checkArguments(const Function &kernel,
                                  const LaunchRequest &request) {
  if (request.arguments.size() != kernel.parameters.size())
    return makeLaunchError(
        llvm::formatv("expected {0} arguments for kernel '{1}', but got {2}; "
                      "its parameters are: {3}",
                      kernel.parameters.size(), kernel.name,
                      request.arguments.size(), describeParameters(kernel)));
  for (auto [parameter, argument] :
       llvm::zip(kernel.parameters, request.arguments))
    if (parameter.bytes != argument.size())
      return makeLaunchError(llvm::formatv(
          "expected the argument for parameter '{0}' of kernel '{1}' to have "
          "{2} bytes, but got {3}; its parameters are: {4}",
          parameter.name, kernel.name, parameter.bytes, argument.size(),
          describeParameters(kernel)));
  return llvm::Error::success();
}

/// Everything that the kernel may run must be modelled; the first twenty lines
/// say what is not.
static llvm::Error checkModelled(const Program &program,
                                 const ProgramFunction &kernel) {
  constexpr size_t kMaxLines = 20;
  std::vector<std::string> lines;
  for (unsigned function : kernel.reached.set_bits())
    llvm::append_range(lines, program.getFunctions()[function].notModelled);
  if (lines.empty())
    return llvm::Error::success();
  if (lines.size() > kMaxLines)
    lines.resize(kMaxLines);
  return makeLaunchError("kernel '" + kernel.function->name +
                         "' cannot be executed:\n" + llvm::join(lines, "\n"));
}

static std::optional<Dim3> getDims(const Function &kernel,
                                   llvm::StringRef directive) {
  const PerformanceDirective *found = kernel.getDirective(directive);
  if (!found)
    return std::nullopt;
  Dim3 dims = {1, 1, 1};
  for (size_t i = 0; i < 3 && i < found->values.size(); ++i)
    dims[i] = found->values[i];
  return dims;
}

static bool checkLimits(const Program &program, const ProgramFunction &kernel,
                        const LaunchRequest &request, Report &report) {
  LaunchShape shape;
  shape.grid = request.grid;
  shape.block = request.block;
  shape.cluster = request.cluster;
  shape.sharedBytes =
      llvm::alignTo(kernel.staticSharedBytes, kernel.dynamicSharedAlignment) +
      request.dynamicSharedBytes;
  shape.maxSharedBytes = getMaxSharedBytes(program.getModule().target);
  shape.parameterBytes = kernel.parameters.bytes;
  for (unsigned index : kernel.reached.set_bits()) {
    const ProgramFunction &function = program.getFunctions()[index];
    shape.localBytes =
        std::max(shape.localBytes, function.localBytes + function.frameBytes);
  }
  shape.requiredBlock = getDims(*kernel.function, "reqntid");
  shape.maximumBlock = getDims(*kernel.function, "maxntid");
  llvm::SmallVector<Fault, 2> faults;
  checkLaunch(shape, faults);
  if (auto required = getDims(*kernel.function, "reqnctapercluster");
      required && *required != request.cluster)
    faults.push_back(
        {FaultKind::Limit,
         llvm::formatv("expected the cluster to be ({0}, {1}, {2}), the "
                       ".reqnctapercluster of the kernel, but got ({3}, {4}, "
                       "{5})",
                       (*required)[0], (*required)[1], (*required)[2],
                       request.cluster[0], request.cluster[1],
                       request.cluster[2]),
         "launch the clusters that the kernel was compiled for"});
  Place place;
  place.kernel = kernel.function->name.str();
  place.line = kernel.function->location.line;
  for (const Fault &fault : faults)
    report.add(place, fault);
  return faults.empty();
}

std::unique_ptr<LaunchOverlap> LaunchContext::makeOverlap() const {
  if (!request.stream)
    return nullptr;
  std::vector<unsigned> lines;
  lines.reserve(program.getOps().size());
  for (const Op &op : program.getOps())
    lines.push_back(op.instruction ? op.instruction->location.line : 0);
  return std::make_unique<LaunchOverlap>(
      request.stream->getLog(), kernel.function->name.str(), std::move(lines),
      request.isProgrammatic);
}

Dim3 LaunchContext::getFirstCta(uint64_t index) const {
  Dim3 first;
  for (unsigned i = 0; i < 3; ++i) {
    uint32_t count = request.grid[i] / request.cluster[i];
    first[i] = index % count * request.cluster[i];
    index /= count;
  }
  return first;
}

llvm::Expected<Profile> runKernel(const Program &program, Device &device,
                                  const LaunchRequest &request,
                                  const RunOptions &options, Report &report) {
  const ProgramFunction *kernel = program.findKernel(request.kernel);
  if (!kernel)
    return makeLaunchError("no kernel '" + request.kernel +
                           "'; those of the module are: " +
                           llvm::join(program.getKernelNames(), ", "));
  if (request.isProgrammatic && !request.stream)
    return makeLaunchError("expected a stream of the programmatic launch of "
                           "kernel '" +
                           request.kernel + "'");
  if (llvm::Error error = checkArguments(*kernel->function, request))
    return std::move(error);
  if (llvm::Error error = checkModelled(program, *kernel))
    return std::move(error);
  if (!checkLimits(program, *kernel, request, report))
    return Profile();

  LaunchContext context{program, *kernel, device, request, options, report};
  for (auto [parameter, argument] :
       llvm::zip(kernel->function->parameters, request.arguments))
    context.parameters.allocate(parameter.name, argument, parameter.alignment,
                                /*readOnly=*/true);

  Grid grid(context);
  unsigned jobs = options.jobs
                      ? options.jobs
                      : std::max(1u, std::thread::hardware_concurrency());
  if (options.trace)
    jobs = 1;
  jobs = std::min<uint64_t>(jobs, grid.getCount());
  std::atomic<unsigned> idle{0};
  std::vector<Worker> workers;
  workers.reserve(jobs);
  for (unsigned i = 0; i < jobs; ++i)
    workers.emplace_back(context, grid, jobs, idle);
  std::vector<std::thread> threads;
  for (Worker &worker : llvm::drop_begin(workers))
    threads.emplace_back([&worker] { worker.run(); });
  workers.front().run();
  for (std::thread &thread : threads)
    thread.join();
  Profile profile;
  profile.byOp.resize(program.getOps().size());
  for (const Worker &worker : workers)
    profile.add(worker.getProfile());
  return profile;
}

} // namespace blockscale::emulator

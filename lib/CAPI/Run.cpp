//===- Run.cpp - Compile a function and call it, from C -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Run.h"

#include "../Runtime/CApi.h"
#include "Arrays.h"
#include "Output.h"
#include "Source.h"

#include "blockscale/Driver/FunctionCache.h"
#include "blockscale/Emit/HostCode.h"
#include "blockscale/Emit/Ptxas.h"
#include "blockscale/Runtime/FloatEnvironment.h"
#include "blockscale/Runtime/PlanExecution.h"
#include "blockscale/Runtime/ThreadPool.h"
#include "blockscale/Target/Chip.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::capi;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::report;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

blockscale_executable_config blockscale_executable_config_default() {
  return getDefault<blockscale_executable_config>();
}

static_assert(static_cast<int>(Place::CPU) == BLOCKSCALE_ON_CPU);
static_assert(static_cast<int>(Place::Emulator) == BLOCKSCALE_ON_EMULATOR);
static_assert(static_cast<int>(Place::Cuda) == BLOCKSCALE_ON_CUDA);

static Status checkPlace(const blockscale_executable_config &config) {
  auto place = static_cast<unsigned>(config.place);
  if (place > BLOCKSCALE_ON_CUDA)
    return Status::failure("expected place to be from 0 to " +
                           std::to_string(BLOCKSCALE_ON_CUDA) + ", but got " +
                           std::to_string(place));
  if (config.device != 0 && place != BLOCKSCALE_ON_CUDA)
    return Status::failure("expected no number of a GPU but on one, but got " +
                           std::to_string(config.device));
  return Status::success();
}

static Status checkConfig(const blockscale_executable_config &config) {
  Status status = checkPlace(config);
  if (!status.ok())
    return status;
  blockscale_place place = config.place;
  if (config.cpu && place != BLOCKSCALE_ON_CPU)
    return Status::failure("expected no CPU for a GPU, but got '" +
                           std::string(config.cpu) + "'");
  if (config.ptxas && place != BLOCKSCALE_ON_EMULATOR)
    return Status::failure("expected no ptxas but for the emulator, but got '" +
                           std::string(config.ptxas) + "'");
  if (config.chip && place == BLOCKSCALE_ON_CPU)
    return Status::failure("expected no chip for the CPU, but got '" +
                           std::string(config.chip) + "'");
  if (config.tuned && place == BLOCKSCALE_ON_CPU)
    return Status::failure("expected no tuned schedules for the CPU, but got "
                           "'" +
                           std::string(config.tuned) + "'");
  if (config.overlap_launches && place == BLOCKSCALE_ON_CPU)
    return Status::failure(
        "expected launches that overlap on a GPU, but got the CPU");
  if (config.chip && !target::findChip(config.chip))
    return Status::failure("expected chip to be " + target::listChips() +
                           ", but got '" + config.chip + "'");
  return Status::success();
}

static std::string toText(const char *text) { return text ? text : ""; }

/// The path of ptxas; empty where none is wanted, or none has to be there.
static Result<std::string> findPtxas(const char *named) {
  if (!named)
    return std::string();
  llvm::Expected<std::string> found =
      *named ? blockscale::findPtxas({{"ptxas", named}})
             : blockscale::findPtxas();
  if (found)
    return *found;
  std::string message = llvm::toString(found.takeError());
  if (!*named)
    return std::string();
  return Status::failure(message, runtime::ErrorKind::NotFound);
}

static Result<ExecutableOptions>
getOptions(const blockscale_executable_config &config) {
  ExecutableOptions options;
  options.place = static_cast<Place>(config.place);
  options.chip = toText(config.chip);
  if (options.chip.empty() && options.place == Place::Cuda) {
    Result<std::string> chip = chooseChip(config.device);
    if (!chip.ok())
      return chip.status();
    options.chip = *chip;
  }
  options.fuse = !config.no_fusion;
  options.checks = !config.no_checks;
  options.overlapLaunches = config.overlap_launches != 0;
  options.tuned = toText(config.tuned);
  options.gpu = config.device;
  options.isSaved = config.keep_code != 0;
  if (config.cpu)
    options.cpu = config.cpu;
  Result<std::string> ptxas = findPtxas(config.ptxas);
  if (!ptxas.ok())
    return ptxas.status();
  options.ptxas = *ptxas;
  return options;
}

/// What a cache has the function of a module under; nothing where no cache may
/// be used.
static std::optional<std::string>
findKey(StringRef content, const std::string &name,
        const blockscale_executable_config &config,
        const ExecutableOptions &options) {
  // Remarks come of compilation.
  if (config.remarks)
    return std::nullopt;
  CacheInputs inputs;
  inputs.source = content;
  inputs.name = name;
  inputs.entry = toText(config.entry);
  inputs.policy = toText(config.policy);
  inputs.fuse = options.fuse;
  inputs.checks = options.checks;
  inputs.overlapLaunches = options.overlapLaunches;
  inputs.tuned = options.tuned;
  if (options.place == Place::CPU) {
    HostTarget host;
    host.cpu = options.cpu;
    llvm::Expected<std::string> cpu = describeCpu(host);
    if (!cpu) {
      llvm::consumeError(cpu.takeError());
      return std::nullopt;
    }
    inputs.target = "cpu";
    inputs.cpu = *cpu;
  } else {
    inputs.target = options.chip.empty() ? "sm_100a" : options.chip;
  }
  return computeCacheKey(inputs);
}

static Result<std::unique_ptr<Executable>>
compileFunction(StringRef content, const std::string &name,
                const blockscale_executable_config &config,
                const ExecutableOptions &options) {
  Source source(config.on_diagnostic, config.user);
  Status status = config.remarks ? source.enableRemarks() : Status::success();
  if (status.ok())
    status = source.parse(content, name, config.bytecode_reader);
  if (status.ok())
    status = source.explain(lowerTosa(source.getModule()));
  if (status.ok())
    status = source.quantize(config.policy);
  if (!status.ok())
    return status;
  Result<func::FuncOp> function =
      findEntry(source.getModule(), toText(config.entry));
  if (!function.ok())
    return Status::failure(function.message(), runtime::ErrorKind::NotFound);
  Result<Signature> signature = getSignature(*function);
  if (!signature.ok())
    return signature.status();
  ProgressObserver observer(config.on_progress, config.user);
  Result<std::unique_ptr<Executable>> made =
      Executable::create(source.getModule(), *signature, options, observer);
  return made.ok() ? std::move(made) : source.explain(made.status());
}

/// Puts the function into the cache, whatever comes of it.
static void store(const FunctionCache &cache, const std::string &key,
                  const std::string &name, const Executable &function) {
  Result<SavedFunction> saved = function.save();
  if (!saved.ok())
    return;
  saved->key = key;
  cache.store(*saved, name);
}

static blockscale_executable *wrap(std::unique_ptr<Executable> function,
                                   bool isLoaded) {
  std::string target = function->getTarget();
  return new blockscale_executable{std::move(function), std::move(target),
                                   isLoaded};
}

static Status create(StringRef content, const std::string &name,
                     const blockscale_executable_config &config,
                     blockscale_executable *&executable) {
  Status status = checkConfig(config);
  if (!status.ok())
    return status;
  // Before the work: that there is no GPU is told at once.
  Result<ExecutableOptions> options = getOptions(config);
  if (!options.ok())
    return options.status();
  std::optional<FunctionCache> cache = FunctionCache::open();
  std::optional<std::string> key =
      cache ? findKey(content, name, config, *options) : std::nullopt;
  // A caller who wants to save code needs it, which a loaded function drops or
  // never had.
  if (key && !options->isSaved && options->ptxas.empty())
    if (std::optional<SavedFunction> saved = cache->find(*key)) {
      Result<std::unique_ptr<Executable>> loaded =
          Executable::load(std::move(*saved), options->place, options->gpu);
      if (loaded.ok()) {
        executable = wrap(std::move(*loaded), /*isLoaded=*/true);
        return status;
      }
    }
  if (key) {
    options->isSaved = true;
    // Whoever finds it needs no compiler of the driver either.
    if (options->place == Place::Cuda)
      options->ptxas = *findPtxas("");
  }
  Result<std::unique_ptr<Executable>> made =
      compileFunction(content, name, config, *options);
  if (!made.ok())
    return made.status();
  if (key)
    store(*cache, *key, name, **made);
  executable = wrap(std::move(*made), /*isLoaded=*/false);
  return status;
}

blockscale_status
blockscale_executable_create(const void *source, size_t size,
                             const blockscale_executable_config *config,
                             blockscale_executable **executable) {
  return onSource(source, size, config, {"executable", executable},
                  [&](StringRef content, const std::string &name,
                      const blockscale_executable_config &read) {
                    return create(content, name, read, *executable);
                  });
}

blockscale_status
blockscale_executable_create_file(const char *path,
                                  const blockscale_executable_config *config,
                                  blockscale_executable **executable) {
  return onFile(path, config, {"executable", executable},
                [&](StringRef content, const std::string &name,
                    const blockscale_executable_config &read) {
                  return create(content, name, read, *executable);
                });
}

void blockscale_executable_destroy(blockscale_executable *executable) {
  delete executable;
}

//===----------------------------------------------------------------------===//
// Functions without a compiler
//===----------------------------------------------------------------------===//

blockscale_status
blockscale_executable_save(const blockscale_executable *executable,
                           blockscale_output **output) {
  Status status =
      checkNotNull({{"executable", executable}, {"output", output}});
  if (!status.ok())
    return report(status);
  Result<SavedFunction> saved = executable->function->save();
  if (!saved.ok())
    return report(saved.status());
  Result<std::string> bytes = writeSavedFunction(*saved);
  if (!bytes.ok())
    return report(bytes.status());
  *output = new blockscale_output{std::move(*bytes), {}};
  return BLOCKSCALE_OK;
}

static Status load(StringRef bytes, const blockscale_executable_config &config,
                   blockscale_executable *&executable) {
  Status status = checkPlace(config);
  if (!status.ok())
    return status;
  Result<SavedFunction> saved = readSavedFunction(bytes);
  if (!saved.ok())
    return saved.status();
  Result<std::unique_ptr<Executable>> loaded = Executable::load(
      std::move(*saved), static_cast<Place>(config.place), config.device);
  if (!loaded.ok())
    return loaded.status();
  executable = wrap(std::move(*loaded), /*isLoaded=*/true);
  return status;
}

blockscale_status
blockscale_executable_load(const void *bytes, size_t size,
                           const blockscale_executable_config *config,
                           blockscale_executable **executable) {
  return onSource(bytes, size, config, {"executable", executable},
                  [&](StringRef content, const std::string &,
                      const blockscale_executable_config &read) {
                    return load(content, read, *executable);
                  });
}

int blockscale_executable_is_loaded(const blockscale_executable *executable) {
  return executable && executable->isLoaded;
}

const char *
blockscale_executable_target(const blockscale_executable *executable) {
  return executable ? executable->target.c_str() : nullptr;
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

const char *
blockscale_executable_entry(const blockscale_executable *executable) {
  return executable ? executable->function->getSignature().name.c_str()
                    : nullptr;
}

size_t blockscale_executable_slot_count(const blockscale_executable *executable,
                                        blockscale_role role) {
  return getSlots(executable, role).size();
}

blockscale_status
blockscale_executable_slot(const blockscale_executable *executable,
                           blockscale_role role, size_t number,
                           blockscale_slot *slot) {
  Status status = checkNotNull({{"executable", executable}, {"slot", slot}});
  ArrayRef<Slot> slots = getSlots(executable, role);
  if (status.ok() && number >= slots.size())
    status = Status::failure("expected the number of a slot below " +
                             std::to_string(slots.size()) + ", but got " +
                             std::to_string(number));
  if (!status.ok())
    return report(status);
  const Slot &found = slots[number];
  *slot = {found.logicalType.c_str(), static_cast<blockscale_dtype>(found.type),
           found.shape.size(), found.shape.data(), found.isScalar};
  return BLOCKSCALE_OK;
}

int blockscale_executable_is_writable(const blockscale_executable *executable,
                                      size_t argument) {
  ArrayRef<Slot> slots = getSlots(executable, BLOCKSCALE_ARGUMENT);
  return argument < slots.size() && slots[argument].isWritable;
}

int64_t
blockscale_executable_result_argument(const blockscale_executable *executable,
                                      size_t result) {
  ArrayRef<Slot> slots = getSlots(executable, BLOCKSCALE_RESULT);
  if (result >= slots.size() || !slots[result].argument)
    return -1;
  return static_cast<int64_t>(*slots[result].argument);
}

int blockscale_executable_reduces(const blockscale_executable *executable) {
  return executable && executable->function->reducesOverRanks();
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// The name of an array by its number among arguments, then results.
static std::string getArrayName(const Signature &signature, size_t number) {
  size_t count = signature.arguments.size();
  return number < count ? "argument " + std::to_string(number)
                        : "result " + std::to_string(number - count);
}

static Status checkOverlaps(const Signature &signature,
                            const std::vector<ArrayView> &arguments,
                            const std::vector<ArrayView> &results) {
  SmallVector<runtime::CallMemory, 16> memory;
  auto add = [&](const ArrayView &array, uint64_t bytes, bool isWritten,
                 std::optional<size_t> argument) {
    memory.push_back(
        {reinterpret_cast<uint64_t>(array.data), bytes, isWritten, argument});
  };
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    add(array, slot.isScalar ? 0 : array.bytes, slot.isWritable, std::nullopt);
  for (auto [slot, array] : llvm::zip_equal(signature.results, results))
    add(array, array.bytes, /*isWritten=*/true, slot.argument);
  auto found = runtime::findOverlap(memory.data(), memory.size());
  if (!found)
    return Status::success();
  auto [late, early] = *found;
  // What is given away is named first: the other array may be anything.
  if (late < arguments.size() && !memory[late].isWritten)
    std::swap(late, early);
  bool isGiven = late < arguments.size();
  return Status::failure("expected " + getArrayName(signature, late) +
                         (isGiven ? ", which is given away," : "") +
                         " in memory of its own, but it overlaps " +
                         getArrayName(signature, early));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

blockscale_call_config blockscale_call_config_default() {
  return getDefault<blockscale_call_config>();
}

blockscale_status blockscale_executable_result_shape(
    blockscale_executable *executable, const blockscale_array *arguments,
    size_t argument_count, size_t number, int64_t *shape, size_t rank) {
  Status status = checkNotNull({{"executable", executable}});
  if (status.ok() && rank)
    status = checkNotNull({{"shape", shape}});
  if (!status.ok())
    return report(status);
  Result<std::vector<ArrayView>> views =
      convertAll(*executable, BLOCKSCALE_ARGUMENT, arguments, argument_count,
                 /*isRead=*/false);
  if (!views.ok())
    return report(views.status());
  runtime::DefaultFloatEnvironment environment;
  Result<Shapes> shapes = executable->function->getResultShapes(*views);
  if (!shapes.ok())
    return report(shapes.status());
  if (number >= shapes->size())
    return report(Status::failure("expected the number of a result below " +
                                  std::to_string(shapes->size()) +
                                  ", but got " + std::to_string(number)));
  const std::vector<int64_t> &found = (*shapes)[number];
  if (found.size() != rank)
    return report(Status::failure(
        "expected rank " + std::to_string(found.size()) + " of result " +
        std::to_string(number) + ", but got " + std::to_string(rank)));
  llvm::copy(found, shape);
  return BLOCKSCALE_OK;
}

static CallOptions getOptions(const blockscale_call_config &config) {
  CallOptions options;
  options.stream = config.stream;
  if (config.no_wait)
    options.workspace = {reinterpret_cast<uint64_t>(config.workspace),
                         config.workspace_bytes};
  options.emulator.schedule = config.adversarial
                                  ? emulator::Schedule::Adversarial
                                  : emulator::Schedule::Prompt;
  options.emulator.seed = config.seed;
  if (config.max_steps)
    options.emulator.maxSteps = config.max_steps;
  options.emulator.allowNanScales = config.accept_nan_scales != 0;
  options.emulator.jobs = runtime::getNumThreads();
  options.overRanks =
      runtime::toRankFunction(config.reduce, config.reduce_user);
  return options;
}

/// Refuses what would have no effect where the function runs.
static Status checkPlace(const Executable &executable,
                         const blockscale_call_config &config) {
  bool isOnGpu = !executable.isInHostMemory();
  bool isEmulated = !isOnGpu && executable.getTarget() != "cpu";
  const std::pair<const char *, bool> ofTheEmulator[] = {
      {"adversarial", config.adversarial != 0},
      {"seed", config.seed != 0},
      {"max_steps", config.max_steps != 0}};
  for (auto [name, isGiven] : ofTheEmulator)
    if (isGiven && !isEmulated)
      return Status::failure("expected " + std::string(name) +
                             " in the emulator, but got " +
                             (isOnGpu ? "a GPU" : "the CPU"));
  const std::pair<const char *, bool> ofGpus[] = {
      {"stream", config.stream != nullptr}, {"no_wait", config.no_wait != 0}};
  for (auto [name, isGiven] : ofGpus)
    if (isGiven && !isOnGpu)
      return Status::failure("expected " + std::string(name) +
                             " on a GPU, but got " +
                             (isEmulated ? "the emulator" : "the CPU"));
  return Status::success();
}

static Status call(Executable &executable,
                   const std::vector<ArrayView> &arguments,
                   const std::vector<ArrayView> &results,
                   const blockscale_call_config &config) {
  Status placed = checkPlace(executable, config);
  if (!placed.ok())
    return placed;
  const Signature &signature = executable.getSignature();
  if (executable.isInHostMemory() && !config.accept_nan_scales)
    for (size_t i = 0; i < arguments.size(); ++i) {
      Status status = checkScaleValues(signature.arguments[i], arguments[i]);
      if (!status.ok())
        return Status::failure(
            "@" + signature.name + ": argument " + std::to_string(i) + ": " +
            status.message() +
            "; give scales of numbers, or accept those that are NaN");
    }
  Status status = checkOverlaps(signature, arguments, results);
  if (!status.ok())
    return status;
  runtime::DefaultFloatEnvironment environment;
  Result<Shapes> shapes = executable.getResultShapes(arguments);
  if (!shapes.ok())
    return shapes.status();
  status = checkResultShapes(results, *shapes);
  if (!status.ok())
    return status;
  ProgressObserver observer(config.on_progress, config.user);
  CallOptions options = getOptions(config);
  options.observer = &observer;
  CallReport report;
  status = executable.call(arguments, results, options, report);
  if (status.ok() || report.findings.empty())
    return status;
  return Status::failure(
      StringRef(status.message() + "\n" + report.findings).rtrim().str(),
      status.kind());
}

blockscale_status
blockscale_executable_workspace_bytes(blockscale_executable *executable,
                                      const blockscale_array *arguments,
                                      size_t argument_count, uint64_t *bytes) {
  Status status = checkNotNull({{"executable", executable}, {"bytes", bytes}});
  if (!status.ok())
    return report(status);
  Result<std::vector<ArrayView>> views =
      convertAll(*executable, BLOCKSCALE_ARGUMENT, arguments, argument_count,
                 /*isRead=*/false);
  if (!views.ok())
    return report(views.status());
  Result<uint64_t> found = executable->function->getWorkspaceBytes(*views);
  if (!found.ok())
    return report(found.status());
  *bytes = *found;
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_executable_call(
    blockscale_executable *executable, const blockscale_array *arguments,
    size_t argument_count, const blockscale_array *results, size_t result_count,
    const blockscale_call_config *config) {
  blockscale_call_config read = blockscale_call_config_default();
  Status status = checkNotNull({{"executable", executable}});
  if (status.ok() && config)
    status = readConfig(config, read);
  if (!status.ok())
    return report(status);
  Result<std::vector<ArrayView>> inputs =
      convertAll(*executable, BLOCKSCALE_ARGUMENT, arguments, argument_count,
                 /*isRead=*/true);
  if (!inputs.ok())
    return report(inputs.status());
  Result<std::vector<ArrayView>> outputs = convertAll(
      *executable, BLOCKSCALE_RESULT, results, result_count, /*isRead=*/false);
  if (!outputs.ok())
    return report(outputs.status());
  return report(call(*executable->function, *inputs, *outputs, read));
}

void blockscale_set_num_threads(int threads) {
  runtime::setNumThreads(threads);
}

void blockscale_use_openmp(blockscale_openmp_parallel parallel) {
  runtime::setTeam(parallel);
}

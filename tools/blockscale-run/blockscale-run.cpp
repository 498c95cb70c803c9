//===- blockscale-run.cpp - Run a function of a module on .npy files ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleTool.h"
#include "OutputPaths.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Driver/Executable.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/ThreadPool.h"
#include "blockscale/Target/Chip.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace blockscale;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
namespace cl = llvm::cl;

static cl::OptionCategory category("blockscale-run options");
static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("<module.mlir>"),
                                      cl::cat(category));
static cl::opt<Place>
    place("on", cl::desc("Where to run (default: cpu)"),
          cl::values(clEnumValN(Place::CPU, "cpu", "this CPU, in process"),
                     clEnumValN(Place::Emulator, "emulator",
                                "PTX of a GPU, executed by the emulator"),
                     clEnumValN(Place::Cuda, "cuda",
                                "a GPU of this machine, by its driver")),
          cl::init(Place::CPU), cl::cat(category));
static cl::opt<std::string>
    chipName("target",
             cl::desc("GPU to compile for: sm_80, sm_89, sm_90a, sm_100a, "
                      "sm_103a or sm_110a (default: sm_100a with "
                      "--on=emulator, what suits the GPU with --on=cuda)"),
             cl::value_desc("name"), cl::init("sm_100a"), cl::cat(category));
static cl::opt<bool>
    fuse("fuse", cl::desc("Let kernels of a GPU have several ops (default 1)"),
         cl::init(true), cl::cat(category));
static cl::opt<int> gpu("device", cl::desc("GPU of --on=cuda (default 0)"),
                        cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::opt<emulator::Schedule> schedule(
    "schedule", cl::desc("When the emulator does asynchronous work:"),
    cl::values(clEnumValN(emulator::Schedule::Prompt, "prompt",
                          "as it is issued; threads in order (default)"),
               clEnumValN(emulator::Schedule::Adversarial, "adversarial",
                          "as late as waits allow; order by the seed")),
    cl::init(emulator::Schedule::Prompt), cl::cat(category));
static cl::opt<uint64_t>
    seed("seed", cl::desc("Of the emulator's adversarial schedule"),
         cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::opt<bool>
    profile("profile",
            cl::desc("Print what each launch of the emulator read and wrote in "
                     "global memory"),
            cl::cat(category));
static cl::opt<std::string>
    entry("entry", cl::desc("Function to call (default: the only public one)"),
          cl::value_desc("name"), cl::cat(category));
static cl::list<std::string>
    inputs("in", cl::desc("One .npy file for each argument, in order"),
           cl::value_desc("file"), cl::cat(category));
static cl::list<std::string>
    outputs("out", cl::desc("One .npy file for each result, in order"),
            cl::value_desc("file"), cl::cat(category));
static cl::opt<int> repeat("repeat", cl::desc("Calls to make (default 1)"),
                           cl::value_desc("n"), cl::init(1), cl::cat(category));
static cl::opt<std::string> bytecodeReader(
    "bytecode-reader",
    cl::desc("blockscale-read-bytecode to use, instead of a search"),
    cl::value_desc("file"), cl::cat(category));
static cl::opt<bool>
    printTime("time", cl::desc("Print the seconds of the fastest call"),
              cl::cat(category));

static constexpr const char *kOverview =
    "Compiles a module of the blockscale dialect and calls one of its "
    "functions\n\n"
    "Arrays are in storage form: f4E2M1FN as uint8 with two elements a byte "
    "(the even one\nin the low nibble), f8 types and scales as uint8, bf16 as "
    "uint16, scalars with rank 0.\nSwizzled scales have shape [.., R/128, C/4, "
    "32, 4, 4], both rounded up. Files are\nwritten when everything succeeded, "
    "or not at all.\n\n"
    "  blockscale-run q.mlir --entry=quantize --in x.npy --out q.npy --out "
    "s.npy\n\n"
    "--on=emulator compiles for a GPU, and executes the kernels' PTX as the "
    "launch plan says.\nWhat the emulator finds is an error. --on=cuda runs "
    "them on a GPU of this machine;\n--time is then the time of the device. "
    "BLOCKSCALE_LIBCUDA in the environment names\nthe library of its driver "
    "(default: libcuda.so.1).\n\n"
    "BLOCKSCALE_NUM_THREADS in the environment sets the number of threads "
    "(default: one\nfor each hardware thread).\n\n"
    "Exit status: 0 success, 1 an error in the module, its arguments or the "
    "run.\n";

static Status checkCounts(const Signature &signature) {
  auto check = [&](const char *option, size_t found, size_t expected,
                   const char *what) {
    if (found == expected)
      return Status::success();
    return Status::failure(
        "expected " + std::to_string(expected) + " --" + option + " for the " +
        what + " of @" + signature.name + ", but got " + std::to_string(found));
  };
  Status in =
      check("in", inputs.size(), signature.arguments.size(), "arguments");
  if (!in.ok())
    return in;
  return check("out", outputs.size(), signature.results.size(), "results");
}

static Status checkArguments(const Signature &signature,
                             std::vector<NpyArray> &arguments) {
  std::vector<ArrayView> views = getViews(arguments);
  for (auto [i, slot] : llvm::enumerate(signature.arguments)) {
    Status checked = checkArgument(slot, views[i], /*isInHostMemory=*/true);
    if (!checked.ok())
      return Status::failure("argument " + std::to_string(i) + " of @" +
                             signature.name + " ('" + inputs[i] +
                             "'): " + checked.message());
  }
  return Status::success();
}

static Result<std::vector<NpyArray>> readArguments(const Signature &signature) {
  std::vector<NpyArray> arguments;
  for (const std::string &input : inputs) {
    Result<NpyArray> array = runtime::readNpy(input);
    if (!array.ok())
      return array.status();
    arguments.push_back(std::move(*array));
  }
  Status checked = checkArguments(signature, arguments);
  if (!checked.ok())
    return checked;
  return arguments;
}

static Status checkOption(const cl::Option &option, bool hasEffect,
                          const std::string &where) {
  if (!option.getNumOccurrences() || hasEffect)
    return Status::success();
  return Status::failure("expected --" + option.ArgStr.str() + " with " +
                         where);
}

/// Refuses options that would not have any effect.
static Status checkOptions() {
  bool onEmulator = place == Place::Emulator;
  bool onGpu = place == Place::Cuda;
  const std::tuple<const cl::Option *, bool, const char *> options[] = {
      {&chipName, onEmulator || onGpu, "--on=emulator or --on=cuda"},
      {&fuse, onEmulator || onGpu, "--on=emulator or --on=cuda"},
      {&schedule, onEmulator, "--on=emulator"},
      {&profile, onEmulator, "--on=emulator"},
      {&seed, onEmulator, "--on=emulator"},
      {&gpu, onGpu, "--on=cuda"},
      {&repeat, !onEmulator, "--on=cpu or --on=cuda"}};
  for (auto [option, hasEffect, where] : options) {
    Status status = checkOption(*option, hasEffect, where);
    if (!status.ok())
      return status;
  }
  if (!target::findChip(chipName.getValue()))
    return Status::failure("expected --target to be " + target::listChips() +
                           ", but got '" + chipName + "'");
  return Status::success();
}

/// A line for each launch.
static void printProfiles(ArrayRef<LaunchProfile> profiles) {
  constexpr auto global = static_cast<size_t>(emulator::StateSpace::Global);
  for (const auto &[kernel, profile] : profiles)
    llvm::outs() << kernel << ": " << profile.bytesRead[global]
                 << " bytes of .global read in " << profile.sectorsRead
                 << " sectors, " << profile.bytesWritten[global]
                 << " written in " << profile.sectorsWritten << " sectors\n";
}

/// Findings are printed on standard error, and profiles, where the options ask
/// for them, on standard output.
static Result<std::vector<NpyArray>> execute(ModuleOp module,
                                             const Signature &signature,
                                             std::vector<NpyArray> &arguments,
                                             int threads, double &seconds) {
  ExecutableOptions options;
  options.place = place;
  if (chipName.getNumOccurrences())
    options.chip = chipName;
  options.fuse = fuse;
  options.gpu = gpu;
  CompileObserver observer;
  Result<std::unique_ptr<Executable>> executable =
      Executable::create(module, signature, options, observer);
  if (!executable.ok())
    return executable.status();
  CallOptions call;
  call.emulator.schedule = schedule;
  call.emulator.seed = seed;
  call.emulator.jobs = threads;
  call.emulator.profile = profile;
  CallReport report;
  Result<std::vector<NpyArray>> results =
      (*executable)->run(arguments, repeat, call, report);
  llvm::errs() << report.findings;
  if (profile)
    printProfiles(report.profiles);
  seconds = report.seconds;
  return results;
}

static Status runModule(ModuleOp module) {
  Result<int> threads = runtime::getDefaultNumThreads();
  if (!threads.ok())
    return threads.status();
  Result<func::FuncOp> function = findEntry(module, entry);
  if (!function.ok())
    return function.status();
  Result<Signature> signature = getSignature(*function);
  if (!signature.ok())
    return signature.status();
  if (repeat < 1)
    return Status::failure("expected --repeat to be positive, but got " +
                           std::to_string(repeat));
  for (Status status : {checkOptions(), checkCounts(*signature),
                        checkOutputPaths(outputs, inputs, inputFile, "module")})
    if (!status.ok())
      return status;
  Result<std::vector<NpyArray>> arguments = readArguments(*signature);
  if (!arguments.ok())
    return arguments.status();
  double seconds = 0;
  Result<std::vector<NpyArray>> results =
      execute(module, *signature, *arguments, *threads, seconds);
  if (!results.ok())
    return results.status();
  std::vector<runtime::NpyOutput> files;
  for (auto [path, result] : llvm::zip_equal(outputs, *results))
    files.push_back({path, &result});
  Status written = runtime::writeNpyFiles(files);
  if (written.ok() && printTime)
    llvm::outs() << "seconds " << llvm::format("%.9f", seconds) << "\n";
  return written;
}

static llvm::Error readAndRun(MLIRContext &context, llvm::SourceMgr &sources) {
  OwningOpRef<ModuleOp> module =
      readModule(inputFile, sources, context, bytecodeReader);
  if (!module)
    return llvm::createStringError("'" + inputFile + "' could not be read");
  Status status = runModule(*module);
  if (!status.ok())
    return llvm::createStringError(status.message());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  return runModuleTool(argc, argv, "blockscale-run", kOverview, category,
                       readAndRun);
}

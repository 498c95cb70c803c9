//===- blockscale-run.cpp - Run a function of a module on .npy files ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "ModuleTool.h"
#include "OutputPaths.h"
#include "Tools.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Driver/Executable.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/ThreadPool.h"
#include "blockscale/Target/Chip.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <memory>
#include <optional>

using namespace mlir;
using namespace blockscale;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
namespace cl = llvm::cl;

namespace {

/// What is printed of launches of the emulator.
enum class ProfileForm : uint8_t { None, Bytes, Instructions };

/// The options. Only the program registers them, since another one in the same
/// library may have options of these names.
struct CommandLine {
  cl::OptionCategory category{"blockscale-run options"};
  CompileFlags flags{category};
  cl::opt<std::string> inputFile{cl::Positional, cl::desc("<module.mlir>"),
                                 cl::cat(category)};
  cl::opt<Place> place{
      "on", cl::desc("Where to run (default: cpu)"),
      cl::values(clEnumValN(Place::CPU, "cpu", "this CPU, in process"),
                 clEnumValN(Place::Emulator, "emulator",
                            "PTX of a GPU, executed by the emulator"),
                 clEnumValN(Place::Cuda, "cuda",
                            "a GPU of this machine, by its driver")),
      cl::init(Place::CPU), cl::cat(category)};
  std::string targetHelp =
      "GPU to compile for: " + target::listChips() +
      " (default: sm_100a with --on=emulator, what suits the GPU with "
      "--on=cuda)";
  cl::opt<std::string> chipName{"target", cl::desc(targetHelp),
                                cl::value_desc("name"), cl::init("sm_100a"),
                                cl::cat(category)};
  cl::opt<int> gpu{"device", cl::desc("GPU of --on=cuda (default 0)"),
                   cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<emulator::Schedule> schedule{
      "schedule", cl::desc("When the emulator does asynchronous work:"),
      cl::values(
          clEnumValN(emulator::Schedule::Prompt, "prompt",
                     "as it is issued; threads in order (default)"),
          clEnumValN(emulator::Schedule::Adversarial, "adversarial",
                     "as late as waits allow; order by the seed"),
          clEnumValN(emulator::Schedule::Random, "random",
                     "as adversarial, or at moments drawn from the seed")),
      cl::init(emulator::Schedule::Prompt), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Of the emulator's other schedules"),
                         cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<uint64_t> maxSteps{
      "max-steps",
      cl::desc("Warp instructions of a cluster after which the emulator gives "
               "up (default 1000000000; 0 for no limit)"),
      cl::value_desc("n"), cl::init(emulator::kDefaultMaxSteps),
      cl::cat(category)};
  cl::opt<bool> nanScales{
      "nan-scales",
      cl::desc("Let NaN among the scales of a product of SM100 give NaN "
               "in the emulator, where it is a finding otherwise"),
      cl::cat(category)};
  cl::opt<bool> oneRank{
      "one-rank",
      cl::desc("Take amaxes over ranks as those of this rank, which is the "
               "only one"),
      cl::cat(category)};
  cl::opt<std::string> sums{
      "sums",
      cl::desc("The chip whose tensor cores add products in the emulator "
               "(default: the target), or exact"),
      cl::value_desc("chip"), cl::cat(category)};
  cl::opt<ProfileForm> profile{
      "profile",
      cl::ValueOptional,
      cl::desc("Print what each launch of the emulator did"),
      cl::init(ProfileForm::None),
      cl::values(
          clEnumValN(ProfileForm::Bytes, "bytes",
                     "what it read and wrote in global memory"),
          clEnumValN(ProfileForm::Instructions, "instructions",
                     "that, and the instructions of its threads by spelling"),
          clEnumValN(ProfileForm::Bytes, "", "as bytes")),
      cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("Function to call (default: the only public one)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::list<std::string> inputs{
      "in", cl::desc("One .npy file for each argument, in order"),
      cl::value_desc("file"), cl::cat(category)};
  cl::list<std::string> outputs{
      "out", cl::desc("One .npy file for each result, in order"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<int> repeat{"repeat", cl::desc("Calls to make (default 1)"),
                      cl::value_desc("n"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> batchFile{
      "batch",
      cl::desc("Make the runs that the lines of a file say, in this "
               "process ('-': standard input)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> printTime{"time",
                          cl::desc("Print the seconds of the fastest call"),
                          cl::cat(category)};
};

} // namespace

static std::optional<CommandLine> cli;

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
    "A line of --batch has a module and options, quoted as in a shell; empty "
    "lines and\nthose that begin with '#' say nothing. After each run `line N: "
    "exit status S` is\nprinted, and the next one follows, also where that "
    "failed. Runs of the same module,\nentry, place and chip that follow each "
    "other are compiled once. Lines of standard input\n('-') are taken as they "
    "come.\n\n"
    "BLOCKSCALE_NUM_THREADS in the environment sets the number of threads "
    "(default: one\nfor each hardware thread).\n\n"
    "Exit status: 0 success, 1 an error in the module, its arguments or the "
    "run, or of\nsome line of --batch.\n";

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
      check("in", cli->inputs.size(), signature.arguments.size(), "arguments");
  if (!in.ok())
    return in;
  return check("out", cli->outputs.size(), signature.results.size(), "results");
}

static Status checkArguments(const Signature &signature,
                             std::vector<NpyArray> &arguments) {
  std::vector<ArrayView> views = getViews(arguments);
  for (auto [i, slot] : llvm::enumerate(signature.arguments)) {
    Status checked = checkArgument(slot, views[i], /*isRead=*/true);
    if (!checked.ok())
      return Status::failure("argument " + std::to_string(i) + " of @" +
                             signature.name + " ('" + cli->inputs[i] +
                             "'): " + checked.message());
  }
  return Status::success();
}

static Result<std::vector<NpyArray>> readArguments(const Signature &signature) {
  std::vector<NpyArray> arguments;
  for (const std::string &input : cli->inputs) {
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
  bool onEmulator = cli->place == Place::Emulator;
  bool onGpu = cli->place == Place::Cuda;
  const std::tuple<const cl::Option *, bool, const char *> options[] = {
      {&cli->chipName, onEmulator || onGpu, "--on=emulator or --on=cuda"},
      {&cli->flags.fuse, onEmulator || onGpu, "--on=emulator or --on=cuda"},
      {&cli->flags.overlapLaunches, onEmulator || onGpu,
       "--on=emulator or --on=cuda"},
      {&cli->flags.tuned, onEmulator || onGpu, "--on=emulator or --on=cuda"},
      {&cli->flags.optimize, !onEmulator && !onGpu, "--on=cpu"},
      {&cli->schedule, onEmulator, "--on=emulator"},
      {&cli->maxSteps, onEmulator, "--on=emulator"},
      {&cli->profile, onEmulator, "--on=emulator"},
      {&cli->seed, onEmulator, "--on=emulator"},
      {&cli->nanScales, onEmulator, "--on=emulator"},
      {&cli->sums, onEmulator, "--on=emulator"},
      {&cli->gpu, onGpu, "--on=cuda"},
      {&cli->repeat, !onEmulator, "--on=cpu or --on=cuda"}};
  for (auto [option, hasEffect, where] : options) {
    Status status = checkOption(*option, hasEffect, where);
    if (!status.ok())
      return status;
  }
  if (!target::findChip(cli->chipName.getValue()))
    return Status::failure("expected --target to be " + target::listChips() +
                           ", but got '" + cli->chipName + "'");
  if (cli->sums.getNumOccurrences() && !emulator::findSumDevice(cli->sums))
    return Status::failure("expected --sums to be " +
                           emulator::kSumDeviceNames.str() + ", but got '" +
                           cli->sums + "'");
  return Status::success();
}

namespace {

/// The runs of this process, one after the other. What a run has compiled
/// serves the next one where that asks for the same.
class Runs {
public:
  explicit Runs(MLIRContext &context) : context(context) {}

  /// Makes the run that the options say.
  Status run(llvm::SourceMgr &sources);

private:
  /// Reads the module, and gives the signature of the function to call.
  Result<Signature> read(llvm::SourceMgr &sources,
                         OwningOpRef<ModuleOp> &module);

  MLIRContext &context;
  /// What the last run was compiled from and for (getCompiled).
  std::string compiled;
  std::unique_ptr<Executable> executable;
};

} // namespace

/// The text of the module, and what options say of its compilation; empty where
/// the module can be read only once.
static std::string getCompiled() {
  if (cli->inputFile == "-")
    return "";
  auto text = llvm::MemoryBuffer::getFile(cli->inputFile, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!text)
    return "";
  std::string key;
  llvm::raw_string_ostream os(key);
  os << static_cast<int>(cli->place.getValue()) << ' '
     << cli->chipName.getNumOccurrences() << ' ' << cli->chipName << ' '
     << cli->flags.fuse << ' ' << cli->flags.overlapLaunches << ' '
     << cli->flags.checks << ' ' << cli->flags.tuned << ' '
     << cli->flags.optimize << ' ' << cli->gpu << ' ' << cli->flags.policy
     << ' ' << cli->entry << '\n'
     << (*text)->getBuffer();
  return key;
}

static ExecutableOptions getExecutableOptions() {
  ExecutableOptions options;
  options.place = cli->place;
  if (cli->chipName.getNumOccurrences())
    options.chip = cli->chipName;
  options.optimize = cli->flags.optimize;
  cli->flags.fill(options);
  options.gpu = cli->gpu;
  return options;
}

static CallOptions getCallOptions(int threads) {
  CallOptions options;
  options.emulator.schedule = cli->schedule;
  options.emulator.seed = cli->seed;
  options.emulator.maxSteps = cli->maxSteps;
  options.emulator.allowNanScales = cli->nanScales;
  if (cli->sums.getNumOccurrences())
    options.emulator.sums = emulator::findSumDevice(cli->sums);
  options.emulator.jobs = threads;
  options.emulator.profile = cli->profile != ProfileForm::None;
  if (cli->oneRank)
    options.overRanks = runtime::reduceOneRank;
  return options;
}

/// Prints a line for each launch, and below it lines for its instructions.
static void printProfiles(ArrayRef<LaunchProfile> profiles) {
  constexpr auto global = static_cast<size_t>(emulator::StateSpace::Global);
  for (const auto &[kernel, profile, instructions] : profiles) {
    llvm::outs() << kernel << ": " << profile.bytesRead[global]
                 << " bytes of .global read in " << profile.sectorsRead
                 << " sectors, " << profile.bytesWritten[global]
                 << " written in " << profile.sectorsWritten << " sectors\n";
    if (cli->profile == ProfileForm::Instructions)
      for (const auto &[spelling, count] : instructions)
        llvm::outs() << "  " << count << ' ' << spelling << '\n';
  }
}

static Status checkRun(const Signature &signature) {
  if (cli->repeat < 1)
    return Status::failure("expected --repeat to be positive, but got " +
                           std::to_string(cli->repeat));
  for (Status status :
       {checkOptions(), checkCounts(signature),
        checkOutputPaths(cli->outputs, cli->inputs, cli->inputFile, "module")})
    if (!status.ok())
      return status;
  return Status::success();
}

static Status writeResults(std::vector<NpyArray> &results, double seconds) {
  std::vector<runtime::NpyOutput> files;
  for (auto [path, result] : llvm::zip_equal(cli->outputs, results))
    files.push_back({path, &result});
  Status written = runtime::writeNpyFiles(files);
  if (written.ok() && cli->printTime)
    llvm::outs() << "seconds " << llvm::format("%.9f", seconds) << "\n";
  return written;
}

Result<Signature> Runs::read(llvm::SourceMgr &sources,
                             OwningOpRef<ModuleOp> &module) {
  module =
      readModule(cli->inputFile, sources, context, cli->flags.bytecodeReader);
  if (!module)
    return Status::failure("'" + cli->inputFile + "' could not be read");
  Status lowered = lowerTosa(*module);
  if (!lowered.ok())
    return lowered;
  Status quantized = quantizeProducts(*module, cli->flags.policy);
  if (!quantized.ok())
    return quantized;
  Result<int> threads = runtime::getDefaultNumThreads();
  if (!threads.ok())
    return threads.status();
  Result<func::FuncOp> function = findEntry(*module, cli->entry);
  return function.ok() ? getSignature(*function) : function.status();
}

Status Runs::run(llvm::SourceMgr &sources) {
  std::string asked = getCompiled();
  bool isCompiled = executable && !asked.empty() && asked == compiled;
  OwningOpRef<ModuleOp> module;
  Result<Signature> signature =
      isCompiled ? executable->getSignature() : read(sources, module);
  if (!signature.ok())
    return signature.status();
  Status checked = checkRun(*signature);
  if (!checked.ok())
    return checked;
  Result<std::vector<NpyArray>> arguments = readArguments(*signature);
  if (!arguments.ok())
    return arguments.status();
  if (!isCompiled) {
    executable.reset();
    CompileObserver observer;
    Result<std::unique_ptr<Executable>> made = Executable::create(
        *module, *signature, getExecutableOptions(), observer);
    if (!made.ok())
      return made.status();
    executable = std::move(*made);
    compiled = std::move(asked);
  }
  CallReport report;
  Result<std::vector<NpyArray>> results =
      executable->run(*arguments, cli->repeat,
                      getCallOptions(*runtime::getDefaultNumThreads()), report);
  // Findings go to standard error, and profiles to standard output.
  llvm::errs() << report.findings;
  if (cli->profile != ProfileForm::None)
    printProfiles(report.profiles);
  return results.ok() ? writeResults(*results, report.seconds)
                      : results.status();
}

static llvm::Error toError(const Status &status) {
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}

/// Whether a word may stand in a line of a batch: no option of another
/// category, such as --help, which would end the process.
static bool isOfRun(StringRef word) {
  if (!word.consume_front("-"))
    return true;
  word.consume_front("-");
  cl::Option *option = cl::getRegisteredOptions().lookup(word.split('=').first);
  return !option || (option != &cli->batchFile &&
                     llvm::is_contained(option->Categories, &cli->category));
}

/// Sets the options to those of a line of a batch.
static llvm::Error parseLine(StringRef line) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  SmallVector<const char *> words = {"blockscale-run"};
  cl::TokenizeGNUCommandLine(line, saver, words);
  for (const char *word : words)
    if (!isOfRun(word))
      return llvm::createStringError("expected options of a run in a line, but "
                                     "got '" +
                                     StringRef(word) + "'");
  cl::ResetAllOptionOccurrences();
  std::string message;
  llvm::raw_string_ostream os(message);
  if (cl::ParseCommandLineOptions(static_cast<int>(words.size()), words.data(),
                                  "", &os))
    return cli->inputFile.getNumOccurrences()
               ? llvm::Error::success()
               : llvm::createStringError("expected a module in the line");
  StringRef said = StringRef(message).rtrim();
  said.consume_front("blockscale-run: ");
  return llvm::createStringError(said);
}

static llvm::Error runLine(StringRef line, Runs &runs, MLIRContext &context) {
  if (llvm::Error error = parseLine(line))
    return error;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  return toError(runs.run(sources));
}

namespace {
struct FileCloser {
  void operator()(FILE *file) const {
    if (file != stdin)
      fclose(file);
  }
};
} // namespace

/// Gives `take` each line of a file, or of standard input ("-"), with its
/// number, but for empty lines and comments. A line is taken as soon as it is
/// there: who writes to standard input may wait for the end of a run.
static std::error_code
readLines(const std::string &name,
          function_ref<void(StringRef line, int64_t number)> take) {
  std::unique_ptr<FILE, FileCloser> file(
      name == "-" ? stdin : fopen(name.c_str(), "r"));
  if (!file)
    return llvm::errnoAsErrorCode();
  char *line = nullptr;
  size_t capacity = 0;
  auto release = llvm::scope_exit([&] { free(line); });
  ssize_t length = 0;
  for (int64_t number = 1;
       (length = getline(&line, &capacity, file.get())) >= 0; ++number) {
    StringRef text = StringRef(line, length).rtrim("\r\n");
    if (!text.empty() && !text.starts_with("#"))
      take(text, number);
  }
  return ferror(file.get()) ? llvm::errnoAsErrorCode() : std::error_code();
}

/// Makes the runs of the lines of `file`; says after each how it ended.
static llvm::Error runBatch(const std::string &file, Runs &runs,
                            MLIRContext &context) {
  int64_t failed = 0;
  int64_t count = 0;
  std::error_code status = readLines(file, [&](StringRef line, int64_t number) {
    llvm::Error error = runLine(line, runs, context);
    bool isWrong = static_cast<bool>(error);
    if (isWrong)
      llvm::WithColor::error(llvm::errs(), "blockscale-run")
          << llvm::toString(std::move(error)) << "\n";
    llvm::outs() << "line " << number << ": exit status " << (isWrong ? 1 : 0)
                 << "\n";
    llvm::outs().flush();
    failed += isWrong;
    ++count;
  });
  if (status)
    return llvm::createStringError("'" + file + "': " + status.message());
  if (!failed)
    return llvm::Error::success();
  return llvm::createStringError(std::to_string(failed) + " of " +
                                 std::to_string(count) + " runs of '" + file +
                                 "' failed");
}

static llvm::Error runAll(MLIRContext &context, llvm::SourceMgr &sources) {
  Runs runs(context);
  if (!cli->batchFile.getNumOccurrences())
    return cli->inputFile.getNumOccurrences()
               ? toError(runs.run(sources))
               : llvm::createStringError("expected a module, or --batch");
  std::string file = cli->batchFile;
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (option != &cli->batchFile && option->getNumOccurrences())
      return llvm::createStringError("expected --batch without --" +
                                     name.str() + ", which lines say");
  if (cli->inputFile.getNumOccurrences())
    return llvm::createStringError("expected --batch without '" +
                                   cli->inputFile +
                                   "', since lines name their modules");
  return runBatch(file, runs, context);
}

int blockscale::tools::run(int argc, char **argv) {
  cli.emplace();
  return runModuleTool(argc, argv, "blockscale-run", kOverview, cli->category,
                       runAll);
}

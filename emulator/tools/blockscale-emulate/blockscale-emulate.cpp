//===- blockscale-emulate.cpp - Execute PTX on the CPU --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Fields.h"
#include "HostProgram.h"
#include "Statistics.h"
#include "ToolOptions.h"
#include "Tools.h"
#include "blockscale/CudaRuntime/Environment.h"
#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/Validation.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

#include <optional>

namespace cl = llvm::cl;
using namespace blockscale;
using namespace blockscale::emulator;

static constexpr const char *kOverview =
    "Runs a kernel of a PTX file on the CPU, instruction by instruction, and "
    "reports what\nreal hardware would not\n\n"
    "  blockscale-emulate k.ptx --kernel=scale --grid=4 --block=128 \\\n"
    "      --arg=in:x.npy --arg=out:y.npy:float32:4x128 --arg=f32:0.5\n\n"
    "An --arg is one of\n"
    "  TYPE:VALUE            a scalar: i8 to i64, u8 to u64, b8 to b64, f32, "
    "f64\n"
    "  in:FILE               the address of an array (.npy) that is only read\n"
    "  inout:FILE:FILE       of one that is changed and written to the second "
    "file\n"
    "  out:FILE:DTYPE:SHAPE  of one that the kernel writes, as "
    "out:y.npy:uint8:4x16\n"
    "  zero:BYTES            of memory that is zero, or has never been "
    "written\n"
    "  uninit:BYTES\n"
    "  buffer:NAME[+BYTES]   of a --buffer\n"
    "  map:NAME,FIELD=..,... a tensor map by value, of a --buffer; fields "
    "(dimension 0 first):\n"
    "                        type=BFLOAT16,dims=64x32,box=64x8 and, where "
    "others are wanted,\n"
    "                        strides=128 (bytes), element_strides=1x1, "
    "swizzle=128B,\n"
    "                        interleave=NONE, fill=ZERO, offset=0 (bytes)\n"
    "  bytes:FILE            the bytes of a struct\n"
    "Buffers that come from --arg are called arg0, arg1, ... by their "
    "positions.\n\n"
    "  blockscale-compile q.mlir --target=sm_100a --emit=ptx -o - | "
    "blockscale-emulate - --check\n\n"
    "A CUDA program that nvcc 13 built with -cudart shared finds a GPU in the "
    "emulator:\n\n"
    "  blockscale-emulate --chip=sm_100a --program ./program arguments...\n\n"
    "Files are written when the kernel ran to its end without a finding, or "
    "not at all.\nExit status: 0 success, 1 an error or a finding; else that "
    "of the program\n";

namespace {

/// The options. Only the program registers them, since another one in the same
/// library may have options of these names.
struct CommandLine {
  cl::OptionCategory category{"blockscale-emulate options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::desc("<k.ptx>"),
                                 cl::cat(category)};
  /// For the help; main takes it and all that follows it away.
  cl::opt<bool> programOption{
      "program",
      cl::desc("Run a CUDA program; what follows is its command "
               "line"),
      cl::cat(category)};
  cl::opt<std::string> chipName{
      "chip", cl::desc("The GPU that a program finds (default sm_100a)"),
      cl::value_desc("chip"), cl::init(cuda::kDefaultChip), cl::cat(category)};
  cl::opt<unsigned> multiprocessors{
      "multiprocessors",
      cl::desc("Multiprocessors of the GPU that a program finds (default: "
               "those of the chip's GPU)"),
      cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<bool> check{"check",
                      cl::desc("Parse, look up every instruction, count them; "
                               "run nothing"),
                      cl::cat(category)};
  cl::list<std::string> kernelNames{
      "kernel", cl::desc("Kernel to run; more of them are launched behind it"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<bool> programmatic{
      "programmatic",
      cl::desc("Let each launch behind the first begin before the one before "
               "it has ended (programmatic stream serialization)"),
      cl::cat(category)};
  cl::opt<std::string> gridSize{"grid", cl::desc("Thread blocks (default 1)"),
                                cl::value_desc("x,y,z"), cl::init("1"),
                                cl::cat(category)};
  cl::opt<std::string> blockSize{
      "block", cl::desc("Threads of a block (default 1)"),
      cl::value_desc("x,y,z"), cl::init("1"), cl::cat(category)};
  cl::opt<std::string> clusterSize{
      "cluster", cl::desc("Thread blocks of a cluster (default 1)"),
      cl::value_desc("x,y,z"), cl::init("1"), cl::cat(category)};
  cl::opt<uint64_t> sharedBytes{
      "shared", cl::desc("Dynamic shared memory (default 0)"),
      cl::value_desc("bytes"), cl::init(0), cl::cat(category)};
  cl::list<std::string> bufferOptions{
      "buffer", cl::desc("A buffer that arguments refer to"),
      cl::value_desc("name=buffer"), cl::cat(category)};
  cl::list<std::string> argumentOptions{
      "arg", cl::desc("The parameters in order, see above"),
      cl::value_desc("argument"), cl::cat(category)};
  cl::opt<Schedule> schedule{
      "schedule", cl::desc("When asynchronous work is done:"),
      cl::values(
          clEnumValN(Schedule::Prompt, "prompt",
                     "as it is issued; threads in order (default)"),
          clEnumValN(Schedule::Adversarial, "adversarial",
                     "as late as waits allow; order by the seed"),
          clEnumValN(Schedule::Random, "random",
                     "as adversarial, or at moments drawn from the seed")),
      cl::init(Schedule::Prompt), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Of the other schedules"),
                         cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<uint64_t> maxSteps{
      "max-steps",
      cl::desc("Warp instructions of a cluster after which to give up "
               "(default 1000000000; 0 for no limit)"),
      cl::value_desc("n"), cl::init(kDefaultMaxSteps), cl::cat(category)};
  cl::opt<unsigned> jobs{"jobs",
                         cl::desc("Threads of this machine (default: all)"),
                         cl::value_desc("n"), cl::init(0), cl::cat(category)};
  cl::opt<bool> trace{"trace",
                      cl::desc("Print every instruction on standard "
                               "error"),
                      cl::cat(category)};
  cl::opt<bool> profile{
      "profile",
      cl::desc("Print instructions, bytes, bank conflicts and MMAs; of a "
               "program, the instructions of each launch on standard "
               "error"),
      cl::cat(category)};
  cl::opt<bool> strict{
      "strict",
      cl::desc("Report uses of tcgen05.ld's registers before a wait that "
               "follows, too"),
      cl::cat(category)};
  cl::opt<bool> requireFences{
      "require-fences",
      cl::desc(
          "Report missing fences of tensor memory and of new mbarriers also "
          "in modules that have none of them"),
      cl::cat(category)};
  cl::opt<std::string> sums{
      "sums",
      cl::desc("The chip whose tensor cores add products (default: the target "
               "of the PTX), or exact"),
      cl::value_desc("chip"), cl::cat(category)};
  cl::opt<bool> nanScales{
      "nan-scales",
      cl::desc("Let NaN among the scale factors of a product give NaN"),
      cl::cat(category)};
};

} // namespace

static std::optional<CommandLine> cli;

/// "FILE:LINE:COL: error: MESSAGE" for each error at a place, else as the
/// tool's.
static void printErrors(llvm::StringRef file, llvm::Error errors) {
  llvm::handleAllErrors(
      std::move(errors),
      [&](const Diagnostic &error) {
        llvm::errs() << file << ":";
        error.log(llvm::errs());
        llvm::errs() << "\n";
      },
      [&](const llvm::ErrorInfoBase &error) {
        llvm::WithColor::error(llvm::errs(), "blockscale-emulate")
            << error.message() << "\n";
      });
}

static llvm::Error checkOnly(llvm::StringRef text) {
  llvm::Expected<Module> module = parseModule(text);
  if (!module)
    return module.takeError();
  if (llvm::Error errors = resolveNames(*module))
    return errors;
  if (llvm::Error errors = verifyInstructions(*module))
    return errors;
  emulate::printCounts(*module, llvm::outs());
  return llvm::Error::success();
}

/// Reads up to three sizes; those left out are 1.
static llvm::Error parseSize(const cl::opt<std::string> &option, Dim3 &size) {
  llvm::Expected<std::vector<uint64_t>> numbers =
      emulate::parseNumbers(option, "--" + option.ArgStr, ',');
  if (!numbers)
    return numbers.takeError();
  if (numbers->size() > 3)
    return emulate::unexpected("--" + option.ArgStr + " to be x,y,z", option);
  size = {1, 1, 1};
  for (auto [target, number] : llvm::zip(size, *numbers)) {
    if (number < 1 || number > ~uint32_t(0))
      return emulate::unexpected(
          "--" + option.ArgStr + " to be positive numbers of 32 bits", option);
    target = static_cast<uint32_t>(number);
  }
  return llvm::Error::success();
}

static RunOptions getRunOptions() {
  RunOptions options;
  options.schedule = cli->schedule;
  options.seed = cli->seed;
  options.maxSteps = cli->maxSteps;
  options.jobs = cli->jobs;
  options.trace = cli->trace ? &llvm::errs() : nullptr;
  options.profile = cli->profile;
  options.strict = cli->strict;
  options.requireFences = cli->requireFences;
  options.allowNanScales = cli->nanScales;
  if (cli->sums.getNumOccurrences())
    options.sums = findSumDevice(cli->sums);
  return options;
}

static llvm::Error execute(llvm::StringRef text) {
  LaunchRequest request;
  request.dynamicSharedBytes = cli->sharedBytes;
  if (llvm::Error error = parseSize(cli->gridSize, request.grid))
    return error;
  if (llvm::Error error = parseSize(cli->blockSize, request.block))
    return error;
  if (llvm::Error error = parseSize(cli->clusterSize, request.cluster))
    return error;
  Device device;
  llvm::Expected<std::unique_ptr<Program>> program =
      Program::load(text, device);
  if (!program)
    return program.takeError();
  emulate::Arguments arguments(device);
  for (const std::string &option : cli->bufferOptions)
    if (llvm::Error error = arguments.addBuffer(option))
      return error;
  for (const std::string &option : cli->argumentOptions)
    if (llvm::Error error = arguments.addArgument(option))
      return error;
  request.arguments = arguments.getParameters();

  RunOptions options = getRunOptions();
  Report report;
  // Launches behind each other, all with the same arguments.
  std::vector<std::string> kernels(cli->kernelNames);
  kernels.resize(std::max<size_t>(kernels.size(), 1));
  Stream stream;
  request.stream = kernels.size() > 1 ? &stream : nullptr;
  Profile counted;
  for (const std::string &kernel : kernels) {
    request.kernel = kernel;
    llvm::Expected<Profile> profile =
        runKernel(**program, device, request, options, report);
    if (!profile)
      return profile.takeError();
    counted.add(*profile);
    request.isProgrammatic = cli->programmatic;
  }
  report.print(llvm::errs());
  if (cli->profile)
    emulate::printProfile(**program, counted, llvm::outs());
  if (!report.empty())
    return llvm::createStringError(std::to_string(report.getFindings().size()) +
                                   " findings; nothing is "
                                   "written");
  return arguments.writeOutputs();
}

/// Refuses options that would not have any effect.
static llvm::Error checkOptions(bool runsProgram) {
  if (runsProgram && !cli->inputFile.empty())
    return emulate::unexpected("no PTX file beside --program", cli->inputFile);
  if (!runsProgram && cli->inputFile.empty())
    return llvm::createStringError("expected a PTX file, or --program and a "
                                   "program");
  // A cl::list has an operator & of its own.
  const cl::Option *ofKernels[] = {std::addressof(cli->kernelNames),
                                   &cli->programmatic,
                                   &cli->gridSize,
                                   &cli->blockSize,
                                   &cli->clusterSize,
                                   &cli->sharedBytes,
                                   std::addressof(cli->bufferOptions),
                                   std::addressof(cli->argumentOptions),
                                   &cli->trace};
  const cl::Option *ofRuns[] = {
      &cli->schedule,      &cli->seed,      &cli->maxSteps,
      &cli->jobs,          &cli->strict,    &cli->profile,
      &cli->requireFences, &cli->nanScales, &cli->sums};
  if (cli->sums.getNumOccurrences() && !findSumDevice(cli->sums))
    return emulate::unexpected("--sums to be " + kSumDeviceNames, cli->sums);
  auto refuse = [](llvm::ArrayRef<const cl::Option *> options,
                   const llvm::Twine &what) -> llvm::Error {
    for (const cl::Option *option : options)
      if (option->getNumOccurrences())
        return llvm::createStringError("expected --" + option->ArgStr + what);
    return llvm::Error::success();
  };
  if (runsProgram)
    return llvm::joinErrors(
        refuse(ofKernels, " without --program, which launches for itself"),
        refuse(&cli->check, " without --program, which it would not run"));
  if (llvm::Error error = refuse({&cli->chipName, &cli->multiprocessors},
                                 " with --program alone"))
    return error;
  if (!cli->check && cli->kernelNames.size() < 2)
    if (llvm::Error error = refuse(
            &cli->programmatic, " with two launches at least, which --kernel "
                                "names one by one"))
      return error;
  if (!cli->check)
    return llvm::Error::success();
  constexpr llvm::StringLiteral kReason =
      " without --check, which runs nothing";
  if (llvm::Error error = refuse(ofKernels, kReason))
    return error;
  return refuse(ofRuns, kReason);
}

/// What follows --program, which is taken away from the tool's own arguments.
static llvm::SmallVector<llvm::StringRef> takeProgram(int &argc, char **argv) {
  llvm::SmallVector<llvm::StringRef> commandLine;
  for (int i = 1; i < argc; ++i) {
    if (llvm::StringRef(argv[i]) != "--program")
      continue;
    commandLine.append(argv + i + 1, argv + argc);
    argc = commandLine.empty() ? argc : i;
  }
  return commandLine;
}

int blockscale::tools::emulate(int argc, char **argv) {
  cli.emplace();
  llvm::InitLLVM init(argc, argv);
  setToolVersion("blockscale-emulate");
  cl::HideUnrelatedOptions(cli->category);
  llvm::SmallVector<llvm::StringRef> commandLine = takeProgram(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, kOverview);

  if (llvm::Error error = checkOptions(!commandLine.empty())) {
    printErrors(cli->inputFile, std::move(error));
    return 1;
  }
  if (!commandLine.empty()) {
    llvm::Expected<int> status = emulate::runHostProgram(
        {commandLine, cli->chipName, cli->multiprocessors, getRunOptions()},
        llvm::sys::fs::getMainExecutable(
            argv[0], reinterpret_cast<void *>(&takeProgram)));
    if (status)
      return *status;
    printErrors("", status.takeError());
    return 1;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(cli->inputFile);
  if (!file) {
    llvm::WithColor::error(llvm::errs(), "blockscale-emulate")
        << "cannot read '" << cli->inputFile
        << "': " << file.getError().message() << "\n";
    return 1;
  }
  llvm::StringRef text = (*file)->getBuffer();
  llvm::Error error = cli->check ? checkOnly(text) : execute(text);
  bool failed = static_cast<bool>(error);
  printErrors((*file)->getBufferIdentifier(), std::move(error));
  return failed;
}

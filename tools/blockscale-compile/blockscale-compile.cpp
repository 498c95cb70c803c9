//===- blockscale-compile.cpp - Compile a module for a target -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "ModuleTool.h"
#include "StageDump.h"
#include "Tools.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Driver/Compile.h"
#include "blockscale/Emit/Ptxas.h"
#include "blockscale/Runtime/FileOutput.h"
#include "blockscale/Target/Chip.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using namespace blockscale;
namespace cl = llvm::cl;

namespace {

/// The options. Only the program registers them, since another one in the same
/// library may have options of these names.
struct CommandLine {
  cl::OptionCategory category{"blockscale-compile options"};
  CompileFlags flags{category};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<module.mlir>"), cl::cat(category)};
  std::string targetHelp = "What to compile for: cpu, " + target::listChips() +
                           "; several for a bundle";
  cl::list<std::string> targetNames{"target",
                                    cl::OneOrMore,
                                    cl::CommaSeparated,
                                    cl::desc(targetHelp),
                                    cl::value_desc("name,..."),
                                    cl::cat(category)};
  cl::opt<Emission> emit{
      "emit", cl::Required, cl::desc("What to write:"),
      cl::values(
          clEnumValN(Emission::MLIR, "mlir", "the module after the pipeline"),
          clEnumValN(Emission::LLVM, "llvm", "LLVM IR (cpu)"),
          clEnumValN(Emission::PTX, "ptx", "PTX of the kernels (GPU)"),
          clEnumValN(Emission::Plan, "plan",
                     "launch plan of the kernels, JSON (GPU)"),
          clEnumValN(Emission::Bundle, "bundle",
                     "launch plan and PTX for each target in one file, "
                     "as blockscale-launch and the runtime take it (GPU)"),
          clEnumValN(Emission::Cubin, "cubin",
                     "machine code of the kernels; needs ptxas (GPU)"),
          clEnumValN(Emission::Object, "object", "relocatable object (cpu)"),
          clEnumValN(Emission::Choices, "choices",
                     "schedules of the products with the model's best, JSON "
                     "(GPU)")),
      cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::Required,
                                  cl::desc("Output file, - for standard "
                                           "output"),
                                  cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> dumpStages{
      "dump-stages",
      cl::desc("Write the IR after each stage of the pipeline to "
               "this folder"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> cpu{
      "cpu",
      cl::desc("CPU of --target=cpu: host, x86-64 (default; generic on "
               "aarch64), x86-64-v3, ..."),
      cl::value_desc("name"), cl::init(blockscale::kBaselineCpu),
      cl::cat(category)};
  cl::opt<std::string> features{"features", cl::desc("Added CPU features"),
                                cl::value_desc("+f,-g"), cl::cat(category)};
  cl::opt<std::string> ptxasFile{"ptxas",
                                 cl::desc("ptxas to use, instead of a search"),
                                 cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> machineCode{
      "machine-code",
      cl::desc("Machine code of kernels beside their PTX; needs ptxas (with "
               "--emit=bundle)"),
      cl::cat(category)};
  cl::opt<bool> ptxasInfo{
      "ptxas-info",
      cl::desc("Print registers, spills and memory of each kernel on "
               "standard error (with --emit=cubin)"),
      cl::cat(category)};
  cl::opt<bool> branchOnRows{
      "branch-on-rows",
      cl::desc("Choose tiles of products by the rows of each call where types "
               "do not have them (GPU; default 1)"),
      cl::init(true), cl::cat(category)};
  cl::opt<unsigned> candidates{
      "candidates",
      cl::desc("Most schedules of a product that --emit=choices has "
               "(default 4)"),
      cl::value_desc("n"), cl::init(4), cl::cat(category)};
  cl::opt<bool> remarks{
      "remarks",
      cl::desc("Say on standard error why kernels are launched as they "
               "are (GPU)"),
      cl::cat(category)};
};

} // namespace

static std::optional<CommandLine> cli;

static constexpr const char *kOverview =
    "Compiles a module of the blockscale dialect\n\n"
    "  blockscale-compile q.mlir --target=sm_100a --emit=ptx -o q.ptx\n"
    "  blockscale-compile q.mlir --target=cpu --emit=object --cpu=x86-64-v3 "
    "-o q.o\n"
    "  blockscale-compile q.mlir --target=sm_90a,sm_100a --emit=bundle -o "
    "q.bundle\n\n"
    "A public function of an object is called as _mlir_ciface_NAME: tensors "
    "are "
    "pointers\nto memref descriptors, results are such arguments at the end. "
    "docs/Lowering.md has\nthe details.\n\n"
    "The launch plan says how the functions run: buffers, launches, their "
    "order "
    "and sizes.\ndocs/LaunchPlan.md describes it.\n\n"
    "Machine code needs ptxas of CUDA 13 or later, the first of "
    "$BLOCKSCALE_PTXAS, "
    "PATH, bin in\n$CUDA_ROOT, $CUDA_HOME and $CUDA_PATH, the project's .venv "
    "and /usr/local/cuda/bin.\n\n"
    "The output is written when everything succeeded, or not at all; a dump "
    "stays, for a\nlook at what failed. Exit status: 0 success, 1 an error in "
    "the module, the options or\nthe target.\n";

static void printResources(const KernelResources &kernel) {
  llvm::errs() << kernel.name << ": " << kernel.registers << " registers, "
               << kernel.spillStoreBytes << " bytes of spill stores, "
               << kernel.spillLoadBytes << " bytes of spill loads, "
               << kernel.stackBytes << " bytes of stack, " << kernel.sharedBytes
               << " bytes of shared memory\n";
}

static llvm::Expected<CompileOptions> getOptions() {
  CompileOptions options;
  options.targets = cli->targetNames;
  options.emission = cli->emit;
  options.host = {cli->cpu, cli->features, cli->flags.optimize};
  options.ptxas = cli->ptxasFile;
  options.machineCode = cli->machineCode;
  options.branchOnRows = cli->branchOnRows;
  cli->flags.fill(options);
  options.candidates = cli->candidates;
  if (options.machineCode && options.ptxas.empty()) {
    // Who asks for it here is told that there is no ptxas.
    llvm::Expected<std::string> found = findPtxas();
    if (!found)
      return found.takeError();
    options.ptxas = *found;
  }
  return options;
}

/// Refuses options that would not have any effect.
static llvm::Error checkOptions() {
  if (cli->machineCode && cli->emit != Emission::Bundle)
    return llvm::createStringError("expected --machine-code with "
                                   "--emit=bundle, but got --emit=" +
                                   getName(cli->emit));
  if (cli->ptxasInfo && cli->emit != Emission::Cubin)
    return llvm::createStringError("expected --ptxas-info with --emit=cubin, "
                                   "but got --emit=" +
                                   getName(cli->emit));
  if (cli->ptxasFile.getNumOccurrences() && cli->emit != Emission::Cubin &&
      !cli->machineCode)
    return llvm::createStringError("expected --ptxas with --emit=cubin or "
                                   "--machine-code, but got --emit=" +
                                   getName(cli->emit));
  if (cli->flags.optimize.getNumOccurrences() &&
      cli->emit != Emission::Object && cli->emit != Emission::LLVM)
    return llvm::createStringError("expected --optimize with --emit=object or "
                                   "--emit=llvm, but got --emit=" +
                                   getName(cli->emit));
  if (cli->dumpStages.getNumOccurrences() && cli->targetNames.size() > 1)
    return llvm::createStringError(
        "expected one --target with --dump-stages, but got " +
        llvm::join(cli->targetNames, ","));
  if (cli->candidates.getNumOccurrences() && cli->emit != Emission::Choices)
    return llvm::createStringError("expected --candidates with --emit=choices, "
                                   "but got --emit=" +
                                   getName(cli->emit));
  for (const cl::Option *option :
       {&cli->flags.fuse, &cli->branchOnRows, &cli->flags.overlapLaunches})
    if (option->getNumOccurrences() && cli->targetNames.front() == "cpu")
      return llvm::createStringError("expected --" + option->ArgStr +
                                     " with a GPU, but got --target=cpu");
  if (cli->remarks && cli->targetNames.front() == "cpu")
    return llvm::createStringError(
        "expected --remarks with a GPU, but got --target=cpu");
  for (const cl::Option *option : {&cli->cpu, &cli->features})
    if (option->getNumOccurrences() && cli->targetNames.front() != "cpu")
      return llvm::createStringError(
          "expected --" + option->ArgStr +
          " with --target=cpu, but got --target=" + cli->targetNames.front());
  return llvm::Error::success();
}

static llvm::Error toError(const runtime::Status &status) {
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}

static llvm::Error run(MLIRContext &context, llvm::SourceMgr &sources) {
  if (llvm::Error error = checkOptions())
    return error;
  llvm::Expected<CompileOptions> options = getOptions();
  if (!options)
    return options.takeError();
  if (llvm::Error error = toError(blockscale::checkOptions(*options)))
    return error;
  if (cli->outputFile != "-" &&
      runtime::sameFile(cli->outputFile, cli->inputFile))
    return llvm::createStringError("expected -o to be another file than the "
                                   "input, but got '" +
                                   cli->outputFile + "' for both");
  if (cli->remarks && failed(enableRemarks(context)))
    return llvm::createStringError("remarks could not be enabled");
  OwningOpRef<ModuleOp> module =
      readModule(cli->inputFile, sources, context, cli->flags.bytecodeReader);
  if (!module)
    return llvm::createStringError("'" + cli->inputFile +
                                   "' could not be read");
  if (llvm::Error error = toError(quantizeProducts(*module, cli->flags.policy)))
    return error;
  StageDump dump(cli->dumpStages);
  runtime::Result<Compilation> compiled =
      blockscale::compile(*module, *options, dump);
  if (!compiled.ok())
    return toError(compiled.status());
  if (cli->ptxasInfo)
    llvm::for_each(compiled->kernels, printResources);
  if (cli->outputFile == "-") {
    llvm::outs() << compiled->output;
    return llvm::Error::success();
  }
  return toError(
      runtime::writeFileAtomically(cli->outputFile, compiled->output));
}

int blockscale::tools::compile(int argc, char **argv) {
  cli.emplace();
  return runModuleTool(argc, argv, "blockscale-compile", kOverview,
                       cli->category, ::run);
}

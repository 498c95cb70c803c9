//===- blockscale-compile.cpp - Compile a module for a target -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleBuilder.h"
#include "ModuleTool.h"
#include "Stages.h"

#include "blockscale/Emit/HostCode.h"
#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/Emit/Ptx.h"
#include "blockscale/Emit/Ptxas.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/FileOutput.h"
#include "blockscale/Target/Chip.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace blockscale;
namespace cl = llvm::cl;

static cl::OptionCategory category("blockscale-compile options");
static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("<module.mlir>"),
                                      cl::cat(category));
static cl::list<std::string> targetNames(
    "target", cl::OneOrMore, cl::CommaSeparated,
    cl::desc("What to compile for: cpu, sm_80, sm_89, sm_90a, sm_100a, sm_103a "
             "or sm_110a; several for a bundle"),
    cl::value_desc("name,..."), cl::cat(category));
enum class Emit { MLIR, LLVM, PTX, Plan, Bundle, Cubin, Object };
static cl::opt<Emit> emit(
    "emit", cl::Required, cl::desc("What to write:"),
    cl::values(clEnumValN(Emit::MLIR, "mlir", "the module after the pipeline"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM IR (cpu)"),
               clEnumValN(Emit::PTX, "ptx", "PTX of the kernels (GPU)"),
               clEnumValN(Emit::Plan, "plan",
                          "launch plan of the kernels, JSON (GPU)"),
               clEnumValN(Emit::Bundle, "bundle",
                          "launch plan and PTX for each target in one file, "
                          "as blockscale-launch and the runtime take it (GPU)"),
               clEnumValN(Emit::Cubin, "cubin",
                          "machine code of the kernels; needs ptxas (GPU)"),
               clEnumValN(Emit::Object, "object", "relocatable object (cpu)")),
    cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::Required,
                                       cl::desc("Output file, - for standard "
                                                "output"),
                                       cl::value_desc("file"),
                                       cl::cat(category));
static cl::opt<std::string>
    dumpStages("dump-stages",
               cl::desc("Write the IR after each stage of the pipeline to "
                        "this folder"),
               cl::value_desc("folder"), cl::cat(category));
static cl::opt<std::string>
    cpu("cpu",
        cl::desc("CPU of --target=cpu: host, x86-64 (default), "
                 "x86-64-v3, ..."),
        cl::value_desc("name"), cl::init("x86-64"), cl::cat(category));
static cl::opt<std::string> features("features", cl::desc("Added CPU features"),
                                     cl::value_desc("+f,-g"),
                                     cl::cat(category));

static cl::opt<std::string>
    ptxasFile("ptxas", cl::desc("ptxas to use, instead of a search"),
              cl::value_desc("file"), cl::cat(category));
static cl::opt<bool>
    ptxasInfo("ptxas-info",
              cl::desc("Print registers, spills and memory of each kernel on "
                       "standard error (with --emit=cubin)"),
              cl::cat(category));
static cl::opt<bool>
    fuse("fuse", cl::desc("Let kernels have several ops (GPU; default 1)"),
         cl::init(true), cl::cat(category));
static cl::opt<bool>
    remarks("remarks",
            cl::desc("Say on standard error why kernels are launched as they "
                     "are (GPU)"),
            cl::cat(category));

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
    "A cubin needs ptxas of CUDA 13 or later, the first of $BLOCKSCALE_PTXAS, "
    "PATH, bin in\n$CUDA_ROOT, $CUDA_HOME and $CUDA_PATH, the project's .venv "
    "and /usr/local/cuda/bin.\n\n"
    "The output is written when everything succeeded, or not at all; a dump "
    "stays, for a\nlook at what failed. Exit status: 0 success, 1 an error in "
    "the module, the options or\nthe target.\n";

static StringRef getEmitName() {
  switch (emit.getValue()) {
  case Emit::MLIR:
    return "mlir";
  case Emit::LLVM:
    return "llvm";
  case Emit::PTX:
    return "ptx";
  case Emit::Plan:
    return "plan";
  case Emit::Bundle:
    return "bundle";
  case Emit::Cubin:
    return "cubin";
  case Emit::Object:
    return "object";
  }
  return "";
}

/// The choices of kernels' lowering are printed as remarks of the ops.
static llvm::Error enableRemarks(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.analysis = "gpu-launch";
  if (succeeded(remark::enableOptimizationRemarks(
          context, /*streamer=*/nullptr,
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
          /*printAsEmitRemarks=*/true)))
    return llvm::Error::success();
  return llvm::createStringError("remarks could not be enabled");
}

/// Of all emissions but a bundle there is one.
static const std::string &getTarget() { return targetNames.front(); }

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

static llvm::Error unsupportedEmit(StringRef expected) {
  return llvm::createStringError("expected --emit to be " + expected +
                                 " with --target=" + getTarget() +
                                 ", but got " + getEmitName());
}

static llvm::Expected<std::string> compileForCPU(ModuleOp module) {
  if (emit != Emit::MLIR && emit != Emit::LLVM && emit != Emit::Object)
    return unsupportedEmit("mlir, llvm or object");
  HostTarget host{cpu, features};
  // Before the work: a misspelt CPU is told at once.
  auto machine = createHostTargetMachine(host);
  if (!machine)
    return machine.takeError();
  ToCPUOptions options;
  options.hostRuntime = false;
  if (llvm::Error error =
          compile::runStages(module, getToCPUStages(options), dumpStages))
    return error;
  switch (emit) {
  case Emit::LLVM:
    return emitLLVMText(module, host);
  case Emit::Object:
    return emitObject(module, host);
  default:
    return printModule(module);
  }
}

static void printResources(const KernelResources &kernel) {
  llvm::errs() << kernel.name << ": " << kernel.registers << " registers, "
               << kernel.spillStoreBytes << " bytes of spill stores, "
               << kernel.spillLoadBytes << " bytes of spill loads, "
               << kernel.stackBytes << " bytes of stack, " << kernel.sharedBytes
               << " bytes of shared memory\n";
}

static llvm::Expected<std::string> assemble(StringRef ptxas, StringRef ptx) {
  llvm::Expected<Assembly> assembly = assemblePtx(ptxas, ptx, getTarget());
  if (!assembly)
    return assembly.takeError();
  if (ptxasInfo)
    llvm::for_each(assembly->kernels, printResources);
  return std::move(assembly->cubin);
}

static llvm::Expected<std::string> compileForGPU(ModuleOp module) {
  if (emit == Emit::LLVM || emit == Emit::Object)
    return unsupportedEmit("mlir, ptx, plan, bundle or cubin");
  std::string ptxas;
  if (emit == Emit::Cubin) {
    // Before the work: that it is missing is told at once.
    llvm::Expected<std::string> found =
        ptxasFile.empty() ? findPtxas() : findPtxas({{"--ptxas", ptxasFile}});
    if (!found)
      return found.takeError();
    ptxas = *found;
  }
  if (llvm::Error error = compile::runStages(
          module, getStagesOfChip(getTarget(), fuse), dumpStages))
    return error;
  if (emit == Emit::MLIR)
    return printModule(module);
  if (emit == Emit::Plan) {
    std::string plan = emitLaunchPlan(module, getTarget()).value_or("");
    if (plan.empty())
      return llvm::createStringError(
          "no launch plan could be made of the module");
    return plan;
  }
  std::string ptx = emitPtx(module).value_or("");
  if (ptx.empty())
    return llvm::createStringError("no PTX could be emitted for the module");
  if (emit == Emit::PTX)
    return ptx;
  return assemble(ptxas, ptx);
}

static llvm::Expected<std::string> compileBundle(ModuleOp module) {
  runtime::BundleContent content;
  for (const std::string &chip : targetNames) {
    OwningOpRef<ModuleOp> copy = module.clone();
    if (llvm::Error error =
            compile::runStages(*copy, getStagesOfChip(chip, fuse), dumpStages))
      return std::move(error);
    if (llvm::Error error = addTarget(content, *copy, chip))
      return std::move(error);
  }
  return runtime::writeBundle(content);
}

static llvm::Error checkTargets() {
  for (const std::string &name : targetNames)
    if (name != "cpu" && !target::findChip(name))
      return llvm::createStringError("expected --target to be cpu, " +
                                     target::listChips() + ", but got '" +
                                     name + "'");
  if (targetNames.size() == 1)
    return llvm::Error::success();
  std::string names = llvm::join(targetNames, ",");
  if (emit != Emit::Bundle)
    return llvm::createStringError("expected one --target with --emit=" +
                                   getEmitName() + ", but got " + names);
  if (llvm::is_contained(targetNames, "cpu"))
    return llvm::createStringError(
        "expected --target to be chips with --emit=bundle, but got " + names);
  for (auto [i, name] : llvm::enumerate(targetNames))
    if (llvm::is_contained(
            llvm::ArrayRef<std::string>(targetNames).take_front(i), name))
      return llvm::createStringError(
          "expected different chips as --target, but got " + names);
  if (dumpStages.getNumOccurrences())
    return llvm::createStringError(
        "expected one --target with --dump-stages, but got " + names);
  return llvm::Error::success();
}

/// Refuses options that would not have any effect.
static llvm::Error checkOptions() {
  for (const cl::Option *option : {static_cast<cl::Option *>(&ptxasFile),
                                   static_cast<cl::Option *>(&ptxasInfo)})
    if (option->getNumOccurrences() && emit != Emit::Cubin)
      return llvm::createStringError(
          "expected --" + option->ArgStr +
          " with --emit=cubin, but got --emit=" + getEmitName());
  if (remarks && getTarget() == "cpu")
    return llvm::createStringError(
        "expected --remarks with a GPU, but got --target=cpu");
  for (const cl::Option *option : {&cpu, &features})
    if (option->getNumOccurrences() && getTarget() != "cpu")
      return llvm::createStringError(
          "expected --" + option->ArgStr +
          " with --target=cpu, but got --target=" + getTarget());
  return llvm::Error::success();
}

static llvm::Error run(MLIRContext &context, llvm::SourceMgr &sources) {
  if (llvm::Error error = checkOptions())
    return error;
  if (llvm::Error error = checkTargets())
    return error;
  if (outputFile != "-" && runtime::sameFile(outputFile, inputFile))
    return llvm::createStringError("expected -o to be another file than the "
                                   "input, but got '" +
                                   outputFile + "' for both");
  if (remarks)
    if (llvm::Error error = enableRemarks(context))
      return error;
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(inputFile, sources, &context);
  if (!module)
    return llvm::createStringError("'" + inputFile + "' could not be read");
  llvm::Expected<std::string> output =
      getTarget() == "cpu"   ? compileForCPU(*module)
      : emit == Emit::Bundle ? compileBundle(*module)
                             : compileForGPU(*module);
  if (!output)
    return output.takeError();
  if (outputFile == "-") {
    llvm::outs() << *output;
    return llvm::Error::success();
  }
  runtime::Status written = runtime::writeFileAtomically(outputFile, *output);
  if (!written.ok())
    return llvm::createStringError(written.message());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  return runModuleTool(argc, argv, "blockscale-compile", kOverview, category,
                       run);
}

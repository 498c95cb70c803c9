//===- Compile.cpp - Compile a module for targets -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Compile.h"

#include "BundleBuilder.h"

#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/Emit/ObjectVerifier.h"
#include "blockscale/Emit/Ptx.h"
#include "blockscale/Target/Chip.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

StringRef getName(Emission emission) {
  switch (emission) {
  case Emission::MLIR:
    return "mlir";
  case Emission::LLVM:
    return "llvm";
  case Emission::PTX:
    return "ptx";
  case Emission::Plan:
    return "plan";
  case Emission::Bundle:
    return "bundle";
  case Emission::Cubin:
    return "cubin";
  case Emission::Object:
    return "object";
  case Emission::Choices:
    return "choices";
  }
  return "";
}

bool isOutput(const std::string &bytes, Emission emission) {
  if (emission == Emission::Bundle)
    return runtime::Bundle::parse(bytes).ok();
  if (emission == Emission::Plan)
    return runtime::parseLaunchPlan(bytes).ok();
  return emission != Emission::Object ||
         !llvm::errorToBool(verifyObject(bytes));
}

static Status fail(const Twine &message,
                   ErrorKind kind = ErrorKind::InvalidArgument) {
  return Status::failure(message.str(), kind);
}

static Status checkEmission(const CompileOptions &options) {
  bool isCPU = options.targets.front() == "cpu";
  bool isMatch = options.emission == Emission::MLIR ||
                 (options.emission == Emission::LLVM ||
                  options.emission == Emission::Object) == isCPU;
  if (isMatch)
    return Status::success();
  return fail("expected emit to be " +
              Twine(isCPU ? "mlir, llvm or object"
                          : "mlir, ptx, plan, bundle, cubin or choices") +
              " with target " + options.targets.front() + ", but got " +
              getName(options.emission));
}

static std::vector<Stage> getChipStages(const CompileOptions &options,
                                        const std::string &chip) {
  ToGPUOptions pipeline;
  pipeline.chip = chip;
  pipeline.fuse = options.fuse;
  pipeline.branchOnRows = options.branchOnRows;
  pipeline.overlapLaunches = options.overlapLaunches;
  pipeline.checks = options.checks;
  pipeline.tuned = options.tuned;
  pipeline.candidates =
      options.emission == Emission::Choices ? options.candidates : 0;
  return getToGPUStages(pipeline);
}

Status checkOptions(const CompileOptions &options) {
  ArrayRef<std::string> targets = options.targets;
  if (targets.empty())
    return fail("expected a target: cpu, " + target::listChips());
  for (const std::string &name : targets)
    if (name != "cpu" && !target::findChip(name))
      return fail("expected target to be cpu, " + target::listChips() +
                  ", but got '" + name + "'");
  bool isCpu = targets.front() == "cpu";
  if (isCpu && !options.tuned.empty())
    return fail("expected tuned schedules with a chip as target, but got cpu");
  if (isCpu && options.overlapLaunches)
    return fail("expected launches that overlap with a chip as target, but got "
                "cpu");
  if (targets.size() == 1)
    return checkEmission(options);
  std::string names = llvm::join(targets, ",");
  if (options.emission != Emission::Bundle)
    return fail("expected one target with emit " + getName(options.emission) +
                ", but got " + names);
  if (llvm::is_contained(targets, "cpu"))
    return fail("expected targets to be chips with emit bundle, but got " +
                names);
  for (auto [i, name] : llvm::enumerate(targets))
    if (llvm::is_contained(targets.take_front(i), name))
      return fail("expected different chips as targets, but got " + names);
  return Status::success();
}

namespace {

/// One compilation, whose steps are counted over all of its targets.
class Compiler {
public:
  Compiler(ModuleOp module, const CompileOptions &options,
           CompileObserver &observer)
      : module(module), options(options), observer(observer) {}

  Result<Compilation> run();

private:
  Status prepare();
  std::vector<Stage> getStages() const;
  Status lower(ModuleOp lowered, const std::vector<Stage> &stages,
               size_t targets = 1);
  Result<std::string> emit();
  Result<std::string> assemble(const std::string &ptx);
  Result<std::string> compileBundle();

  ModuleOp module;
  const CompileOptions &options;
  CompileObserver &observer;
  size_t step = 0;
  std::string ptxas;
  std::vector<KernelResources> kernels;
};

} // namespace

/// What is told before the work: a misspelt CPU, that there is no ptxas.
Status Compiler::prepare() {
  if (options.targets.front() == "cpu") {
    auto machine = createHostTargetMachine(options.host);
    return machine ? Status::success()
                   : fail(llvm::toString(machine.takeError()));
  }
  bool isOptional = options.emission == Emission::Bundle;
  if (options.emission != Emission::Cubin &&
      !(isOptional && options.machineCode))
    return Status::success();
  llvm::Expected<std::string> found =
      options.ptxas.empty() ? findPtxas()
                            : findPtxas({{"ptxas", options.ptxas}});
  if (!found) {
    std::string message = llvm::toString(found.takeError());
    return isOptional && options.ptxas.empty()
               ? Status::success()
               : fail(message, ErrorKind::NotFound);
  }
  ptxas = *found;
  return Status::success();
}

std::vector<Stage> Compiler::getStages() const {
  if (options.targets.front() != "cpu")
    return getChipStages(options, options.targets.front());
  ToCPUOptions cpu;
  cpu.hostRuntime = false;
  cpu.checks = options.checks;
  return getToCPUStages(cpu);
}

Status Compiler::lower(ModuleOp lowered, const std::vector<Stage> &stages,
                       size_t targets) {
  size_t count = targets * (stages.size() + 1);
  Status status = runStages(lowered, stages, observer, step, count);
  step += stages.size();
  if (status.ok())
    status = observer.begin(getName(options.emission).str(), step++, count);
  return status;
}

static Result<std::string> take(llvm::Expected<std::string> emitted) {
  if (emitted)
    return std::move(*emitted);
  return fail(llvm::toString(emitted.takeError()), ErrorKind::Compilation);
}

Result<std::string> Compiler::emit() {
  switch (options.emission) {
  case Emission::LLVM:
    return take(emitLLVMText(module, options.host));
  case Emission::Object:
    return take(emitObject(module, options.host));
  case Emission::Plan: {
    FailureOr<runtime::LaunchPlan> plan =
        emitLaunchPlan(module, options.targets.front());
    if (failed(plan))
      return fail("no launch plan could be made of the module",
                  ErrorKind::Compilation);
    return runtime::writeLaunchPlan(*plan);
  }
  case Emission::Choices: {
    FailureOr<std::vector<runtime::PlanChoice>> choices = emitChoices(module);
    if (failed(choices))
      return fail("no choices could be made of the module",
                  ErrorKind::Compilation);
    return runtime::writeChoices(options.targets.front(),
                                 getCompilerVersion().str(), *choices);
  }
  case Emission::PTX:
  case Emission::Cubin: {
    FailureOr<std::string> ptx = emitPtx(module);
    if (failed(ptx))
      return fail("no PTX could be emitted for the module",
                  ErrorKind::Compilation);
    return options.emission == Emission::PTX ? std::move(*ptx) : assemble(*ptx);
  }
  default:
    break;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

Result<std::string> Compiler::assemble(const std::string &ptx) {
  llvm::Expected<Assembly> assembly =
      assemblePtx(ptxas, ptx, options.targets.front());
  if (!assembly)
    return fail(llvm::toString(assembly.takeError()), ErrorKind::Compilation);
  kernels = std::move(assembly->kernels);
  return std::move(assembly->cubin);
}

Result<std::string> Compiler::compileBundle() {
  runtime::BundleContent content;
  for (const std::string &chip : options.targets) {
    OwningOpRef<ModuleOp> copy = module.clone();
    Status status =
        lower(*copy, getChipStages(options, chip), options.targets.size());
    if (status.ok())
      status = addTarget(content, *copy, chip, ptxas);
    if (!status.ok())
      return status;
  }
  return runtime::writeBundle(content);
}

Result<Compilation> Compiler::run() {
  Status status = checkOptions(options);
  if (status.ok())
    status = prepare();
  bool isBundle = options.emission == Emission::Bundle;
  if (status.ok() && !isBundle)
    status = lower(module, getStages());
  if (!status.ok())
    return status;
  Result<std::string> output = isBundle ? compileBundle() : emit();
  if (!output.ok())
    return output.status();
  return Compilation{std::move(*output), std::move(kernels)};
}

Result<Compilation> compile(ModuleOp module, const CompileOptions &options,
                            CompileObserver &observer) {
  return Compiler(module, options, observer).run();
}

} // namespace blockscale

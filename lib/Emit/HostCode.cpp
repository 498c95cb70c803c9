//===- HostCode.cpp - LLVM IR and objects for the CPU ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/HostCode.h"
#include "CpuInstructions.h"
#include "PackedCalls.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;

namespace blockscale {

/// LLVM warns of an unknown CPU or feature and goes on, and aborts on an x86
/// CPU without 64-bit mode.
static llvm::Error checkSubtarget(const llvm::Target &target,
                                  const llvm::Triple &triple,
                                  llvm::StringRef cpu,
                                  const llvm::SubtargetFeatures &features) {
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target.createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(cpu))
    return llvm::createStringError("expected cpu to be host or a CPU of " +
                                   triple.str() + " (" + kBaselineCpu + ", " +
                                   kLaterCpu + ", ...), but got '" + cpu + "'");
  for (llvm::StringRef feature : features.getFeatures()) {
    auto isFeature = [&](const llvm::SubtargetFeatureKV &known) {
      return feature.drop_front() == upstream::getFeatureName(known);
    };
    if (!llvm::SubtargetFeatures::hasFlag(feature) ||
        llvm::none_of(known->getAllProcessorFeatures(), isFeature))
      return llvm::createStringError("expected features to be a list such as "
                                     "+avx2,-fma of features of " +
                                     triple.str() + ", but got '" + feature +
                                     "'");
  }
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.createMCSubtargetInfo(triple, cpu, features.getString()));
  if (triple.isX86() &&
      !subtarget->checkFeatures("+64bit,+64bit-mode,-32bit-mode,-16bit-mode"))
    return llvm::createStringError("expected cpu and features to have "
                                   "64-bit mode, but got '" +
                                   cpu + "' and '" + features.getString() +
                                   "'");
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostTargetMachine(const HostTarget &target) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *registered =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!registered)
    return llvm::createStringError(message);
  std::string cpu =
      target.cpu == "host" ? llvm::sys::getHostCPUName().str() : target.cpu;
  llvm::SubtargetFeatures asked(target.features);
  if (llvm::Error error = checkSubtarget(*registered, triple, cpu, asked))
    return error;
  llvm::SubtargetFeatures features;
  if (target.cpu == "host")
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
  // The last of two settings counts.
  features.addFeaturesVector(asked.getFeatures());
  std::unique_ptr<llvm::TargetMachine> machine(registered->createTargetMachine(
      triple, cpu, features.getString(), llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt,
      target.optimize ? llvm::CodeGenOptLevel::Aggressive
                      : llvm::CodeGenOptLevel::None));
  return machine;
}

llvm::Expected<std::string> describeCpu(const HostTarget &target) {
  auto machine = createHostTargetMachine(target);
  if (!machine)
    return machine.takeError();
  return ((*machine)->getTargetCPU() + " " +
          (*machine)->getTargetFeatureString())
      .str();
}

std::vector<std::string> listFeatures(const llvm::TargetMachine &machine) {
  // Others say how code is tuned, which any machine runs.
  llvm::StringMap<bool> instructions = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> features;
  const llvm::MCSubtargetInfo &subtarget = upstream::getSubtarget(machine);
  for (const llvm::SubtargetFeatureKV &feature :
       subtarget.getAllProcessorFeatures()) {
    llvm::StringRef name = upstream::getFeatureName(feature);
    if (subtarget.hasFeature(feature.Value) && instructions.contains(name))
      features.push_back(name.str());
  }
  return features;
}

std::vector<std::string>
findMissingFeatures(const std::vector<std::string> &features) {
  llvm::StringMap<bool> present = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> missing;
  for (const std::string &feature : features)
    if (!present.lookup(feature))
      missing.push_back(feature);
  return missing;
}

/// Translates `module`, and optimizes it where that is asked for.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context,
          llvm::TargetMachine &machine, bool isOptimized, bool isPacked) {
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return llvm::createStringError(
        "the module could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  if (isPacked)
    addPackedFunctions(*llvmModule);
  useCpuInstructions(*llvmModule, machine);
  auto optimize =
      makeOptimizingTransformer(isOptimized ? 3 : 0, /*sizeLevel=*/0, &machine);
  if (llvm::Error error = optimize(llvmModule.get()))
    return error;
  return llvmModule;
}

/// Translates `module` and gives the result to `write`.
static llvm::Expected<std::string>
emitTranslated(ModuleOp module, const HostTarget &target, bool isPacked,
               function_ref<llvm::Expected<std::string>(llvm::Module &,
                                                        llvm::TargetMachine &)>
                   write) {
  auto machine = createHostTargetMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto llvmModule =
      translate(module, context, **machine, target.optimize, isPacked);
  if (!llvmModule)
    return llvmModule.takeError();
  return write(**llvmModule, **machine);
}

static llvm::Expected<std::string> writeText(llvm::Module &module,
                                             llvm::TargetMachine &) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}

static llvm::Expected<std::string> writeObject(llvm::Module &module,
                                               llvm::TargetMachine &machine) {
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("the host target cannot emit object files");
  passes.run(module);
  return object.str().str();
}

llvm::Expected<std::string> emitLLVMText(ModuleOp module,
                                         const HostTarget &target) {
  return emitTranslated(module, target, /*isPacked=*/false, writeText);
}

llvm::Expected<std::string> emitObject(ModuleOp module,
                                       const HostTarget &target) {
  return emitTranslated(module, target, /*isPacked=*/false, writeObject);
}

llvm::Expected<std::string> emitPackedObject(ModuleOp module,
                                             const HostTarget &target) {
  return emitTranslated(module, target, /*isPacked=*/true, writeObject);
}

} // namespace blockscale

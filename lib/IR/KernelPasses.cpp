//===- KernelPasses.cpp - LLVM's passes over kernels ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline of LLVM's O2 without what changes nothing in kernels. A kernel
// is one function that calls nothing and keeps all values in registers, and its
// code generator chose its loops. Passes over calls, coroutines, memory on the
// stack and idioms of loops find nothing there. Of the passes that O2 repeats
// there are those without which PTX of kernels changes.
//
//===----------------------------------------------------------------------===//

#include "KernelPasses.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace blockscale {

/// Passes are in O2's order.
static constexpr llvm::StringLiteral kSimplify =
    "function(nvvm-intr-range,simplifycfg,early-cse,sccp,"
    "instcombine<no-verify-fixpoint>,simplifycfg<switch-range-to-icmp>,"
    "early-cse<memssa>,speculative-execution<only-if-divergent-target>,"
    "correlated-propagation,instcombine<no-verify-fixpoint>,"
    "aggressive-instcombine,reassociate,constraint-elimination,"
    "loop-mssa(licm<no-allowspeculation>,loop-rotate,licm),"
    "simplifycfg<switch-range-to-icmp>,instcombine<no-verify-fixpoint>,"
    "loop(indvars,loop-deletion,loop-unroll-full),vector-combine,gvn,sccp,bdce,"
    "instcombine<no-verify-fixpoint>,correlated-propagation,loop-mssa(licm),"
    "simplifycfg<switch-range-to-icmp;hoist-common-insts;sink-common-insts>,"
    "loop-vectorize,instcombine<no-verify-fixpoint>,"
    "simplifycfg<switch-range-to-icmp;no-keep-loops;hoist-common-insts;"
    "sink-common-insts>,";

/// Makes pairs of instructions with two f32 each where the GPU has such. To
/// look for pairs takes a fifth of the time of all passes.
static constexpr llvm::StringLiteral kPairs = "slp-vectorizer,";

static constexpr llvm::StringLiteral kFinish =
    "vector-combine,loop-unroll<O2>,infer-alignment,"
    "instcombine<no-verify-fixpoint>,loop-mssa(licm),div-rem-pairs,"
    "simplifycfg<switch-range-to-icmp;hoist-loads-stores-with-cond-faulting;"
    "speculate-unpredictables>)";

/// Whether the GPU computes with two f32 at once.
static bool hasPairsOfF32(llvm::Module &module,
                          const llvm::TargetMachine &machine) {
  llvm::Type *f32 = llvm::Type::getFloatTy(module.getContext());
  return machine.getTargetTransformInfo(*module.begin())
      .isTypeLegal(llvm::FixedVectorType::get(f32, 2));
}

llvm::Error runKernelPasses(llvm::Module &module,
                            llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  std::string list = kSimplify.str();
  if (hasPairsOfF32(module, machine))
    list += kPairs;
  list += kFinish;
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, list))
    return error;
  passes.run(module, modules);
  // What others may see stays.
  for (llvm::GlobalVariable &global :
       llvm::make_early_inc_range(module.globals())) {
    global.removeDeadConstantUsers();
    if (global.hasLocalLinkage() && global.use_empty())
      global.eraseFromParent();
  }
  return llvm::Error::success();
}

} // namespace blockscale

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
#include "llvm/Transforms/AggressiveInstCombine/AggressiveInstCombine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/BDCE.h"
#include "llvm/Transforms/Scalar/ConstraintElimination.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/SpeculativeExecution.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include "llvm/Transforms/Vectorize/VectorCombine.h"

namespace blockscale {

/// Adds passes over loops, in their order.
template <typename... Passes>
static void addLoopPasses(llvm::FunctionPassManager &passes, bool hasMemorySSA,
                          Passes... loopPasses) {
  llvm::LoopPassManager loops;
  (loops.addPass(std::move(loopPasses)), ...);
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(std::move(loops), hasMemorySSA));
}

/// LLVM's `licm` without the search for memory that a loop could keep in
/// registers. It compares each access of a loop with all others, and kernels
/// have none of such memory: their code generators keep sums in registers.
static llvm::LICMPass makeHoisting(bool speculates = true) {
  llvm::LICMOptions options;
  options.MssaNoAccForPromotionCap = 0;
  options.AllowSpeculation = speculates;
  return llvm::LICMPass(options);
}

/// Passes are in O2's order.
static void addSimplifications(llvm::FunctionPassManager &passes) {
  auto options = llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true);
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SCCPPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass(options));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(
      llvm::SpeculativeExecutionPass(/*OnlyIfDivergentTarget=*/true));
  passes.addPass(llvm::CorrelatedValuePropagationPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::AggressiveInstCombinePass());
  passes.addPass(llvm::ReassociatePass());
  passes.addPass(llvm::ConstraintEliminationPass());
  addLoopPasses(passes, /*hasMemorySSA=*/true,
                makeHoisting(/*speculates=*/false), llvm::LoopRotatePass(),
                makeHoisting());
  passes.addPass(llvm::SimplifyCFGPass(options));
  passes.addPass(llvm::InstCombinePass());
  addLoopPasses(passes, /*hasMemorySSA=*/false, llvm::IndVarSimplifyPass(),
                llvm::LoopDeletionPass(), llvm::LoopFullUnrollPass());
  passes.addPass(llvm::VectorCombinePass());
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::SCCPPass());
  passes.addPass(llvm::BDCEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::CorrelatedValuePropagationPass());
  addLoopPasses(passes, /*hasMemorySSA=*/true, makeHoisting());
  options.hoistCommonInsts(true).sinkCommonInsts(true);
  passes.addPass(llvm::SimplifyCFGPass(options));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass(options.needCanonicalLoops(false)));
}

static void addFinish(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::VectorCombinePass());
  passes.addPass(llvm::LoopUnrollPass());
  passes.addPass(llvm::InferAlignmentPass());
  passes.addPass(llvm::InstCombinePass());
  addLoopPasses(passes, /*hasMemorySSA=*/true, makeHoisting());
  passes.addPass(llvm::DivRemPairsPass());
  passes.addPass(
      llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions()
                                .convertSwitchRangeToICmp(true)
                                .hoistLoadsStoresWithCondFaulting(true)
                                .speculateUnpredictables(true)));
}

/// Whether the GPU computes with two f32 at once.
static bool hasPairsOfF32(llvm::Module &module,
                          const llvm::TargetMachine &machine) {
  llvm::Type *f32 = llvm::Type::getFloatTy(module.getContext());
  return machine.getTargetTransformInfo(*module.begin())
      .isTypeLegal(llvm::FixedVectorType::get(f32, 2));
}

void runKernelPasses(llvm::Module &module, llvm::TargetMachine &machine) {
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
  llvm::FunctionPassManager passes;
  addSimplifications(passes);
  // Makes pairs of instructions with two f32 each. To look for pairs takes a
  // fifth of the time of all passes.
  if (hasPairsOfF32(module, machine))
    passes.addPass(llvm::SLPVectorizerPass());
  addFinish(passes);
  llvm::ModulePassManager all;
  // Passes of the target, which bound the numbers of threads and blocks.
  builder.invokePipelineStartEPCallbacks(all, llvm::OptimizationLevel::O2);
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
  // What others may see stays.
  for (llvm::GlobalVariable &global :
       llvm::make_early_inc_range(module.globals())) {
    global.removeDeadConstantUsers();
    if (global.hasLocalLinkage() && global.use_empty())
      global.eraseFromParent();
  }
}

} // namespace blockscale

//===- FuzzTarget.cpp - What one input of the fuzzer does -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "Fuzzer.h"
#include "ModuleGenerator.h"

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/VerifyText.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;

namespace blockscale {

/// Limits of an input. Larger ones would take more time than what they reach is
/// worth.
static constexpr size_t kMaxTextSize = 1 << 16;
static constexpr int64_t kMaxFuzzedConstant = 1 << 20;

/// Ends the process as a crash does, so that the fuzzer keeps the input.
[[noreturn]] static void fail(const Twine &what) {
  llvm::errs() << "blockscale-fuzz: " << what << "\n";
  std::abort();
}

namespace {

/// A context and its pipelines, which serve many inputs: loading the dialects
/// takes longer than lowering a small module.
class Session {
public:
  Session() : context(makeRegistry()), toCPU(&context), toSM100(&context) {
    context.disableMultithreading();
    for (const Stage &stage : getToCPUStages(ToCPUOptions()))
      stage.build(toCPU);
    for (const Stage &stage : getToGPUStages("sm_100a"))
      stage.build(toSM100);
  }

  void run(const std::string &text, bool isGenerated, FuzzCounts &counts);

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    blockscale::registerAllDialects(registry);
    return registry;
  }

  void checkRoundTrip(ModuleOp module);
  /// The lowered module, or null.
  OwningOpRef<ModuleOp> lower(ModuleOp module, PassManager &pipeline,
                              StringRef name);

  MLIRContext context;
  PassManager toCPU;
  PassManager toSM100;
  bool hasError = false;
};

} // namespace

/// Constants that folding or packing would take long to copy.
static bool hasLargeConstant(ModuleOp module) {
  return module
      ->walk([](arith::ConstantOp op) {
        int64_t limit = kMaxFuzzedConstant;
        auto type = dyn_cast<ShapedType>(op.getType());
        if (!type || !type.hasStaticShape() ||
            llvm::is_contained(type.getShape(), 0))
          return WalkResult::advance();
        for (int64_t size : type.getShape()) {
          if (size > limit)
            return WalkResult::interrupt();
          limit /= size;
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

void Session::checkRoundTrip(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  if (!parseSourceString<ModuleOp>(text, ParserConfig(&context)))
    fail("a printed module does not parse:\n" + text);
}

OwningOpRef<ModuleOp> Session::lower(ModuleOp module, PassManager &pipeline,
                                     StringRef name) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  hasError = false;
  if (succeeded(pipeline.run(*lowered)))
    return lowered;
  if (!hasError)
    fail(name + " failed without an error");
  return {};
}

/// Text may have ops that no pipeline claims to lower, such as a gpu.module.
static void checkIsLLVM(ModuleOp lowered) {
  lowered->walk([](Operation *op) {
    if (!isa<ModuleOp>(op) &&
        !isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
      fail("blockscale-to-cpu left " + op->getName().getStringRef());
  });
}

void Session::run(const std::string &text, bool isGenerated,
                  FuzzCounts &counts) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    hasError |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    // Formatting is part of what must not crash.
    (void)diagnostic.str();
    return success();
  });
  // As at every door.
  if (failed(verifyText(text, "<input>", context)))
    return;
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module || hasLargeConstant(*module))
    return;
  checkRoundTrip(*module);
  auto onCPU = lower(*module, toCPU, "blockscale-to-cpu");
  auto onSM100 = lower(*module, toSM100, "blockscale-to-sm100");
  if (!isGenerated)
    return;
  counts.toCPU += bool(onCPU);
  counts.toSM100 += bool(onSM100);
  if (onCPU)
    checkIsLLVM(*onCPU);
}

std::string getModuleText(StringRef input) {
  // A copy ends with the NUL that the lexer looks for.
  return isDescription(input) ? generateModule(input.drop_front())
                              : input.str();
}

void runFuzzInput(StringRef input, FuzzCounts &counts) {
  // Types and attributes of past inputs fill a context.
  constexpr unsigned kInputsPerSession = 500;
  static std::unique_ptr<Session> session;
  static unsigned numInputs = 0;
  std::string text = getModuleText(input);
  if (text.size() > kMaxTextSize)
    return;
  if (!session || ++numInputs % kInputsPerSession == 0) {
    session.reset();
    session = std::make_unique<Session>();
  }
  bool isGenerated = isDescription(input);
  counts.generated += isGenerated;
  session->run(text, isGenerated, counts);
}

} // namespace blockscale

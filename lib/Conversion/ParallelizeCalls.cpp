//===- ParallelizeCalls.cpp - Row ranges over the host's threads ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/RuntimeFunction.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_PARALLELIZECALLS
#include "blockscale/Conversion/Passes.h.inc"

static constexpr StringLiteral kParallelFor = "blockscale_parallel_for";

/// The declaration of the runtime's function; null, with a diagnostic, where
/// the module has something else of that name.
static LLVM::LLVMFuncOp getParallelFor(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type i64 = IntegerType::get(context, 64);
  Type ptr = LLVM::LLVMPointerType::get(context);
  return emit::declareRuntimeFunction(module, kParallelFor, {i64, ptr, ptr});
}

/// The arguments of `call` that every range shares, as one struct.
static LLVM::LLVMStructType getContextType(LLVM::CallOp call) {
  SmallVector<Type> types(call.getArgOperands().drop_back(2).getTypes());
  return LLVM::LLVMStructType::getLiteral(call.getContext(), types);
}

/// Makes `void @CALLEE__range(ptr context, i64 begin, i64 end)`, which unpacks
/// the context and calls the callee.
static LLVM::LLVMFuncOp createRangeFunction(LLVM::CallOp call,
                                            SymbolTable &symbols) {
  StringRef callee = call.getCalleeAttr().getValue();
  std::string name = (callee + "__range").str();
  OpBuilder builder(call->getParentOfType<LLVM::LLVMFuncOp>());
  Location loc = call.getLoc();
  Type i64 = builder.getI64Type();
  Type ptr = LLVM::LLVMPointerType::get(call.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(call.getContext()), {ptr, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type,
                                           LLVM::Linkage::Internal);
  symbols.insert(function);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  LLVM::LLVMStructType contextType = getContextType(call);
  Value context =
      LLVM::LoadOp::create(builder, loc, contextType, entry->getArgument(0));
  SmallVector<Value> arguments;
  for (int64_t i = 0, e = contextType.getBody().size(); i < e; ++i)
    arguments.push_back(LLVM::ExtractValueOp::create(builder, loc, context, i));
  arguments.push_back(entry->getArgument(1));
  arguments.push_back(entry->getArgument(2));
  LLVM::CallOp::create(builder, loc, TypeRange(), callee, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

/// Splits a marked call over threads:
///
///   llvm.call @kernel(%x, %q, %zero, %n) {blockscale.parallel}
/// becomes
///   llvm.store {%x, %q}, %context
///   llvm.call @blockscale_parallel_for(%n, @kernel__range, %context)
static void parallelize(LLVM::CallOp call, LLVM::LLVMFuncOp range,
                        LLVM::LLVMFuncOp parallelFor) {
  Location loc = call.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(call.getContext());
  LLVM::LLVMStructType contextType = getContextType(call);
  // In the entry block, so that a call in a loop does not grow the stack.
  auto builder = OpBuilder::atBlockBegin(
      &call->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), 1);
  Value slot = LLVM::AllocaOp::create(builder, loc, ptr, contextType, one);
  builder.setInsertionPoint(call);
  Value context = LLVM::PoisonOp::create(builder, loc, contextType);
  for (auto [i, argument] : llvm::enumerate(call.getArgOperands().drop_back(2)))
    context = LLVM::InsertValueOp::create(builder, loc, context, argument, i);
  LLVM::StoreOp::create(builder, loc, context, slot);
  Value body = LLVM::AddressOfOp::create(builder, loc, range);
  LLVM::CallOp::create(builder, loc, parallelFor,
                       ValueRange{call.getArgOperands().back(), body, slot});
  call.erase();
}

/// Whether `call` has the form that `parallelize` takes. Its begin must be 0:
/// blockscale_parallel_for splits [0, n).
static bool isRangeCall(LLVM::CallOp call) {
  auto arguments = call.getArgOperands();
  return call->getParentOfType<LLVM::LLVMFuncOp>() && call.getCallee() &&
         call.getNumResults() == 0 && arguments.size() >= 2 &&
         llvm::all_of(arguments.take_back(2), [](Value argument) {
           return argument.getType().isInteger(64);
         });
}

namespace {

struct ParallelizeCallsPass
    : public impl::ParallelizeCallsBase<ParallelizeCallsPass> {
  void runOnOperation() override {
    SmallVector<LLVM::CallOp> calls;
    getOperation()->walk([&](LLVM::CallOp call) {
      if (call->hasAttr("blockscale.parallel"))
        calls.push_back(call);
    });
    if (calls.empty())
      return;
    LLVM::LLVMFuncOp parallelFor = getParallelFor(getOperation());
    if (!parallelFor)
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    DenseMap<StringAttr, LLVM::LLVMFuncOp> ranges;
    for (LLVM::CallOp call : calls) {
      if (!isRangeCall(call)) {
        call.emitOpError("expected a blockscale.parallel call to be in an "
                         "llvm.func, to name a callee without results and to "
                         "end with i64 begin and end");
        return signalPassFailure();
      }
      LLVM::LLVMFuncOp &range = ranges[call.getCalleeAttr().getAttr()];
      if (!range)
        range = createRangeFunction(call, symbols);
      parallelize(call, range, parallelFor);
    }
  }
};

} // namespace
} // namespace blockscale

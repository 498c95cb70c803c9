//===- DefineSerialRuntime.cpp - Runtime for stand-alone objects ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_DEFINESERIALRUNTIME
#include "blockscale/Conversion/Passes.h.inc"

static LLVM::LLVMFuncOp declare(OpBuilder &builder, ModuleOp module,
                                StringRef name, Type result,
                                ArrayRef<Type> arguments, bool varArg) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(result, arguments, varArg));
}

/// Starts the weak definition of a declared function.
static Block *startBody(OpBuilder &builder, LLVM::LLVMFuncOp function) {
  function.setLinkage(LLVM::Linkage::Weak);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  return entry;
}

/// body(context, 0, n)
static void defineParallelFor(OpBuilder &builder, LLVM::LLVMFuncOp function) {
  Location loc = function.getLoc();
  Block *entry = startBody(builder, function);
  Type i64 = builder.getI64Type();
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  auto bodyType = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), {ptr, i64, i64});
  Value zero = LLVM::ConstantOp::create(builder, loc, i64, 0);
  LLVM::CallOp::create(builder, loc, bodyType,
                       ValueRange{entry->getArgument(1), entry->getArgument(2),
                                  zero, entry->getArgument(0)});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// dprintf(2, text, values...); abort()
static void defineAbort(OpBuilder &builder, ModuleOp module,
                        LLVM::LLVMFuncOp function, StringRef name,
                        StringRef text, unsigned numValues) {
  Location loc = function.getLoc();
  Type i32 = builder.getI32Type();
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  LLVM::LLVMFuncOp print =
      declare(builder, module, "dprintf", i32, {i32, ptr}, /*varArg=*/true);
  LLVM::LLVMFuncOp abort =
      declare(builder, module, "abort", none, {}, /*varArg=*/false);
  builder.setInsertionPointToStart(module.getBody());
  std::string terminated = text.str();
  terminated.push_back('\0');
  auto format = LLVM::GlobalOp::create(
      builder, loc,
      LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal, name,
      builder.getStringAttr(terminated));
  Block *entry = startBody(builder, function);
  Value stream = LLVM::ConstantOp::create(builder, loc, i32, 2);
  SmallVector<Value> operands = {
      stream, LLVM::AddressOfOp::create(builder, loc, format)};
  llvm::append_range(operands, entry->getArguments().take_front(numValues));
  LLVM::CallOp::create(builder, loc, print, operands);
  LLVM::CallOp::create(builder, loc, abort, ValueRange());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

namespace {

struct DefineSerialRuntimePass
    : public impl::DefineSerialRuntimeBase<DefineSerialRuntimePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    auto isDeclared = [&](StringRef name) {
      auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
      return function && function.isExternal() ? function : LLVM::LLVMFuncOp();
    };
    if (LLVM::LLVMFuncOp function = isDeclared("blockscale_parallel_for"))
      defineParallelFor(builder, function);
    if (LLVM::LLVMFuncOp function = isDeclared("blockscale_report_error"))
      defineAbort(builder, module, function, "blockscale_error_format",
                  "blockscale: %s, but got %lld\n", /*numValues=*/2);
    // A rank is never taken to be alone unasked.
    if (LLVM::LLVMFuncOp function = isDeclared("blockscale_reduce_over_ranks"))
      defineAbort(builder, module, function, "blockscale_ranks_format",
                  "blockscale: expected the program to define "
                  "blockscale_reduce_over_ranks, but it has not\n",
                  /*numValues=*/0);
  }
};

} // namespace
} // namespace blockscale

//===- ErrorReporter.cpp - Calls that report errors -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorReporter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using blockscale::runtime::ErrorOp;
using blockscale::runtime::ErrorRule;

namespace blockscale::cpu {

void ErrorReporter::emitReport(ImplicitLocOpBuilder &b, StringRef rule,
                               Value found) {
  Value message = LLVM::AddressOfOp::create(b, getMessage(rule));
  Type i64 = b.getI64Type();
  if (found.getType().isIndex())
    found = arith::IndexCastOp::create(b, i64, found);
  else if (found.getType() != i64)
    found = arith::ExtSIOp::create(b, i64, found);
  LLVM::CallOp::create(b, getFunction(), ValueRange{message, found});
}

void ErrorReporter::emitReport(ImplicitLocOpBuilder &b, ErrorOp op,
                               const emit::FirstFault &fault) {
  // What printf replaces by the group and by what is expected.
  constexpr const char *number = "%lld";
  auto getFormat = [&](ErrorRule rule) -> Value {
    return LLVM::AddressOfOp::create(
        b, getMessage(runtime::formatErrorRule(rule, op, number, number)));
  };
  Value format = getFormat(ErrorRule::EndBeforeBegin);
  for (ErrorRule rule :
       {ErrorRule::EndBeyondExtent, ErrorRule::EndWithinBlock}) {
    Value isRule =
        emit::isEqual(emit::Lanes(b, fault.rule), static_cast<int64_t>(rule));
    format = LLVM::SelectOp::create(b, isRule, getFormat(rule), format);
  }
  LLVM::CallOp::create(
      b, getGroupFunction(),
      ValueRange{format, fault.group, fault.expected, fault.found});
}

LLVM::LLVMFuncOp ErrorReporter::getFunction() {
  constexpr StringLiteral name = "blockscale_report_error";
  if (auto function = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return function;
  MLIRContext *context = module.getContext();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context),
      {LLVM::LLVMPointerType::get(context), IntegerType::get(context, 64)});
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  symbols.insert(function);
  return function;
}

/// The function that reports a text with two numbers in it, so that the text
/// has memory of its own whose life ends with the report:
///
///   llvm.func internal @blockscale_report_group(%format, %group, %expected,
///   %found) {
///     %text = llvm.alloca
///     llvm.call @snprintf(%text, %size, %format, %group, %expected)
///     llvm.call @blockscale_report_error(%text, %found)
///   }
LLVM::LLVMFuncOp ErrorReporter::getGroupFunction() {
  constexpr StringLiteral name = "blockscale_report_group";
  if (auto function = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return function;
  LLVM::LLVMFuncOp report = getFunction();
  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  auto b =
      ImplicitLocOpBuilder::atBlockBegin(module.getLoc(), module.getBody());
  auto print = symbols.lookup<LLVM::LLVMFuncOp>("snprintf");
  if (!print) {
    print = LLVM::LLVMFuncOp::create(
        b, "snprintf",
        LLVM::LLVMFunctionType::get(i32, {pointer, i64, pointer},
                                    /*isVarArg=*/true));
    symbols.insert(print);
  }
  auto function = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  {pointer, i64, i64, i64}),
      LLVM::Linkage::Internal);
  symbols.insert(function);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  ValueRange arguments = function.getArguments();
  // Enough for the longest text and two numbers of 20 characters.
  constexpr int64_t bytes = 256;
  Value size = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(bytes));
  Value text = LLVM::AllocaOp::create(b, pointer, b.getI8Type(), size);
  LLVM::CallOp::create(
      b, print,
      ValueRange{text, size, arguments[0], arguments[1], arguments[2]});
  LLVM::CallOp::create(b, report, ValueRange{text, arguments[3]});
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

LLVM::GlobalOp ErrorReporter::getMessage(StringRef text) {
  LLVM::GlobalOp &global = messages[text];
  if (global)
    return global;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  std::string terminated = text.str();
  terminated.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  global = LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                  /*isConstant=*/true, LLVM::Linkage::Internal,
                                  "blockscale_message",
                                  builder.getStringAttr(terminated));
  symbols.insert(global);
  return global;
}

} // namespace blockscale::cpu

//===- ErrorReporter.cpp - Calls that report errors -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorReporter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscale::cpu {

void ErrorReporter::emitReport(ImplicitLocOpBuilder &b, StringRef rule,
                               Value found, bool isSigned) {
  Value message = LLVM::AddressOfOp::create(b, getMessage(rule));
  Type i64 = b.getI64Type();
  if (found.getType().isIndex())
    found = arith::IndexCastOp::create(b, i64, found);
  else if (found.getType().getIntOrFloatBitWidth() < 64)
    found = isSigned ? arith::ExtSIOp::create(b, i64, found).getResult()
                     : arith::ExtUIOp::create(b, i64, found).getResult();
  LLVM::CallOp::create(b, getFunction(), ValueRange{message, found});
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

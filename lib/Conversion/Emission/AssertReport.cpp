//===- AssertReport.cpp - What a broken assertion reports -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssertReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale::emit {

static bool isNumber(Type type) {
  return type.isIndex() ||
         (type.isInteger() && type.getIntOrFloatBitWidth() <= 64);
}

AssertReport::AssertReport(cf::AssertOp op) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  if (!compare || !isNumber(compare.getLhs().getType()) ||
      op.getMsg().empty()) {
    text = ("expected the assertion \"" + op.getMsg() + "\" to hold").str();
    return;
  }
  text = op.getMsg().str();
  found = compare.getLhs();
  expected = compare.getRhs();
  // A number of one bit has no sign.
  isSigned = compare.getPredicate() < arith::CmpIPredicate::ult &&
             !found.getType().isInteger(1);
  if (matchPattern(found, m_Constant()))
    std::swap(found, expected);
  if (Operation *rest = found.getDefiningOp();
      isa_and_present<arith::RemUIOp, arith::RemSIOp>(rest)) {
    found = rest->getOperand(0);
    expected = rest->getOperand(1);
  }
}

Value AssertReport::emitFound(ImplicitLocOpBuilder &b) const {
  return emitNumber(b, found);
}

Value AssertReport::emitExpected(ImplicitLocOpBuilder &b) const {
  return emitNumber(b, expected);
}

Value AssertReport::emitNumber(ImplicitLocOpBuilder &b, Value number) const {
  if (!number)
    return arith::ConstantIntOp::create(b, 0, 64);
  Type i64 = b.getI64Type();
  if (number.getType() == i64)
    return number;
  if (number.getType().isIndex())
    return arith::IndexCastOp::create(b, i64, number);
  return isSigned ? arith::ExtSIOp::create(b, i64, number).getResult()
                  : arith::ExtUIOp::create(b, i64, number).getResult();
}

} // namespace blockscale::emit

//===- E2M1Function.cpp - Calls of what decodes E2M1 codes ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "E2M1Function.h"
#include "blockscale/Conversion/E2M1.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/Numerics/Codec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace blockscale::cpu {

/// The function whose body b is in.
static func::FuncOp getFunction(ImplicitLocOpBuilder &b) {
  Operation *parent = b.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  return function ? function : parent->getParentOfType<func::FuncOp>();
}

E2M1Function::E2M1Function(ImplicitLocOpBuilder &caller) {
  func::FuncOp parent = getFunction(caller);
  ImplicitLocOpBuilder b(caller.getLoc(), parent);
  auto ofWords = VectorType::get({kLanesOfE2M1}, b.getI32Type());
  auto ofNumbers = VectorType::get({kLanesOfE2M1}, b.getF32Type());
  function = func::FuncOp::create(b, (parent.getName() + "_decode_e2m1").str(),
                                  b.getFunctionType(ofWords, ofNumbers));
  function.setPrivate();
  function->setAttr(upstream::kPassthrough,
                    b.getStrArrayAttr({"alwaysinline", kDecodesE2M1}));
  // Renames the function where the module has another one of the name.
  SymbolTable(parent->getParentOfType<ModuleOp>())
      .insert(function, Block::iterator(parent));
  b.setInsertionPointToStart(function.addEntryBlock());
  Lanes words(b, function.getArgument(0));
  Lanes decoded = numerics::decodeMagnified(numerics::ElementFormat::E2M1,
                                            words, /*first=*/0);
  func::ReturnOp::create(b, Value(decoded));
}

Lanes E2M1Function::emitCall(ImplicitLocOpBuilder &b, Lanes words) const {
  return Lanes(b, func::CallOp::create(b, function, Value(words)).getResult(0));
}

} // namespace blockscale::cpu

//===- CpuFunction.cpp - Calls of functions of the CPU's own --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuFunction.h"
#include "BlockDecoder.h"
#include "blockscale/Conversion/BF16Products.h"
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

CpuFunction::CpuFunction(ImplicitLocOpBuilder &caller, StringRef suffix,
                         Attribute name, TypeRange arguments, Type result,
                         Body body) {
  func::FuncOp parent = getFunction(caller);
  ImplicitLocOpBuilder b(caller.getLoc(), parent);
  function = func::FuncOp::create(b, (parent.getName() + suffix).str(),
                                  b.getFunctionType(arguments, result));
  function.setPrivate();
  function->setAttr(upstream::kPassthrough,
                    b.getArrayAttr({b.getStringAttr("alwaysinline"), name}));
  // Renames the function where the module has another one of the name.
  SymbolTable(parent->getParentOfType<ModuleOp>())
      .insert(function, Block::iterator(parent));
  b.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(b, body(b, function.getArguments()));
}

Lanes CpuFunction::emitCall(ImplicitLocOpBuilder &b,
                            ValueRange arguments) const {
  return Lanes(b, func::CallOp::create(b, function, arguments).getResult(0));
}

CpuFunction CpuFunction::createDecodeE2M1(ImplicitLocOpBuilder &b) {
  return CpuFunction(
      b, "_decode_e2m1", b.getStringAttr(kDecodesE2M1),
      VectorType::get({kLanesOfE2M1}, b.getI32Type()),
      VectorType::get({kLanesOfE2M1}, b.getF32Type()),
      [](ImplicitLocOpBuilder &b, ValueRange arguments) -> Value {
        return numerics::decodeMagnified(numerics::ElementFormat::E2M1,
                                         Lanes(b, arguments[0]), /*first=*/0);
      });
}

CpuFunction CpuFunction::createHasBF16Products(ImplicitLocOpBuilder &b) {
  return CpuFunction(
      b, "_has_bf16_products", b.getStringAttr(kHasBF16Products), {},
      b.getI1Type(), [](ImplicitLocOpBuilder &b, ValueRange) -> Value {
        return arith::ConstantOp::create(b, b.getBoolAttr(false));
      });
}

CpuFunction CpuFunction::createAddBF16Products(ImplicitLocOpBuilder &b) {
  auto words = VectorType::get({kBF16Words}, b.getI16Type());
  auto sums = VectorType::get({kBF16Words / 2}, b.getF32Type());
  return CpuFunction(
      b, "_add_bf16_products", b.getStringAttr(kAddsBF16Products),
      {sums, words, words}, sums,
      [](ImplicitLocOpBuilder &b, ValueRange arguments) -> Value {
        auto [x, y] = std::pair(deinterleave(Lanes(b, arguments[1])),
                                deinterleave(Lanes(b, arguments[2])));
        auto widen = [](Lanes bits) { return toF32(extend(bits, 32) << 16); };
        return addExactProduct(widen(x.second), widen(y.second),
                               addExactProduct(widen(x.first), widen(y.first),
                                               Lanes(b, arguments[0])));
      });
}

Lanes orderUnpacked(Lanes x) {
  SmallVector<int64_t> order;
  for (int64_t word = 0; word < x.getCount(); ++word)
    order.push_back(getUnpackedByte(word));
  return shuffleLanes(x, x, order);
}

CpuFunction CpuFunction::createDecodeToBF16(ImplicitLocOpBuilder &b,
                                            numerics::ElementFormat format) {
  bool packed = isPacked(format);
  int64_t count = packed ? kBF16Words : kBF16Bytes;
  return CpuFunction(
      b, "_decode_to_bf16",
      b.getStrArrayAttr({kDecodesToBF16, numerics::getFormatInfo(format).name}),
      VectorType::get({count},
                      packed ? Type(b.getI16Type()) : Type(b.getI8Type())),
      VectorType::get({count}, b.getI16Type()),
      [&](ImplicitLocOpBuilder &b, ValueRange arguments) -> Value {
        Lanes codes(b, arguments[0]);
        if (!packed)
          codes = orderUnpacked(codes);
        Lanes bits = extend(packed ? codes & 0xF : codes, 32);
        return truncate(toBits(numerics::decodeBits(format, bits)) >> 16, 16);
      });
}

} // namespace blockscale::cpu

//===- SplitSum.cpp - Results of products in parts of K -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSum.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"
#include "InterleavedRows.h"
#include "ResultWriter.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

void emitSplitSum(KernelBuilder &b, const GemmSpec &spec, Value sums,
                  GemmArguments arguments) {
  arguments.rows = narrowSize(b, arguments.rows);
  arguments.cols = narrowSize(b, arguments.cols);
  if (arguments.innerResult)
    arguments.innerResult = narrowSize(b, arguments.innerResult);
  Lanes rows(b, arguments.rows);
  Lanes fragments = emitCeilDiv(b, arguments.cols, kFragment);

  Lanes number(
      b, arith::IndexCastOp::create(b, b.getI64Type(),
                                    emitGlobalThreadNumber(b, kSumThreads)));
  Lanes perMatrix = toI64(b, rows) * toI64(b, fragments);
  Lanes all = perMatrix * Lanes(b, arguments.matrices);
  emit::emitIf(b, isBelow(b, number, all), [&] {
    Lanes matrix = divide(b, number, perMatrix);
    Lanes rest = number - matrix * perMatrix;
    Lanes row = divide(b, rest, toI64(b, fragments));
    Lanes fragment = rest - row * toI64(b, fragments);
    auto type = VectorType::get({kFragment}, b.getF32Type());
    Value sum;
    for (int64_t part = 0; part < spec.schedule.getSplits(); ++part) {
      Lanes first = matrix * spec.schedule.getSplits() + part;
      Lanes place =
          (first * toI64(b, rows) + row) * toI64(b, fragments) + fragment;
      Value more =
          b.load(type, b.offset(sums, b.getF32Type(), place * kFragment),
                 /*alignment=*/32);
      sum = sum ? Value(Lanes(b, sum) + Lanes(b, more)) : more;
    }
    ResultRow place;
    place.product = truncate(matrix, 32);
    place.number = matrix * toI64(b, rows) + row;
    if (arguments.innerResult)
      place.inMemory =
          MatrixRows(b, place.product, arguments.rows, arguments.innerResult)
              .get(row);
    place.exists = arith::ConstantOp::create(b, b.getBoolAttr(true));
    ResultWriter writer(b, spec, arguments, place);
    writer.emitFragment(sum, truncate(fragment, 32) * kFragment);
  });
}

} // namespace blockscale::products

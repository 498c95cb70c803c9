//===- SplitSum.cpp - Results of products in parts of K -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSum.h"
#include "../ToGPU/DeviceCode.h"
#include "ResultWriter.h"
#include "TileOrder.h"

using namespace mlir;

namespace blockscale::sm100 {

using cpu::Lanes;

GemmSpec getPartialSpec(const GemmSpec &spec) {
  return {spec.format,
          spec.schedule,
          Float32Type::get(spec.result.getContext()),
          /*bias=*/Type(),
          FactorForm::Absent,
          FactorForm::Absent,
          /*scalesAfterRounding=*/false,
          spec.mayBeEmptySum};
}

static Lanes wide(KernelBuilder &b, Value value) {
  return Lanes(b, b.zext64(value));
}

void emitSplitSum(KernelBuilder &b, const GemmSpec &spec,
                  ValueRange parameters) {
  GemmArguments arguments(spec, parameters.drop_front());
  auto takeSize = [&](int64_t fromEnd) -> Value {
    Value size = parameters[parameters.size() - fromEnd];
    return arith::TruncIOp::create(b, b.getI32Type(), size);
  };
  arguments.rows = takeSize(3);
  arguments.cols = takeSize(2);
  Lanes rows(b, arguments.rows);
  Lanes chunks(b, emitCeilDiv(b, arguments.cols, kChunk));

  Lanes number(
      b, arith::IndexCastOp::create(b, b.getI64Type(),
                                    emitGlobalThreadNumber(b, kSumThreads)));
  Lanes perMatrix = wide(b, rows) * wide(b, chunks);
  Lanes all = perMatrix * Lanes(b, parameters.back());
  cpu::emitIf(b, isBelow(b, number, all), [&] {
    auto divide = [&](Lanes x, Lanes y) {
      return Lanes(b, b.createOrFold<arith::DivUIOp>(x, y));
    };
    Lanes matrix = divide(number, perMatrix);
    Lanes rest = number - matrix * perMatrix;
    Lanes row = divide(rest, wide(b, chunks));
    Lanes chunk = rest - row * wide(b, chunks);
    auto type = VectorType::get({kChunk}, b.getF32Type());
    Value sums;
    for (int64_t part = 0; part < spec.schedule.getSplits(); ++part) {
      Lanes first = matrix * spec.schedule.getSplits() + part;
      Lanes place = (first * wide(b, rows) + row) * wide(b, chunks) + chunk;
      Value more = b.load(
          type, b.offset(parameters.front(), b.getF32Type(), place * kChunk),
          /*alignment=*/32);
      sums = sums ? Value(Lanes(b, sums) + Lanes(b, more)) : more;
    }
    ResultWriter writer(b, spec, arguments, truncate(matrix, 32),
                        truncate(row, 32));
    writer.emitChunk(sums, truncate(chunk, 32) * kChunk);
  });
}

} // namespace blockscale::sm100

//===- GemmSpec.cpp - What a kernel of matrix products computes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::sm100 {

static StringRef getName(FactorForm form) {
  switch (form) {
  case FactorForm::Absent:
    return "";
  case FactorForm::Scalar:
    return "scalar";
  case FactorForm::Single:
    return "one";
  case FactorForm::EachMatrix:
    return "each";
  case FactorForm::EachRow:
    return "row";
  }
  return "";
}

std::string GemmSpec::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "scaled_mm_" << format.getName() << "_" << result << "_"
     << schedule.getRows() << "x" << schedule.getCols() << "_stages"
     << schedule.getStages() << "_band" << schedule.getBand();
  if (schedule.getMulticast() > 1)
    os << "_multicast" << schedule.getMulticast();
  if (schedule.getSplits() > 1)
    os << "_splits" << schedule.getSplits();
  if (factorA != FactorForm::Absent)
    os << "_a" << sm100::getName(factorA);
  if (factorB != FactorForm::Absent)
    os << "_b" << sm100::getName(factorB);
  if (scalesAfterRounding)
    os << "_after";
  if (bias)
    os << "_bias_" << bias;
  if (mayBeEmptySum)
    os << "_any_k";
  return name;
}

GemmArguments::GemmArguments(const GemmSpec &spec, ValueRange values) {
  auto take = [&](bool isPresent = true) -> Value {
    if (!isPresent)
      return {};
    Value value = values.front();
    values = values.drop_front();
    return value;
  };
  result = take();
  factorA = take(spec.factorA != FactorForm::Absent);
  factorB = take(spec.factorB != FactorForm::Absent);
  bias = take(static_cast<bool>(spec.bias));
}

GemmArguments::GemmArguments(const GemmSpec &spec, ImplicitLocOpBuilder &b,
                             ValueRange values)
    : GemmArguments(spec, values.drop_front(4)) {
  mapA = values[0];
  mapB = values[1];
  scaleA = values[2];
  scaleB = values[3];
  auto getSize = [&](size_t fromEnd) -> Value {
    Value size = values[values.size() - fromEnd];
    return arith::TruncIOp::create(b, b.getI32Type(), size);
  };
  rows = getSize(4);
  cols = getSize(3);
  depth = getSize(2);
  matrices = getSize(1);
}

} // namespace blockscale::sm100

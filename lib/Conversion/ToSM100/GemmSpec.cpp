//===- GemmSpec.cpp - What a kernel of matrix products computes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSpec.h"
#include "Arithmetic.h"

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

/// Of the op, and of what is grouped.
static StringRef getName(Groups groups) {
  switch (groups) {
  case Groups::None:
    return "scaled_mm";
  case Groups::Rows:
    return "scaled_grouped_mm_rows";
  case Groups::Depth:
    return "scaled_grouped_mm_depth";
  }
  return "";
}

std::string GemmSpec::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << sm100::getName(groups) << "_" << format.getName() << "_" << result
     << "_" << schedule.getRows() << "x" << schedule.getCols() << "_stages"
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
    os << (hasBiasOfEach ? "_biases_" : "_bias_") << bias;
  if (mayBeEmptySum)
    os << "_any_k";
  if (products > 1)
    os << "_twice";
  if (epilogue)
    os << epilogue->getName();
  return name;
}

namespace {

/// Takes parameters from the first on.
struct Parameters {
  Value take(bool isPresent = true) {
    if (!isPresent)
      return {};
    Value value = values.front();
    values = values.drop_front();
    return value;
  }

  ValueRange values;
};

} // namespace

GemmArguments::GemmArguments(const GemmSpec &spec, ValueRange values)
    : products(spec.products) {
  Parameters parameters{values};
  const EpilogueSpec *epilogue = spec.epilogue.get();
  bool isQuantized = epilogue && epilogue->quantize;
  result = parameters.take();
  resultScale = parameters.take(isQuantized);
  for (ProductArguments &product : products) {
    product.factorA = parameters.take(spec.factorA != FactorForm::Absent);
    product.factorB = parameters.take(spec.factorB != FactorForm::Absent);
    product.bias = parameters.take(static_cast<bool>(spec.bias));
  }
  global = parameters.take(isQuantized && epilogue->quantize->hasGlobal());
  for (int64_t i = 0; epilogue && i < epilogue->countInputs(); ++i)
    inputs.push_back(parameters.take());
  offsets = parameters.take(spec.groups != Groups::None);
}

GemmArguments::GemmArguments(const GemmSpec &spec, ImplicitLocOpBuilder &b,
                             ValueRange values)
    : GemmArguments(spec, values.drop_front(2 + 2 * spec.products)) {
  Parameters parameters{values};
  mapA = parameters.take();
  scaleA = parameters.take();
  for (ProductArguments &product : products) {
    product.mapB = parameters.take();
    product.scaleB = parameters.take();
  }
  if (spec.hasGroupedScales()) {
    resultAtoms = narrowSize(b, values.back());
    values = values.drop_back();
  }
  ValueRange sizes = values.take_back(4);
  rows = narrowSize(b, sizes[0]);
  cols = narrowSize(b, sizes[1]);
  depth = narrowSize(b, sizes[2]);
  matrices = narrowSize(b, sizes[3]);
}

} // namespace blockscale::sm100

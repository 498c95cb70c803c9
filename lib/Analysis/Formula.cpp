//===- Formula.cpp - Work of a kernel as a formula of sizes ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Formula.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

namespace blockscale {

Quotient floorOf(llvm::ArrayRef<Product> sum, int64_t divisor) {
  return {llvm::SmallVector<Product, 2>(sum), divisor, /*roundsUp=*/false};
}

Quotient ceilOf(llvm::ArrayRef<Product> sum, int64_t divisor) {
  return {llvm::SmallVector<Product, 2>(sum), divisor, /*roundsUp=*/true};
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

// Sizes and their products are integers below 2^53, so their sums and rounded
// quotients are exact.

static double evaluate(Product product, const LinearShape &shape) {
  double value = 1;
  if (product & kM)
    value *= shape.m;
  if (product & kK)
    value *= shape.k;
  if (product & kN)
    value *= shape.n;
  return value;
}

static double evaluate(const Quotient &quotient, const LinearShape &shape) {
  double sum = 0;
  for (Product product : quotient.sum)
    sum += evaluate(product, shape);
  double value = sum / quotient.divisor;
  return quotient.roundsUp ? std::ceil(value) : std::floor(value);
}

double Formula::evaluate(const LinearShape &shape) const {
  double sum = 0;
  for (const Term &term : terms) {
    double value = term.coefficient * blockscale::evaluate(term.product, shape);
    for (const Quotient &quotient : term.quotients)
      value *= blockscale::evaluate(quotient, shape);
    sum += value;
  }
  return sum;
}

Formula Formula::scaled(llvm::ArrayRef<double> factors) const {
  Formula result = *this;
  for (Term &term : result.terms)
    for (double factor : factors)
      term.coefficient *= factor;
  return result;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string printCoefficient(double value) {
  // d.dddddddddddddde+xx
  llvm::SmallString<32> text;
  llvm::raw_svector_ostream(text) << llvm::format("%.14e", value);
  auto [digits, exponent] = llvm::StringRef(text).split('e');
  digits = digits.rtrim('0');
  int power = 0;
  exponent.consume_front("+");
  exponent.getAsInteger(10, power);
  return (digits + (digits.ends_with(".") ? "0e" : "e") + llvm::Twine(power))
      .str();
}

static std::string print(Product product) {
  llvm::SmallVector<llvm::StringRef, 3> names;
  for (auto [bit, name] :
       {std::pair(kK, "K"), std::pair(kM, "M"), std::pair(kN, "N")})
    if (product & bit)
      names.push_back(name);
  return llvm::join(names, "*");
}

static std::string print(const Quotient &quotient) {
  auto parts = llvm::map_range(quotient.sum, [&](Product product) {
    return print(product) + "/" + std::to_string(quotient.divisor);
  });
  return (quotient.roundsUp ? "ceiling(" : "floor(") +
         llvm::join(parts, " + ") + ")";
}

std::string Formula::toString() const {
  auto parts = llvm::map_range(terms, [](const Term &term) {
    std::string text = printCoefficient(term.coefficient);
    if (term.product)
      text += "*" + print(term.product);
    for (const Quotient &quotient : term.quotients)
      text += "*" + print(quotient);
    return text;
  });
  return llvm::join(parts, " + ");
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

static Formula getFlopsSeconds(const KernelFormula &kernel,
                               const target::Gpu &gpu) {
  return kernel.flops.scaled(
      {1 / gpu.getPeakFlops(kernel.unit), 1 / gpu.flopsShare});
}

static Formula getBytesSeconds(const KernelFormula &kernel,
                               const target::Gpu &gpu) {
  return kernel.bytes.scaled({1 / gpu.peakBytes, 1 / gpu.bytesShare});
}

double getSeconds(const KernelFormula &kernel, const target::Gpu &gpu,
                  const LinearShape &shape) {
  if (!gpu.has(kernel.unit))
    return std::numeric_limits<double>::quiet_NaN();
  return std::max({target::kLaunchSeconds,
                   getFlopsSeconds(kernel, gpu).evaluate(shape),
                   getBytesSeconds(kernel, gpu).evaluate(shape)});
}

std::string printSeconds(const KernelFormula &kernel, const target::Gpu &gpu) {
  if (!gpu.has(kernel.unit))
    return "nan";
  std::string text = "Max(" + printCoefficient(target::kLaunchSeconds);
  for (const Formula &limit :
       {getFlopsSeconds(kernel, gpu), getBytesSeconds(kernel, gpu)})
    if (!limit.terms.empty())
      text += ", " + limit.toString();
  return text + ")";
}

} // namespace blockscale

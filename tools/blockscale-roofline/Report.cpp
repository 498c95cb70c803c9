//===- Report.cpp - Rooflines as text -------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace llvm;

namespace blockscale::roofline {

std::string printShape(const LinearShape &shape) {
  std::string text;
  raw_string_ostream os(text);
  os << format("%.0f", shape.m);
  if (shape.m != shape.k || shape.m != shape.n)
    os << format("x%.0fx%.0f", shape.k, shape.n);
  return text;
}

/// One line for each different formula, after the recipes that have it.
static void printShared(StringRef name, const Comparison &comparison,
                        function_ref<std::string(const LinearRecipe &)> print,
                        raw_ostream &os) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const LinearRecipe *recipe : comparison.recipes) {
    std::string formula = print(*recipe);
    auto same = find_if(
        lines, [&](const auto &line) { return line.second == formula; });
    if (same == lines.end())
      lines.emplace_back(recipe->name.str(), formula);
    else
      same->first += ", " + recipe->name.str();
  }
  for (const auto &[recipes, formula] : lines)
    os << name << " (" << recipes << ") = " << formula << "\n";
}

void printFormulas(const Comparison &comparison, raw_ostream &os) {
  const target::Gpu &gpu = *comparison.gpu;
  Model model = comparison.model;
  os << "bf16_gemm_time = " << printSeconds(getBf16Product(), gpu) << "\n"
     << "bf16_ovhd_time = " << printSeconds(getBf16Pass(), gpu) << "\n";
  printShared(
      "gemm_time", comparison,
      [&](const LinearRecipe &recipe) {
        return printSeconds(getProduct(model, recipe), gpu);
      },
      os);
  printShared(
      "ovhd_time", comparison,
      [&](const LinearRecipe &recipe) {
        return printSeconds(getQuantization(model, recipe), gpu);
      },
      os);
}

static void printMicroseconds(double seconds, raw_ostream &os) {
  if (std::isnan(seconds))
    os << right_justify("-", 12);
  else
    os << format(" %11.3f", seconds * 1e6);
}

static void printSpeedup(double speedup, raw_ostream &os) {
  if (std::isnan(speedup))
    os << right_justify("-", 8);
  else
    os << format(" %7.2f", speedup);
}

void printTable(const Comparison &comparison, raw_ostream &os) {
  for (const LinearRecipe *recipe : comparison.recipes) {
    os << recipe->name << ", us\n"
       << "       M       K       N   bf16 gemm   bf16 ovhd        gemm        "
          "ovhd       r\n";
    for (const LinearShape &shape : comparison.shapes) {
      LinearTimes times =
          getLinearTimes(comparison.model, *recipe, *comparison.gpu, shape);
      os << format("%8.0f %7.0f %7.0f", shape.m, shape.k, shape.n);
      for (double seconds : {times.bf16Product, times.bf16Pass, times.product,
                             times.quantization})
        printMicroseconds(seconds, os);
      printSpeedup(times.getSpeedup(), os);
      os << "\n";
    }
  }
}

void printCsv(const Comparison &comparison, raw_ostream &os) {
  os << "gpu,model,recipe,M,K,N,quant_ovhd_s,lowp_gemm_s,bf16_gemm_s,bf16_ovhd_"
        "s,speedup\n";
  for (const LinearRecipe *recipe : comparison.recipes)
    for (const LinearShape &shape : comparison.shapes) {
      LinearTimes times =
          getLinearTimes(comparison.model, *recipe, *comparison.gpu, shape);
      os << comparison.gpu->name << "," << getName(comparison.model) << ","
         << recipe->name
         << format(",%.0f,%.0f,%.0f", shape.m, shape.k, shape.n);
      for (double value : {times.quantization, times.product, times.bf16Product,
                           times.bf16Pass, times.getSpeedup()})
        os << format(",%.17g", value);
      os << "\n";
    }
}

} // namespace blockscale::roofline

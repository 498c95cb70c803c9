//===- Report.h - Rooflines as text and pictures ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_ROOFLINE_REPORT_H
#define BLOCKSCALE_TOOLS_ROOFLINE_REPORT_H

#include "blockscale/Analysis/Cost/LinearModel.h"

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace blockscale::roofline {

/// What is compared.
struct Comparison {
  const target::Gpu *gpu;
  Model model;
  std::vector<const LinearRecipe *> recipes;
  std::vector<LinearShape> shapes;
};

/// A size where all three are equal, else MxKxN.
std::string printShape(const LinearShape &shape);

/// The formulas, one line each; what recipes share is printed once.
void printFormulas(const Comparison &comparison, llvm::raw_ostream &os);

/// Times and speed-up over bf16 of each shape, for people.
void printTable(const Comparison &comparison, llvm::raw_ostream &os);

/// Times and speed-up for programs: all digits, and a line for each shape and
/// recipe.
void printCsv(const Comparison &comparison, llvm::raw_ostream &os);

/// A picture of the speed-ups (SVG).
std::string drawSpeedups(const Comparison &comparison);

} // namespace blockscale::roofline

#endif // BLOCKSCALE_TOOLS_ROOFLINE_REPORT_H

//===- Rendering.h - Reports as text and pictures ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_REPORT_RENDERING_H
#define BLOCKSCALE_TOOLS_REPORT_RENDERING_H

#include "Assessment.h"

#include "llvm/Support/raw_ostream.h"

namespace blockscale::report {

/// A row for each product, the sums of those that are quantized, and the
/// reasons of those that are left. A bar shows the signal to noise ratio.
void printTable(llvm::ArrayRef<Product> products, const target::Gpu &gpu,
                llvm::raw_ostream &os);

/// A picture of the signal to noise ratio of each quantized product (SVG).
std::string drawNoise(llvm::ArrayRef<Product> products);

/// A policy that quantizes the products of these names in these formats, and
/// leaves all others.
std::string writePolicy(llvm::ArrayRef<Product> products);

} // namespace blockscale::report

#endif // BLOCKSCALE_TOOLS_REPORT_RENDERING_H

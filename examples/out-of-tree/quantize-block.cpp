//===- quantize-block.cpp - The arithmetic alone, without MLIR ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizes sixteen numbers to NVFP4 by the recipe of its argument, and prints
// the scale, the codes and what they stand for.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Numerics/Quantize.h"

#include <cstdio>

using namespace blockscale::numerics;

int main(int argc, char **argv) {
  std::optional<Recipe> recipe = parseRecipe(argc > 1 ? argv[1] : "torchao");
  if (!recipe || !isNvfp4(*recipe)) {
    std::fprintf(stderr, "expected a recipe of NVFP4, but got '%s'\n",
                 argc > 1 ? argv[1] : "");
    return 1;
  }
  float x[16];
  for (int i = 0; i < 16; ++i)
    x[i] = static_cast<float>(i - 8) / 3.0f;
  uint8_t codes[16];
  uint8_t scale = quantizeBlock(*recipe, ElementFormat::E2M1,
                                getGlobalFactors(*recipe, {}), x, 16, codes);
  std::printf("scale 0x%02X\n", scale);
  for (int i = 0; i < 16; ++i)
    std::printf(
        "%.4f -> %X = %.4f\n", x[i], codes[i],
        dequantizeElement(*recipe, ElementFormat::E2M1, codes[i], scale));
  return 0;
}

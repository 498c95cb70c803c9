//===- blockscale-fuzz.cpp - Random modules for the compiler --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "Fuzzer.h"
#include "blockscale/Numerics/Recipe.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace blockscale {

static constexpr StringRef kTokens[] = {"bf16",
                                        "f32",
                                        "f16",
                                        "f4E2M1FN",
                                        "f8E4M3FN",
                                        "f8E5M2",
                                        "f8E8M0FNU",
                                        "f6E2M3FN",
                                        "f6E3M2FN",
                                        "i8",
                                        "i32",
                                        "i64",
                                        "i1",
                                        "index",
                                        "?",
                                        "*",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "15",
                                        "16",
                                        "17",
                                        "32",
                                        "33",
                                        "127",
                                        "128",
                                        "129",
                                        "-1",
                                        "65535",
                                        "65536",
                                        "2147483648",
                                        "4611686018427387904",
                                        "9223372036854775807",
                                        "k",
                                        "n",
                                        "transposed",
                                        "scale_dim",
                                        "block",
                                        "recipe",
                                        "global_scale",
                                        "global_amax",
                                        "block_amax",
                                        "rng",
                                        "offsets",
                                        "group_dim",
                                        "sizes",
                                        "sign_mask",
                                        "hessian",
                                        "bias",
                                        "before_rounding",
                                        "after_rounding",
                                        "in_elements",
                                        "swizzle_128x4",
                                        "fragments_64x64",
                                        "groups",
                                        "dim",
                                        "blockscale.quantize",
                                        "blockscale.dequantize",
                                        "blockscale.swizzle",
                                        "blockscale.prepack",
                                        "blockscale.amax",
                                        "blockscale.global_scale",
                                        "blockscale.expand_scale",
                                        "blockscale.hadamard",
                                        "blockscale.scale_sweep",
                                        "blockscale.scaled_mm",
                                        "blockscale.scaled_grouped_mm",
                                        "blockscale.kernel",
                                        "blockscale.yield",
                                        "tensor",
                                        "memref",
                                        "vector",
                                        "private"};

/// The words of modules, with the names of recipes.
static std::vector<StringRef> getTokens() {
  std::vector<StringRef> tokens(std::begin(kTokens), std::end(kTokens));
  for (numerics::Recipe recipe : numerics::kRecipes)
    tokens.push_back(numerics::getName(recipe));
  return tokens;
}

namespace {
class ModuleFuzzer : public Fuzzer {
public:
  const char *getName() const override { return "blockscale-fuzz"; }
  const char *getOverview() const override {
    return "Parses, verifies and lowers random modules; reports crashes only\n";
  }
  const Vocabulary &getVocabulary() const override {
    static const std::vector<StringRef> tokens = getTokens();
    static const Vocabulary vocabulary = {tokens, "_."};
    return vocabulary;
  }
  std::string getText(StringRef input) const override {
    return getModuleText(input);
  }
  void run(StringRef input) override { runFuzzInput(input, counts); }
  std::string getSummary() const override {
    return formatv("generated {0}, lowered to cpu {1}, to sm100 {2}",
                   counts.generated, counts.toCPU, counts.toSM100);
  }

private:
  FuzzCounts counts;
};
} // namespace

Fuzzer &getFuzzer() {
  static ModuleFuzzer fuzzer;
  return fuzzer;
}

} // namespace blockscale

//===- AssemblyTest.cpp - Every quantize kernel through ptxas -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAssembly.h"

#include "blockscale/Conversion/Passes.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

struct Format {
  const char *recipe;
  const char *data;
  bool isNvfp4;
};

constexpr Format kFormats[] = {
    {"torchao", "f4E2M1FN", true},
    {"mslk", "f4E2M1FN", true},
    {"te", "f4E2M1FN", true},
    {"modelopt", "f4E2M1FN", true},
    {"floor", "f8E4M3FN", false},
    {"floor", "f8E5M2", false},
    {"floor", "f4E2M1FN", false},
    {"rceil", "f8E4M3FN", false},
    {"rceil", "f8E5M2", false},
    {"rceil", "f4E2M1FN", false},
    {"rceil_sat", "f8E4M3FN", false},
    {"rceil_sat", "f8E5M2", false},
    {"rceil_sat", "f4E2M1FN", false},
    {"ceil", "f8E4M3FN", false},
    {"ceil", "f8E5M2", false},
    {"ceil", "f4E2M1FN", false},
    {"even", "f8E4M3FN", false},
    {"even", "f8E5M2", false},
    {"even", "f4E2M1FN", false},
    {"rceil", "f6E2M3FN", false},
    {"even", "f6E3M2FN", false},
    {"te_4over6_mae", "f4E2M1FN", true},
    {"te_4over6_mse", "f4E2M1FN", true},
};

bool acceptsTails(const Format &format) {
  StringRef recipe = format.recipe;
  return recipe.starts_with("te") || recipe == "modelopt";
}

/// An operand after x: its attribute, its shape and type, and what follows it.
struct Operand {
  const char *name;
  std::string type;
  const char *more = "";
};

/// A function around one quantize of ?x`k` elements of type `input`.
std::string makeFunction(unsigned number, const Format &format, StringRef input,
                         int64_t k, bool swizzled, ArrayRef<Operand> operands) {
  int64_t block = format.isNvfp4 ? 16 : 32;
  int64_t cols = llvm::divideCeil(k, block);
  StringRef codes = format.data;
  std::string scaleType = format.isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU";
  std::string x = llvm::formatv("?x{0}x{1}", k, input).str();
  std::string logicalData = llvm::formatv("tensor<?x{0}x{1}>", k, codes);
  std::string data = llvm::formatv("memref<?x{0}x{1}>",
                                   codes.starts_with("f4") ? (k + 1) / 2 : k,
                                   codes.starts_with("f8") ? codes : "i8");
  std::string logicalScale =
      llvm::formatv("tensor<?x{0}x{1}{2}>", cols, scaleType,
                    swizzled ? ", #blockscale.layout<swizzle_128x4>" : "");
  std::string scale =
      swizzled
          ? llvm::formatv("memref<?x{0}x32x4x4x{1}>", (cols + 3) / 4, scaleType)
                .str()
          : llvm::formatv("memref<?x{0}x{1}>", cols, scaleType).str();
  std::string arguments, names, types, logical, use;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    arguments += llvm::formatv(", %o{0}: memref<{1}>", i, operand.type);
    names += llvm::formatv(", %o{0}", i);
    types += llvm::formatv(", memref<{0}>", operand.type);
    logical += llvm::formatv(", %l{0}: tensor<{1}>", i, operand.type);
    use += llvm::formatv(" {0}(%l{1} : tensor<{2}>) {3}", operand.name, i,
                         operand.type, operand.more);
  }
  return llvm::formatv(
      R"mlir(
    func.func @f{0}(%x: memref<{1}>{2}, %q: {3}, %s: {4}) {{
      blockscale.kernel ins(%x{5} : memref<{1}>{6}) outs(%q, %s : {3}, {4}) {{
      ^bb0(%lx: tensor<{1}>{7}, %lq: {8}, %ls: {9}):
        %0, %1 = blockscale.quantize %lx block [1, {10}] recipe {11}{12}
            : tensor<{1}> -> {8}, {9}
        blockscale.yield %0, %1 : {8}, {9}
      }
      return
    })mlir",
      number, x, arguments, data, scale, names, types, logical, logicalData,
      logicalScale, block, format.recipe, use);
}

/// The operands that a format has besides one global value for all.
std::vector<std::vector<Operand>> getRareOperands(const Format &format,
                                                  int64_t k) {
  Operand rows{"offsets", "?xi32", "group_dim 0"};
  Operand columns{"offsets", "?xi32", "group_dim 1"};
  if (!format.isNvfp4)
    return {{rows}};
  // One amax for each row, or for each group.
  Operand each{"global_amax", "?xf32"};
  if (StringRef(format.recipe).contains("4over6"))
    return {{each, columns}};
  Operand amax{"block_amax",
               llvm::formatv("?x{0}xf32", llvm::divideCeil(k, 16)).str()};
  Operand rng{"rng", "2xi64"};
  return {{each}, {amax}, {rng}, {each, rows}, {each, columns}};
}

/// Whether blocks have 16 elements, as the name of a kernel says.
bool isNvfp4(StringRef kernel) {
  return llvm::any_of(kFormats, [&](const Format &format) {
    return format.isNvfp4 &&
           kernel.contains("_" + std::string(format.recipe) + "_");
  });
}

/// Whether warps move the fragments of 64 elements of their threads through
/// shared memory: those without groups, unless fragments of linear rows leave
/// gaps, where arithmetic leaves time for that. On chips with `cvt` for 8-bit
/// codes, but no wide accesses, it does for these. Beside the memory of GPUs
/// for games (sm_86) it does for all, but for recipes that try two scales and
/// blocks of 16 bf16.
bool isStaged(StringRef chip, StringRef kernel, int64_t k) {
  bool isOf8Bits = kernel.contains("_e4m3_") || kernel.contains("_e5m2_");
  bool hasTime = false;
  if (chip == "sm_89" || chip == "sm_90a")
    hasTime = isOf8Bits;
  else if (chip == "sm_86")
    hasTime = !kernel.contains("_4over6_") &&
              (kernel.contains("_f32_") || !isNvfp4(kernel));
  return hasTime && !kernel.contains("_groups") &&
         (kernel.contains("_swizzled") ? k >= int64_t{8} * 64 : k % 64 == 0);
}

uint64_t getSharedBytes(StringRef chip, StringRef kernel, int64_t k) {
  int64_t elementBytes = kernel.contains("_f32_") ? 4 : 2;
  return isStaged(chip, kernel, k) ? elementBytes * 128 * 64 : 0;
}

/// The most registers of a thread. Four CTAs of 128 threads fit in the 65536
/// registers of an SM, and three of those that draw random numbers. Three are
/// enough on GPUs for games, too, for kernels that try two scales, whose pace
/// arithmetic sets, and for those that hold 64 f32, which are more bytes under
/// way than their memory needs.
unsigned getMostRegisters(StringRef chip, StringRef kernel, int64_t k) {
  constexpr unsigned ofFour = 128, ofThree = 168;
  bool isOfGames = chip.starts_with("sm_12") || chip == "sm_86";
  bool isLarge = kernel.contains("_4over6_") ||
                 (isStaged(chip, kernel, k) && kernel.contains("_f32_"));
  return kernel.contains("_rng") || (isOfGames && isLarge) ? ofThree : ofFour;
}

/// The most bytes that a kernel stores and loads because no register is left.
/// For the sm_120 family ptxas 13.0 stores three words, and loads them nine
/// times, in a kernel that draws random numbers for rows that end within a
/// block: three CTAs leave it no more registers.
uint64_t getMostSpilledBytes(StringRef chip, StringRef kernel, int64_t k) {
  constexpr uint64_t nineWords = 36;
  bool isCrowded =
      chip.starts_with("sm_12") && kernel.contains("_rng") && k % 16 != 0;
  return isCrowded ? nineWords : 0;
}

class QuantizeKernels
    : public testing::TestWithParam<std::tuple<const char *, int64_t>> {};

// All recipes, formats, layouts, inputs and kinds of operands.
TEST_P(QuantizeKernels, NoSpills) {
  auto [chip, rowElements] = GetParam();
  std::string text;
  unsigned count = 0;
  for (const Format &format : kFormats) {
    if (rowElements % 32 != 0 && !acceptsTails(format))
      continue;
    for (const char *input : {"bf16", "f32"})
      for (bool swizzled : {false, true})
        for (const char *global : {"", "global_scale", "global_amax"}) {
          std::vector<Operand> operands;
          if (*global != 0)
            operands.push_back({global, "f32"});
          if (format.isNvfp4 || operands.empty())
            text += makeFunction(count++, format, input, rowElements, swizzled,
                                 operands);
        }
    for (const auto &operands : getRareOperands(format, rowElements))
      text += makeFunction(count++, format, "bf16", rowElements,
                           /*swizzled=*/true, operands);
  }

  std::vector<KernelResources> kernels;
  assembleKernels(
      text, chip, count,
      [chip = chip](PassManager &pm) {
        pm.addPass(createLowerKernelsToGPU({chip}));
      },
      kernels, /*spillBytes=*/std::nullopt);
  for (const KernelResources &kernel : kernels) {
    expectSpills(kernel, getMostSpilledBytes(chip, kernel.name, rowElements));
    EXPECT_EQ(kernel.sharedBytes,
              getSharedBytes(chip, kernel.name, rowElements))
        << kernel.name;
    EXPECT_LE(kernel.registers,
              getMostRegisters(chip, kernel.name, rowElements))
        << kernel.name;
  }
}

// Rows of full fragments, rows with a tail and padding, and rows that end
// within a block. `check` leaves out the instances named Long.
INSTANTIATE_TEST_SUITE_P(RowElements, QuantizeKernels,
                         testing::Values(std::make_tuple("sm_90a", 4096),
                                         std::make_tuple("sm_100a", 83)));
INSTANTIATE_TEST_SUITE_P(LongRowElements, QuantizeKernels,
                         testing::Values(std::make_tuple("sm_80", 160),
                                         std::make_tuple("sm_86", 4096),
                                         std::make_tuple("sm_120a", 4096),
                                         std::make_tuple("sm_120a", 83),
                                         std::make_tuple("sm_121a", 160),
                                         std::make_tuple("sm_100a", 4096),
                                         std::make_tuple("sm_100a", 160)));

} // namespace

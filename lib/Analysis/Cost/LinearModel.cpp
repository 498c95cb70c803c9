//===- LinearModel.cpp - Roofline of a linear layer -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/LinearModel.h"

#include "blockscale/Numerics/ScaleLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using blockscale::target::Unit;

namespace blockscale {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr Model kModels[] = {Model::Torchao, Model::Exact};

static constexpr LinearRecipe kRecipes[] = {
    {"mxfp8", Unit::Fp8, 32, GlobalScaleSource::None},
    {"mxfp4", Unit::Fp4, 32, GlobalScaleSource::None},
    {"nvfp4", Unit::Fp4, 16, GlobalScaleSource::Dynamic},
    {"nvfp4_static", Unit::Fp4, 16, GlobalScaleSource::Static},
    {"nvfp4_no_global_scale", Unit::Fp4, 16, GlobalScaleSource::None},
};

llvm::StringRef getName(Model model) {
  return model == Model::Torchao ? "torchao" : "exact";
}

std::optional<Model> findModel(llvm::StringRef name) {
  for (Model model : kModels)
    if (getName(model) == name)
      return model;
  return std::nullopt;
}

std::string listModels() {
  return llvm::join(
      llvm::map_range(kModels, [](Model model) { return getName(model); }),
      ", ");
}

const LinearRecipe *findLinearRecipe(llvm::StringRef name) {
  const auto *recipe = llvm::find_if(kRecipes, [&](const LinearRecipe &recipe) {
    return recipe.name == name;
  });
  return recipe == std::end(kRecipes) ? nullptr : recipe;
}

std::string listLinearRecipes() {
  return llvm::join(
      llvm::map_range(kRecipes,
                      [](const LinearRecipe &recipe) { return recipe.name; }),
      ", ");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static constexpr double kBf16Bytes = 2;
static constexpr double kF32Bytes = 4;

static Formula getProductFlops() { return {{{2, kK | kM | kN, {}}}}; }

KernelFormula getBf16Product() {
  return {{{{kBf16Bytes, kK | kM, {}},
            {kBf16Bytes, kK | kN, {}},
            {kBf16Bytes, kM | kN, {}}}},
          getProductFlops(),
          Unit::Bf16};
}

KernelFormula getBf16Pass() { return {{{{2 * kBf16Bytes, kK | kM, {}}}}, {}}; }

/// Bytes of an operand [rows, K], and of its scales in padded tiles.
static void appendOperand(Formula &bytes, Product rows,
                          const LinearRecipe &recipe) {
  if (recipe.isFp4())
    bytes.terms.push_back({1, rows, {ceilOf({kK}, 2)}});
  else
    bytes.terms.push_back({1, kK | rows, {}});
  bytes.terms.push_back({numerics::kTileBytes,
                         0,
                         {ceilOf({rows}, numerics::kTileRows),
                          ceilOf({kK}, numerics::kTileCols * recipe.block)}});
}

static KernelFormula getTorchaoProduct(const LinearRecipe &recipe) {
  double operandBytes = recipe.isFp4() ? 0.5 : 1;
  return {{{{operandBytes, kK | kM, {}},
            {operandBytes, kK | kN, {}},
            {kBf16Bytes, kM | kN, {}},
            {operandBytes, 0, {floorOf({kK | kM, kK | kN}, recipe.block)}}}},
          getProductFlops(),
          recipe.unit};
}

KernelFormula getProduct(Model model, const LinearRecipe &recipe) {
  if (model == Model::Torchao)
    return getTorchaoProduct(recipe);
  KernelFormula kernel{{}, getProductFlops(), recipe.unit};
  appendOperand(kernel.bytes, kM, recipe);
  appendOperand(kernel.bytes, kN, recipe);
  kernel.bytes.terms.push_back({kBf16Bytes, kM | kN, {}});
  // The global scales of both operands.
  if (recipe.globalScale != GlobalScaleSource::None)
    kernel.bytes.terms.push_back({2 * kF32Bytes, 0, {}});
  return kernel;
}

static KernelFormulas getTorchaoQuantization(const LinearRecipe &recipe) {
  double elementBytes = kBf16Bytes + (recipe.isFp4() ? 0.5 : 1);
  // A dynamic scale takes one more read of x, in the same launch.
  if (recipe.globalScale == GlobalScaleSource::Dynamic)
    elementBytes += kBf16Bytes;
  return {
      {{{{elementBytes, kK | kM, {}}, {1, kM, {floorOf({kK}, recipe.block)}}}},
       {}}};
}

KernelFormulas getQuantization(Model model, const LinearRecipe &recipe) {
  if (model == Model::Torchao)
    return getTorchaoQuantization(recipe);
  KernelFormulas kernels;
  if (recipe.globalScale == GlobalScaleSource::Dynamic) {
    kernels.push_back({{{{kBf16Bytes, kK | kM, {}}, {kF32Bytes, 0, {}}}},
                       {{{kAmaxFlops, kK | kM, {}}}}});
    kernels.push_back({{{{2 * kF32Bytes, 0, {}}}}, {{{1, 0, {}}}}});
  }
  KernelFormula quantize{{{{kBf16Bytes, kK | kM, {}}}},
                         {{{kQuantizeFlops, kK | kM, {}}}}};
  appendOperand(quantize.bytes, kM, recipe);
  if (recipe.globalScale != GlobalScaleSource::None)
    quantize.bytes.terms.push_back({kF32Bytes, 0, {}});
  kernels.push_back(quantize);
  return kernels;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

double getSeconds(llvm::ArrayRef<KernelFormula> kernels, const target::Gpu &gpu,
                  const LinearShape &shape) {
  double sum = 0;
  for (const KernelFormula &kernel : kernels)
    sum += getSeconds(kernel, gpu, shape);
  return sum;
}

std::string printSeconds(llvm::ArrayRef<KernelFormula> kernels,
                         const target::Gpu &gpu) {
  return llvm::join(llvm::map_range(kernels,
                                    [&](const KernelFormula &kernel) {
                                      return printSeconds(kernel, gpu);
                                    }),
                    " + ");
}

LinearTimes getLinearTimes(Model model, const LinearRecipe &recipe,
                           const target::Gpu &gpu, const LinearShape &shape) {
  return {getSeconds(getBf16Product(), gpu, shape),
          getSeconds(getBf16Pass(), gpu, shape),
          getSeconds(getProduct(model, recipe), gpu, shape),
          getSeconds(getQuantization(model, recipe), gpu, shape)};
}

} // namespace blockscale

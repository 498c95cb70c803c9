//===- LinearModel.h - Roofline of a linear layer ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time that the quantization of x and the product with a quantized weight
// take, and the time of the bf16 product, which is preceded by one more pass
// over x: in both cases the kernel before the product reads and writes x, and
// it is that kernel that quantizes (pytorch/ao,
// torchao/testing/training/roofline_utils.py).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_COST_LINEARMODEL_H
#define BLOCKSCALE_ANALYSIS_COST_LINEARMODEL_H

#include "blockscale/Analysis/Formula.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace blockscale {

/// How bytes are counted. Torchao: as torchao does, scales without padding, and
/// in products of 4-bit operands at half a byte each; one launch. Exact: what
/// memory holds, scales padded to whole tiles; a launch for each op.
enum class Model { Torchao, Exact };

std::optional<Model> findModel(llvm::StringRef name);
llvm::StringRef getName(Model model);
/// The names of the models as a list, "torchao, exact".
std::string listModels();

/// Where the global scale of x comes from: there is none, it is given, or it is
/// computed from x.
enum class GlobalScaleSource { None, Static, Dynamic };

/// One way of quantizing both operands, as torchao's roofline names it.
struct LinearRecipe {
  llvm::StringRef name;
  target::Unit unit;
  int64_t block;
  GlobalScaleSource globalScale;

  bool isFp4() const { return unit == target::Unit::Fp4; }
};

const LinearRecipe *findLinearRecipe(llvm::StringRef name);
std::string listLinearRecipes();

/// FLOP of f32 lanes for each element: comparisons of an amax, and those with
/// the multiplications of a quantizer.
inline constexpr double kAmaxFlops = 1;
inline constexpr double kQuantizeFlops = 2;

/// Kernels that run one after the other.
using KernelFormulas = llvm::SmallVector<KernelFormula, 3>;

KernelFormula getBf16Product();
KernelFormula getBf16Pass();
KernelFormula getProduct(Model model, const LinearRecipe &recipe);
KernelFormulas getQuantization(Model model, const LinearRecipe &recipe);

double getSeconds(llvm::ArrayRef<KernelFormula> kernels, const target::Gpu &gpu,
                  const LinearShape &shape);
std::string printSeconds(llvm::ArrayRef<KernelFormula> kernels,
                         const target::Gpu &gpu);

/// Seconds of the parts of a layer; those of the product are NaN where the GPU
/// has no such operands.
struct LinearTimes {
  double bf16Product;
  double bf16Pass;
  double product;
  double quantization;

  double getSpeedup() const {
    return (bf16Product + bf16Pass) / (product + quantization);
  }
};

LinearTimes getLinearTimes(Model model, const LinearRecipe &recipe,
                           const target::Gpu &gpu, const LinearShape &shape);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_COST_LINEARMODEL_H

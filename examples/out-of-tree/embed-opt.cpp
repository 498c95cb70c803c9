//===- embed-opt.cpp - An opt with BlockScale and a dialect of its own ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An `opt` with BlockScale's passes, the dialect `net` and its lowering
// (Net.h), and one pipeline, `embed-to-cpu`: that lowering, and BlockScale's
// stages with a pass of this program between two of them. The pass decides
// which rounding is meant where a model does not say.
//
//   embed-opt model.mlir --embed-to-cpu=recipe=te
//
//===----------------------------------------------------------------------===//

#include "Net.h"

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace {

/// Names the recipe of every quantization to NVFP4 that names none:
///
///   blockscale.quantize %x block [1, 16] : ...
///   -> blockscale.quantize %x block [1, 16] recipe te : ...
struct NameRecipes
    : mlir::PassWrapper<NameRecipes, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NameRecipes)

  explicit NameRecipes(blockscale::Recipe recipe) : recipe(recipe) {}

  void runOnOperation() override {
    getOperation().walk([&](blockscale::QuantizeOp op) {
      bool isNvfp4 = mlir::isa<mlir::Float8E4M3FNType>(
          op.getScale().getType().getElementType());
      if (isNvfp4 && !op.getRecipe())
        op.setRecipe(recipe);
    });
  }

  blockscale::Recipe recipe;
};

struct EmbedOptions : mlir::PassPipelineOptions<EmbedOptions> {
  Option<std::string> recipe{*this, "recipe",
                             llvm::cl::desc("Recipe where none is named"),
                             llvm::cl::init("torchao")};
  Option<std::string> last{*this, "to", llvm::cl::desc("Last stage to run"),
                           llvm::cl::init("llvm")};
};

} // namespace

static void buildPipeline(mlir::OpPassManager &pm,
                          const EmbedOptions &options) {
  pm.addPass(net::createNetToBlockScale());
  blockscale::ToCPUOptions cpu;
  for (const blockscale::Stage &stage : blockscale::getToCPUStages(cpu)) {
    stage.build(pm);
    if (stage.name == "verify-layout")
      pm.addPass(std::make_unique<NameRecipes>(
          blockscale::symbolizeRecipe(options.recipe)
              .value_or(blockscale::Recipe::Torchao)));
    if (stage.name == options.last)
      return;
  }
}

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  blockscale::registerAllPasses();
  mlir::registerPass(net::createNetToBlockScale);
  mlir::PassPipelineRegistration<EmbedOptions>(
      "embed-to-cpu",
      "net-to-blockscale, and blockscale-to-cpu with a recipe of choice",
      buildPipeline);
  mlir::DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  registry.insert<net::NetDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "A compiler with BlockScale in it\n", registry));
}

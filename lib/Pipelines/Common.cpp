//===- Common.cpp - Stages that every target shares -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

/// Producers as `linalg.generic` with bodies of the same value on all targets.
static void buildExpandMath(OpPassManager &pm) {
  pm.addPass(createElementwiseToLinalg());
  arith::ArithEmulateUnsupportedFloatsOptions throughF32;
  throughF32.sourceTypeStrs = {"bf16", "f16"};
  throughF32.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(throughF32));
  math::MathExtendToSupportedTypesOptions asF32;
  asF32.extraTypeStrs = {"f16"};
  asF32.targetTypeStr = "f32";
  pm.addPass(math::createMathExtendToSupportedTypes(asF32));
  pm.addPass(createExpandMath());
}

/// `isDevice` says that the functions become launch plans, where executors
/// compare addresses.
static void buildBufferize(OpPassManager &pm, bool isDevice) {
  pm.addPass(createBufferizeKernels());
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createReuseArguments({!isDevice}));
}

/// Whether kernels of products on the chip read data in the order of registers.
static bool takesPrepackedData(StringRef chip) {
  const target::Chip *found = target::findChip(chip);
  return found && found->hasWgmma();
}

/// Whether the products of a chip read MN-major operands.
static bool takesMnMajorData(StringRef chip) {
  const target::Chip *found = target::findChip(chip);
  return found && found->hasProducts();
}

std::vector<Stage> getCommonStages(int64_t maxConstantElements, bool checks,
                                   const FormKernelsOptions &kernels) {
  bool isDevice = !kernels.chip.empty();
  return {
      {"verify-layout",
       [checks, isDevice](OpPassManager &pm) {
         pm.addPass(createLowerTosa());
         pm.addPass(createLowerTensorReshape());
         // What becomes an op of the dialect is not refused.
         pm.addPass(createRaiseQuantizers());
         pm.addPass(createLowerNarrowFloats());
         pm.addPass(createVerifyLayout());
         // Before canonicalization, which takes sizes of types for granted.
         if (checks)
           pm.addNestedPass<func::FuncOp>(createCheckSizes({isDevice}));
       }},
      {"canonicalize",
       [maxConstantElements, checks, isDevice,
        chip = kernels.chip](OpPassManager &pm) {
         pm.addPass(createRelayoutScales());
         pm.addPass(createRaiseProducts({chip}));
         // What these add is folded with the rest.
         if (!chip.empty())
           pm.addPass(createAssertProductSizes());
         pm.addPass(createDecodeProductOperands({chip}));
         if (takesPrepackedData(chip))
           pm.addPass(createPrepackProductWeights({chip, maxConstantElements}));
         else
           pm.addPass(
               createUnpackProductData({/*kMajor=*/!takesMnMajorData(chip)}));
         if (!chip.empty())
           pm.addPass(createSwizzleProductScales({chip}));
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createFoldConstants({maxConstantElements}));
         buildExpandMath(pm);
         if (isDevice)
           pm.addNestedPass<func::FuncOp>(createMoveReshapes());
         if (checks)
           pm.addNestedPass<func::FuncOp>(createCheckElements({isDevice}));
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }},
      {"form-kernels",
       [kernels](OpPassManager &pm) {
         // Behind canonicalization, which makes a quantizer and a swizzle one.
         if (!kernels.chip.empty())
           pm.addPass(createRelayoutScales({kernels.chip}));
         pm.addNestedPass<func::FuncOp>(createFormKernels(kernels));
       }},
      {"materialize-storage",
       [checks, isDevice](OpPassManager &pm) {
         pm.addPass(createMaterializeStorage());
         // A launch plan says itself which sizes results have.
         pm.addPass(createResultsToOutParams({checks && !isDevice}));
         pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }},
      {"bufferize",
       [isDevice](OpPassManager &pm) { buildBufferize(pm, isDevice); }},
  };
}

} // namespace blockscale

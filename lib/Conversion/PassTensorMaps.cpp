//===- PassTensorMaps.cpp - Tensor maps as parameters of kernels ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_PASSTENSORMAPS
#include "blockscale/Conversion/Passes.h.inc"

/// Makes a parameter what the hardware reads where it is.
static void passByValue(LLVM::LLVMFuncOp kernel, unsigned number) {
  // 128 bytes, at multiples of 64 (CUtensorMap).
  OpBuilder b(kernel.getContext());
  Type bytes = LLVM::LLVMArrayType::get(b.getI64Type(), 16);
  kernel.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(),
                    TypeAttr::get(bytes));
  kernel.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(64));
  kernel.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                    b.getUnitAttr());
}

namespace {

struct PassTensorMapsPass
    : public impl::PassTensorMapsBase<PassTensorMapsPass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    WalkResult result = getOperation()->walk([&](gpu::LaunchFuncOp launch) {
      for (auto [number, operand] :
           llvm::enumerate(launch.getKernelOperands())) {
        if (!operand.getDefiningOp<TensorMapOp>())
          continue;
        auto kernel = symbols.lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
            launch, launch.getKernelAttr());
        if (!kernel) {
          launch.emitOpError("expected a kernel that is an llvm.func "
                             "(convert-gpu-to-nvvm), but got none named ")
              << launch.getKernelAttr();
          return WalkResult::interrupt();
        }
        passByValue(kernel, number);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale

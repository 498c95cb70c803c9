//===- PtxTest.cpp - PTX of a module --------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Ptx.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// Registers no more than an embedder has to.
class Ptx : public testing::Test {
protected:
  Ptx() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<BlockScaleDialect, func::FuncDialect>();
    registerPtxTranslations(registry);
    return registry;
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  MLIRContext context;
  std::string messages;
};

TEST_F(Ptx, QuantizeKernel) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    func.func @f(%x: memref<?x64xbf16>, %q: memref<?x32xi8>,
                 %s: memref<?x4xf8E4M3FN>) {
      blockscale.kernel ins(%x : memref<?x64xbf16>)
          outs(%q, %s : memref<?x32xi8>, memref<?x4xf8E4M3FN>) {
      ^bb0(%lx: tensor<?x64xbf16>, %lq: tensor<?x64xf4E2M1FN>,
           %ls: tensor<?x4xf8E4M3FN>):
        %0, %1 = blockscale.quantize %lx block [1, 16]
            : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
        blockscale.yield %0, %1
            : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
      }
      return
    })mlir");
  ASSERT_TRUE(module) << messages;
  PassManager pm(&context);
  pm.addPass(createLowerKernelsToGPU());
  ASSERT_TRUE(succeeded(pm.run(*module))) << messages;
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_NE(ptx->find(".target sm_100a"), std::string::npos);
  EXPECT_NE(ptx->find(".visible .entry quantize_e2m1_torchao_bf16_k64("),
            std::string::npos);
  EXPECT_EQ(ptx->find('\0'), std::string::npos);
}

// CUDA's device library is not there on every machine.
TEST_F(Ptx, LibraryCall) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_100a">] {
        gpu.func @kernel(%x: f32, %y: f32, %to: !llvm.ptr<1>) kernel {
          %0 = arith.minnumf %x, %y : f32
          llvm.store %0, %to : f32, !llvm.ptr<1>
          gpu.return
        }
      }
    })mlir");
  ASSERT_TRUE(module) << messages;
  EXPECT_TRUE(failed(emitPtx(*module)));
  EXPECT_EQ(messages, "expected kernels to call nothing of CUDA's device "
                      "library, but got a call of '__nv_fminf'\n");
}

TEST_F(Ptx, NoKernels) {
  OwningOpRef<ModuleOp> module = parse("func.func private @f()");
  ASSERT_TRUE(module) << messages;
  EXPECT_TRUE(failed(emitPtx(*module)));
  EXPECT_EQ(messages, "expected one gpu.module to emit as PTX, but got 0\n");
}

} // namespace

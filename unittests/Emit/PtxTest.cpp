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

/// Two kernels with a loop each, which share dynamic memory and have memory of
/// their own.
static constexpr const char *kTwoKernels = R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_90a", O = 2>] {
        llvm.mlir.global external @shared() {addr_space = 3 : i32}
            : !llvm.array<0 x i8>
        llvm.mlir.global internal @own_a() {addr_space = 3 : i32}
            : !llvm.array<4 x f32>
        gpu.func @a(%to: !llvm.ptr<1>, %n: i32) kernel {
          %0 = llvm.mlir.constant(0 : i32) : i32
          %1 = llvm.mlir.constant(1 : i32) : i32
          %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
          %own = llvm.mlir.addressof @own_a : !llvm.ptr<3>
          llvm.br ^loop(%0 : i32)
        ^loop(%i: i32):
          %x = llvm.load volatile %shared : !llvm.ptr<3> -> f32
          llvm.store volatile %x, %own : f32, !llvm.ptr<3>
          %next = llvm.add %i, %1 : i32
          %more = llvm.icmp "slt" %next, %n : i32
          llvm.cond_br %more, ^loop(%next : i32), ^end
        ^end:
          gpu.return
        }
        gpu.func @b(%to: !llvm.ptr<1>, %n: i32) kernel {
          %0 = llvm.mlir.constant(0 : i32) : i32
          %1 = llvm.mlir.constant(1 : i32) : i32
          %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
          llvm.br ^loop(%0 : i32)
        ^loop(%i: i32):
          %x = llvm.load volatile %shared : !llvm.ptr<3> -> f32
          llvm.store volatile %x, %to : f32, !llvm.ptr<1>
          %next = llvm.add %i, %1 : i32
          %more = llvm.icmp "slt" %next, %n : i32
          llvm.cond_br %more, ^loop(%next : i32), ^end
        ^end:
          gpu.return
        }
      }
    })mlir";

// Each kernel is compiled by itself, and the text is that of one module.
TEST_F(Ptx, SeveralKernels) {
  OwningOpRef<ModuleOp> module = parse(kTwoKernels);
  ASSERT_TRUE(module) << messages;
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_EQ(StringRef(*ptx).count(".version"), 1u) << *ptx;
  EXPECT_EQ(StringRef(*ptx).count(".extern .shared"), 1u) << *ptx;
  EXPECT_EQ(StringRef(*ptx).count(".visible .entry"), 2u) << *ptx;
  EXPECT_LT(ptx->find(".visible .entry a("), ptx->find(".visible .entry b("));
  auto [a, b] = StringRef(*ptx).split(".visible .entry b(");
  EXPECT_TRUE(a.contains("$L__BB0_")) << *ptx;
  EXPECT_FALSE(a.contains("$L__BB1_")) << *ptx;
  EXPECT_TRUE(b.contains("$L__BB1_")) << *ptx;
  EXPECT_FALSE(b.contains("$L__BB0_")) << *ptx;
}

TEST_F(Ptx, AsManyThreadsAsThereAre) {
  OwningOpRef<ModuleOp> alone = parse(kTwoKernels);
  ASSERT_TRUE(alone) << messages;
  FailureOr<std::string> expected = emitPtx(*alone);
  ASSERT_TRUE(succeeded(expected)) << messages;
  context.enableMultithreading();
  OwningOpRef<ModuleOp> module = parse(kTwoKernels);
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_EQ(*ptx, *expected);
}

// Whatever threads there are, errors have the order of the kernels.
TEST_F(Ptx, ErrorsOfSeveralKernels) {
  constexpr const char *text = R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_90a", O = 2>] {
        gpu.func @a(%to: !llvm.ptr<1>) kernel {
          "unknown.first"() : () -> ()
          gpu.return
        }
        gpu.func @b(%to: !llvm.ptr<1>) kernel {
          "unknown.second"() : () -> ()
          gpu.return
        }
      }
    })mlir";
  context.allowUnregisteredDialects();
  for (bool threads : {false, true}) {
    context.enableMultithreading(threads);
    messages.clear();
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << messages;
    EXPECT_TRUE(failed(emitPtx(*module)));
    size_t first = messages.find("unknown.first");
    size_t second = messages.find("unknown.second");
    EXPECT_NE(first, std::string::npos) << messages;
    EXPECT_NE(second, std::string::npos) << messages;
    EXPECT_LT(first, second) << messages;
  }
}

// What kernels call is of their module, which upstream's passes compile.
TEST_F(Ptx, CalledFunction) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_90a", O = 2>] {
        llvm.func @half(%x: f32) -> f32 attributes {no_inline} {
          %0 = llvm.mlir.constant(0.5 : f32) : f32
          %1 = llvm.fmul %x, %0 : f32
          llvm.return %1 : f32
        }
        gpu.func @a(%to: !llvm.ptr<1>, %x: f32) kernel {
          %0 = llvm.call @half(%x) : (f32) -> f32
          llvm.store %0, %to : f32, !llvm.ptr<1>
          gpu.return
        }
        gpu.func @b(%to: !llvm.ptr<1>, %x: f32) kernel {
          llvm.store %x, %to : f32, !llvm.ptr<1>
          gpu.return
        }
      }
    })mlir");
  ASSERT_TRUE(module) << messages;
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_EQ(StringRef(*ptx).count("half,"), 1u) << *ptx;
  EXPECT_EQ(StringRef(*ptx).count(".visible .entry"), 2u) << *ptx;
}

// Kernels are lowered each by itself. What upstream puts beside one of them may
// have the name of what it puts beside another.
TEST_F(Ptx, NamesBesideKernels) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_90a", O = 2>] {
        gpu.func @a(%to: !llvm.ptr<1>) kernel {
          gpu.printf "A"
          gpu.return
        }
        gpu.func @b(%to: !llvm.ptr<1>) kernel {
          gpu.printf "B"
          gpu.return
        }
      }
    })mlir");
  ASSERT_TRUE(module) << messages;
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_EQ(StringRef(*ptx).count(".visible .entry"), 2u) << *ptx;
  EXPECT_EQ(StringRef(*ptx).count("vprintf\n"), 1u) << *ptx;
  // The bytes of "A" and "B", each with a NUL.
  EXPECT_EQ(StringRef(*ptx).count("= {65}"), 1u) << *ptx;
  EXPECT_EQ(StringRef(*ptx).count("= {66}"), 1u) << *ptx;
}

// Memory that no thread touches any more is not kept from others.
TEST_F(Ptx, UnusedMemory) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels [#blockscale.target<chip = "sm_90a", O = 2>] {
        llvm.mlir.global internal @unused() {addr_space = 3 : i32}
            : !llvm.array<4 x f32>
        gpu.func @a(%to: !llvm.ptr<1>) kernel {
          %own = llvm.mlir.addressof @unused : !llvm.ptr<3>
          %x = llvm.load %own : !llvm.ptr<3> -> f32
          gpu.return
        }
      }
    })mlir");
  ASSERT_TRUE(module) << messages;
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx)) << messages;
  EXPECT_EQ(ptx->find("unused"), std::string::npos) << *ptx;
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

//===- BytecodeTest.cpp - Bytecode that may be damaged --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Bytecode.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ScopedPrinter.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace blockscale;

namespace {

constexpr const char *kText = R"(
func.func @q(%x: tensor<?x64xbf16>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %d, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16>
      -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %d, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
})";

std::string writeBytecode(StringRef text = kText) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(text, &context);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  EXPECT_TRUE(succeeded(writeBytecodeToFile(*module, os)));
  return bytes;
}

class BytecodeTest : public testing::Test {
protected:
  BytecodeTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// Whether there is a module; `error` is the first one.
  bool parse(const std::string &content) {
    error.clear();
    llvm::SourceMgr sources;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = diagnostic.str();
      return success();
    });
    module = parseModule(content, "m.mlirbc", sources, context);
    return static_cast<bool>(module);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string error;
};

TEST_F(BytecodeTest, IsWhatWasWritten) {
  ASSERT_TRUE(parse(kText)) << error;
  std::string expected = llvm::to_string(*module);
  ASSERT_TRUE(parse(writeBytecode())) << error;
  EXPECT_EQ(llvm::to_string(*module), expected);
  // Locations are those of the text that it was made of.
  auto function = *module->getOps<func::FuncOp>().begin();
  auto place = dyn_cast<FileLineColLoc>(function.getLoc());
  ASSERT_TRUE(place);
  EXPECT_EQ(place.getLine(), 2u);
}

/// Options of the printer that the process has while this is there.
class PrinterOptions {
public:
  explicit PrinterOptions(std::vector<const char *> options) {
    registerAsmPrinterCLOptions();
    options.insert(options.begin(), "test");
    llvm::cl::ParseCommandLineOptions(static_cast<int>(options.size()),
                                      options.data());
  }
  ~PrinterOptions() { llvm::cl::ResetAllOptionOccurrences(); }
};

TEST_F(BytecodeTest, IsWholeWhateverThePrinterLeavesOut) {
  constexpr const char *text = R"(
func.func @constants() -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = arith.constant dense_resource<blob> : tensor<2xf32>
  return %0, %1 : tensor<4xf32>, tensor<2xf32>
}
{-# dialect_resources: {
  builtin: { blob: "0x040000000000803F00000040" }
} #-})";
  std::string bytecode = writeBytecode(text);
  {
    PrinterOptions options({"--mlir-print-skip-regions",
                            "--mlir-elide-elementsattrs-if-larger=1",
                            "--mlir-elide-resource-strings-if-larger=1"});
    ASSERT_TRUE(parse(bytecode)) << error;
  }
  SmallVector<Attribute> values;
  module->walk([&](arith::ConstantOp op) { values.push_back(op.getValue()); });
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(llvm::to_string(values[0]), "dense<[1.000000e+00, 2.000000e+00, "
                                        "3.000000e+00, 4.000000e+00]> : "
                                        "tensor<4xf32>");
  auto resource = dyn_cast<DenseF32ResourceElementsAttr>(values[1]);
  ASSERT_TRUE(resource);
  ASSERT_TRUE(resource.tryGetAsArrayRef());
  EXPECT_EQ(*resource.tryGetAsArrayRef(), ArrayRef({1.0f, 2.0f}));
}

// Also where the reader itself aborts, overwrites memory or fills it.
TEST_F(BytecodeTest, DamageDoesNotEndTheProcess) {
  const std::string whole = writeBytecode();
  int refused = 0;
  std::minstd_rand random(2);
  for (int i = 0; i < 250; ++i) {
    std::string damaged = whole;
    for (size_t changes = 1 + random() % 4; changes > 0; --changes)
      damaged[4 + random() % (whole.size() - 4)] =
          static_cast<char>(random() >> 8);
    if (parse(damaged))
      continue;
    ++refused;
    EXPECT_NE(error, "");
  }
  EXPECT_GT(refused, 0);
}

TEST_F(BytecodeTest, HalfOfOneIsRefused) {
  std::string whole = writeBytecode();
  EXPECT_FALSE(parse(whole.substr(0, whole.size() / 2)));
  EXPECT_NE(error, "");
}

} // namespace

//===- BytecodeTest.cpp - Bytecode that may be damaged --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BytecodeFixture.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ScopedPrinter.h"

#include <random>

using namespace mlir;
using namespace blockscale;

/// Whether the error names the release that can read the file and the later
/// one that wrote it.
static bool namesReleases(const Reading &reading, const std::string &later) {
  return StringRef(reading.error)
             .starts_with("expected bytecode that MLIR " +
                          std::to_string(upstream::kRelease) +
                          " reads, but 'm.mlirbc' was written by MLIR " +
                          later + " (") &&
         StringRef(reading.error).ends_with("); give MLIR text instead");
}

namespace {

// The module and its locations come through the text.
TEST(BytecodeTest, IsWhatWasWritten) {
  Reading text(kQuantize), bytecode(writeBytecode());
  ASSERT_TRUE(text.isGood()) << text.error;
  ASSERT_TRUE(bytecode.isGood()) << bytecode.error;
  EXPECT_EQ(llvm::to_string(*bytecode.module), llvm::to_string(*text.module));
  // Locations are those of the text that it was made of.
  auto function = *bytecode.module->getOps<func::FuncOp>().begin();
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

// Options of the host's printer do not reach the one of the reader.
TEST(BytecodeTest, IsWholeWhateverThePrinterLeavesOut) {
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
  std::optional<Reading> reading;
  {
    PrinterOptions options({"--mlir-print-skip-regions",
                            "--mlir-elide-elementsattrs-if-larger=1",
                            "--mlir-elide-resource-strings-if-larger=1"});
    reading.emplace(bytecode);
  }
  ASSERT_TRUE(reading->isGood()) << reading->error;
  SmallVector<Attribute> values;
  reading->module->walk(
      [&](arith::ConstantOp op) { values.push_back(op.getValue()); });
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(llvm::to_string(values[0]), "dense<[1.000000e+00, 2.000000e+00, "
                                        "3.000000e+00, 4.000000e+00]> : "
                                        "tensor<4xf32>");
  auto resource = dyn_cast<DenseF32ResourceElementsAttr>(values[1]);
  ASSERT_TRUE(resource);
  ASSERT_TRUE(resource.tryGetAsArrayRef());
  EXPECT_EQ(*resource.tryGetAsArrayRef(), ArrayRef({1.0f, 2.0f}));
}

// Damaged bytecode does not end this process, also where the reader itself
// aborts, overwrites memory or fills it.
TEST(BytecodeTest, DamageDoesNotEndTheProcess) {
  const std::string whole = writeBytecode();
  int refused = 0;
  std::minstd_rand random(2);
  for (int i = 0; i < 250; ++i) {
    std::string damaged = whole;
    for (size_t changes = 1 + random() % 4; changes > 0; --changes)
      damaged[4 + random() % (whole.size() - 4)] =
          static_cast<char>(random() >> 8);
    Reading reading(damaged);
    if (reading.isGood())
      continue;
    ++refused;
    EXPECT_NE(reading.error, "");
  }
  EXPECT_GT(refused, 0);
}

// The beginning of a file is an error too.
TEST(BytecodeTest, HalfOfOneIsRefused) {
  std::string whole = writeBytecode();
  Reading reading(whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(reading.isGood());
  EXPECT_NE(reading.error, "");
}

// What a later release wrote is read where that is possible. Otherwise the
// error says why it may not be.
TEST(BytecodeTest, OfALaterReleaseIsReadOrNamesIt) {
  std::string later = std::to_string(upstream::kRelease + 1) + ".2.3";
  std::string whole = writeBytecode(kQuantize, "MLIR" + later + "git");
  Reading good(whole);
  EXPECT_TRUE(good.isGood()) << good.error;
  Reading half(whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(namesReleases(half, later)) << half.error;
  // The reader crashes, or does not.
  std::string damaged = readDamaged();
  damaged.replace(damaged.find("MLIR22"), 6, "MLIR99");
  Reading crashed(damaged);
  EXPECT_TRUE(namesReleases(crashed, "99.1.8")) << crashed.error;
}

// Nothing that others wrote is blamed on a release.
TEST(BytecodeTest, OfOtherWritersNamesNone) {
  for (const char *writer :
       {"MLIR" LLVM_VERSION_STRING, "MLIR21.1.0", "MLIR", "MLIR.9", "MLIRgit",
        "MLIR99999999999.1.0", "StableHLO_v99.0.0"}) {
    std::string whole = writeBytecode(kQuantize, writer);
    Reading half(whole.substr(0, whole.size() / 2));
    EXPECT_FALSE(half.isGood());
    EXPECT_EQ(half.error.find("written by"), std::string::npos)
        << writer << ": " << half.error;
  }
  // Bytes that end before the writer does.
  for (size_t size = 4; size < 12; ++size) {
    Reading reading(writeBytecode().substr(0, size));
    EXPECT_EQ(reading.error.find("written by"), std::string::npos) << size;
  }
}

} // namespace

//===- BytecodeFixture.h - Bytecode, and what reads it ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_DRIVER_BYTECODEFIXTURE_H
#define BLOCKSCALE_UNITTESTS_DRIVER_BYTECODEFIXTURE_H

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Driver/BytecodeReader.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace blockscale {

inline constexpr const char *kQuantize = R"(
func.func @q(%x: tensor<?x64xbf16>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %d, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16>
      -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %d, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
})";

/// The bytecode of `text`, which says that `writer` wrote it.
inline std::string
writeBytecode(llvm::StringRef text = kQuantize,
              llvm::StringRef writer = "MLIR" LLVM_VERSION_STRING) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  EXPECT_TRUE(succeeded(mlir::writeBytecodeToFile(
      *module, os, mlir::BytecodeWriterConfig(writer))));
  return bytes;
}

inline std::string readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Bytecode whose reader crashes.
inline std::string readDamaged() {
  return readFile(BLOCKSCALE_TEST_DATA "/../Package/Inputs/damaged.mlirbc");
}

/// A module that was read, and the first error where there is none.
class Reading {
public:
  explicit Reading(const std::string &content, const std::string &reader = "")
      : context(getRegistry()) {
    llvm::SourceMgr sources;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            if (error.empty())
                                              error = diagnostic.str();
                                            return mlir::success();
                                          });
    module = parseModule(content, "m.mlirbc", sources, context, reader);
  }

  bool isGood() const { return static_cast<bool>(module); }
  bool isDamaged() const {
    return !isGood() && llvm::StringRef(error).ends_with("is damaged");
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;

private:
  static mlir::DialectRegistry getRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
};

/// A fresh directory in which shell scripts stand in for the program that reads
/// bytecode.
class FakeReader : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blockscale-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = std::filesystem::canonical(name).string();
    runtime::Result<std::string> found =
        findBytecodeReader(getBytecodeReaderPlaces());
    ASSERT_TRUE(found.ok()) << found.message();
    reader = *found;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  /// Creates a script and returns its path.
  std::string create(const std::string &script) const {
    std::string path = directory + "/fake";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::string directory;
  /// The program itself.
  std::string reader;
};

} // namespace blockscale

#endif // BLOCKSCALE_UNITTESTS_DRIVER_BYTECODEFIXTURE_H

//===- FakePtxas.h - Scripts in place of ptxas ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMIT_FAKEPTXAS_H
#define BLOCKSCALE_UNITTESTS_EMIT_FAKEPTXAS_H

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace blockscale {

/// A fresh directory in which scripts stand in for ptxas.
class FakePtxas : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blockscale-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = std::filesystem::canonical(name).string();
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  /// Creates the program FOLDER/ptxas, a shell script, and returns its path.
  std::string create(const std::string &folder, const std::string &script) {
    std::filesystem::path path = directory + "/" + folder + "/ptxas";
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }

  /// A ptxas that tells its release and does nothing else.
  std::string createRelease(const std::string &folder,
                            const std::string &release) {
    return create(folder, "echo 'Cuda compilation tools, release " + release +
                              ", V" + release + ".88'");
  }

  std::string directory;
};

} // namespace blockscale

#endif // BLOCKSCALE_UNITTESTS_EMIT_FAKEPTXAS_H

//===- TestFiles.h - A directory of files for one test ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_RUNTIME_TESTFILES_H
#define BLOCKSCALE_UNITTESTS_RUNTIME_TESTFILES_H

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace blockscale::runtime {

/// A fresh directory, removed with its contents after the test.
class FileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blockscale-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = std::filesystem::canonical(name).string();
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string path(const std::string &name) const {
    return directory + "/" + name;
  }

  /// Creates a file and returns its path.
  std::string create(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string contents(const std::string &name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// The names in the directory, sorted; hidden files too.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string directory;
};

/// Takes root's override of file permissions away while it lives.
class AsOrdinaryUser {
public:
  AsOrdinaryUser() {
    if (geteuid() == 0)
      switched = seteuid(kNobody) == 0;
  }
  ~AsOrdinaryUser() {
    if (switched)
      EXPECT_EQ(seteuid(0), 0);
  }
  /// Whether file permissions hold; not where this process is root and cannot
  /// stop being it.
  bool holds() const { return geteuid() != 0; }

  static constexpr uid_t kNobody = 65534;

private:
  bool switched = false;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_UNITTESTS_RUNTIME_TESTFILES_H

//===- PathTest.cpp - Whether an output is an input -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/FileOutput.h"

#include "TestFiles.h"

using namespace blockscale::runtime;

namespace {

using SameFile = FileTest;

TEST_F(SameFile, ExistingFiles) {
  create("a", "same");
  create("b", "same");
  std::filesystem::create_hard_link(path("a"), path("hard"));
  std::filesystem::create_symlink("a", path("soft"));
  EXPECT_TRUE(sameFile(path("a"), path("a")));
  EXPECT_TRUE(sameFile(path("a"), directory + "/./a"));
  EXPECT_TRUE(sameFile(path("hard"), path("a")));
  EXPECT_TRUE(sameFile(path("a"), path("soft")));
  EXPECT_FALSE(sameFile(path("a"), path("b")));
}

TEST_F(SameFile, OneExists) {
  create("a", "");
  EXPECT_FALSE(sameFile(path("a"), path("new")));
  EXPECT_FALSE(sameFile(path("absent/a"), path("a")));
}

TEST_F(SameFile, NoneExists) {
  std::filesystem::create_directory(path("sub"));
  std::filesystem::create_directory_symlink("sub", path("alias"));
  std::filesystem::create_symlink("sub/new", path("dangling"));
  EXPECT_TRUE(sameFile(path("sub/new"), path("sub/../alias/new")));
  EXPECT_TRUE(sameFile(path("sub/new"), path("dangling")));
  EXPECT_FALSE(sameFile(path("sub/new"), path("new")));
}

TEST_F(SameFile, NoDirectoryExists) {
  EXPECT_TRUE(sameFile(path("no/x/../new"), path("no/new")));
  EXPECT_TRUE(sameFile("no/./new", "no/new"));
  EXPECT_FALSE(sameFile(path("no/new"), path("no/other")));
}

TEST_F(SameFile, RelativeAndAbsolute) {
  std::string relative =
      std::filesystem::path(path("new"))
          .lexically_relative(std::filesystem::current_path())
          .string();
  EXPECT_TRUE(sameFile(relative, path("new")));
}

} // namespace

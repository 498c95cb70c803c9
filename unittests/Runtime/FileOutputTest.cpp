//===- FileOutputTest.cpp - Output files, whole or not at all -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/FileOutput.h"

#include "TestFiles.h"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>

using namespace blockscale::runtime;

namespace {

using FileOutputs = FileTest;
using Names = std::vector<std::string>;

mode_t getPermissions(const std::string &path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

uid_t getOwner(const std::string &path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_uid;
}

TEST_F(FileOutputs, CreatesFile) {
  mode_t mask = umask(027);
  Status status = writeFileAtomically(path("out"), "hello");
  umask(mask);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents("out"), "hello");
  EXPECT_EQ(getPermissions(path("out")), 0640u);
  EXPECT_EQ(list(), Names{"out"});
}

TEST_F(FileOutputs, ReplacesFileAndKeepsPermissions) {
  create("out", "a long old text");
  ASSERT_EQ(chmod(path("out").c_str(), 0604), 0);
  Status status = writeFileAtomically(path("out"), "new");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents("out"), "new");
  EXPECT_EQ(getPermissions(path("out")), 0604u);
  EXPECT_EQ(list(), Names{"out"});
}

TEST_F(FileOutputs, JoinsPartsAndWritesEmptyFiles) {
  Status status =
      writeFilesAtomically({{path("a"), {"one ", "", "two"}}, {path("b"), {}}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents("a"), "one two");
  EXPECT_EQ(list(), (Names{"a", "b"}));
  EXPECT_TRUE(writeFilesAtomically({}).ok());
}

TEST_F(FileOutputs, ReplacesSeveral) {
  create("a", "old a");
  create("b", "old b");
  Status status =
      writeFilesAtomically({{path("a"), {"new a"}}, {path("b"), {"new b"}}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents("a"), "new a");
  EXPECT_EQ(contents("b"), "new b");
  EXPECT_EQ(list(), (Names{"a", "b"}));
}

TEST_F(FileOutputs, FollowsSymbolicLinks) {
  std::filesystem::create_directory(path("sub"));
  create("sub/target", "old");
  std::filesystem::create_symlink("sub/target", path("link"));
  std::filesystem::create_symlink("sub/dangling", path("dangling"));
  ASSERT_TRUE(writeFileAtomically(path("link"), "new").ok());
  ASSERT_TRUE(writeFileAtomically(path("dangling"), "born").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(contents("sub/target"), "new");
  EXPECT_EQ(contents("sub/dangling"), "born");
}

TEST_F(FileOutputs, RejectsPaths) {
  auto reject = [](const std::string &file) {
    return writeFileAtomically(file, "x").message();
  };
  EXPECT_EQ(reject(path("absent/out")),
            path("absent/out") + ": cannot write: No such file or directory");
  EXPECT_EQ(reject(directory),
            directory + ": expected a file, but got a directory");
  EXPECT_EQ(reject(""), ": expected a file name, but got ''");
  EXPECT_EQ(reject(path("new/")), path("new/") +
                                      ": expected a file name, but got '" +
                                      path("new/") + "'");
  create("file", "");
  EXPECT_EQ(reject(path("file/out")),
            path("file/out") + ": cannot write: Not a directory");
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_EQ(reject(path("loop")),
            path("loop") + ": cannot write: Too many levels of symbolic links");
  std::string longName(300, 'n');
  EXPECT_EQ(reject(path(longName)),
            path(longName) + ": cannot create: File name too long");
  EXPECT_EQ(list(), (Names{"file", "loop"}));
}

TEST_F(FileOutputs, RejectsOneDestinationTwice) {
  std::filesystem::create_symlink("out", path("link"));
  Status status =
      writeFilesAtomically({{path("out"), {"a"}}, {path("link"), {"b"}}});
  EXPECT_EQ(status.message(),
            path("link") + ": expected distinct output files, but got '" +
                path("out") + "' and '" + path("link") + "'");
  EXPECT_EQ(list(), Names{"link"});
  EXPECT_TRUE(
      writeFilesAtomically({{"/dev/null", {"a"}}, {"/dev/null", {"b"}}}).ok());
}

TEST_F(FileOutputs, RejectsReadOnlyFileAndDirectory) {
  create("file", "old");
  ASSERT_EQ(chmod(path("file").c_str(), 0444), 0);
  ASSERT_EQ(chmod(directory.c_str(), 0555), 0);
  {
    AsOrdinaryUser user;
    if (user.holds()) {
      EXPECT_EQ(writeFileAtomically(path("file"), "new").message(),
                path("file") + ": cannot write: Permission denied");
      EXPECT_EQ(writeFileAtomically(path("other"), "new").message(),
                path("other") + ": cannot create: Permission denied");
    }
  }
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  EXPECT_EQ(contents("file"), "old");
  EXPECT_EQ(list(), Names{"file"});
}

// The file size limit cuts the second file short, as a full disk would.
TEST_F(FileOutputs, PartialWriteLeavesNothing) {
  create("old", "old");
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limit = before;
  limit.rlim_cur = 4096;
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string big(10000, 'x');
  Status status =
      writeFilesAtomically({{path("old"), {"new"}}, {path("big"), {big}}});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(), path("big") + ": cannot write: File too large");
  EXPECT_EQ(contents("old"), "old");
  EXPECT_EQ(list(), Names{"old"});
}

TEST_F(FileOutputs, DeviceFailureLeavesNothing) {
  create("old", "old");
  Status status = writeFilesAtomically(
      {{path("old"), {"new"}}, {path("a"), {"a"}}, {"/dev/full", {"x"}}});
  EXPECT_EQ(status.message(),
            "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(contents("old"), "old");
  EXPECT_EQ(list(), Names{"old"});
}

// Names that are too long are noticed only by the last rename.
TEST_F(FileOutputs, FailedRenamePutsFilesBack) {
  create("old", "old");
  std::string longName(300, 'n');
  Status status = writeFilesAtomically({{path("old"), {"new"}},
                                        {path("created"), {"created"}},
                                        {path(longName), {"x"}}});
  EXPECT_EQ(status.message(),
            path(longName) + ": cannot create: File name too long");
  EXPECT_EQ(contents("old"), "old");
  EXPECT_EQ(list(), Names{"old"});
}

// A sticky directory protects another user's file from being replaced, which
// only the rename finds out.
TEST_F(FileOutputs, FailedReplacePutsFilesBack) {
  create("theirs", "theirs");
  ASSERT_EQ(chmod(path("theirs").c_str(), 0666), 0);
  ASSERT_EQ(chmod(directory.c_str(), 01777), 0);
  AsOrdinaryUser user;
  if (!user.holds() || getOwner(directory) == geteuid())
    GTEST_SKIP() << "needs root that can become another user";
  ASSERT_TRUE(writeFileAtomically(path("mine"), "mine").ok());
  Status status = writeFilesAtomically({{path("mine"), {"new"}},
                                        {path("created"), {"x"}},
                                        {path("theirs"), {"new"}}});
  EXPECT_EQ(status.message(),
            path("theirs") + ": cannot replace: Operation not permitted");
  EXPECT_EQ(contents("mine"), "mine");
  EXPECT_EQ(contents("theirs"), "theirs");
  EXPECT_EQ(list(), (Names{"mine", "theirs"}));
}

TEST_F(FileOutputs, WritesSpecialFilesInPlace) {
  ASSERT_TRUE(writeFileAtomically("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(writeFileAtomically(path("pipe"), "text").ok());
  char buffer[8];
  EXPECT_EQ(read(reader, buffer, sizeof(buffer)), 4);
  close(reader);
  EXPECT_EQ(list(), Names{"pipe"});
}

// What a shell's >> made of /dev/stdout keeps its old contents.
TEST_F(FileOutputs, AppendsToDescriptors) {
  int file = open(create("log", "before ").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(file, 0);
  std::string alias = "/dev/fd/" + std::to_string(file);
  EXPECT_TRUE(writeFileAtomically(alias, "after").ok());
  close(file);
  EXPECT_EQ(contents("log"), "before after");
  EXPECT_EQ(list(), Names{"log"});
}

} // namespace

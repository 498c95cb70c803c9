//===- TrustedFolderTest.cpp - A folder that no stranger can change -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/TrustedFolder.h"

#include "TestFiles.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::runtime;

namespace {

/// A user who is neither root nor that of the process.
constexpr uid_t kStranger = 12345;

class TrustedFolderTest : public FileTest {
protected:
  void SetUp() override {
    FileTest::SetUp();
    mask = umask(0);
  }
  void TearDown() override {
    umask(mask);
    FileTest::TearDown();
  }

  Result<TrustedFolder> open(const std::string &name,
                             const std::string &users = "",
                             bool isMade = false) const {
    Result<TrustedOwners> owners = TrustedOwners::parse(users);
    EXPECT_TRUE(owners.ok()) << owners.message();
    return TrustedFolder::open(path(name), *owners, isMade);
  }

  void expectFailure(const Status &status, ErrorKind kind,
                     const std::string &message) const {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.kind(), kind) << status.message();
    EXPECT_NE(status.message().find(message), std::string::npos)
        << status.message();
  }
  void expectDistrust(const Status &status, const std::string &message) const {
    expectFailure(status, ErrorKind::InvalidArgument, message);
  }

  void create(const std::string &name, const std::string &bytes) const {
    ASSERT_EQ(chmod(FileTest::create(name, bytes).c_str(), 0644), 0);
  }
  void makeFolder(const std::string &name, mode_t mode = 0755) const {
    ASSERT_EQ(mkdir(path(name).c_str(), 0700), 0);
    ASSERT_EQ(chmod(path(name).c_str(), mode), 0);
  }
  void give(const std::string &name) const {
    ASSERT_EQ(lchown(path(name).c_str(), kStranger, kStranger), 0);
  }

  std::string read(const TrustedFolder &folder, const std::string &name) const {
    Result<FileDescriptor> file = folder.openFile(name);
    EXPECT_TRUE(file.ok()) << file.message();
    std::string bytes(100, '\0');
    bytes.resize(file.ok() ? file->read(0, bytes.data(), bytes.size()) : 0);
    return bytes;
  }

  mode_t getMode(const std::string &name) const {
    struct stat info;
    EXPECT_EQ(lstat(path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }

private:
  mode_t mask = 0;
};

/// Those that need files of several users.
class OtherUsersTest : public TrustedFolderTest {
protected:
  void SetUp() override {
    TrustedFolderTest::SetUp();
    if (geteuid() != 0)
      GTEST_SKIP() << "only root can give files to another user";
  }
};

TEST_F(TrustedFolderTest, MakesWhatIsMissingForThisUserAlone) {
  expectFailure(open("a/b").status(), ErrorKind::NotFound,
                "a: cannot open: No such file or directory");
  Result<TrustedFolder> folder = open("a//./b/", "", /*isMade=*/true);
  ASSERT_TRUE(folder.ok()) << folder.message();
  EXPECT_EQ(getMode("a"), 0755u);
  EXPECT_EQ(getMode("a/b"), 0755u);
  expectFailure(folder->openFile("f").status(), ErrorKind::NotFound,
                "cannot open");
  ASSERT_TRUE(folder->writeFile("f", "one").ok());
  EXPECT_EQ(getMode("a/b/f"), 0644u);
  ASSERT_TRUE(folder->writeFile("f", "two").ok());
  EXPECT_EQ(read(*folder, "f"), "two");
  EXPECT_TRUE(open("a/b/../b").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("a/b")),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(TrustedFolderTest, APathMayBeRelative) {
  makeFolder("a");
  std::filesystem::path here = std::filesystem::current_path();
  ASSERT_EQ(chdir(directory.c_str()), 0);
  EXPECT_TRUE(TrustedFolder::open("a", {}, /*isMade=*/false).ok());
  EXPECT_FALSE(TrustedFolder::open("b", {}, /*isMade=*/false).ok());
  ASSERT_EQ(chdir(here.c_str()), 0);
}

TEST_F(TrustedFolderTest, ALinkIsReplacedAndNotFollowed) {
  create("victim", "precious");
  makeFolder("a");
  for (const char *target : {"../victim", "../nothing"}) {
    unlink(path("a/f").c_str());
    ASSERT_EQ(symlink(target, path("a/f").c_str()), 0);
    Result<TrustedFolder> folder = open("a");
    ASSERT_TRUE(folder.ok());
    expectFailure(folder->openFile("f").status(), ErrorKind::File,
                  "cannot open");
    ASSERT_TRUE(folder->writeFile("f", "new").ok());
    EXPECT_EQ(read(*folder, "f"), "new");
    EXPECT_EQ(contents("victim"), "precious");
    EXPECT_FALSE(std::filesystem::exists(path("nothing")));
  }
}

TEST_F(TrustedFolderTest, AFileOfAnyFolderIsReplaced) {
  create("victim", "precious");
  ASSERT_EQ(symlink("victim", path("f").c_str()), 0);
  for (const char *text : {"one", "two"}) {
    ASSERT_TRUE(replaceFile(path("f"), text).ok());
    EXPECT_EQ(contents("f"), text);
  }
  EXPECT_EQ(contents("victim"), "precious");
  expectFailure(replaceFile(path("none/f"), ""), ErrorKind::NotFound,
                "none/f: cannot write: No such file or directory");
  EXPECT_EQ(list(), std::vector<std::string>({"f", "victim"}));
}

TEST_F(TrustedFolderTest, LinksToFoldersAreFollowed) {
  makeFolder("a");
  ASSERT_EQ(symlink("a", path("near").c_str()), 0);
  ASSERT_EQ(symlink(path("near").c_str(), path("far").c_str()), 0);
  ASSERT_EQ(symlink("loop", path("loop").c_str()), 0);
  ASSERT_EQ(symlink("later/b", path("dangling").c_str()), 0);
  EXPECT_TRUE(open("far").ok());
  expectFailure(open("loop").status(), ErrorKind::File, "symbolic link");
  expectFailure(open("dangling").status(), ErrorKind::NotFound, "cannot open");
  EXPECT_TRUE(open("dangling", "", /*isMade=*/true).ok());
  EXPECT_EQ(getMode("later/b"), 0755u);
  create("file", "");
  expectFailure(open("file").status(), ErrorKind::File, "Not a directory");
}

TEST_F(TrustedFolderTest, OnlyRegularFilesAreRead) {
  makeFolder("a");
  makeFolder("a/folder");
  ASSERT_EQ(mkfifo(path("a/pipe").c_str(), 0600), 0);
  Result<TrustedFolder> folder = open("a");
  ASSERT_TRUE(folder.ok());
  for (const char *name : {"folder", "pipe"})
    expectFailure(folder->openFile(name).status(), ErrorKind::File,
                  "to be a regular file");
  // A folder stays; a pipe is replaced.
  EXPECT_FALSE(folder->writeFile("folder", "x").ok());
  EXPECT_TRUE(folder->writeFile("pipe", "x").ok());
  EXPECT_EQ(read(*folder, "pipe"), "x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("a")),
                          std::filesystem::directory_iterator()),
            2);
}

TEST_F(TrustedFolderTest, NobodyElseMayWrite) {
  makeFolder("a");
  makeFolder("a/b");
  create("a/b/f", "x");
  for (mode_t mode : {0775, 0757, 02775}) {
    char text[8];
    std::snprintf(text, sizeof(text), "%04o", mode);
    ASSERT_EQ(chmod(path("a/b/f").c_str(), mode & 0777), 0);
    Result<TrustedFolder> folder = open("a/b");
    ASSERT_TRUE(folder.ok());
    expectDistrust(folder->openFile("f").status(),
                   "expected '" + path("a/b/f") +
                       "' to be writable by its owner alone, but its mode is "
                       "0");
    ASSERT_EQ(chmod(path("a/b/f").c_str(), 0644), 0);
    for (const char *name : {"a/b", "a"}) {
      ASSERT_EQ(chmod(path(name).c_str(), mode), 0);
      expectDistrust(open("a/b").status(),
                     "expected '" + path(name) +
                         "' to be writable by its owner alone, but its mode "
                         "is " +
                         text);
      ASSERT_EQ(chmod(path(name).c_str(), 0755), 0);
    }
  }
  // In a sticky folder others can only add.
  ASSERT_EQ(chmod(path("a").c_str(), 01777), 0);
  Result<TrustedFolder> folder = open("a/b");
  ASSERT_TRUE(folder.ok()) << folder.message();
  EXPECT_EQ(read(*folder, "f"), "x");
}

TEST_F(OtherUsersTest, OwnersAreTrustedUsers) {
  makeFolder("a");
  makeFolder("a/b");
  create("a/b/f", "x");
  for (const char *name : {"a/b", "a"}) {
    give(name);
    expectDistrust(open("a/b").status(),
                   "expected '" + path(name) +
                       "' to belong to user 0, root or another trusted user, "
                       "but it belongs to user 12345");
    EXPECT_TRUE(open("a/b", "12345").ok());
    EXPECT_TRUE(open("a/b", "root,12345,").ok());
    EXPECT_FALSE(open("a/b", "1234").ok());
    ASSERT_EQ(lchown(path(name).c_str(), 0, 0), 0);
  }
  give("a/b/f");
  expectDistrust(open("a/b")->openFile("f").status(), "a/b/f' to belong to");
  EXPECT_TRUE(open("a/b", "12345")->openFile("f").ok());
  // What a stranger has in a sticky folder of root.
  ASSERT_EQ(chmod(path("a/b").c_str(), 01777), 0);
  expectDistrust(open("a/b")->openFile("f").status(), "a/b/f' to belong to");
  EXPECT_TRUE(open("a/b")->writeFile("f", "mine").ok());
  EXPECT_TRUE(open("a/b")->openFile("f").ok());
}

TEST_F(OtherUsersTest, LinksOfStrangersAreNotFollowed) {
  makeFolder("a");
  ASSERT_EQ(symlink("a", path("link").c_str()), 0);
  EXPECT_TRUE(open("link").ok());
  give("link");
  expectDistrust(open("link").status(), "/link' to belong to user 0");
  EXPECT_TRUE(open("link", "12345").ok());
}

TEST_F(OtherUsersTest, RootIsTrustedByOthers) {
  makeFolder("a");
  create("a/f", "x");
  makeFolder("b");
  give("b");
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  AsOrdinaryUser user;
  Result<TrustedFolder> folder = open("a");
  ASSERT_TRUE(folder.ok()) << folder.message();
  EXPECT_EQ(read(*folder, "f"), "x");
  expectFailure(folder->writeFile("f", "y"), ErrorKind::File,
                "cannot create: Permission denied");
  expectDistrust(open("b").status(),
                 "to belong to user " +
                     std::to_string(AsOrdinaryUser::kNobody) + ", root");
}

TEST(TrustedOwnersTest, UsersHaveNamesAndNumbers) {
  for (const char *users : {"", "root", "0", "root,17", "17,"})
    EXPECT_TRUE(TrustedOwners::parse(users).ok()) << users;
  EXPECT_TRUE(TrustedOwners::parse("17")->has(17));
  EXPECT_FALSE(TrustedOwners::parse("17")->has(18));
  EXPECT_TRUE(TrustedOwners::parse("")->has(0));
  EXPECT_TRUE(TrustedOwners::parse("")->has(geteuid()));
  EXPECT_TRUE(TrustedOwners::parse("daemon")->has(1));
  for (const char *users : {"nobody-of-this-name", "-1", "17,x y", ",17"})
    EXPECT_NE(TrustedOwners::parse(users).message().find(
                  "expected names or numbers of users, separated by commas, "
                  "but got '"),
              std::string::npos)
        << users;
}

} // namespace

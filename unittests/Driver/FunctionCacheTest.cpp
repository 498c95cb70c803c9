//===- FunctionCacheTest.cpp - Functions in a folder ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/FunctionCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cstring>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace blockscale;
namespace fs = llvm::sys::fs;

namespace {

class FunctionCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(fs::createUniqueDirectory("cache", made));
    folder = made.str().str();
    ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
    mask = umask(022);
  }
  void TearDown() override {
    umask(mask);
    (void)fs::remove_directories(folder);
  }

  static SavedFunction make(const std::string &key, const std::string &code) {
    SavedFunction saved;
    saved.target = "sm_90a";
    saved.signature.name = "f";
    saved.key = key;
    saved.code = code;
    return saved;
  }

  void write(const std::string &name, const std::string &content) const {
    std::error_code error;
    llvm::raw_fd_ostream(folder + "/" + name, error) << content;
    ASSERT_FALSE(error) << error.message();
  }
  std::string read(const std::string &name) const {
    auto buffer = llvm::MemoryBuffer::getFile(folder + "/" + name);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  /// The files in it.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end;
         it != end && !error; it.increment(error))
      if (fs::is_regular_file(it->path()))
        names.push_back(it->path().substr(folder.size() + 1));
    llvm::sort(names);
    return names;
  }

  /// What is said of a store and a search, neither of which does anything.
  std::string explain(const FunctionCache &cache) const {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(cache.find("abcd"));
    cache.store(make("abcd", "other"), "");
    return testing::internal::GetCapturedStderr();
  }

  std::string folder;

private:
  mode_t mask = 0;
};

TEST_F(FunctionCacheTest, FindsWhatIsStored) {
  FunctionCache cache(folder + "/made/when/needed");
  EXPECT_FALSE(cache.find("abcd"));
  cache.store(make("abcd", "code"), "model.mlir");
  auto found = cache.find("abcd");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "code");
  EXPECT_FALSE(cache.find("abce"));
  EXPECT_EQ(list(),
            std::vector<std::string>({"made/when/needed/ab/abcd.bsf",
                                      "made/when/needed/ab/abcd.json"}));
  std::string about = read("made/when/needed/ab/abcd.json");
  EXPECT_NE(about.find("\"source\": \"model.mlir\""), std::string::npos);
  EXPECT_NE(about.find("\"target\": \"sm_90a\""), std::string::npos);
}

TEST_F(FunctionCacheTest, WhatIsOddIsNotFound) {
  FunctionCache cache(folder);
  cache.store(make("abcd", "code"), "");
  std::string bytes = read("ab/abcd.bsf");
  // A file under the name of another key.
  write("ab/abce.bsf", bytes);
  EXPECT_FALSE(cache.find("abce"));
  for (const std::string &odd :
       {std::string(), bytes.substr(0, bytes.size() - 1), bytes + "x",
        std::string(bytes.size(), 'x')}) {
    write("ab/abcd.bsf", odd);
    EXPECT_FALSE(cache.find("abcd"));
  }
  // It is written again.
  cache.store(make("abcd", "code"), "");
  EXPECT_TRUE(cache.find("abcd"));
  ASSERT_FALSE(fs::remove(folder + "/ab/abcd.bsf"));
  // A pipe that nobody writes to.
  ASSERT_EQ(mkfifo((folder + "/ab/abcd.bsf").c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("abcd"));
  cache.store(make("abcd", "code"), "");
  EXPECT_TRUE(cache.find("abcd"));
  // A file of a terabyte of nothing, and one whose header says so, too.
  for (bool isTold : {false, true}) {
    std::string header = bytes.substr(0, kSavedFunctionHeaderBytes);
    uint64_t size = uint64_t(1) << 40;
    uint64_t told = size - header.size() - header[12] - 256 * header[13];
    if (isTold)
      std::memcpy(&header[16], &told, sizeof(told));
    write("ab/abcd.bsf", header);
    ASSERT_EQ(truncate((folder + "/ab/abcd.bsf").c_str(), size), 0);
    EXPECT_FALSE(cache.find("abcd"));
  }
  ASSERT_FALSE(fs::remove(folder + "/ab/abcd.bsf"));
  ASSERT_FALSE(fs::create_directory(folder + "/ab/abcd.bsf"));
  EXPECT_FALSE(cache.find("abcd"));
  cache.store(make("abcd", "code"), "");
  EXPECT_FALSE(cache.find("abcd"));
}

TEST_F(FunctionCacheTest, NothingIsWrittenThroughALink) {
  FunctionCache cache(folder);
  cache.store(make("abcd", "code"), "");
  std::string bytes = read("ab/abcd.bsf");
  for (const std::string &name : {"abcd.bsf", "abcd.json"}) {
    write("victim", bytes);
    std::string file = folder + "/ab/" + name;
    ASSERT_FALSE(fs::remove(file));
    ASSERT_EQ(symlink("../victim", file.c_str()), 0);
    // It is not read through one either.
    EXPECT_EQ(cache.find("abcd").has_value(), name == "abcd.json");
    cache.store(make("abcd", "other code"), "");
    EXPECT_EQ(read("victim"), bytes);
    EXPECT_FALSE(fs::is_symlink_file(file));
    EXPECT_EQ(cache.find("abcd")->code, "other code");
  }
}

TEST_F(FunctionCacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
  FunctionCache cache(folder);
  cache.store(make("abcd", "code"), "");
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(explain(cache),
            "blockscale: warning: the cache in '" + folder +
                "' is not used: expected '" + folder +
                "' to be writable by its owner alone, but its mode is 0777; "
                "BLOCKSCALE_CACHE_OWNERS names other users to trust\n");
  // It is said once, and what is there stays as it is.
  EXPECT_EQ(explain(cache), "");
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(cache.find("abcd")->code, "code");
}

TEST_F(FunctionCacheTest, AFileThatOthersCanWriteToIsReplaced) {
  FunctionCache cache(folder);
  cache.store(make("abcd", "code"), "");
  ASSERT_EQ(chmod((folder + "/ab/abcd.bsf").c_str(), 0666), 0);
  std::string said = explain(cache);
  EXPECT_NE(said.find("/ab/abcd.bsf' to be writable by its owner alone, but "
                      "its mode is 0666"),
            std::string::npos)
      << said;
  EXPECT_EQ(cache.find("abcd")->code, "other");
}

TEST_F(FunctionCacheTest, AFolderOfAnotherUserIsNotUsed) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files to another user";
  FunctionCache cache(folder);
  cache.store(make("abcd", "code"), "");
  ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_NE(explain(cache).find("but it belongs to user 12345"),
            std::string::npos);
  auto trusted = runtime::TrustedOwners::parse("12345");
  EXPECT_EQ(FunctionCache(folder, *trusted).find("abcd")->code, "code");
  // As a program or the environment names them.
  setenv("BLOCKSCALE_CACHE_DIR", folder.c_str(), 1);
  EXPECT_FALSE(FunctionCache::open()->find("abcd"));
  setenv("BLOCKSCALE_CACHE_OWNERS", "17,12345", 1);
  EXPECT_TRUE(FunctionCache::open()->find("abcd"));
  setCacheOwners(runtime::TrustedOwners());
  EXPECT_FALSE(FunctionCache::open()->find("abcd"));
  setCacheOwners(*trusted);
  unsetenv("BLOCKSCALE_CACHE_OWNERS");
  EXPECT_TRUE(FunctionCache::open()->find("abcd"));
  setCacheOwners(std::nullopt);
  EXPECT_FALSE(FunctionCache::open()->find("abcd"));
  unsetenv("BLOCKSCALE_CACHE_DIR");
}

TEST_F(FunctionCacheTest, OwnersThatDoNotExistTrustNobody) {
  setenv("BLOCKSCALE_CACHE_DIR", folder.c_str(), 1);
  setenv("BLOCKSCALE_CACHE_OWNERS", "nobody-of-this-name", 1);
  testing::internal::CaptureStderr();
  FunctionCache::open()->store(make("abcd", "code"), "");
  EXPECT_TRUE(FunctionCache::open()->find("abcd"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "blockscale: warning: nobody is trusted by "
            "BLOCKSCALE_CACHE_OWNERS: expected names or numbers of users, "
            "separated by commas, but got 'nobody-of-this-name'\n");
  unsetenv("BLOCKSCALE_CACHE_OWNERS");
  unsetenv("BLOCKSCALE_CACHE_DIR");
}

TEST_F(FunctionCacheTest, FoldersThatCannotBeWrittenHarmNothing) {
  write("file", "");
  for (const std::string &name :
       {folder + "/file", folder + "/file/below", std::string("/proc/self")}) {
    FunctionCache cache(name);
    cache.store(make("abcd", "code"), "");
    EXPECT_FALSE(cache.find("abcd"));
  }
}

TEST_F(FunctionCacheTest, ManyThreadsStoreAndFind) {
  std::string code(1 << 16, 'c');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        FunctionCache cache(folder);
        cache.store(make("abcd", code), "");
        auto found = cache.find("abcd");
        // What is there is always whole.
        EXPECT_TRUE(found && found->code == code);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(list(), std::vector<std::string>({"ab/abcd.bsf", "ab/abcd.json"}));
}

TEST_F(FunctionCacheTest, EachInputIsPartOfTheKey) {
  write("policy.json",
        R"({"version": 1, "amaxes": "amaxes.json", "rules": []})");
  write("amaxes.json", R"({"layer": 1})");
  write("other.json", R"({"version": 1, "rules": []})");
  ASSERT_FALSE(fs::create_directories(folder + "/tuned/below"));
  write("tuned/below/a", "1");
  std::set<std::string> keys;
  auto add = [&](auto change) {
    CacheInputs inputs;
    inputs.source = "module {}";
    inputs.name = "m";
    inputs.target = "cpu";
    inputs.policy = folder + "/policy.json";
    inputs.tuned = folder + "/tuned";
    change(inputs);
    std::optional<std::string> key = computeCacheKey(inputs);
    ASSERT_TRUE(key);
    EXPECT_EQ(key->size(), 64u);
    EXPECT_EQ(computeCacheKey(inputs), key);
    EXPECT_TRUE(keys.insert(*key).second);
  };
  add([](CacheInputs &) {});
  add([](CacheInputs &inputs) { inputs.source = "module { }"; });
  add([](CacheInputs &inputs) { inputs.name = "n"; });
  add([](CacheInputs &inputs) { inputs.entry = "f"; });
  add([](CacheInputs &inputs) { inputs.target = "sm_90a"; });
  add([](CacheInputs &inputs) { inputs.cpu = "x86-64"; });
  add([](CacheInputs &inputs) { inputs.fuse = false; });
  add([](CacheInputs &inputs) { inputs.policy.clear(); });
  add([](CacheInputs &inputs) { inputs.tuned.clear(); });
  add([&](CacheInputs &inputs) { inputs.policy = folder + "/other.json"; });
  // A part is not taken for the end of the one before it.
  add([](CacheInputs &inputs) {
    inputs.source = "module {}m";
    inputs.name = "";
  });
  write("tuned/below/a", "2");
  add([](CacheInputs &) {});
  write("tuned/below/b", "");
  add([](CacheInputs &) {});
  // So is what a policy reads.
  write("amaxes.json", R"({"layer": 2})");
  add([](CacheInputs &) {});
}

TEST_F(FunctionCacheTest, FilesThatCannotBeReadGiveNoKey) {
  CacheInputs inputs;
  inputs.policy = folder + "/nothing";
  EXPECT_FALSE(computeCacheKey(inputs));
  write("policy.json", R"({"version": 1, "amaxes": "nothing", "rules": []})");
  inputs.policy = folder + "/policy.json";
  EXPECT_FALSE(computeCacheKey(inputs));
  inputs.policy.clear();
  inputs.tuned = folder + "/nothing";
  EXPECT_FALSE(computeCacheKey(inputs));
}

TEST_F(FunctionCacheTest, TheVariableNamesTheFolder) {
  ASSERT_EQ(unsetenv("BLOCKSCALE_CACHE_DIR"), 0);
  EXPECT_FALSE(FunctionCache::open());
  setenv("BLOCKSCALE_CACHE_DIR", "", 1);
  EXPECT_FALSE(FunctionCache::open());
  setenv("BLOCKSCALE_CACHE_DIR", folder.c_str(), 1);
  auto cache = FunctionCache::open();
  ASSERT_TRUE(cache);
  cache->store(make("abcd", "code"), "");
  EXPECT_TRUE(FunctionCache(folder).find("abcd"));
  unsetenv("BLOCKSCALE_CACHE_DIR");
}

} // namespace

//===- TensorFileTest.cpp - Mapped files ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/FileLayout.h"
#include "blockscale/Checkpoint/ReadGuard.h"

#include "../Runtime/TestFiles.h"

#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace blockscale::checkpoint;
using namespace blockscale::runtime;

namespace {

class TensorFileTest : public FileTest {
protected:
  /// A file of one tensor of bytes.
  std::string createFile(int64_t dataBytes) {
    Result<FileLayout> layout =
        layOutFile(FileFormat::Safetensors,
                   {{"w", findStorageType("U8"), {dataBytes}}}, {});
    EXPECT_TRUE(layout.ok()) << layout.message();
    return create("w.safetensors",
                  layout->header + std::string(dataBytes, '\7'));
  }
};

/// The pages of a file that are in the memory of this process.
int64_t countResidentPages(std::string_view bytes) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool isIn = false;
  char address[32];
  snprintf(address, sizeof address, "%lx-",
           reinterpret_cast<unsigned long>(bytes.data()));
  while (std::getline(maps, line)) {
    if (line.rfind(address, 0) == 0)
      isIn = true;
    if (isIn && line.rfind("Rss:", 0) == 0)
      return std::stoll(line.substr(4)) * 1024 / sysconf(_SC_PAGESIZE);
  }
  return -1;
}

int64_t sum(std::string_view bytes) {
  int64_t total = 0;
  for (char byte : bytes)
    total += byte;
  return total;
}

TEST_F(TensorFileTest, Open) {
  Result<std::unique_ptr<TensorFile>> file = TensorFile::open(createFile(100));
  ASSERT_TRUE(file.ok()) << file.message();
  const StoredTensor &tensor = (*file)->getContents().tensors.at(0);
  EXPECT_EQ(sum((*file)->getBytes().substr(tensor.offset, tensor.bytes)), 700);
}

TEST_F(TensorFileTest, Errors) {
  auto open = [&](const std::string &path) {
    Result<std::unique_ptr<TensorFile>> file = TensorFile::open(path);
    return file.ok() ? Status::success() : file.status();
  };
  Status status = open(path("none"));
  EXPECT_EQ(status.kind(), ErrorKind::File);
  EXPECT_EQ(status.message(),
            path("none") + ": cannot open: No such file or directory");
  status = open(directory);
  EXPECT_EQ(status.kind(), ErrorKind::File);
  EXPECT_EQ(status.message(),
            directory + ": expected a regular file, but got another");
  // An empty file cannot be mapped.
  status = open(create("empty", ""));
  EXPECT_EQ(status.kind(), ErrorKind::InvalidCheckpoint);
  EXPECT_EQ(status.message(), path("empty") +
                                  ": byte 0 of the file: expected the length "
                                  "of a header in 8 bytes, but got a file of "
                                  "0 bytes");
}

// A header has a limit, so that a file of any size takes no more memory.
TEST_F(TensorFileTest, LargeHeader) {
  std::string header("GGUF\3\0\0\0"                     // version
                     "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0" // one key
                     "\1\0\0\0\0\0\0\0k\10\0\0\0"       // of a string
                     "\0\0\0\20\0\0\0\0",               // 2^28 bytes
                     45);
  std::string name = create("f", header);
  std::filesystem::resize_file(name, (1 << 28) + 100);
  Result<std::unique_ptr<TensorFile>> file = TensorFile::open(name);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.message(),
            name + ": key 'k' (byte 24 of the file): expected a string to have "
                   "268435456 bytes, but only 268435411 are left of the "
                   "268435456 that a header may have");
}

// Pages that were read leave the process, and come back when they are read
// again.
TEST_F(TensorFileTest, Release) {
  auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  Result<std::unique_ptr<TensorFile>> file =
      TensorFile::open(createFile(100 * page));
  ASSERT_TRUE(file.ok()) << file.message();
  std::string_view bytes = (*file)->getBytes();
  int64_t total = sum(bytes);
  EXPECT_EQ(countResidentPages(bytes), 101);
  // The page of the end stays, and that of the begin leaves.
  (*file)->release(10 * page + 1, 20 * page);
  EXPECT_EQ(countResidentPages(bytes), 81);
  (*file)->release(30 * page + 1, page - 2);
  EXPECT_EQ(countResidentPages(bytes), 81);
  // Ranges beyond the file are cut.
  (*file)->release(30 * page + 1, UINT64_MAX);
  EXPECT_EQ(countResidentPages(bytes), 10);
  (*file)->release(UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(sum(bytes), total);
  (*file)->release(0, bytes.size());
  EXPECT_EQ(countResidentPages(bytes), 0);
}

/// A file that is cut while it is read gives zeros for what it has no more, and
/// says so; what it still has stays.
TEST_F(TensorFileTest, FilesThatAreCut) {
  int64_t pages = 16 * sysconf(_SC_PAGESIZE);
  std::string name = createFile(pages);
  Result<std::unique_ptr<TensorFile>> file = TensorFile::open(name);
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_TRUE((*file)->checkUnchanged().ok());
  std::string_view bytes = (*file)->getBytes();
  ASSERT_EQ(truncate(name.c_str(), pages / 2), 0);
  {
    ReadGuard outer;
    ReadGuard inner;
    EXPECT_EQ(bytes.back(), '\0');
    EXPECT_EQ(bytes[pages / 2 - 1], '\7');
    EXPECT_EQ(bytes[pages / 2], '\0');
  }
  EXPECT_EQ((*file)->checkUnchanged().message(),
            name +
                ": expected a file that stays as it is while it is read, "
                "but it had " +
                std::to_string(bytes.size()) + " bytes and has " +
                std::to_string(pages / 2));
  // The mapping remembers the cut, whatever becomes of the file's name.
  ASSERT_EQ(unlink(name.c_str()), 0);
  EXPECT_EQ((*file)->checkUnchanged().message(),
            name + ": expected a file that stays as it is while it is read, "
                   "but it was cut");
}

TEST_F(TensorFileTest, FilesThatAreWritten) {
  std::string name = createFile(100);
  Result<std::unique_ptr<TensorFile>> file = TensorFile::open(name);
  ASSERT_TRUE(file.ok()) << file.message();
  timespec times[] = {{1, 2}, {3, 4}};
  ASSERT_EQ(utimensat(AT_FDCWD, name.c_str(), times, 0), 0);
  EXPECT_EQ((*file)->checkUnchanged().message(),
            name + ": expected a file that stays as it is while it is read, "
                   "but it was written");
  // Another file of the name is none of its business.
  ASSERT_EQ(unlink(name.c_str()), 0);
  createFile(200);
  EXPECT_TRUE((*file)->checkUnchanged().ok());
}

/// A guard is for mapped files alone, and leaves the handler as it was.
TEST_F(TensorFileTest, OtherBusErrors) {
  struct sigaction before = {}, after = {};
  sigaction(SIGBUS, nullptr, &before);
  {
    ReadGuard guard;
  }
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_EXIT(
      {
        ReadGuard guard;
        std::string name = createFile(100);
        int file = open(name.c_str(), O_RDWR);
        void *address = mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
        if (ftruncate(file, 0) == 0)
          fprintf(stderr, "%d", *static_cast<volatile char *>(address));
      },
      // Sanitizers exit instead.
      [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status); }, "");
}

} // namespace

//===- TensorFile.cpp - Files of named tensors ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/TensorFile.h"

#include "Headers.h"

#include "blockscale/Checkpoint/ReadGuard.h"
#include "blockscale/Runtime/FileDescriptor.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::checkpoint;
using namespace blockscale::runtime;

Result<FileContents>
blockscale::checkpoint::readContents(std::string_view file) {
  return file.substr(0, kGgufMagic.size()) == kGgufMagic
             ? readGguf(file)
             : readSafetensors(file);
}

Result<FileLayout> blockscale::checkpoint::layOutFile(
    FileFormat format, const std::vector<TensorDescription> &tensors,
    const std::vector<Metadata> &metadata) {
  return format == FileFormat::Gguf ? layOutGguf(tensors, metadata)
                                    : layOutSafetensors(tensors, metadata);
}

namespace {

/// A regular file, mapped; of an empty one there are no bytes.
struct MappedFile {
  std::string_view bytes;
  struct stat status;
};

} // namespace

static Result<MappedFile> mapFile(const std::string &path) {
  // A pipe is refused below; without O_NONBLOCK, opening it would wait for what
  // writes into it.
  FileDescriptor file = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  auto fail = [&](const char *action) {
    return Status::failure(systemFailure(path, action, errno).message(),
                           ErrorKind::File);
  };
  if (!file.isValid())
    return fail("open");
  MappedFile mapped = {};
  if (fstat(file.get(), &mapped.status) != 0)
    return fail("read");
  if (!S_ISREG(mapped.status.st_mode))
    return Status::failure(path + ": expected a regular file, but got another",
                           ErrorKind::File);
  auto size = static_cast<size_t>(mapped.status.st_size);
  if (size == 0)
    return mapped;
  void *address =
      mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), /*offset=*/0);
  if (address == MAP_FAILED)
    return fail("map");
  mapped.bytes = std::string_view(static_cast<const char *>(address), size);
  return mapped;
}

TensorFile::TensorFile(std::string path, std::string_view bytes,
                       FileState state)
    : path(std::move(path)), bytes(bytes), state(state) {
  if (!bytes.empty())
    guarded = rememberMapping(bytes);
}

static FileState getState(const struct stat &status) {
  return {static_cast<uint64_t>(status.st_dev),
          static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

Result<std::unique_ptr<TensorFile>> TensorFile::open(const std::string &path) {
  ReadGuard guard;
  Result<MappedFile> mapped = mapFile(path);
  if (!mapped.ok())
    return mapped.status();
  std::unique_ptr<TensorFile> file(
      new TensorFile(path, mapped->bytes, getState(mapped->status)));
  Result<FileContents> contents = readContents(mapped->bytes);
  // A file that was cut breaks other rules, too.
  Status status = file->checkUnchanged();
  if (!status.ok())
    return status;
  if (!contents.ok())
    return Status::failure(path + ": " + contents.message(),
                           contents.status().kind());
  file->contents = std::move(*contents);
  return file;
}

TensorFile::~TensorFile() {
  if (bytes.empty())
    return;
  forgetMapping(guarded);
  munmap(const_cast<char *>(bytes.data()), bytes.size());
}

Status TensorFile::checkUnchanged() const {
  auto fail = [&](const std::string &found) {
    return Status::failure(path +
                               ": expected a file that stays as it is while it "
                               "is read, but " +
                               found,
                           ErrorKind::File);
  };
  struct stat status;
  // A file that has lost its name, or given it to another, is still mapped.
  FileState now = stat(path.c_str(), &status) == 0 ? getState(status) : state;
  if (now.device == state.device && now.inode == state.inode) {
    if (now.bytes != state.bytes)
      return fail("it had " + std::to_string(state.bytes) + " bytes and has " +
                  std::to_string(now.bytes));
    if (now.seconds != state.seconds || now.nanoseconds != state.nanoseconds)
      return fail("it was written");
  }
  if (guarded && wasCut(guarded))
    return fail("it was cut");
  return Status::success();
}

void TensorFile::release(uint64_t offset, uint64_t count) const {
  offset = std::min<uint64_t>(offset, bytes.size());
  count = std::min<uint64_t>(count, bytes.size() - offset);
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t first = offset / page * page;
  uint64_t last = offset + count;
  if (last != bytes.size())
    last = last / page * page;
  if (first < last)
    madvise(const_cast<char *>(bytes.data()) + first, last - first,
            MADV_DONTNEED);
}

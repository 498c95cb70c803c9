//===- TensorFile.cpp - Files of named tensors ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/TensorFile.h"

#include "Headers.h"

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

/// The bytes of a regular file, mapped; of an empty one there are none.
static Result<std::string_view> mapFile(const std::string &path) {
  // A pipe is refused below; without O_NONBLOCK, opening it would wait for what
  // writes into it.
  FileDescriptor file = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  auto fail = [&](const char *action) {
    return Status::failure(systemFailure(path, action, errno).message(),
                           ErrorKind::File);
  };
  if (!file.isValid())
    return fail("open");
  struct stat status;
  if (fstat(file.get(), &status) != 0)
    return fail("read");
  if (!S_ISREG(status.st_mode))
    return Status::failure(path + ": expected a regular file, but got another",
                           ErrorKind::File);
  auto size = static_cast<size_t>(status.st_size);
  if (size == 0)
    return std::string_view();
  void *address =
      mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), /*offset=*/0);
  if (address == MAP_FAILED)
    return fail("map");
  return std::string_view(static_cast<const char *>(address), size);
}

Result<std::unique_ptr<TensorFile>> TensorFile::open(const std::string &path) {
  Result<std::string_view> bytes = mapFile(path);
  if (!bytes.ok())
    return bytes.status();
  std::unique_ptr<TensorFile> file(new TensorFile(*bytes));
  Result<FileContents> contents = readContents(*bytes);
  if (!contents.ok())
    return Status::failure(path + ": " + contents.message(),
                           contents.status().kind());
  file->contents = std::move(*contents);
  return file;
}

TensorFile::~TensorFile() {
  if (!bytes.empty())
    munmap(const_cast<char *>(bytes.data()), bytes.size());
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

//===- Npy.cpp - Arrays from and to .npy files ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Npy.h"

#include "blockscale/Runtime/FileDescriptor.h"
#include "blockscale/Runtime/FileOutput.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace blockscale::runtime;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "elements are kept as the file stores them");

Result<NpyArray> NpyArray::allocate(NpyType type, std::vector<int64_t> shape) {
  Result<int64_t> byteCount = computeNpyByteCount(type, shape);
  if (!byteCount.ok())
    return byteCount.status();
  Result<AlignedBuffer> buffer = AlignedBuffer::allocate(*byteCount);
  if (!buffer.ok())
    return buffer.status();
  std::memset(buffer->data(), 0, buffer->size());
  return NpyArray{type, std::move(shape), std::move(*buffer)};
}

/// Reads `size` bytes at `offset`, called `what` when some are missing.
static Status readExactly(const FileDescriptor &file, const std::string &path,
                          std::string_view what, uint64_t offset, void *data,
                          size_t size) {
  ptrdiff_t count = file.read(offset, data, size);
  if (count < 0)
    return systemFailure(path, "read", errno);
  if (static_cast<size_t>(count) != size)
    return Status::failure(path + ": expected " + std::to_string(size) +
                           " bytes of " + std::string(what) + ", but got " +
                           std::to_string(count));
  return Status::success();
}

Result<NpyArray> blockscale::runtime::readNpy(const std::string &path) {
  auto fail = [&path](const std::string &message) {
    return Status::failure(path + ": " + message);
  };

  // O_NONBLOCK: opening a pipe must come to the message below, not wait.
  FileDescriptor file = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  if (!file.isValid())
    return systemFailure(path, "open", errno);
  struct stat info;
  if (fstat(file.get(), &info) != 0)
    return systemFailure(path, "read", errno);
  if (!S_ISREG(info.st_mode))
    return fail(S_ISDIR(info.st_mode)
                    ? "expected a regular file, but got a directory"
                    : "expected a regular file, but got a device or pipe");
  uint64_t fileSize = info.st_size;

  char prefix[kNpyPreambleLength];
  size_t prefixSize = std::min<uint64_t>(fileSize, sizeof(prefix));
  Status status = readExactly(file, path, "preamble", 0, prefix, prefixSize);
  if (!status.ok())
    return status;
  Result<NpyPreamble> preamble =
      parseNpyPreamble(std::string_view(prefix, prefixSize), fileSize);
  if (!preamble.ok())
    return fail(preamble.message());

  std::string text(preamble->headerLength, '\0');
  status = readExactly(file, path, "header", preamble->headerOffset,
                       text.data(), text.size());
  if (!status.ok())
    return status;
  Result<NpyHeader> header = parseNpyHeader(text);
  if (!header.ok())
    return fail(header.message());

  uint64_t dataSize =
      fileSize - preamble->headerOffset - preamble->headerLength;
  Result<int64_t> byteCount = computeNpyByteCount(header->type, header->shape);
  if (!byteCount.ok())
    return fail(byteCount.message());
  if (static_cast<uint64_t>(*byteCount) != dataSize)
    return fail("expected " + std::to_string(*byteCount) +
                " bytes of data for shape " + formatNpyShape(header->shape) +
                " of " + std::string(getNpyTypeName(header->type)) +
                ", but got " + std::to_string(dataSize));

  Result<AlignedBuffer> buffer = AlignedBuffer::allocate(dataSize);
  if (!buffer.ok())
    return fail(buffer.message());
  status = readExactly(file, path, "data", fileSize - dataSize, buffer->data(),
                       buffer->size());
  if (!status.ok())
    return status;
  return NpyArray{header->type, std::move(header->shape), std::move(*buffer)};
}

Status blockscale::runtime::writeNpy(const std::string &path,
                                     const NpyArray &array) {
  return writeNpyFiles({{path, &array}});
}

Status
blockscale::runtime::writeNpyFiles(const std::vector<NpyOutput> &outputs) {
  std::vector<std::string> headers;
  headers.reserve(outputs.size()); // the parts below refer to its elements
  std::vector<FileOutput> files;
  for (const NpyOutput &output : outputs) {
    const NpyArray &array = *output.array;
    Result<int64_t> byteCount = computeNpyByteCount(array.type, array.shape);
    if (!byteCount.ok())
      return Status::failure(output.path + ": " + byteCount.message());
    if (static_cast<size_t>(*byteCount) != array.data.size())
      return Status::failure(
          output.path + ": expected " + std::to_string(*byteCount) +
          " bytes of data for shape " + formatNpyShape(array.shape) + " of " +
          std::string(getNpyTypeName(array.type)) + ", but got " +
          std::to_string(array.data.size()));
    headers.push_back(formatNpyHeader(array.type, array.shape));
    std::string_view data(reinterpret_cast<const char *>(array.data.data()),
                          array.data.size());
    files.push_back({output.path, {headers.back(), data}});
  }
  return writeFilesAtomically(files);
}

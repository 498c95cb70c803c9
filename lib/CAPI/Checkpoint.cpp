//===- Checkpoint.cpp - Files of tensors, from C --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Checkpoint.h"

#include "../Runtime/CApi.h"

#include "blockscale/Checkpoint/FileLayout.h"
#include "blockscale/Checkpoint/ReadGuard.h"

#include <array>

using blockscale::checkpoint::beginReadGuard;
using blockscale::checkpoint::endReadGuard;
using blockscale::checkpoint::FileFormat;
using blockscale::checkpoint::FileLayout;
using blockscale::checkpoint::findStorageType;
using blockscale::checkpoint::kStorageTypes;
using blockscale::checkpoint::layOutFile;
using blockscale::checkpoint::Metadata;
using blockscale::checkpoint::MetadataType;
using blockscale::checkpoint::StorageType;
using blockscale::checkpoint::StoredTensor;
using blockscale::checkpoint::TensorDescription;
using blockscale::checkpoint::TensorFile;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::report;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

static_assert(static_cast<int>(FileFormat::Gguf) == BLOCKSCALE_FORMAT_GGUF);
static_assert(static_cast<int>(MetadataType::String) ==
              BLOCKSCALE_METADATA_STRING);
static_assert(static_cast<int>(MetadataType::F64) == BLOCKSCALE_METADATA_F64);

// C names.
// NOLINTBEGIN(readability-identifier-naming)

struct blockscale_tensor_file {
  std::unique_ptr<TensorFile> file;
};

struct blockscale_file_layout {
  FileLayout layout;
};

// NOLINTEND(readability-identifier-naming)

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static constexpr size_t kTypeCount = std::size(kStorageTypes);

/// The rows of kStorageTypes, whose names end with NUL.
static constexpr std::array<blockscale_storage_type, kTypeCount> kTypes = [] {
  std::array<blockscale_storage_type, kTypeCount> types = {};
  for (size_t i = 0; i < kTypeCount; ++i) {
    const StorageType &type = kStorageTypes[i];
    // Names are literals.
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
    types[i] = {type.name.data(), type.blockElements, type.blockBytes,
                type.isInSafetensors, type.ggufNumber};
  }
  return types;
}();

const blockscale_storage_type *blockscale_storage_type_get(size_t number) {
  return number < kTypeCount ? &kTypes[number] : nullptr;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

blockscale_status blockscale_tensor_file_open(const char *path,
                                              blockscale_tensor_file **file) {
  Status status = checkNotNull({{"path", path}, {"file", file}});
  if (!status.ok())
    return report(status);
  Result<std::unique_ptr<TensorFile>> opened = TensorFile::open(path);
  if (!opened.ok())
    return report(opened.status());
  *file = new blockscale_tensor_file{std::move(*opened)};
  return BLOCKSCALE_OK;
}

void blockscale_tensor_file_close(blockscale_tensor_file *file) { delete file; }

blockscale_file_format
blockscale_tensor_file_format(const blockscale_tensor_file *file) {
  return file ? static_cast<blockscale_file_format>(
                    file->file->getContents().format)
              : BLOCKSCALE_FORMAT_SAFETENSORS;
}

const void *blockscale_tensor_file_data(const blockscale_tensor_file *file) {
  return file ? file->file->getBytes().data() : nullptr;
}

uint64_t blockscale_tensor_file_size(const blockscale_tensor_file *file) {
  return file ? file->file->getBytes().size() : 0;
}

size_t blockscale_tensor_file_tensor_count(const blockscale_tensor_file *file) {
  return file ? file->file->getContents().tensors.size() : 0;
}

size_t
blockscale_tensor_file_metadata_count(const blockscale_tensor_file *file) {
  return file ? file->file->getContents().metadata.size() : 0;
}

static Status checkNumber(size_t number, size_t count) {
  if (number < count)
    return Status::success();
  return Status::failure("expected number to be less than " +
                         std::to_string(count) + ", but got " +
                         std::to_string(number));
}

blockscale_status
blockscale_tensor_file_tensor(const blockscale_tensor_file *file, size_t number,
                              blockscale_tensor *tensor) {
  Status status = checkNotNull({{"file", file}, {"tensor", tensor}});
  if (status.ok())
    status = checkNumber(number, blockscale_tensor_file_tensor_count(file));
  if (!status.ok())
    return report(status);
  const StoredTensor &stored = file->file->getContents().tensors[number];
  *tensor = {stored.name.c_str(), &kTypes[stored.type - kStorageTypes],
             stored.shape.size(), stored.shape.data(),
             stored.offset,       stored.bytes};
  return BLOCKSCALE_OK;
}

blockscale_status
blockscale_tensor_file_metadata(const blockscale_tensor_file *file,
                                size_t number, blockscale_metadata *metadata) {
  Status status = checkNotNull({{"file", file}, {"metadata", metadata}});
  if (status.ok())
    status = checkNumber(number, blockscale_tensor_file_metadata_count(file));
  if (!status.ok())
    return report(status);
  const Metadata &entry = file->file->getContents().metadata[number];
  *metadata = {entry.key.c_str(),
               static_cast<blockscale_metadata_type>(entry.type),
               static_cast<blockscale_metadata_type>(entry.elementType),
               entry.count,
               entry.value.data(),
               entry.value.size()};
  return BLOCKSCALE_OK;
}

blockscale_status
blockscale_tensor_file_release(const blockscale_tensor_file *file,
                               uint64_t offset, uint64_t bytes) {
  Status status = checkNotNull({{"file", file}});
  if (status.ok())
    file->file->release(offset, bytes);
  return report(status);
}

void blockscale_read_guard_begin(void) { beginReadGuard(); }

void blockscale_read_guard_end(void) { endReadGuard(); }

blockscale_status
blockscale_tensor_file_check(const blockscale_tensor_file *file) {
  Status status = checkNotNull({{"file", file}});
  return report(status.ok() ? file->file->checkUnchanged() : status);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static Result<TensorDescription>
getTensor(const blockscale_new_tensor &tensor) {
  Status status = checkNotNull(
      {{"the name of a tensor", tensor.name}, {"type", tensor.type}});
  if (status.ok() && tensor.rank)
    status = checkNotNull({{"shape", tensor.shape}});
  if (!status.ok())
    return status;
  const StorageType *type = findStorageType(tensor.type);
  if (!type)
    return Status::failure("tensor '" + std::string(tensor.name) +
                           "': expected the name of a storage type, but got '" +
                           tensor.type + "'");
  return TensorDescription{
      tensor.name, type, {tensor.shape, tensor.shape + tensor.rank}};
}

static Result<Metadata> getMetadata(const blockscale_metadata &metadata) {
  Status status = checkNotNull({{"a key of metadata", metadata.key}});
  if (status.ok() && metadata.bytes)
    status = checkNotNull({{"value", metadata.value}});
  if (!status.ok())
    return status;
  return Metadata{metadata.key,
                  static_cast<MetadataType>(metadata.type),
                  static_cast<MetadataType>(metadata.element_type),
                  metadata.count,
                  {static_cast<const char *>(metadata.value), metadata.bytes}};
}

blockscale_status blockscale_file_layout_create(
    blockscale_file_format format, const blockscale_new_tensor *tensors,
    size_t tensor_count, const blockscale_metadata *metadata,
    size_t metadata_count, blockscale_file_layout **layout) {
  Status status = checkNotNull({{"layout", layout}});
  if (status.ok() && tensor_count)
    status = checkNotNull({{"tensors", tensors}});
  if (status.ok() && metadata_count)
    status = checkNotNull({{"metadata", metadata}});
  if (status.ok() && static_cast<unsigned>(format) > BLOCKSCALE_FORMAT_GGUF)
    status = Status::failure("expected format to be 0 or 1, but got " +
                             std::to_string(static_cast<unsigned>(format)));
  std::vector<TensorDescription> descriptions;
  for (size_t i = 0; i < tensor_count && status.ok(); ++i) {
    Result<TensorDescription> tensor = getTensor(tensors[i]);
    if (tensor.ok())
      descriptions.push_back(std::move(*tensor));
    status = tensor.status();
  }
  std::vector<Metadata> entries;
  for (size_t i = 0; i < metadata_count && status.ok(); ++i) {
    Result<Metadata> entry = getMetadata(metadata[i]);
    if (entry.ok())
      entries.push_back(std::move(*entry));
    status = entry.status();
  }
  if (!status.ok())
    return report(status);
  Result<FileLayout> made =
      layOutFile(static_cast<FileFormat>(format), descriptions, entries);
  if (!made.ok())
    return report(made.status());
  *layout = new blockscale_file_layout{std::move(*made)};
  return BLOCKSCALE_OK;
}

void blockscale_file_layout_destroy(blockscale_file_layout *layout) {
  delete layout;
}

const void *
blockscale_file_layout_header(const blockscale_file_layout *layout) {
  return layout ? layout->layout.header.data() : nullptr;
}

uint64_t
blockscale_file_layout_header_bytes(const blockscale_file_layout *layout) {
  return layout ? layout->layout.header.size() : 0;
}

uint64_t
blockscale_file_layout_file_bytes(const blockscale_file_layout *layout) {
  return layout ? layout->layout.fileBytes : 0;
}

const uint64_t *
blockscale_file_layout_offsets(const blockscale_file_layout *layout) {
  return layout ? layout->layout.offsets.data() : nullptr;
}

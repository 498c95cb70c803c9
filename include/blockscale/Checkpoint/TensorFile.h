//===- TensorFile.h - Files of named tensors --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of tensors is a header, which names them, and their data. Files of
// both formats, safetensors and GGUF, have the same contents: tensors and
// metadata.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_TENSORFILE_H
#define BLOCKSCALE_CHECKPOINT_TENSORFILE_H

#include "blockscale/Checkpoint/StorageType.h"

#include <memory>
#include <string>

namespace blockscale::checkpoint {

/// A tensor to be: what a header says of it but its place.
struct TensorDescription {
  std::string name;
  const StorageType *type;
  /// The sizes of a row-major tensor, the longest stride first, in both
  /// formats. They count elements, of F4 too.
  std::vector<int64_t> shape;
};

/// A tensor of a file.
struct StoredTensor : TensorDescription {
  /// From the begin of the file on.
  uint64_t offset;
  uint64_t bytes;
};

/// The types of metadata, numbered as in GGUF. safetensors has strings only.
enum class MetadataType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Boolean,
  String,
  Array,
  U64,
  I64,
  F64
};

/// A key of the metadata of a file and what it stands for.
struct Metadata {
  std::string key;
  MetadataType type;
  /// Of an array: the type of its elements and their number.
  MetadataType elementType = MetadataType::U8;
  uint64_t count = 0;
  /// The value: a number in its bytes, the characters of a string, and the
  /// elements of an array, one after the other. There a string has its length
  /// before it, 8 bytes, and an array its type of elements, 4 bytes, and its
  /// number of elements, 8 bytes. All of them are as GGUF has them.
  std::string_view value;
};

/// What the header of a file says, checked against the size of the file.
struct FileContents {
  FileFormat format = FileFormat::Safetensors;
  /// By their offsets.
  std::vector<StoredTensor> tensors;
  /// In the order of the file. Values are in the file, or in `strings`.
  std::vector<Metadata> metadata;
  /// Strings that the file has in another form.
  std::vector<std::unique_ptr<const std::string>> strings;
};

/// Reads the header of a whole file of either format: GGUF begins with its
/// name. The bytes must be there as long as the contents. A failure has the
/// rule, and the byte of the file that breaks it.
runtime::Result<FileContents> readContents(std::string_view file);

struct GuardedMapping;

/// By what a file tells that it was changed: which one it is, its size, and
/// when it was written.
struct FileState {
  uint64_t device, inode, bytes;
  int64_t seconds, nanoseconds;
};

/// A file that was read, in memory as far as it is looked at. Any thread may
/// use it. Who cuts the file meanwhile ends the process, as with all mapped
/// files, unless there is a ReadGuard.
class TensorFile {
public:
  static runtime::Result<std::unique_ptr<TensorFile>>
  open(const std::string &path);
  ~TensorFile();
  TensorFile(const TensorFile &) = delete;
  TensorFile &operator=(const TensorFile &) = delete;

  const FileContents &getContents() const { return contents; }
  /// The whole file.
  std::string_view getBytes() const { return bytes; }

  /// Takes the pages that hold these bytes out of the memory of the process, up
  /// to the last page that the range ends in, whose rest may still be needed.
  /// Nothing is lost: what is looked at again is read again.
  void release(uint64_t offset, uint64_t count) const;

  /// That the file is as it was when it was opened, so that what was read of it
  /// since then is what it had.
  runtime::Status checkUnchanged() const;

private:
  TensorFile(std::string path, std::string_view bytes, FileState state);

  std::string path;
  std::string_view bytes;
  FileState state;
  /// Null of an empty file.
  GuardedMapping *guarded = nullptr;
  FileContents contents;
};

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_TENSORFILE_H

//===- Safetensors.cpp - Headers of safetensors files ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is the length of its header in 8 bytes, the header, and the data:
//
//   {"__metadata__": {"format": "pt"},
//    "w": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
//
// Offsets count from the end of the header. Tensors fill the data without
// holes. The rules are those of the safetensors package, and these: names have
// no NUL, and a tensor has no other members.
//
//===----------------------------------------------------------------------===//

#include "Headers.h"

#include "blockscale/Runtime/JsonCursor.h"
#include "blockscale/Runtime/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <unordered_set>

using namespace blockscale::checkpoint;
using namespace blockscale::runtime;

/// The safetensors package reads no longer header.
static constexpr uint64_t kMaxHeaderBytes = 100000000;
static constexpr uint64_t kLengthBytes = 8;
/// What a header is a multiple of, with its length, so that data whose sizes
/// are multiples begin at such addresses.
static constexpr uint64_t kHeaderAlignment = 8;
static constexpr std::string_view kMetadataKey = "__metadata__";

namespace {

/// Reads the text of a header.
class SafetensorsReader {
public:
  /// `dataBytes` is the size of what follows the header.
  SafetensorsReader(std::string_view text, uint64_t dataBytes)
      : cursor(text), dataOffset(kLengthBytes + text.size()),
        dataBytes(dataBytes) {}

  Result<FileContents> read();

private:
  Status readMember(const std::string &key);
  Status readMetadata();
  Status readTensor(StoredTensor &tensor);
  Status readType(StoredTensor &tensor);
  Status readShape(StoredTensor &tensor);
  Status readOffsets(StoredTensor &tensor);

  JsonCursor cursor;
  uint64_t dataOffset;
  uint64_t dataBytes;
  FileContents contents;
  std::vector<uint64_t> headerOffsets;
  /// What is being read, for messages.
  std::string where = "the header";
};

} // namespace

Status SafetensorsReader::readMetadata() {
  return cursor.readObject(kMetadataKey, [&](const std::string &key) {
    auto value = std::make_unique<std::string>();
    Status status = checkName("the key", key);
    if (status.ok())
      status = cursor.readString("the value of '" + key + "'", *value);
    contents.metadata.push_back(
        {key, MetadataType::String, MetadataType::U8, 0, *value});
    contents.strings.push_back(std::move(value));
    return status;
  });
}

Status SafetensorsReader::readType(StoredTensor &tensor) {
  std::string name;
  Status status = cursor.readString("dtype", name);
  if (!status.ok())
    return status;
  tensor.type = findStorageType(name);
  if (tensor.type && tensor.type->isInSafetensors)
    return status;
  return Status::failure("expected dtype to be one of " +
                         listStorageTypes(FileFormat::Safetensors) +
                         ", but got '" + name + "'");
}

Status SafetensorsReader::readShape(StoredTensor &tensor) {
  return cursor.readArray("shape", [&] {
    constexpr size_t maxRank = getMaxRank(FileFormat::Safetensors);
    if (tensor.shape.size() == maxRank)
      return Status::failure("expected a shape of at most " +
                             std::to_string(maxRank) +
                             " dimensions, but got more");
    return cursor.readInteger("a size of the shape",
                              tensor.shape.emplace_back());
  });
}

Status SafetensorsReader::readOffsets(StoredTensor &tensor) {
  int64_t ends[2] = {0, 0};
  size_t count = 0;
  Status status = cursor.readArray("data_offsets", [&] {
    if (count == std::size(ends))
      return Status::failure("expected data_offsets to be two, but got more");
    return cursor.readInteger("an offset", ends[count++]);
  });
  if (!status.ok())
    return status;
  if (count != std::size(ends))
    return Status::failure("expected data_offsets to be two, but got " +
                           std::to_string(count));
  auto [begin, end] = ends;
  if (begin < 0 || end < begin || static_cast<uint64_t>(end) > dataBytes)
    return Status::failure("expected data_offsets in rising order from 0 to " +
                           std::to_string(dataBytes) +
                           ", the bytes behind the header, but got " +
                           formatShape({begin, end}));
  tensor.offset = dataOffset + static_cast<uint64_t>(begin);
  tensor.bytes = static_cast<uint64_t>(end - begin);
  return status;
}

Status SafetensorsReader::readTensor(StoredTensor &tensor) {
  std::vector<std::string_view> missing = {"dtype", "shape", "data_offsets"};
  Status status =
      cursor.readObject("the tensor", [&](const std::string &member) {
        auto place = llvm::find(missing, member);
        if (place == missing.end())
          return Status::failure("expected members dtype, shape and "
                                 "data_offsets, but got '" +
                                 member + "'");
        missing.erase(place);
        return member == "dtype"   ? readType(tensor)
               : member == "shape" ? readShape(tensor)
                                   : readOffsets(tensor);
      });
  if (!status.ok())
    return status;
  if (!missing.empty())
    return Status::failure("expected members dtype, shape and data_offsets, "
                           "but " +
                           std::string(missing.front()) + " is missing");
  Result<uint64_t> bytes =
      computeBytes(FileFormat::Safetensors, *tensor.type, tensor.shape);
  if (!bytes.ok())
    return bytes.status();
  if (*bytes == tensor.bytes)
    return status;
  return Status::failure("expected data_offsets to span " +
                         std::to_string(*bytes) + " bytes, the shape " +
                         formatShape(tensor.shape) + " of " +
                         std::string(tensor.type->name) + ", but they span " +
                         std::to_string(tensor.bytes));
}

Status SafetensorsReader::readMember(const std::string &key) {
  if (key == kMetadataKey)
    return readMetadata();
  uint64_t offset = kLengthBytes + cursor.getPosition();
  where = describeTensor(key, offset);
  Status status = checkName("the name", key);
  if (!status.ok())
    return status;
  StoredTensor tensor = {};
  tensor.name = key;
  status = readTensor(tensor);
  contents.tensors.push_back(std::move(tensor));
  headerOffsets.push_back(offset);
  if (status.ok())
    where = "the header";
  return status;
}

Result<FileContents> SafetensorsReader::read() {
  Status status = cursor.readObject(
      where, [&](const std::string &key) { return readMember(key); });
  if (status.ok())
    status = cursor.readEnd();
  if (!status.ok())
    return invalid(where, status.message());
  Result<uint64_t> end =
      orderTensors(contents.tensors, headerOffsets, dataOffset, 1);
  if (!end.ok())
    return end.status();
  if (*end - dataOffset != dataBytes)
    return invalid(describeByte(*end),
                   "expected the end of the file behind the last tensor, but "
                   "got " +
                       std::to_string(dataBytes - (*end - dataOffset)) +
                       " more bytes");
  return std::move(contents);
}

Result<FileContents>
blockscale::checkpoint::readSafetensors(std::string_view file) {
  auto fail = [](const std::string &message) {
    return invalid(describeByte(0), message);
  };
  if (file.size() < kLengthBytes)
    return fail("expected the length of a header in 8 bytes, but got a file "
                "of " +
                std::to_string(file.size()) + " bytes");
  uint64_t length = llvm::support::endian::read64le(file.data());
  if (length > kMaxHeaderBytes)
    return fail("expected a header of at most " +
                std::to_string(kMaxHeaderBytes) + " bytes, but got " +
                std::to_string(length));
  if (length > file.size() - kLengthBytes)
    return fail("expected a header of at most " +
                std::to_string(file.size() - kLengthBytes) +
                " bytes, which the file has, but got " +
                std::to_string(length));
  std::string_view text = file.substr(kLengthBytes, length);
  size_t offset = 0;
  if (!llvm::json::isUTF8(llvm::StringRef(text.data(), text.size()), &offset))
    return invalid(describeByte(kLengthBytes + offset),
                   "expected a header of UTF-8 text, but got other bytes");
  if (text.empty() || text.front() != '{')
    return invalid(describeByte(kLengthBytes),
                   "expected a header that begins with '{', but got " +
                       (text.empty() ? std::string("none")
                                     : "'" + std::string(1, text[0]) + "'"));
  return SafetensorsReader(text, file.size() - kLengthBytes - length).read();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// That names are different, and none that of the metadata.
static Status checkNames(const std::vector<TensorDescription> &tensors) {
  std::unordered_set<std::string_view> names;
  for (const TensorDescription &tensor : tensors) {
    Status status = checkName("the name of a tensor", tensor.name);
    if (!status.ok())
      return status;
    if (tensor.name == kMetadataKey)
      return Status::failure("expected the name of a tensor, but got '" +
                             tensor.name + "', which is that of metadata");
    if (!names.insert(tensor.name).second)
      return Status::failure("expected different names of tensors, but got '" +
                             tensor.name + "' twice");
  }
  return Status::success();
}

static Status writeMetadata(const std::vector<Metadata> &metadata,
                            JsonWriter &writer) {
  if (metadata.empty())
    return Status::success();
  writer.key(kMetadataKey);
  writer.beginObject(JsonWriter::Layout::OneLine);
  std::unordered_set<std::string_view> keys;
  for (const Metadata &entry : metadata) {
    Status status = checkName("a key of metadata", entry.key);
    if (!status.ok())
      return status;
    std::string name = "'" + entry.key + "'";
    if (entry.type != MetadataType::String)
      return Status::failure("expected strings as metadata of safetensors, but "
                             "got " +
                             name + " of another type");
    if (!keys.insert(entry.key).second)
      return Status::failure("expected different keys of metadata, but got " +
                             name + " twice");
    size_t offset = 0;
    if (!llvm::json::isUTF8(
            llvm::StringRef(entry.value.data(), entry.value.size()), &offset))
      return Status::failure("expected the value of " + name +
                             " to be UTF-8, but byte " +
                             std::to_string(offset) + " of it is not");
    writer.key(entry.key);
    writer.value(entry.value);
  }
  writer.endObject();
  return Status::success();
}

Result<FileLayout> blockscale::checkpoint::layOutSafetensors(
    const std::vector<TensorDescription> &tensors,
    const std::vector<Metadata> &metadata) {
  Status status = checkNames(tensors);
  if (!status.ok())
    return status;
  JsonWriter writer;
  writer.beginObject(JsonWriter::Layout::OneLine);
  status = writeMetadata(metadata, writer);
  if (!status.ok())
    return status;
  FileLayout layout;
  int64_t end = 0;
  for (const TensorDescription &tensor : tensors) {
    Result<uint64_t> bytes =
        computeBytes(FileFormat::Safetensors, *tensor.type, tensor.shape);
    if (!bytes.ok())
      return Status::failure("tensor '" + tensor.name +
                             "': " + bytes.message());
    int64_t begin = end;
    if (__builtin_add_overflow(begin, static_cast<int64_t>(*bytes), &end) ||
        end > kMaxDataBytes)
      return Status::failure("tensor '" + tensor.name +
                             "': " + expectDataBytes());
    layout.offsets.push_back(begin);
    writer.key(tensor.name);
    writer.beginObject(JsonWriter::Layout::OneLine);
    writer.key("dtype");
    writer.value(tensor.type->name);
    auto writeNumbers = [&](std::string_view key,
                            llvm::ArrayRef<int64_t> numbers) {
      writer.key(key);
      writer.beginArray(JsonWriter::Layout::OneLine);
      for (int64_t number : numbers)
        writer.value(number);
      writer.endArray();
    };
    writeNumbers("shape", tensor.shape);
    writeNumbers("data_offsets", {begin, end});
    writer.endObject();
  }
  writer.endObject();
  std::string text = writer.take();
  text.resize(llvm::alignTo(text.size(), kHeaderAlignment), ' ');
  if (text.size() > kMaxHeaderBytes)
    return Status::failure(
        "expected a header of at most " + std::to_string(kMaxHeaderBytes) +
        " bytes, but got " + std::to_string(text.size()) + " for " +
        std::to_string(tensors.size()) + " tensors");
  layout.header.resize(kLengthBytes);
  llvm::support::endian::write64le(layout.header.data(), text.size());
  layout.header += text;
  for (uint64_t &offset : layout.offsets)
    offset += layout.header.size();
  layout.fileBytes = layout.header.size() + static_cast<uint64_t>(end);
  return layout;
}

//===- Gguf.cpp - Headers of GGUF files -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is, with numbers in their bytes, lowest first, and strings with their
// length in 8 bytes before them:
//
//   "GGUF", version (4 bytes), number of tensors (8), number of keys (8)
//   for each key: string, type (4), value
//   for each tensor: name, rank (4), sizes (8 each), type (4), offset (8)
//   the data, each tensor at the next multiple of the alignment
//
// The sizes of a tensor begin with that of a row. Offsets count from the begin
// of the data. The alignment is the key general.alignment, or 32. The rules are
// those of ggml, but for these: arrays may have arrays in them, tensors may be
// named in any order, and headers have limits.
//
//===----------------------------------------------------------------------===//

#include "Headers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <unordered_set>

using namespace blockscale::checkpoint;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

/// The version that is written, and that before it, which differs in nothing
/// that is read here.
static constexpr uint32_t kVersion = 3;
static constexpr uint32_t kOldVersion = 2;
static constexpr std::string_view kAlignmentKey = "general.alignment";
static constexpr uint64_t kDefaultAlignment = 32;
/// More would let a few bytes of a tensor's offset make a huge file.
static constexpr uint64_t kMaxAlignment = uint64_t(1) << 30;
/// Arrays in arrays beyond it are refused.
static constexpr int kMaxDepth = 8;
/// ggml has no room for longer names, the NUL behind them counted.
static constexpr size_t kMaxNameBytes = 63;
/// The longest key that the format allows; names are no longer either.
static constexpr size_t kMaxKeyBytes = (1 << 16) - 1;
/// Longer headers are refused, so that memory and time have a limit whatever
/// the size of the file. Vocabularies are a tenth of it.
static constexpr uint64_t kMaxHeaderLength = uint64_t(1) << 28;
/// The least that a key, an array in an array and a tensor take, by which their
/// number is checked before there is room for them.
static constexpr uint64_t kLeastKeyBytes = 8 + 4 + 1;
static constexpr uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;

/// The bytes of a number of metadata; 0 for what is none.
static uint64_t getNumberBytes(MetadataType type) {
  switch (type) {
  case MetadataType::U8:
  case MetadataType::I8:
  case MetadataType::Boolean:
    return 1;
  case MetadataType::U16:
  case MetadataType::I16:
    return 2;
  case MetadataType::U32:
  case MetadataType::I32:
  case MetadataType::F32:
    return 4;
  case MetadataType::U64:
  case MetadataType::I64:
  case MetadataType::F64:
    return 8;
  case MetadataType::String:
  case MetadataType::Array:
    break;
  }
  return 0;
}

/// The alignment that a number stands for, if it is one.
static bool isAlignment(uint64_t number) {
  return llvm::isPowerOf2_64(number) && number <= kMaxAlignment;
}

static std::string expectAlignment(uint64_t found) {
  return "expected " + std::string(kAlignmentKey) +
         " to be a power of two up to " + std::to_string(kMaxAlignment) +
         ", but got " + std::to_string(found);
}

namespace {

/// Goes through bytes; nothing behind their end is read.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes)
      : bytes(bytes.substr(0, kMaxHeaderLength)),
        isCut(bytes.size() > kMaxHeaderLength) {}

  uint64_t getPosition() const { return position; }
  uint64_t getRest() const { return bytes.size() - position; }

  template <typename Number>
  Status readNumber(std::string_view what, Number &number) {
    Status status = checkRest(what, sizeof(Number));
    if (status.ok())
      number = llvm::support::endian::read<Number, llvm::endianness::little>(
          bytes.data() + position);
    position += status.ok() ? sizeof(Number) : 0;
    return status;
  }
  /// A string with its length before it.
  Status readString(std::string_view what, std::string_view &string) {
    uint64_t length = 0;
    Status status = readNumber("the length of " + std::string(what), length);
    return status.ok() ? readBytes(what, length, string) : status;
  }
  Status readBytes(std::string_view what, uint64_t count,
                   std::string_view &part) {
    Status status = checkRest(what, count);
    if (status.ok())
      part = bytes.substr(position, count);
    position += status.ok() ? count : 0;
    return status;
  }
  /// A string that is a name.
  Status readName(std::string_view what, std::string_view &name) {
    Status status = readString(what, name);
    if (status.ok() && name.size() > kMaxKeyBytes)
      return Status::failure("expected " + std::string(what) +
                             " to have at most " +
                             std::to_string(kMaxKeyBytes) + " bytes, but got " +
                             std::to_string(name.size()));
    return status.ok() ? checkName(what, name) : status;
  }
  /// A value, whose rules are checked. Of an array, the type of the elements
  /// and their number are set.
  Status readValue(Metadata &entry);
  /// The elements of an array.
  Status skipElements(MetadataType type, uint64_t count, int depth);

private:
  Status checkRest(std::string_view what, uint64_t count) const {
    if (count <= getRest())
      return Status::success();
    return Status::failure(
        "expected " + std::string(what) + " to have " + std::to_string(count) +
        " bytes, but only " + std::to_string(getRest()) + " are left" +
        (isCut ? " of the " + std::to_string(kMaxHeaderLength) +
                     " that a header may have"
               : ""));
  }
  Status readType(MetadataType &type);
  Status readArrayHead(MetadataType &type, uint64_t &count);

  std::string_view bytes;
  /// Whether there are more bytes than are read.
  bool isCut;
  uint64_t position = 0;
};

/// Reads the header of a file.
class GgufReader {
public:
  explicit GgufReader(std::string_view file) : reader(file), file(file) {}

  Result<FileContents> read();

private:
  Status readStart();
  Status readKey();
  Status readTensor();
  Status readShape(StoredTensor &tensor);
  Status readPlace(StoredTensor &tensor);
  Status placeTensors();
  Status failAt(uint64_t offset, const std::string &message) const {
    return invalid(describeByte(offset), message);
  }

  ByteReader reader;
  std::string_view file;
  FileContents contents;
  uint64_t tensorCount = 0, keyCount = 0;
  uint64_t alignment = kDefaultAlignment;
  std::vector<uint64_t> headerOffsets;
  std::unordered_set<std::string_view> keys;
  std::unordered_set<std::string> names;
};

} // namespace

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

Status ByteReader::readType(MetadataType &type) {
  uint32_t number = 0;
  Status status = readNumber("the type of a value", number);
  constexpr auto last = static_cast<uint32_t>(MetadataType::F64);
  if (status.ok() && number > last)
    return Status::failure("expected the type of a value to be from 0 to " +
                           std::to_string(last) + ", but got " +
                           std::to_string(number));
  type = static_cast<MetadataType>(number);
  return status;
}

Status ByteReader::readArrayHead(MetadataType &type, uint64_t &count) {
  Status status = readType(type);
  return status.ok() ? readNumber("the number of elements of an array", count)
                     : status;
}

Status ByteReader::skipElements(MetadataType type, uint64_t count, int depth) {
  if (uint64_t size = getNumberBytes(type)) {
    // The product of a hostile number may not fit.
    if (count > getRest() / size)
      return Status::failure("expected an array of at most " +
                             std::to_string(getRest() / size) +
                             " elements, for which there are bytes, but got " +
                             std::to_string(count));
    std::string_view elements;
    Status status = readBytes("an array", count * size, elements);
    if (type != MetadataType::Boolean || !status.ok())
      return status;
    const char *wrong =
        llvm::find_if(elements, [](char byte) { return byte & ~1; });
    if (wrong == elements.end())
      return status;
    return Status::failure("expected a boolean to be 0 or 1, but got " +
                           std::to_string(static_cast<unsigned char>(*wrong)));
  }
  if (type == MetadataType::Array && depth == kMaxDepth)
    return Status::failure("expected at most " + std::to_string(kMaxDepth) +
                           " levels of arrays, but got more");
  // Each element takes bytes, so that the bytes end the loop.
  for (uint64_t i = 0; i < count; ++i) {
    Status status = Status::success();
    std::string_view string;
    if (type == MetadataType::String) {
      status = readString("a string", string);
    } else {
      MetadataType elementType;
      uint64_t elementCount = 0;
      status = readArrayHead(elementType, elementCount);
      if (status.ok())
        status = skipElements(elementType, elementCount, depth + 1);
    }
    if (!status.ok())
      return status;
  }
  return Status::success();
}

Status ByteReader::readValue(Metadata &entry) {
  Status status = readType(entry.type);
  if (!status.ok())
    return status;
  if (entry.type == MetadataType::String)
    return readString("a string", entry.value);
  if (entry.type == MetadataType::Array) {
    status = readArrayHead(entry.elementType, entry.count);
    if (!status.ok())
      return status;
  }
  uint64_t begin = position;
  status = entry.type == MetadataType::Array
               ? skipElements(entry.elementType, entry.count, 1)
               : skipElements(entry.type, 1, 1);
  entry.value = bytes.substr(begin, position - begin);
  return status;
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

Status GgufReader::readStart() {
  std::string_view magic;
  uint32_t version = 0;
  Status status =
      reader.readBytes("the name of the format", kGgufMagic.size(), magic);
  if (status.ok())
    status = reader.readNumber("the version", version);
  if (status.ok() && version != kVersion && version != kOldVersion)
    status = Status::failure("expected version " + std::to_string(kOldVersion) +
                             " or " + std::to_string(kVersion) + ", but got " +
                             std::to_string(version));
  if (status.ok())
    status = reader.readNumber("the number of tensors", tensorCount);
  if (status.ok())
    status = reader.readNumber("the number of keys", keyCount);
  if (!status.ok())
    return failAt(reader.getPosition(), status.message());
  auto checkCount = [&](std::string_view what, uint64_t count, uint64_t least) {
    uint64_t room = reader.getRest() / least;
    if (count <= room)
      return Status::success();
    return failAt(reader.getPosition(),
                  "expected a number of " + std::string(what) + " of at most " +
                      std::to_string(room) +
                      ", for which there are bytes, but got " +
                      std::to_string(count));
  };
  status = checkCount("keys", keyCount, kLeastKeyBytes);
  return status.ok() ? checkCount("tensors", tensorCount, kLeastTensorBytes)
                     : status;
}

Status GgufReader::readKey() {
  uint64_t offset = reader.getPosition();
  std::string_view key;
  Status status = reader.readName("a key", key);
  if (!status.ok())
    return failAt(offset, status.message());
  Metadata &entry = contents.metadata.emplace_back();
  entry.key = key;
  std::string where = "key '" + entry.key + "' (" + describeByte(offset) + ")";
  if (!keys.insert(key).second)
    return invalid(where, "expected different keys, but got it twice");
  status = reader.readValue(entry);
  if (!status.ok())
    return invalid(where, status.message());
  if (key != kAlignmentKey)
    return status;
  if (entry.type != MetadataType::U32)
    return invalid(where,
                   "expected its value to be of type 4, u32, but got " +
                       std::to_string(static_cast<uint32_t>(entry.type)));
  alignment = llvm::support::endian::read32le(entry.value.data());
  return isAlignment(alignment) ? status
                                : invalid(where, expectAlignment(alignment));
}

Status GgufReader::readShape(StoredTensor &tensor) {
  uint32_t rank = 0;
  Status status = reader.readNumber("the number of dimensions", rank);
  constexpr size_t maxRank = getMaxRank(FileFormat::Gguf);
  if (status.ok() && rank > maxRank)
    return Status::failure("expected at most " + std::to_string(maxRank) +
                           " dimensions, but got " + std::to_string(rank));
  for (uint32_t i = 0; i < rank && status.ok(); ++i)
    status =
        reader.readNumber("a size of the shape", tensor.shape.emplace_back());
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  return status;
}

/// The type and the offset, which stays one in the data until all keys and
/// tensors were read.
Status GgufReader::readPlace(StoredTensor &tensor) {
  uint32_t number = 0;
  Status status = reader.readNumber("the type", number);
  if (!status.ok())
    return status;
  tensor.type = findGgufType(number);
  if (!tensor.type)
    return Status::failure("expected the number of a type of ggml, but got " +
                           std::to_string(number));
  status = reader.readNumber("the offset", tensor.offset);
  if (!status.ok())
    return status;
  if (tensor.offset % alignment != 0)
    return Status::failure("expected its offset in the data to be a multiple "
                           "of the alignment, " +
                           std::to_string(alignment) + ", but got " +
                           std::to_string(tensor.offset));
  Result<uint64_t> bytes =
      computeBytes(FileFormat::Gguf, *tensor.type, tensor.shape);
  if (!bytes.ok())
    return bytes.status();
  tensor.bytes = *bytes;
  if (tensor.bytes > file.size() || tensor.offset > file.size() - tensor.bytes)
    return Status::failure("expected a file with its " +
                           std::to_string(tensor.bytes) + " bytes from byte " +
                           std::to_string(tensor.offset) +
                           " of the data on, but got one of " +
                           std::to_string(file.size()) + " bytes");
  return status;
}

Status GgufReader::readTensor() {
  uint64_t offset = reader.getPosition();
  std::string_view name;
  Status status = reader.readName("the name of a tensor", name);
  if (!status.ok())
    return failAt(offset, status.message());
  StoredTensor tensor = {};
  tensor.name = name;
  std::string where = describeTensor(tensor.name, offset);
  if (!names.insert(tensor.name).second)
    return invalid(where, "expected different names of tensors, but got it "
                          "twice");
  status = readShape(tensor);
  if (status.ok())
    status = readPlace(tensor);
  if (!status.ok())
    return invalid(where, status.message());
  contents.tensors.push_back(std::move(tensor));
  headerOffsets.push_back(offset);
  return status;
}

Status GgufReader::placeTensors() {
  if (contents.tensors.empty())
    return Status::success();
  uint64_t dataOffset = llvm::alignTo(reader.getPosition(), alignment);
  for (StoredTensor &tensor : contents.tensors)
    tensor.offset += dataOffset;
  Result<uint64_t> end =
      orderTensors(contents.tensors, headerOffsets, dataOffset, alignment);
  if (!end.ok())
    return end.status();
  if (*end <= file.size())
    return Status::success();
  return failAt(file.size(),
                "expected a file of at least " + std::to_string(*end) +
                    " bytes, where '" + contents.tensors.back().name +
                    "' ends, but got one of " + std::to_string(file.size()));
}

Result<FileContents> GgufReader::read() {
  contents.format = FileFormat::Gguf;
  Status status = readStart();
  for (uint64_t i = 0; i < keyCount && status.ok(); ++i)
    status = readKey();
  for (uint64_t i = 0; i < tensorCount && status.ok(); ++i)
    status = readTensor();
  if (status.ok())
    status = placeTensors();
  if (!status.ok())
    return status;
  return std::move(contents);
}

Result<FileContents> blockscale::checkpoint::readGguf(std::string_view file) {
  return GgufReader(file).read();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

namespace {

/// A header that grows.
class GgufWriter {
public:
  template <typename Number>
  void writeNumber(Number number) {
    char bytes[sizeof(Number)];
    llvm::support::endian::write<Number, llvm::endianness::little>(bytes,
                                                                   number);
    text.append(bytes, sizeof(Number));
  }
  void writeString(std::string_view string) {
    writeNumber<uint64_t>(string.size());
    text += string;
  }
  void writeEntry(const Metadata &entry) {
    writeString(entry.key);
    writeNumber(static_cast<uint32_t>(entry.type));
    if (entry.type == MetadataType::String)
      return writeString(entry.value);
    if (entry.type == MetadataType::Array) {
      writeNumber(static_cast<uint32_t>(entry.elementType));
      writeNumber(entry.count);
    }
    text += entry.value;
  }
  void align(uint64_t alignment) {
    text.resize(llvm::alignTo(text.size(), alignment));
  }

  std::string text;
};

} // namespace

/// That the value of an entry is one of its type.
static Status checkValue(const Metadata &entry) {
  bool isArray = entry.type == MetadataType::Array;
  for (MetadataType type : {entry.type, entry.elementType})
    if (type > MetadataType::F64)
      return Status::failure(
          "expected types of metadata from 0 to 12, but got " +
          std::to_string(static_cast<uint32_t>(type)));
  if (entry.type == MetadataType::String)
    return Status::success();
  ByteReader reader(entry.value);
  Status status = isArray ? reader.skipElements(entry.elementType, entry.count,
                                                /*depth=*/1)
                          : reader.skipElements(entry.type, 1, /*depth=*/1);
  if (status.ok() && reader.getRest() != 0)
    return Status::failure("expected the end of its value, but got " +
                           std::to_string(reader.getRest()) + " more bytes");
  return status;
}

/// That keys are different and values are of their types. Returns the
/// alignment.
static Result<uint64_t> checkMetadata(const std::vector<Metadata> &metadata) {
  std::unordered_set<std::string_view> keys;
  uint64_t alignment = kDefaultAlignment;
  for (const Metadata &entry : metadata) {
    std::string where = "key '" + entry.key + "': ";
    Status status = checkName("a key of metadata", entry.key);
    if (status.ok() && entry.key.size() > kMaxKeyBytes)
      status = Status::failure(
          "expected a key of at most " + std::to_string(kMaxKeyBytes) +
          " bytes, but got " + std::to_string(entry.key.size()));
    if (status.ok() && !keys.insert(entry.key).second)
      status = Status::failure("expected different keys, but got it twice");
    if (status.ok())
      status = checkValue(entry);
    if (status.ok() && entry.key == kAlignmentKey) {
      if (entry.type != MetadataType::U32)
        return Status::failure(
            where +
            "expected its value to be of type 4, "
            "u32, but got " +
            std::to_string(static_cast<uint32_t>(entry.type)));
      alignment = llvm::support::endian::read32le(entry.value.data());
      if (!isAlignment(alignment))
        status = Status::failure(expectAlignment(alignment));
    }
    if (!status.ok())
      return Status::failure(where + status.message());
  }
  return alignment;
}

Result<FileLayout> blockscale::checkpoint::layOutGguf(
    const std::vector<TensorDescription> &tensors,
    const std::vector<Metadata> &metadata) {
  Result<uint64_t> alignment = checkMetadata(metadata);
  if (!alignment.ok())
    return alignment.status();
  GgufWriter writer;
  writer.text = kGgufMagic;
  writer.writeNumber(kVersion);
  writer.writeNumber<uint64_t>(tensors.size());
  writer.writeNumber<uint64_t>(metadata.size());
  for (const Metadata &entry : metadata)
    writer.writeEntry(entry);

  FileLayout layout;
  uint64_t end = 0;
  std::unordered_set<std::string_view> names;
  for (const TensorDescription &tensor : tensors) {
    std::string where = "tensor '" + tensor.name + "': ";
    Status status = checkName("the name of a tensor", tensor.name);
    if (status.ok() && tensor.name.size() > kMaxNameBytes)
      status = Status::failure(
          "expected a name of at most " + std::to_string(kMaxNameBytes) +
          " bytes, but got " + std::to_string(tensor.name.size()));
    if (status.ok() && !names.insert(tensor.name).second)
      status = Status::failure("expected different names of tensors, but got "
                               "it twice");
    if (!status.ok())
      return Status::failure(where + status.message());
    Result<uint64_t> bytes =
        computeBytes(FileFormat::Gguf, *tensor.type, tensor.shape);
    if (!bytes.ok())
      return Status::failure(where + bytes.message());
    layout.offsets.push_back(end);
    writer.writeString(tensor.name);
    writer.writeNumber(static_cast<uint32_t>(tensor.shape.size()));
    for (int64_t size : llvm::reverse(tensor.shape))
      writer.writeNumber(size);
    writer.writeNumber(static_cast<uint32_t>(tensor.type->ggufNumber));
    writer.writeNumber(end);
    // Neither sum reaches 2^64.
    end = llvm::alignTo(end + *bytes, *alignment);
    if (end > static_cast<uint64_t>(kMaxDataBytes))
      return Status::failure(where + expectDataBytes());
  }
  if (writer.text.size() > kMaxHeaderLength)
    return Status::failure(
        "expected a header of at most " + std::to_string(kMaxHeaderLength) +
        " bytes, but got " + std::to_string(writer.text.size()));
  writer.align(*alignment);
  layout.header = std::move(writer.text);
  for (uint64_t &offset : layout.offsets)
    offset += layout.header.size();
  layout.fileBytes = layout.header.size() + end;
  return layout;
}

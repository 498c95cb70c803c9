//===- SavedFunction.cpp - A compiled function as bytes -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes are a header, a description in JSON, and the code:
//
//   0   8 bytes   kMagic
//   8   u32       version
//   12  u32       bytes of the description
//   16  u64       bytes of the code
//   24  32 bytes  SHA-256 of bytes 0 to 23 and of all from byte 56 on
//   56            the description, then the code
//
// Numbers are little endian.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/SavedFunction.h"

#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Runtime/JsonReader.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::JsonReader;
using blockscale::runtime::JsonValue;
using blockscale::runtime::NpyType;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using Kind = blockscale::runtime::JsonValue::Kind;

namespace blockscale {

static constexpr StringLiteral kMagic = "\x89"
                                        "BSF\r\n\x1A\n";
static constexpr size_t kHashOffset = 24;
static constexpr size_t kHeaderBytes = kSavedFunctionHeaderBytes;

/// The names of Slot::Scale, in order.
static const std::vector<std::string_view> &getScaleNames() {
  static const std::vector<std::string_view> names = {"none", "e4m3", "e8m0",
                                                      "global"};
  return names;
}

static std::array<uint8_t, 32> computeHash(StringRef bytes) {
  llvm::SHA256 hash;
  hash.update(bytes.take_front(kHashOffset));
  hash.update(bytes.drop_front(kHeaderBytes));
  return hash.final();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static llvm::json::Array describe(const std::vector<Slot> &slots) {
  llvm::json::Array list;
  for (const Slot &slot : slots) {
    llvm::json::Array shape;
    for (int64_t size : slot.shape)
      shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
    llvm::json::Object object{
        {"type", slot.logicalType},
        {"dtype", StringRef(runtime::getNpyTypeName(slot.type))},
        {"shape", std::move(shape)},
        {"scalar", slot.isScalar},
        {"scale", StringRef(getScaleNames()[static_cast<size_t>(slot.scale)])}};
    if (slot.isWritable)
      object["writable"] = true;
    if (slot.argument)
      object["in"] = static_cast<int64_t>(*slot.argument);
    list.push_back(std::move(object));
  }
  return list;
}

static bool isText(const Signature &signature) {
  auto isSlotText = [](const Slot &slot) {
    return llvm::json::isUTF8(slot.logicalType);
  };
  return llvm::json::isUTF8(signature.name) &&
         llvm::all_of(signature.arguments, isSlotText) &&
         llvm::all_of(signature.results, isSlotText);
}

Result<std::string> writeSavedFunction(const SavedFunction &saved) {
  const Signature &signature = saved.signature;
  if (!isText(signature))
    return Status::failure("expected a function whose name and types are "
                           "UTF-8, but got others");
  llvm::json::Object description{
      {"version", getCompilerVersion()},
      {"target", saved.target},
      {"features", llvm::json::Array(saved.features)},
      {"function", signature.name},
      {"arguments", describe(signature.arguments)},
      {"results", describe(signature.results)},
      {"key", saved.key}};
  std::string text =
      llvm::formatv("{0:2}\n", llvm::json::Value(std::move(description))).str();
  std::string bytes = kMagic.str();
  bytes.resize(kHeaderBytes);
  llvm::support::endian::write32le(&bytes[8], kSavedFunctionVersion);
  llvm::support::endian::write32le(&bytes[12], text.size());
  llvm::support::endian::write64le(&bytes[16], saved.code.size());
  bytes.reserve(kHeaderBytes + text.size() + saved.code.size());
  bytes += text;
  bytes += saved.code;
  llvm::copy(computeHash(bytes), bytes.begin() + kHashOffset);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Status failToRead(const Twine &message) {
  return Status::failure(message.str(), ErrorKind::InvalidBundle);
}

/// The bytes of the description and the code that follows it.
static Result<std::pair<StringRef, StringRef>> split(StringRef bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic))
    return failToRead(
        "expected a saved function, which begins with 89 42 53 46 0D "
        "0A 1A 0A and has at least " +
        Twine(kHeaderBytes) + " bytes, but got " + Twine(bytes.size()) +
        " other bytes");
  // Before the rest, which another version may have changed.
  uint32_t version = llvm::support::endian::read32le(bytes.data() + 8);
  if (version != kSavedFunctionVersion)
    return failToRead("expected version " + Twine(kSavedFunctionVersion) +
                      " of saved functions, but got " + Twine(version));
  uint64_t description = llvm::support::endian::read32le(bytes.data() + 12);
  uint64_t code = llvm::support::endian::read64le(bytes.data() + 16);
  uint64_t rest = bytes.size() - kHeaderBytes;
  if (description > rest || code != rest - description)
    return failToRead("expected a saved function with " + Twine(description) +
                      " and " + Twine(code) +
                      " bytes after its header, but got " + Twine(rest));
  std::array<uint8_t, 32> hash = computeHash(bytes);
  if (!llvm::equal(hash, bytes.substr(kHashOffset, hash.size()).bytes()))
    return failToRead(
        "expected the bytes of a saved function to have the SHA-256 "
        "of its header, but they have another: they are damaged");
  return std::pair(bytes.substr(kHeaderBytes, description),
                   bytes.take_back(code));
}

std::optional<uint64_t> getSavedFunctionBytes(std::string_view header) {
  StringRef bytes(header);
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic) ||
      llvm::support::endian::read32le(bytes.data() + 8) !=
          kSavedFunctionVersion)
    return std::nullopt;
  uint64_t description = llvm::support::endian::read32le(bytes.data() + 12);
  uint64_t code = llvm::support::endian::read64le(bytes.data() + 16);
  uint64_t most = std::numeric_limits<uint64_t>::max();
  if (code > most - kHeaderBytes - description)
    return std::nullopt;
  return kHeaderBytes + description + code;
}

namespace {

/// Reads a description. The first failure counts.
class DescriptionReader : public JsonReader {
public:
  void read(const JsonValue &object, SavedFunction &saved);

private:
  std::vector<Slot> readSlots(const JsonValue &object, std::string_view key);
  Slot readSlot(const JsonValue &object);
  void checkReuse(const JsonValue &object, const Signature &signature);
};

} // namespace

Slot DescriptionReader::readSlot(const JsonValue &object) {
  Slot slot;
  if (!checkKind(object, Kind::Object, "a slot"))
    return slot;
  checkKeys(object,
            {"type", "dtype", "shape", "scalar", "scale", "writable", "in"});
  slot.logicalType = getString(object, "type");
  std::string dtype = getString(object, "dtype");
  std::optional<NpyType> type = runtime::findNpyType(dtype);
  if (!type)
    fail(object,
         "expected dtype to be that of an array, but got '" + dtype + "'");
  slot.type = type.value_or(NpyType::UInt8);
  for (const JsonValue &size : getElements(object, "shape"))
    if (checkKind(size, Kind::Integer, "a size"))
      slot.shape.push_back(size.integer < 0 ? ShapedType::kDynamic
                                            : size.integer);
  slot.isScalar = getOptionalBoolean(object, "scalar", false);
  if (slot.isScalar && !slot.shape.empty())
    fail(object, "expected a scalar to have no sizes, but got " +
                     std::to_string(slot.shape.size()));
  // A size that is not known stands for any, also the least.
  std::vector<int64_t> known = slot.shape;
  llvm::replace(known, ShapedType::kDynamic, int64_t(1));
  if (Result<int64_t> bytes = runtime::computeNpyByteCount(slot.type, known);
      !bytes.ok())
    fail(object, bytes.message());
  slot.scale =
      static_cast<Slot::Scale>(getChoice(object, "scale", getScaleNames()));
  slot.isWritable = getOptionalBoolean(object, "writable", false);
  if (const JsonValue *argument = getOptional(object, "in", Kind::Integer))
    slot.argument = static_cast<size_t>(argument->integer);
  return slot;
}

/// Checks that results are in arguments that are given away, at most one in
/// each, and that only results are in an argument.
void DescriptionReader::checkReuse(const JsonValue &object,
                                   const Signature &signature) {
  std::vector<bool> isTaken(signature.arguments.size());
  for (const Slot &slot : signature.arguments)
    if (slot.argument || (slot.isScalar && slot.isWritable))
      fail(object, "expected no argument in the memory of another, and no "
                   "scalar that is writable, but got one");
  for (const Slot &slot : signature.results) {
    if (!slot.argument && !slot.isWritable)
      continue;
    size_t number = slot.argument.value_or(isTaken.size());
    bool isFree = number < isTaken.size() && !isTaken[number] &&
                  signature.arguments[number].isWritable &&
                  signature.arguments[number].type == slot.type &&
                  signature.arguments[number].shape == slot.shape;
    if (!isFree || slot.isWritable)
      return fail(object, "expected 'in' of a result to be the number of an "
                          "argument that is writable, of the same dtype and "
                          "shape, and in no other result, but got another");
    isTaken[number] = true;
  }
}

std::vector<Slot> DescriptionReader::readSlots(const JsonValue &object,
                                               std::string_view key) {
  std::vector<Slot> slots;
  for (const JsonValue &element : getElements(object, key))
    slots.push_back(readSlot(element));
  return slots;
}

void DescriptionReader::read(const JsonValue &object, SavedFunction &saved) {
  if (!checkKind(object, Kind::Object, "the description"))
    return;
  std::string version = getString(object, "version");
  if (ok() && version != getCompilerVersion())
    return fail(object, "expected a function that version " +
                            getCompilerVersion().str() +
                            " of BlockScale saved, but got one of version " +
                            version + "; compile it again");
  checkKeys(object, {"version", "target", "features", "function", "arguments",
                     "results", "key"});
  saved.target = getString(object, "target");
  for (const JsonValue &feature : getElements(object, "features"))
    if (checkKind(feature, Kind::String, "a feature"))
      saved.features.push_back(feature.string);
  saved.signature.name = getString(object, "function");
  saved.signature.arguments = readSlots(object, "arguments");
  saved.signature.results = readSlots(object, "results");
  checkReuse(object, saved.signature);
  saved.key = getString(object, "key");
}

Result<SavedFunction> readSavedFunction(std::string_view bytes) {
  Result<std::pair<StringRef, StringRef>> parts = split(bytes);
  if (!parts.ok())
    return parts.status();
  Result<JsonValue> description = runtime::parseJson(parts->first);
  if (!description.ok())
    return failToRead("the description of a saved function: " +
                      description.message());
  SavedFunction saved;
  DescriptionReader reader;
  reader.read(*description, saved);
  if (!reader.ok())
    return failToRead("the description of a saved function: " +
                      reader.getStatus().message());
  saved.code = parts->second.str();
  return saved;
}

} // namespace blockscale

//===- JsonReader.h - Members of JSON objects, checked ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader takes values out of JSON and checks their kinds. It records the
// first failure, so that readers of objects can be written straight down.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_JSONREADER_H
#define BLOCKSCALE_RUNTIME_JSONREADER_H

#include "blockscale/Runtime/Json.h"

namespace blockscale::runtime {

class JsonReader {
public:
  /// Records `message` at a value; an earlier failure stays.
  void fail(const JsonValue &at, const std::string &message);
  bool ok() const { return status.ok(); }
  const Status &getStatus() const { return status; }

  /// The member `key` of an object, which must have it; else null. `kind` is
  /// what it must be.
  const JsonValue *get(const JsonValue &object, std::string_view key,
                       JsonValue::Kind kind);
  /// The member `key` of an object, which may be absent; then null.
  const JsonValue *getOptional(const JsonValue &object, std::string_view key,
                               JsonValue::Kind kind);
  /// Refuses members of other names.
  void checkKeys(const JsonValue &object,
                 std::initializer_list<std::string_view> keys);
  bool checkKind(const JsonValue &value, JsonValue::Kind kind,
                 const std::string &what);

  std::string getString(const JsonValue &object, std::string_view key);
  /// Elements of an array; none where it is missing.
  const std::vector<JsonValue> &getElements(const JsonValue &object,
                                            std::string_view key);
  const std::vector<JsonValue> &getOptionalElements(const JsonValue &object,
                                                    std::string_view key);
  /// The place of the string `key` among `names`.
  size_t getChoice(const JsonValue &object, std::string_view key,
                   const std::vector<std::string_view> &names);
  size_t toChoice(const JsonValue &value, const std::string &what,
                  const std::vector<std::string_view> &names);
  /// A number of any kind, which messages call `what`.
  double toNumber(const JsonValue &value, const std::string &what);
  /// The member `key`, a number of any kind; `absent` where it is not there.
  double getOptionalNumber(const JsonValue &object, std::string_view key,
                           double absent);
  /// The member `key`; `absent` where it is not there.
  int64_t getOptionalInteger(const JsonValue &object, std::string_view key,
                             int64_t absent);
  bool getOptionalBoolean(const JsonValue &object, std::string_view key,
                          bool absent);

private:
  Status status = Status::success();
};

/// The names as a list, "a, b, c".
std::string joinNames(const std::vector<std::string_view> &names);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_JSONREADER_H

//===- Fields.cpp - Pieces of command-line values -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace blockscale::emulate {

llvm::Error unexpected(const llvm::Twine &what, llvm::StringRef found) {
  return llvm::createStringError("expected " + what + ", but got '" + found +
                                 "'");
}

llvm::Error toError(const runtime::Status &status) {
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(status.message());
}

llvm::Expected<uint64_t> parseNumber(llvm::StringRef text,
                                     const llvm::Twine &what) {
  uint64_t value = 0;
  bool isHex = text.starts_with("0x");
  if (text.drop_front(isHex ? 2 : 0).getAsInteger(isHex ? 16 : 10, value))
    return unexpected(what + " to be a number", text);
  return value;
}

llvm::Expected<std::vector<uint64_t>>
parseNumbers(llvm::StringRef text, const llvm::Twine &what, char separator) {
  std::vector<uint64_t> numbers;
  for (llvm::StringRef each : llvm::split(text, separator)) {
    llvm::Expected<uint64_t> number = parseNumber(each, what);
    if (!number)
      return number.takeError();
    numbers.push_back(*number);
  }
  return numbers;
}

llvm::Expected<size_t> parseChoice(llvm::StringRef text,
                                   llvm::ArrayRef<std::string_view> names,
                                   const llvm::Twine &what) {
  const auto *found = llvm::find(names, std::string_view(text));
  if (found != names.end())
    return found - names.begin();
  std::string list;
  for (std::string_view name : names)
    list += (list.empty() ? "" : ", ") + std::string(name);
  return unexpected(what + " to be one of " + list, text);
}

} // namespace blockscale::emulate

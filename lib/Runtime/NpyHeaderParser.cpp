//===- NpyHeaderParser.cpp - Untrusted .npy headers -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/NpyHeader.h"

#include <algorithm>
#include <optional>

using namespace blockscale::runtime;

/// Untrusted bytes as printable text of limited length.
static std::string quote(std::string_view bytes) {
  constexpr size_t kLimit = 40;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "'";
  for (unsigned char c : bytes.substr(0, kLimit)) {
    if (c >= 0x20 && c < 0x7f) {
      text += static_cast<char>(c);
      continue;
    }
    text += "\\x";
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text + (bytes.size() > kLimit ? "'..." : "'");
}

static Status expected(std::string_view rule, std::string_view found) {
  return Status::failure("expected " + std::string(rule) + ", but got " +
                         std::string(found));
}

Result<NpyPreamble>
blockscale::runtime::parseNpyPreamble(std::string_view prefix,
                                      uint64_t fileSize) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (prefix.substr(0, kMagic.size()) !=
      kMagic.substr(0, std::min(prefix.size(), kMagic.size())))
    return expected("an .npy file, which begins with " + quote(kMagic),
                    quote(prefix.substr(0, kMagic.size())));
  auto isTruncated = [&](size_t needed) { return prefix.size() < needed; };
  if (isTruncated(kMagic.size() + 2))
    return expected("at least 10 bytes of an .npy file",
                    std::to_string(prefix.size()));

  auto byteAt = [&](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(prefix[i]));
  };
  uint64_t major = byteAt(6);
  uint64_t minor = byteAt(7);
  if (major < 1 || major > 3 || minor != 0)
    return expected("format version 1.0, 2.0 or 3.0",
                    std::to_string(major) + "." + std::to_string(minor));

  NpyPreamble preamble;
  preamble.headerOffset = major == 1 ? 10 : 12;
  if (isTruncated(preamble.headerOffset))
    return expected("at least " + std::to_string(preamble.headerOffset) +
                        " bytes of an .npy file",
                    std::to_string(prefix.size()));
  preamble.headerLength = 0;
  for (uint64_t i = preamble.headerOffset; i > 8; --i)
    preamble.headerLength = preamble.headerLength << 8 | byteAt(i - 1);

  uint64_t available = fileSize - std::min(fileSize, preamble.headerOffset);
  if (preamble.headerLength > available)
    return expected(std::to_string(preamble.headerLength) + " bytes of header",
                    std::to_string(available));
  if (preamble.headerLength > kMaxNpyHeaderLength)
    return expected("a header of at most " +
                        std::to_string(kMaxNpyHeaderLength) + " bytes",
                    std::to_string(preamble.headerLength));
  return preamble;
}

/// The type of a simple `descr`; a failure says what it is instead.
static Result<NpyType> parseDescr(std::string_view descr) {
  char order = descr.empty() ? '\0' : descr[0];
  // One byte has no order, and writers disagree on how to say so.
  bool isOrderMark =
      order == '<' || order == '|' || order == '=' || order == '>';
  for (int i = 0; i <= static_cast<int>(NpyType::Float64); ++i) {
    auto type = static_cast<NpyType>(i);
    if (!isOrderMark || descr.substr(1) != getNpyDescr(type).substr(1))
      continue;
    if (getNpyByteWidth(type) == 1 || order == '<')
      return type;
    if (order == '>')
      return expected("little-endian data ('" + std::string(getNpyDescr(type)) +
                          "')",
                      "big-endian data (" + quote(descr) + ")");
  }

  std::string found = quote(descr);
  char kind = isOrderMark && descr.size() > 1 ? descr[1] : '\0';
  if (kind == 'O')
    found = "an object array (" + found + ")";
  if (kind == 'V')
    found += " (save ml_dtypes arrays through .view('uint8') or "
             ".view('uint16'))";
  return expected("dtype bool, int8 to int64, uint8 to uint64 or float16 to "
                  "float64",
                  found);
}

namespace {

/// Recursive descent over the one dict display that NumPy writes.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Result<NpyHeader> parse();

private:
  void skipSpace();
  bool consume(std::string_view token);
  /// `expected <rule> at byte <position> of the header, but got <found>`.
  Status unexpected(std::string_view rule) const;

  Status parseEntry();
  Result<std::string_view> parseString(std::string_view rule);
  Status parseShape();
  Result<int64_t> parseDimension(size_t index);

  std::string_view text;
  size_t position = 0;
  std::optional<NpyType> type;
  std::optional<bool> isFortran;
  std::optional<std::vector<int64_t>> shape;
};

} // namespace

void HeaderParser::skipSpace() {
  position = std::min(text.find_first_not_of(" \t\r\n", position), text.size());
}

bool HeaderParser::consume(std::string_view token) {
  skipSpace();
  if (text.substr(position, token.size()) != token)
    return false;
  position += token.size();
  return true;
}

Status HeaderParser::unexpected(std::string_view rule) const {
  std::string_view rest = text.substr(position);
  return expected(std::string(rule) + " at byte " + std::to_string(position) +
                      " of the header",
                  rest.empty() ? "its end" : quote(rest));
}

Result<NpyHeader> HeaderParser::parse() {
  if (!consume("{"))
    return unexpected("a dict ('{')");
  while (!consume("}")) {
    if (Status status = parseEntry(); !status.ok())
      return status;
    if (consume(","))
      continue;
    if (!consume("}"))
      return unexpected("',' or '}'");
    break;
  }
  skipSpace();
  if (position != text.size())
    return unexpected("nothing after the dict");

  constexpr std::string_view kKeys = "keys 'descr', 'fortran_order' and "
                                     "'shape' in the header";
  if (!type)
    return expected(kKeys, "no 'descr'");
  if (!isFortran)
    return expected(kKeys, "no 'fortran_order'");
  if (!shape)
    return expected(kKeys, "no 'shape'");

  Result<int64_t> byteCount = computeNpyByteCount(*type, *shape);
  if (!byteCount.ok())
    return byteCount.status();
  auto isNotOne = [](int64_t size) { return size != 1; };
  if (*isFortran && *byteCount != 0 &&
      std::count_if(shape->begin(), shape->end(), isNotOne) > 1)
    return expected("C order ('fortran_order': False)",
                    "Fortran order for shape " + formatNpyShape(*shape));
  return NpyHeader{*type, std::move(*shape)};
}

Status HeaderParser::parseEntry() {
  Result<std::string_view> key = parseString("a key string");
  if (!key.ok())
    return key.status();
  bool isDescr = *key == "descr";
  bool isOrder = *key == "fortran_order";
  bool isShape = *key == "shape";
  if (!isDescr && !isOrder && !isShape)
    return expected("keys 'descr', 'fortran_order' and 'shape' in the header",
                    quote(*key));
  if ((isDescr && type) || (isOrder && isFortran) || (isShape && shape))
    return expected("key " + quote(*key) + " once in the header", "it twice");
  if (!consume(":"))
    return unexpected("':'");

  if (isShape)
    return parseShape();
  if (isOrder) {
    isFortran = consume("True");
    if (!*isFortran && !consume("False"))
      return unexpected("True or False for 'fortran_order'");
    return Status::success();
  }
  Result<std::string_view> descr =
      parseString("a simple dtype string for 'descr'");
  if (!descr.ok())
    return descr.status();
  Result<NpyType> parsed = parseDescr(*descr);
  if (!parsed.ok())
    return parsed.status();
  type = *parsed;
  return Status::success();
}

Result<std::string_view> HeaderParser::parseString(std::string_view rule) {
  skipSpace();
  char mark = position < text.size() ? text[position] : '\0';
  if (mark != '\'' && mark != '"')
    return unexpected(rule);
  // A backslash is left in: no key or dtype has one, so it fails to match.
  size_t end = text.find(mark, position + 1);
  if (end == std::string_view::npos)
    return unexpected("a string with an end");
  std::string_view content = text.substr(position + 1, end - position - 1);
  position = end + 1;
  return content;
}

Status HeaderParser::parseShape() {
  if (!consume("("))
    return unexpected("a tuple for 'shape'");
  std::vector<int64_t> sizes;
  bool hasComma = true;
  while (!consume(")")) {
    if (!hasComma)
      return unexpected("',' or ')'");
    if (sizes.size() == kMaxNpyRank)
      return expected("at most " + std::to_string(kMaxNpyRank) + " dimensions",
                      "more");
    Result<int64_t> dimension = parseDimension(sizes.size());
    if (!dimension.ok())
      return dimension.status();
    sizes.push_back(*dimension);
    hasComma = consume(",");
  }
  // Python reads (3) as a number.
  if (sizes.size() == 1 && !hasComma)
    return expected("a tuple for 'shape'",
                    "the number (" + std::to_string(sizes.front()) + ")");
  shape = std::move(sizes);
  return Status::success();
}

Result<int64_t> HeaderParser::parseDimension(size_t index) {
  skipSpace();
  constexpr std::string_view kDigits = "0123456789";
  bool isNegative = text.substr(position, 1) == "-";
  size_t begin = position + isNegative;
  size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  if (begin >= end)
    return unexpected("an integer");
  std::string_view digits = text.substr(begin, end - begin);
  // Octal to Python 2, an error to Python 3.
  if (digits.size() > 1 && digits[0] == '0')
    return unexpected("an integer without leading zeros");

  int64_t value = 0;
  for (char digit : digits)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, digit - '0', &value))
      return expected("dimension " + std::to_string(index) +
                          " to be below 2^63",
                      quote(text.substr(position, end - position)));
  position = end;
  // Python 2 wrote long integers as 3L.
  if (text.substr(position, 1) == "L")
    ++position;
  return isNegative ? -value : value;
}

Result<NpyHeader> blockscale::runtime::parseNpyHeader(std::string_view text) {
  return HeaderParser(text).parse();
}

//===- TextNesting.cpp - How deep text of MLIR may nest -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the tokens of MLIR, as its lexer divides them, and follows what its
// parser calls itself for. It never refuses a text for another reason than its
// depth: what is no MLIR is the parser's to say.
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TextNesting.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace blockscale {

namespace {

/// What stands between two brackets, or outside of all.
struct NestingFrame {
  /// The bracket that opened it; 0 outside of all.
  char open = 0;
  /// How many levels are around what stands in it.
  unsigned level = 0;
  /// The deepest level in it so far.
  unsigned deepest = 0;
  /// The height of the affine expression that is being read.
  unsigned height = 0;
  /// Where the bracket stands if it begins the body of an attribute or type of
  /// a dialect.
  std::optional<size_t> body;
  /// Whether MLIR may find another end of the body than its tokens say.
  bool isUncertain = false;
};

/// Follows the tokens of a text.
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) { frames.push_back({}); }

  std::optional<TextFault> run();

private:
  enum class Token { Operand, Operator, Connector, Other };

  char peek(size_t distance = 0) const {
    return at + distance < text.size() ? text[at + distance] : '\0';
  }
  void skipWhile(function_ref<bool(char)> isPart) {
    while (at < text.size() && isPart(text[at]))
      ++at;
  }

  bool skipString();
  void skipComment();
  void skipNumber();
  size_t findBodyEnd(size_t begin) const;

  void readToken();
  void readPrefixed();
  void readBare();
  void readOperator();
  void open(char bracket, std::optional<size_t> body = std::nullopt);
  void close(char bracket);
  void operand();
  void other(Token token);
  void reach(unsigned level, size_t where);
  void endAlias();

  StringRef text;
  size_t at = 0;
  SmallVector<NestingFrame> frames;
  Token last = Token::Other;
  /// The height of what each alias stands for, by its name with the prefix.
  llvm::StringMap<unsigned> aliases;
  /// The alias that is being defined; empty where there is none.
  StringRef defined;
  std::optional<TextFault> fault;
};

} // namespace

static char getOpening(char closing) {
  switch (closing) {
  case ')':
    return '(';
  case ']':
    return '[';
  case '}':
    return '{';
  default:
    return '<';
  }
}

/// Whether a comment with this character can look like a bracket or a string to
/// what does not know comments.
static bool isBracketOrQuote(char c) {
  return StringRef("<>()[]{}\"").contains(c);
}

/// Skips what follows a quotation mark. False where the line ends before the
/// string, which is an error of the parser.
bool NestingScanner::skipString() {
  while (at < text.size()) {
    char c = text[at++];
    if (c == '"')
      return true;
    if (c == '\\')
      ++at;
    if (c == '\n' || c == '\v' || c == '\f')
      return false;
  }
  return false;
}

void NestingScanner::skipComment() {
  size_t begin = at;
  skipWhile([](char c) { return c != '\n' && c != '\r'; });
  if (llvm::any_of(text.slice(begin, at), isBracketOrQuote))
    for (NestingFrame &frame : frames)
      frame.isUncertain = frame.body.has_value();
}

void NestingScanner::skipNumber() {
  if (peek() == '0' && peek(1) == 'x' && llvm::isHexDigit(peek(2))) {
    at += 2;
    return skipWhile(llvm::isHexDigit);
  }
  skipWhile(llvm::isDigit);
  if (peek() != '.')
    return;
  ++at;
  skipWhile(llvm::isDigit);
  if (peek() != 'e' && peek() != 'E')
    return;
  bool isSigned = peek(1) == '-' || peek(1) == '+';
  if (!llvm::isDigit(peek(1 + isSigned)))
    return;
  at += 1 + isSigned;
  skipWhile(llvm::isDigit);
}

/// Where MLIR takes the body of an attribute or type that begins with the
/// bracket at `begin` to end: it looks for that bracket's partner character by
/// character, and knows no comments there.
size_t NestingScanner::findBodyEnd(size_t begin) const {
  SmallVector<char> open;
  NestingScanner strings(text);
  for (size_t i = begin; i < text.size(); ++i) {
    char c = text[i];
    if (StringRef("<([{").contains(c)) {
      open.push_back(c);
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      ++i;
    } else if (StringRef(">)]}").contains(c)) {
      if (open.pop_back_val() != getOpening(c))
        return StringRef::npos;
      if (open.empty())
        return i;
    } else if (c == '"') {
      strings.at = i + 1;
      if (!strings.skipString())
        return StringRef::npos;
      i = strings.at - 1;
    }
  }
  return StringRef::npos;
}

/// What is at `where` is in `level` levels.
void NestingScanner::reach(unsigned level, size_t where) {
  NestingFrame &frame = frames.back();
  frame.deepest = std::max(frame.deepest, level);
  if (level > kMostTextNesting && !fault)
    fault = {where, "expected text of MLIR to nest at most " +
                        std::to_string(kMostTextNesting) +
                        " levels deep, but got level " + std::to_string(level)};
}

void NestingScanner::endAlias() {
  if (!defined.empty())
    aliases[defined] = frames.front().deepest;
  defined = {};
}

void NestingScanner::open(char bracket, std::optional<size_t> body) {
  NestingFrame &outer = frames.back();
  if (bracket != '(')
    outer.height = 0;
  NestingFrame inner;
  inner.open = bracket;
  // The right side of an operator is below it.
  inner.level = outer.level + 1 + (last == Token::Operator ? outer.height : 0);
  inner.body = body;
  frames.push_back(inner);
  reach(inner.level, at - 1);
  last = Token::Other;
}

void NestingScanner::close(char bracket) {
  char opening = getOpening(bracket);
  // Comparisons have no partner.
  if (bracket == '>' && frames.back().open != opening)
    return other(Token::Other);
  auto found = llvm::find_if(llvm::reverse(frames), [&](const auto &frame) {
    return frame.open == opening;
  });
  if (found == frames.rend())
    return other(Token::Other);
  if (found->isUncertain && findBodyEnd(*found->body) != at - 1 && !fault)
    fault = {*found->body,
             "expected brackets in the comments of an attribute or type to "
             "leave its end where it is, but got others"};
  NestingFrame inner = frames.back();
  unsigned deepest = inner.deepest;
  while (inner.open != opening) {
    frames.pop_back();
    inner = frames.back();
    deepest = std::max(deepest, inner.deepest);
  }
  frames.pop_back();
  NestingFrame &outer = frames.back();
  outer.deepest = std::max(outer.deepest, deepest);
  outer.height =
      opening == '(' ? std::max(outer.height, deepest - inner.level + 1) : 0;
  last = opening == '(' ? Token::Operand : Token::Other;
}

/// A name or a number, perhaps of an affine expression.
void NestingScanner::operand() {
  if (last != Token::Operator)
    frames.back().height = 0;
  last = Token::Operand;
}

/// A token that ends an affine expression.
void NestingScanner::other(Token token) {
  frames.back().height = 0;
  last = token;
}

void NestingScanner::readOperator() {
  NestingFrame &frame = frames.back();
  if (last != Token::Operator && last != Token::Operand)
    frame.height = 0;
  ++frame.height;
  reach(frame.level + frame.height, at - 1);
  last = Token::Operator;
}

void NestingScanner::readBare() {
  size_t begin = at;
  skipWhile(
      [](char c) { return llvm::isAlnum(c) || StringRef("_$.").contains(c); });
  StringRef name = text.slice(begin, at);
  if (last == Token::Operand &&
      (name == "mod" || name == "floordiv" || name == "ceildiv"))
    return readOperator();
  if (frames.size() == 1 && last != Token::Connector)
    endAlias();
  operand();
}

/// A name behind '%', '^', '#' or '!'.
void NestingScanner::readPrefixed() {
  size_t begin = at;
  char prefix = text[at++];
  if (llvm::isDigit(peek()))
    skipWhile(llvm::isDigit);
  else
    skipWhile([](char c) {
      return llvm::isAlnum(c) || StringRef("_$.-").contains(c);
    });
  StringRef name = text.slice(begin, at);
  // To what does not know names, an arrow begins here.
  if (name.ends_with("-") && peek() == '>')
    for (NestingFrame &frame : frames)
      frame.isUncertain = frame.body.has_value();
  if (prefix == '%' || prefix == '^') {
    if (frames.size() == 1)
      endAlias();
    operand();
    // The number of a result is a part of the name.
    if (peek() == '#' && llvm::isDigit(peek(1))) {
      ++at;
      skipWhile(llvm::isDigit);
    }
    return;
  }
  bool isValue = last == Token::Connector;
  other(Token::Other);
  if (peek() == '<') {
    ++at;
    return open('<', at - 1);
  }
  if (frames.size() == 1 && !isValue) {
    endAlias();
    defined = name;
    frames.front().deepest = 0;
    return;
  }
  // An alias is as deep as what it stands for.
  if (auto found = aliases.find(name); found != aliases.end())
    reach(frames.back().level + found->second, begin);
}

void NestingScanner::readToken() {
  char c = text[at];
  if (llvm::isAlpha(c) || c == '_')
    return readBare();
  if (llvm::isDigit(c)) {
    operand();
    return skipNumber();
  }
  if (c == '#' && peek(1) == '-' && peek(2) == '}')
    at += 2;
  else if (StringRef("%^#!").contains(c))
    return readPrefixed();
  ++at;
  switch (text[at - 1]) {
  case ' ':
  case '\t':
  case '\n':
  case '\r':
  case '\0':
    return;
  case '/':
    if (peek() == '/')
      return skipComment();
    return other(Token::Other);
  case '"':
    if (frames.size() == 1 && last != Token::Connector)
      endAlias();
    other(Token::Other);
    if (!skipString())
      at = text.size();
    return;
  case '{':
    if (peek() == '-' && peek(1) == '#')
      at += 2;
    return open('{');
  case '(':
  case '[':
    return open(c);
  case '<':
    if (peek() == '=')
      return other(Token::Other);
    return open('<');
  case ')':
  case ']':
  case '}':
  case '>':
    return close(text[at - 1]);
  case '-':
    if (peek() != '>')
      return readOperator();
    ++at;
    return other(Token::Connector);
  case '+':
  case '*':
    return readOperator();
  case '=':
  case ':':
    return other(Token::Connector);
  default:
    return other(Token::Other);
  }
}

std::optional<TextFault> NestingScanner::run() {
  while (at < text.size() && !fault)
    readToken();
  return fault;
}

std::optional<TextFault> findTextNestingFault(StringRef text) {
  return NestingScanner(text).run();
}

} // namespace blockscale

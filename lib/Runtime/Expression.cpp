//===- Expression.cpp - Integer expressions of a plan ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Expression.h"

#include <algorithm>
#include <charconv>

using namespace blockscale::runtime;
using Op = Expression::Op;
using Node = Expression::Node;

std::string blockscale::runtime::joinNames(const NameNumbers &numbers) {
  std::map<size_t, std::string_view> names;
  for (const auto &[name, number] : numbers)
    names.emplace(number, name);
  std::string joined;
  for (const auto &[number, name] : names)
    joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined;
}

namespace {
struct FunctionInfo {
  std::string_view name;
  Op op;
};
} // namespace

static constexpr FunctionInfo kFunctions[] = {
    {"ceildiv", Op::CeilDiv}, {"floordiv", Op::FloorDiv}, {"mod", Op::Mod},
    {"min", Op::Min},         {"max", Op::Max},
};
/// Deepest nesting of parentheses that is read.
static constexpr int kMaxDepth = 64;

static const FunctionInfo *findFunction(std::string_view name) {
  const auto *found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const FunctionInfo &info) { return info.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

/// The name of the function that spells `op`; empty where another spelling
/// does.
static std::string_view getFunctionName(Op op) {
  for (const FunctionInfo &info : kFunctions)
    if (info.op == op)
      return info.name;
  return "";
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

bool blockscale::runtime::isDimName(std::string_view name) {
  return !name.empty() && isNameStart(name[0]) &&
         std::all_of(name.begin(), name.end(), isNamePart) &&
         !findFunction(name);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

class Parser {
public:
  Parser(std::string_view text, const NameNumbers &dims,
         std::vector<Node> &nodes)
      : text(text), dims(dims), nodes(nodes) {}

  Status parse();

private:
  Status parseSum(int depth);
  Status parseProduct(int depth);
  Status parseFactor(int depth);
  Status parseName(int depth);
  Status parseConstant();

  /// The next character that is no blank; 0 at the end.
  char peek();
  bool consume(char expected);
  Status expect(char expected);
  Status failExpected(const std::string &expected);

  std::string_view text;
  const NameNumbers &dims;
  std::vector<Node> &nodes;
  size_t position = 0;
};

} // namespace

char Parser::peek() {
  while (position < text.size() && text[position] == ' ')
    ++position;
  return position < text.size() ? text[position] : '\0';
}

bool Parser::consume(char expected) {
  if (peek() != expected)
    return false;
  ++position;
  return true;
}

Status Parser::failExpected(const std::string &expected) {
  std::string found =
      peek() ? "'" + std::string(text.substr(position)) + "'" : "the end of it";
  return Status::failure("expected " + expected + " in the expression '" +
                         std::string(text) + "', but got " + found);
}

Status Parser::expect(char expected) {
  return consume(expected) ? Status::success()
                           : failExpected("'" + std::string(1, expected) + "'");
}

Status Parser::parse() {
  Status status = parseSum(0);
  if (status.ok() && (peek() || position < text.size()))
    return failExpected("an operator");
  return status;
}

Status Parser::parseSum(int depth) {
  Status status = parseProduct(depth);
  while (status.ok() && (peek() == '+' || peek() == '-')) {
    Op op = text[position++] == '+' ? Op::Add : Op::Sub;
    status = parseProduct(depth);
    nodes.push_back({op});
  }
  return status;
}

Status Parser::parseProduct(int depth) {
  Status status = parseFactor(depth);
  while (status.ok() && consume('*')) {
    status = parseFactor(depth);
    nodes.push_back({Op::Mul});
  }
  return status;
}

Status Parser::parseFactor(int depth) {
  if (depth > kMaxDepth)
    return failExpected("at most " + std::to_string(kMaxDepth) +
                        " levels of parentheses");
  if (isDigit(peek()))
    return parseConstant();
  if (isNameStart(peek()))
    return parseName(depth);
  if (!consume('('))
    return failExpected("an integer, a dim, a function or '('");
  Status status = parseSum(depth + 1);
  return status.ok() ? expect(')') : status;
}

Status Parser::parseConstant() {
  int64_t value = 0;
  const char *begin = text.data() + position;
  auto [stop, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc())
    return failExpected("an integer of 64 bits");
  position += stop - begin;
  nodes.push_back({Op::Constant, value});
  return Status::success();
}

Status Parser::parseName(int depth) {
  size_t end = position;
  while (end < text.size() && isNamePart(text[end]))
    ++end;
  std::string_view name = text.substr(position, end - position);
  if (const FunctionInfo *function = findFunction(name)) {
    position = end;
    Status status = expect('(');
    for (char after : {',', ')'}) {
      if (status.ok())
        status = parseSum(depth + 1);
      if (status.ok())
        status = expect(after);
    }
    nodes.push_back({function->op});
    return status;
  }
  auto dim = dims.find(name);
  if (dim == dims.end())
    return failExpected("one of the dims (" + joinNames(dims) + ")");
  position = end;
  nodes.push_back({Op::Dim, static_cast<int64_t>(dim->second)});
  return Status::success();
}

Result<Expression> Expression::parse(std::string_view text,
                                     const NameNumbers &dims) {
  Expression expression;
  expression.nodes.clear();
  expression.text = text;
  Status status = Parser(text, dims, expression.nodes).parse();
  if (!status.ok())
    return status;
  return expression;
}

std::optional<size_t> Expression::getDim() const {
  if (nodes.size() != 1 || nodes[0].op != Op::Dim)
    return std::nullopt;
  return nodes[0].value;
}

std::optional<Expression> Expression::getDividend() const {
  if (nodes.back().op != Op::Mod)
    return std::nullopt;
  // The divisor ends before the operation and begins where it is complete.
  size_t begin = nodes.size() - 1;
  for (int missing = 1; missing > 0;) {
    Op op = nodes[--begin].op;
    missing += op == Op::Constant || op == Op::Dim ? -1 : 1;
  }
  Expression dividend;
  dividend.nodes.assign(nodes.begin(), nodes.begin() + begin);
  dividend.text = text;
  return dividend;
}

bool Expression::isNotNegative(
    const std::function<bool(size_t)> &isNotNegative) const {
  std::vector<bool> stack;
  for (const Node &node : nodes) {
    if (node.op == Op::Constant || node.op == Op::Dim) {
      stack.push_back(node.op == Op::Constant
                          ? node.value >= 0
                          : isNotNegative(static_cast<size_t>(node.value)));
      continue;
    }
    bool right = stack.back();
    stack.pop_back();
    bool left = stack.back();
    switch (node.op) {
    // A divisor is at least 1.
    case Op::CeilDiv:
    case Op::FloorDiv:
      break;
    case Op::Mod:
      left = true;
      break;
    case Op::Max:
      left = left || right;
      break;
    case Op::Add:
    case Op::Mul:
    case Op::Min:
      left = left && right;
      break;
    default:
      left = false;
    }
    stack.back() = left;
  }
  return stack.back();
}

std::optional<size_t> Expression::getLargestDim() const {
  std::optional<size_t> largest;
  for (const Node &node : nodes)
    if (node.op == Op::Dim)
      largest = std::max<size_t>(largest.value_or(0), node.value);
  return largest;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// The operation on two values; false where the result has more than 64 bits.
static bool apply(Op op, int64_t a, int64_t b, int64_t &result) {
  switch (op) {
  case Op::Add:
    return !__builtin_add_overflow(a, b, &result);
  case Op::Sub:
    return !__builtin_sub_overflow(a, b, &result);
  case Op::Mul:
    return !__builtin_mul_overflow(a, b, &result);
  // C++ rounds toward zero.
  case Op::CeilDiv:
    result = a / b + (a % b > 0);
    return true;
  case Op::FloorDiv:
    result = a / b - (a % b < 0);
    return true;
  case Op::Mod:
    result = a % b + (a % b < 0 ? b : 0);
    return true;
  case Op::Min:
    result = std::min(a, b);
    return true;
  case Op::Max:
    result = std::max(a, b);
    return true;
  case Op::Constant:
  case Op::Dim:
    break;
  }
  return false;
}

/// Whether the operation has a value for `b` on the right.
static bool isDefined(Op op, int64_t b) {
  bool divides = op == Op::CeilDiv || op == Op::FloorDiv || op == Op::Mod;
  return !divides || b >= 1;
}

Expression::Expression(int64_t constant)
    : nodes({{Op::Constant, constant}}), text(std::to_string(constant)) {}

Expression Expression::dim(size_t number, std::string name) {
  Expression expression;
  expression.nodes = {{Op::Dim, static_cast<int64_t>(number)}};
  expression.text = std::move(name);
  return expression;
}

/// Whether the operation with `b` on the right does nothing.
static bool isNeutral(Op op, std::optional<int64_t> b) {
  if (op == Op::Add || op == Op::Sub)
    return b == 0;
  return b == 1 && (op == Op::Mul || op == Op::CeilDiv || op == Op::FloorDiv);
}

std::string Expression::getText(Precedence least) const {
  // The grammar has no signs.
  if (getConstant().value_or(0) < 0)
    return "(0 - " + text.substr(1) + ")";
  Op op = nodes.back().op;
  Precedence mine = op == Op::Add || op == Op::Sub ? Precedence::Sum
                    : op == Op::Mul                ? Precedence::Product
                                                   : Precedence::Atom;
  return mine < least ? "(" + text + ")" : text;
}

Expression Expression::make(Op op, const Expression &a, const Expression &b) {
  std::optional<int64_t> left = a.getConstant(), right = b.getConstant();
  int64_t value = 0;
  if (left && right && isDefined(op, *right) && apply(op, *left, *right, value))
    return value;
  if (isNeutral(op, right))
    return a;
  if ((op == Op::Add || op == Op::Mul) && isNeutral(op, left))
    return b;
  Expression expression = a;
  expression.nodes.insert(expression.nodes.end(), b.nodes.begin(),
                          b.nodes.end());
  expression.nodes.push_back({op});
  if (op == Op::Add || op == Op::Sub)
    expression.text = a.getText(Precedence::Sum) +
                      (op == Op::Add ? " + " : " - ") +
                      b.getText(Precedence::Product);
  else if (op == Op::Mul)
    expression.text =
        a.getText(Precedence::Product) + " * " + b.getText(Precedence::Atom);
  else
    expression.text = std::string(getFunctionName(op)) + "(" +
                      a.getText(Precedence::Sum) + ", " +
                      b.getText(Precedence::Sum) + ")";
  return expression;
}

Expression
blockscale::runtime::multiply(const std::vector<Expression> &factors) {
  Expression constants = 1, others = 1;
  for (const Expression &factor : factors) {
    Expression &product = factor.getConstant() ? constants : others;
    product = Expression::make(Op::Mul, product, factor);
  }
  return Expression::make(Op::Mul, others, constants);
}

std::optional<int64_t> Expression::getConstant() const {
  if (nodes.size() != 1 || nodes[0].op != Op::Constant)
    return std::nullopt;
  return nodes[0].value;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Result<int64_t> Expression::evaluate(const std::vector<int64_t> &values) const {
  std::vector<int64_t> stack;
  for (const Node &node : nodes) {
    if (node.op == Op::Constant || node.op == Op::Dim) {
      stack.push_back(node.op == Op::Dim ? values[node.value] : node.value);
      continue;
    }
    int64_t b = stack.back();
    stack.pop_back();
    int64_t &a = stack.back();
    if (!isDefined(node.op, b))
      return Status::failure("expected divisors of '" + text +
                             "' to be positive, but got " + std::to_string(b));
    if (!apply(node.op, a, b, a))
      return Status::failure("expected the value of '" + text +
                             "' to fit into 64 bits");
  }
  return stack.back();
}

//===- ParserDeclarations.cpp - Registers, variables and initialisers -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ParserImpl.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

/// More of these than any program has; they bound what a text can ask for.
static constexpr uint32_t kMaxRegisters = 1 << 17;
static constexpr uint64_t kMaxBytes = uint64_t(1) << 40;
static constexpr uint64_t kMaxAlignment = 1 << 20;
static constexpr size_t kMaxDimensions = 8;

std::optional<Linkage> Parser::takeLinkage() {
  static constexpr std::pair<llvm::StringLiteral, Linkage> kNames[] = {
      {".visible", Linkage::Visible},
      {".extern", Linkage::Extern},
      {".weak", Linkage::Weak},
      {".common", Linkage::Common}};
  for (auto [name, linkage] : kNames)
    if (consumeIfDotted(name))
      return linkage;
  return std::nullopt;
}

std::optional<StateSpace> Parser::takeSpace() {
  for (auto space : {StateSpace::Const, StateSpace::Global, StateSpace::Local,
                     StateSpace::Param, StateSpace::Shared})
    if (token.kind == TokenKind::Dotted &&
        token.text.drop_front() == getName(space)) {
      consume();
      return space;
    }
  return std::nullopt;
}

/// A type of memory or registers, and the number of components before it.
static std::optional<Type> findDeclaredType(const Token &token) {
  if (token.kind != TokenKind::Dotted)
    return std::nullopt;
  std::optional<Type> type = findType(token.text.drop_front());
  if (!type || (getInfo(*type).kind == TypeKind::Packed &&
                *type != Type::F16x2 && *type != Type::BF16x2))
    return std::nullopt;
  return type;
}

/// `.b32 %r<10>, %s;` after `.reg`.
bool Parser::parseRegisters(Function &function) {
  Variable shape;
  if (parseQualifiers(shape))
    return true;
  do {
    RegisterDeclaration declaration;
    declaration.location = token.location;
    declaration.scope = scope;
    declaration.type = shape.type;
    declaration.components = shape.components;
    declaration.firstIndex = function.registerCount;
    if (parseName(declaration.name, "the name of a register"))
      return true;
    if (consumeIf("<")) {
      uint64_t count = 0;
      // No constant expression: it would take the '>' for an operator.
      if (token.kind != TokenKind::Integer || token.value > kMaxRegisters)
        return failExpected("a number of registers from 0 to " +
                            llvm::Twine(kMaxRegisters));
      count = token.value;
      consume();
      if (expect(">", "after the number of registers"))
        return true;
      declaration.range = static_cast<uint32_t>(count);
    }
    if (declaration.getCount() > kMaxRegisters - function.registerCount)
      return fail(declaration.location, "expected at most " +
                                            llvm::Twine(kMaxRegisters) +
                                            " registers in a function");
    function.registerCount += declaration.getCount();
    function.registers.push_back(declaration);
  } while (consumeIf(","));
  return expect(";", "after the registers");
}

/// `.align 16 .v4 .f32` in any order, up to the name.
bool Parser::parseQualifiers(Variable &variable) {
  bool hasType = false;
  uint64_t number = 0;
  while (token.kind == TokenKind::Dotted) {
    Location location = token.location;
    if (consumeIfDotted(".align")) {
      if (parseNumber(variable.alignment, 1, kMaxAlignment, "the alignment"))
        return true;
      if (!llvm::isPowerOf2_64(variable.alignment))
        return fail(location,
                    "expected the alignment to be a power of two, but got " +
                        llvm::Twine(variable.alignment));
    } else if (consumeIfDotted(".attribute")) {
      // `(.managed)` and `(.unified(a, b))` concern the driver alone.
      if (expect("(", "after '.attribute'"))
        return true;
      for (uint64_t open = 1; open;) {
        if (token.kind == TokenKind::End || token.kind == TokenKind::Invalid)
          return failExpected("')' at the end of the attribute");
        open = open + token.is("(") - token.is(")");
        consume();
      }
    } else if (consumeIfDotted(".v2")) {
      variable.components = 2;
    } else if (consumeIfDotted(".v4")) {
      variable.components = 4;
    } else if (consumeIfDotted(".ptr")) {
      variable.isPointer = true;
      variable.pointerSpace = takeSpace();
      if (consumeIfDotted(".align")) {
        if (parseNumber(number, 1, kMaxAlignment, "the alignment"))
          return true;
        variable.pointerAlignment = number;
      }
    } else if (std::optional<Type> type = findDeclaredType(token);
               type && !hasType) {
      variable.type = *type;
      hasType = true;
      consume();
    } else {
      return failExpected("the type of a declaration");
    }
  }
  return hasType ? false : failExpected("the type of a declaration");
}

/// `[4][8]`, `[]`.
bool Parser::parseExtents(Variable &variable) {
  while (consumeIf("[")) {
    if (variable.extents.size() == kMaxDimensions)
      return failExpected("at most " + llvm::Twine(kMaxDimensions) +
                          " dimensions");
    uint64_t extent = 0;
    if (!token.is("]") &&
        parseNumber(extent, 1, kMaxBytes, "the extent of an array"))
      return true;
    if (extent == 0 && !variable.extents.empty())
      return failExpected("the extent of the inner dimension");
    if (expect("]", "after the extent of an array"))
      return true;
    variable.extents.push_back(extent);
  }
  return false;
}

bool Parser::computeSize(Variable &variable) {
  uint64_t element = uint64_t(getBytes(variable.type)) * variable.components;
  if (element == 0)
    return fail(variable.location,
                "expected a type that is stored, but got '.pred'");
  variable.bytes = element;
  for (uint64_t extent : variable.extents) {
    if (extent != 0 && variable.bytes > kMaxBytes / extent)
      return fail(variable.location, "expected a variable of at most " +
                                         llvm::Twine(kMaxBytes) + " bytes");
    variable.bytes *= extent;
  }
  variable.alignment = std::max(variable.alignment, element);
  return false;
}

/// `.align 4 .b8 a[4] = {..}, b;` after the space.
bool Parser::parseVariables(std::vector<Variable> &variables, StateSpace space,
                            Linkage linkage, uint32_t inScope) {
  Variable shape;
  shape.space = space;
  shape.linkage = linkage;
  shape.scope = inScope;
  if (parseQualifiers(shape))
    return true;
  do {
    Variable variable = shape;
    variable.location = token.location;
    if (parseName(variable.name, "the name of a variable"))
      return true;
    // `%buffer<4>` declares four of them.
    if (token.is("<"))
      return failExpected("one variable for each name");
    if (parseExtents(variable) || computeSize(variable))
      return true;
    if (consumeIf("=") && parseInitialiser(variable))
      return true;
    variables.push_back(std::move(variable));
  } while (consumeIf(","));
  return expect(";", "after the variable");
}

/// `.param .align 8 .b8 name[16]`, and `.reg .b32 name` of a function.
bool Parser::parseParameter(Variable &parameter) {
  if (consumeIfDotted(".reg"))
    parameter.isRegister = true;
  else if (!consumeIfDotted(".param"))
    return failExpected("'.param' or '.reg' before a parameter");
  parameter.space = StateSpace::Param;
  if (parseQualifiers(parameter))
    return true;
  parameter.location = token.location;
  if (parseName(parameter.name, "the name of a parameter") ||
      parseExtents(parameter))
    return true;
  if (parameter.isRegister && parameter.type == Type::Pred)
    return false;
  return computeSize(parameter);
}

/// What stands after the '='.
bool Parser::parseInitialiser(Variable &variable) {
  if (variable.space != StateSpace::Global &&
      variable.space != StateSpace::Const)
    return fail(variable.location, "expected an initialised variable to be "
                                   "'.global' or '.const', but got '." +
                                       getName(variable.space) + "'");
  if (!token.is("{"))
    return parseInitialValue(variable, 0);
  return parseInitialList(variable, 0, 0);
}

/// `{a, b}` at a position, over the dimensions from `dimension` on: the array's
/// and then the components of a vector.
bool Parser::parseInitialList(Variable &variable, uint64_t position,
                              unsigned dimension) {
  size_t dimensions = variable.extents.size() + (variable.components > 1);
  if (dimension >= dimensions)
    return failExpected("a constant");
  uint64_t stride =
      dimension < variable.extents.size() ? variable.components : 1;
  for (uint64_t extent : llvm::drop_begin(
           variable.extents,
           std::min<size_t>(dimension + 1, variable.extents.size())))
    stride *= extent;
  bool isLast = dimension + 1 == dimensions;
  uint64_t extent = dimension < variable.extents.size()
                        ? variable.extents[dimension]
                        : variable.components;
  if (expect("{", "before the elements"))
    return true;
  if (consumeIf("}"))
    return false;
  // `{1, 2, 3}` fills a nested array in order, as `{{1, 2}, {3}}` does by rows.
  uint64_t limit = extent;
  uint64_t offset = 0;
  do {
    bool isList = token.is("{");
    uint64_t step = isList || isLast ? stride : 1;
    if (limit != 0 && offset + step > limit * stride)
      return fail(token.location, "expected at most " +
                                      llvm::Twine(limit * stride) +
                                      " elements in the initialiser");
    if (isList ? parseInitialList(variable, position + offset, dimension + 1)
               : parseInitialValue(variable, position + offset))
      return true;
    offset += step;
  } while (consumeIf(","));
  if (extent == 0 && dimension == 0) {
    variable.extents[0] = llvm::divideCeil(offset, stride);
    if (computeSize(variable))
      return true;
  }
  return expect("}", "after the elements");
}

/// An integer, a float, or a symbol with its mask.
bool Parser::parseInitialValue(Variable &variable, uint64_t position) {
  InitialValue value;
  value.location = token.location;
  value.position = position;
  if (token.kind == TokenKind::Word && token.text != "WARP_SZ") {
    if (parseInitialSymbol(value))
      return true;
  } else {
    // `0xFF00(symbol)` takes some of the bytes of an address.
    Lexer ahead = lexer;
    if (token.kind == TokenKind::Integer && ahead.next().is("(")) {
      value.mask = token.value;
      if (value.mask == 0)
        return failExpected("a mask other than 0");
      consume();
      consume();
      if (parseInitialSymbol(value) || expect(")", "after the masked address"))
        return true;
    } else {
      Constant constant;
      if (parseConstant(constant))
        return true;
      value.kind = constant.kind;
      value.value = constant.value;
    }
  }
  variable.initialValues.push_back(value);
  return false;
}

/// `symbol`, `generic(symbol)`, and either with `+4`.
bool Parser::parseInitialSymbol(InitialValue &value) {
  value.kind = OperandKind::Symbol;
  value.location = token.location;
  if (parseName(value.name, "the name of a variable or function"))
    return true;
  if (value.name == "generic" && consumeIf("(")) {
    value.isGeneric = true;
    if (parseName(value.name, "the name of a variable or function") ||
        expect(")", "after the generic address"))
      return true;
  }
  int64_t offset = 0;
  if ((token.is("+") || token.is("-")) && parseOffset(offset))
    return true;
  value.value = static_cast<uint64_t>(offset);
  return false;
}

} // namespace blockscale::emulator

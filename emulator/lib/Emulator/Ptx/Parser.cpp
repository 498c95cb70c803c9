//===- Parser.cpp - Parser of PTX modules ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ParserImpl.h"

#include "blockscale/Emulator/Parser.h"

namespace blockscale::emulator {

llvm::Expected<Module> parseModule(llvm::StringRef text) {
  Module module;
  module.text = std::make_unique<std::string>(text);
  Parser parser(module);
  if (parser.parseModule())
    return parser.takeError();
  return std::move(module);
}

bool Parser::fail(Location location, const llvm::Twine &message) {
  errorLocation = location;
  errorMessage = message.str();
  return true;
}

bool Parser::failExpected(const llvm::Twine &what) {
  if (token.kind != TokenKind::Invalid)
    return fail(token.location,
                "expected " + what + ", but got " + describe(token));
  const char *reason = lexer.getError();
  return fail(token.location,
              llvm::Twine(reason ? reason : "expected a token") + ", but got " +
                  describe(token));
}

bool Parser::consumeIf(llvm::StringRef punctuation) {
  if (!token.is(punctuation))
    return false;
  consume();
  return true;
}

bool Parser::consumeIfDotted(llvm::StringRef name) {
  if (!token.isDotted(name))
    return false;
  consume();
  return true;
}

bool Parser::expect(llvm::StringRef punctuation, const llvm::Twine &where) {
  if (consumeIf(punctuation))
    return false;
  return failExpected("'" + punctuation + "' " + where);
}

bool Parser::parseName(llvm::StringRef &name, const llvm::Twine &what) {
  if (token.kind != TokenKind::Word)
    return failExpected(what);
  name = token.text;
  consume();
  return false;
}

bool Parser::parseNumber(uint64_t &number, uint64_t least, uint64_t most,
                         const llvm::Twine &what) {
  Location location = token.location;
  Constant constant;
  if (parseConstant(constant))
    return true;
  if (constant.kind != OperandKind::Integer || constant.value < least ||
      constant.value > most)
    return fail(location, "expected " + what + " to be an integer from " +
                              llvm::Twine(least) + " to " + llvm::Twine(most));
  number = constant.value;
  return false;
}

bool Parser::parseModule() {
  if (parseHeader())
    return true;
  while (token.kind != TokenKind::End)
    if (parseTopLevel())
      return true;
  return false;
}

/// `.version 8.8`, `.target sm_100a, debug` and `.address_size 64`.
bool Parser::parseHeader() {
  if (!consumeIfDotted(".version"))
    return failExpected("'.version' at the start of the module");
  auto [major, minor] = token.text.split('.');
  if (token.kind != TokenKind::Double ||
      major.getAsInteger(10, module.versionMajor) ||
      minor.getAsInteger(10, module.versionMinor))
    return failExpected("a version such as '8.8'");
  consume();
  if (!consumeIfDotted(".target"))
    return failExpected("'.target' after the version");
  if (parseTarget())
    return true;
  if (!consumeIfDotted(".address_size"))
    return false;
  uint64_t size = 0;
  Location location = token.location;
  if (parseNumber(size, 0, UINT32_MAX, "the address size"))
    return true;
  if (size != 64)
    return fail(location, "expected the address size to be 64, but got " +
                              llvm::Twine(size));
  return false;
}

bool Parser::parseTarget() {
  if (parseName(module.target, "a target such as 'sm_100a'"))
    return true;
  while (consumeIf(",")) {
    llvm::StringRef option;
    if (parseName(option, "an option of the target"))
      return true;
    module.targetOptions.push_back(option);
  }
  return false;
}

bool Parser::parseTopLevel() {
  bool skipped = false;
  if (skipDebugDirective(skipped))
    return true;
  if (skipped)
    return false;
  if (consumeIfDotted(".alias"))
    return parseAlias();
  Linkage linkage = takeLinkage().value_or(Linkage::Internal);
  if (consumeIfDotted(".entry"))
    return parseFunction(linkage, /*isEntry=*/true);
  if (consumeIfDotted(".func"))
    return parseFunction(linkage, /*isEntry=*/false);
  Token start = token;
  std::optional<StateSpace> space = takeSpace();
  if (!space)
    return failExpected("a function or variable of the module");
  if (*space != StateSpace::Global && *space != StateSpace::Const &&
      *space != StateSpace::Shared)
    return fail(start.location, "expected a variable of the module to be "
                                "'.global', '.const' or '.shared', but got " +
                                    describe(start));
  return parseVariables(module.variables, *space, linkage, /*scope=*/0);
}

/// `.alias a, b;`
bool Parser::parseAlias() {
  std::pair<Operand, Operand> alias;
  for (Operand *operand : {&alias.first, &alias.second}) {
    if (operand == &alias.second && expect(",", "in the alias"))
      return true;
    operand->kind = OperandKind::Symbol;
    operand->location = token.location;
    if (parseName(operand->name, "the name of a function"))
      return true;
  }
  module.aliases.push_back(std::move(alias));
  return expect(";", "after the alias");
}

/// Debug information and hints to ptxas. Sets `skipped` where there was one.
bool Parser::skipDebugDirective(bool &skipped) {
  skipped = true;
  if (consumeIfDotted(".file"))
    return skipFile();
  if (consumeIfDotted(".loc"))
    return skipLoc();
  if (consumeIfDotted(".section"))
    return skipSection();
  if (consumeIfDotted(".pragma"))
    return skipPragma() || expect(";", "after the pragma");
  skipped = false;
  return false;
}

/// `.file 1 "name", 0x5F3, 1234`
bool Parser::skipFile() {
  uint64_t number = 0;
  if (parseNumber(number, 0, UINT32_MAX, "the number of the file"))
    return true;
  if (token.kind != TokenKind::String)
    return failExpected("the name of the file");
  consume();
  while (consumeIf(","))
    if (parseNumber(number, 0, UINT64_MAX, "the time or size of the file"))
      return true;
  return false;
}

/// `.loc 1 20 3, function_name $L__info_string0 + 4, inlined_at 1 10 3`
bool Parser::skipLoc() {
  uint64_t number = 0;
  for (const char *what : {"a file", "a line", "a column"})
    if (parseNumber(number, 0, UINT32_MAX, what))
      return true;
  while (consumeIf(",")) {
    llvm::StringRef word;
    if (parseName(word, "'function_name' or 'inlined_at'"))
      return true;
    if (word == "inlined_at") {
      for (const char *what : {"a file", "a line", "a column"})
        if (parseNumber(number, 0, UINT32_MAX, what))
          return true;
      continue;
    }
    if (token.kind == TokenKind::Dotted)
      consume();
    else if (parseName(word, "the label of a name"))
      return true;
    if (consumeIf("+") &&
        parseNumber(number, 0, UINT32_MAX, "the offset of a name"))
      return true;
  }
  return false;
}

/// `.section .debug_str { ... }`
bool Parser::skipSection() {
  if (token.kind != TokenKind::Dotted && token.kind != TokenKind::Word)
    return failExpected("the name of the section");
  consume();
  if (!token.is("{"))
    return failExpected("'{' after the name of the section");
  uint64_t open = 0;
  do {
    if (token.is("{"))
      ++open;
    else if (token.is("}"))
      --open;
    else if (token.kind == TokenKind::End || token.kind == TokenKind::Invalid)
      return failExpected("'}' at the end of the section");
    consume();
  } while (open);
  return false;
}

bool Parser::skipPragma() {
  do {
    if (token.kind != TokenKind::String)
      return failExpected("the text of the pragma");
    consume();
  } while (consumeIf(","));
  return false;
}

} // namespace blockscale::emulator

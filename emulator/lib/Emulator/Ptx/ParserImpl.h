//===- ParserImpl.h - State of the PTX parser -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PTX_PARSERIMPL_H
#define BLOCKSCALE_LIB_EMULATOR_PTX_PARSERIMPL_H

#include "Emulator/Ptx/Lexer.h"
#include "blockscale/Emulator/Ast.h"

namespace blockscale::emulator {

/// The value of a constant expression.
struct Constant {
  OperandKind kind = OperandKind::Integer;
  bool isUnsigned = false;
  uint64_t value = 0;
};

/// Recursive descent with one token of look-ahead. A method returns true where
/// it failed; the first failure is what `takeError` gives.
class Parser {
public:
  explicit Parser(Module &module)
      : module(module), lexer(*module.text), token(lexer.next()) {}

  bool parseModule();
  llvm::Error takeError() { return makeError(errorLocation, errorMessage); }

private:
  // Tokens.
  void consume() { token = lexer.next(); }
  bool consumeIf(llvm::StringRef punctuation);
  bool consumeIfDotted(llvm::StringRef name);
  bool expect(llvm::StringRef punctuation, const llvm::Twine &where);
  bool parseName(llvm::StringRef &name, const llvm::Twine &what);
  /// An integer constant from `least` to `most`.
  bool parseNumber(uint64_t &number, uint64_t least, uint64_t most,
                   const llvm::Twine &what);
  bool fail(Location location, const llvm::Twine &message);
  /// "expected WHAT, but got TOKEN".
  bool failExpected(const llvm::Twine &what);

  // Module level.
  bool parseHeader();
  bool parseTopLevel();
  bool parseTarget();
  bool parseAlias();
  bool skipDebugDirective(bool &skipped);
  bool skipFile();
  bool skipLoc();
  bool skipSection();
  bool skipPragma();

  // Functions.
  bool parseFunction(Linkage linkage, bool isEntry);
  bool parseParameters(std::vector<Variable> &parameters);
  bool parsePerformanceDirective(Function &function, bool &parsed);
  bool parseBody(Function &function);
  bool parseStatement(Function &function);
  bool parseLabel(Function &function);
  bool parseTargetList(Function &function, const Token &name, bool isCall);
  bool parsePrototype(Function &function, const Token &name);

  // Declarations.
  std::optional<Linkage> takeLinkage();
  std::optional<StateSpace> takeSpace();
  bool parseRegisters(Function &function);
  bool parseVariables(std::vector<Variable> &variables, StateSpace space,
                      Linkage linkage, uint32_t scope);
  bool parseQualifiers(Variable &variable);
  bool parseExtents(Variable &variable);
  bool computeSize(Variable &variable);
  bool parseParameter(Variable &parameter);
  bool parseInitialiser(Variable &variable);
  bool parseInitialList(Variable &variable, uint64_t position,
                        unsigned dimension);
  bool parseInitialValue(Variable &variable, uint64_t position);
  bool parseInitialSymbol(InitialValue &value);

  // Instructions and operands.
  bool parseInstruction(Function &function);
  bool parseGuard(Instruction &instruction);
  bool parseOperand(Operand &operand, bool inCall);
  bool parseNamedOperand(Operand &operand);
  bool parseVector(Operand &operand);
  bool parseAddress(Operand &operand);
  bool parseList(Operand &operand);
  bool parseImmediate(Operand &operand);
  bool parseOffset(int64_t &offset);

  // Constant expressions.
  bool parseConstant(Constant &constant);
  bool parseBinary(Constant &constant, unsigned precedence);
  bool parseUnary(Constant &constant);
  bool parsePrimary(Constant &constant);
  bool applyBinary(Constant &left, const Constant &right, const Token &op);

  Module &module;
  Lexer lexer;
  Token token;
  Location errorLocation;
  std::string errorMessage;
  /// Scope of the function that is being parsed.
  uint32_t scope = 0;
  /// Nesting of the constant expression that is being parsed.
  unsigned depth = 0;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PTX_PARSERIMPL_H

//===- Ast.h - PTX modules as parsed ----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree of a PTX module: its variables, functions, instructions and
// operands.
//
// Text stays in the module's own buffer; the StringRefs of the tree point into
// it. The bodies of functions are flat lists with scopes by number, so that
// nothing here recurses deeper than a vector operand in an address.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_AST_H
#define BLOCKSCALE_EMULATOR_AST_H

#include "blockscale/Emulator/Diagnostic.h"
#include "blockscale/Emulator/StateSpace.h"
#include "blockscale/Emulator/Type.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockscale::emulator {

enum class Linkage : uint8_t { Internal, Visible, Extern, Weak, Common };

/// What a name of an operand or an initialiser stands for, once validated.
enum class SymbolKind : uint8_t {
  None,
  /// One of `Module::variables`.
  ModuleVariable,
  /// One of `Module::functions`.
  Function,
  /// The rest are entries of the function's `variables`, `parameters`,
  /// `results`, `labels`, `targetLists` and `prototypes`.
  LocalVariable,
  Parameter,
  Result,
  Label,
  TargetList,
  Prototype,
};

struct Symbol {
  SymbolKind kind = SymbolKind::None;
  uint32_t index = 0;
};

enum class OperandKind : uint8_t {
  /// `%r1`, `!%p1`, `%v.x`. `registerIndex` and `type` once
  /// validated.
  Register,
  /// `%tid.x`: `specialIndex` once validated.
  Special,
  /// `value` is two's complement, sign extended to 64 bits.
  Integer,
  /// `value` is the bits of an f32 or of an f64.
  Single,
  Double,
  /// A variable, function or label, plus `offset`.
  Symbol,
  /// `_`.
  Sink,
  /// `{a, b}`: the elements.
  Vector,
  /// `[a]`, `[a+4]`, `[map, {x, y}]`: element 0 is the base, a register, a
  /// symbol or an integer; `offset` is the constant; element 1, where there is
  /// one, the vector of coordinates.
  Address,
  /// `p|q`: two elements.
  Pair,
  /// `(a, b)` of a call: the elements.
  List,
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  Location location;
  /// `!%p1`.
  bool isNegated = false;
  /// Whether an integer has the suffix U or is past the signed range.
  bool isUnsigned = false;
  /// 'x', 'y', 'z', 'w', or 0: the component behind a name.
  char component = 0;
  /// Type of a register.
  Type type = Type::Pred;
  llvm::StringRef name;
  uint64_t value = 0;
  int64_t offset = 0;
  /// Number of the register in the function: below `Function::registerCount`.
  uint32_t registerIndex = 0;
  /// Index in `getSpecialRegisters()`.
  uint32_t specialIndex = 0;
  Symbol symbol;
  std::vector<Operand> elements;
};

struct Modifier {
  Location location;
  /// The text without the dot: `rn`, `shared::cta`, `x32`.
  llvm::StringRef text;
};

struct InstructionForm;

struct Instruction {
  Location location;
  /// Scope of the function it stands in.
  uint32_t scope = 0;
  /// `@%p` and `@!%p`: a register operand.
  std::optional<Operand> guard;
  llvm::StringRef opcode;
  llvm::SmallVector<Modifier, 6> modifiers;
  std::vector<Operand> operands;
  /// The entry of the instruction set, once verified.
  const InstructionForm *form = nullptr;

  bool has(llvm::StringRef modifier) const {
    return getModifier({modifier}) != llvm::StringRef();
  }
  /// The first modifier that is one of these; empty where none is.
  llvm::StringRef
  getModifier(std::initializer_list<llvm::StringRef> choices) const;
  /// The modifiers that are types, in order.
  llvm::SmallVector<Type, 4> getTypes() const;
  /// Opcode and modifiers as one word.
  std::string getSpelling() const;
};

struct Label {
  Location location;
  llvm::StringRef name;
  uint32_t scope = 0;
  /// Index of the instruction that follows; the number of instructions at the
  /// end of a body.
  uint32_t instruction = 0;
};

/// `.reg .b32 %r<10>` or `.reg .v2 .f32 %v`.
struct RegisterDeclaration {
  Location location;
  llvm::StringRef name;
  uint32_t scope = 0;
  Type type = Type::Pred;
  /// Components of a vector register, else 1.
  uint32_t components = 1;
  /// The N of `%r<N>`; nothing for a single name.
  std::optional<uint32_t> range;
  /// Number of the first register that it declares.
  uint32_t firstIndex = 0;

  uint32_t getCount() const { return range.value_or(1) * components; }
};

/// One element of an initialiser.
struct InitialValue {
  Location location;
  /// Element of the flattened array (components of vectors included).
  uint64_t position = 0;
  OperandKind kind = OperandKind::Integer;
  /// The bits of an integer, a single or a double; for a symbol, the addend.
  uint64_t value = 0;
  /// Whether a symbol stands for its generic address.
  bool isGeneric = false;
  /// A symbol stands for `(address & mask) >> trailing zeros of mask`.
  uint64_t mask = ~uint64_t(0);
  llvm::StringRef name;
  Symbol symbol;
};

/// A variable of any space but registers, a parameter or a result.
struct Variable {
  Location location;
  llvm::StringRef name;
  uint32_t scope = 0;
  Linkage linkage = Linkage::Internal;
  StateSpace space = StateSpace::Global;
  /// A parameter or result in a register; its space means nothing then.
  bool isRegister = false;
  /// The number in the function of the register that the variable is in.
  uint32_t registerIndex = 0;
  Type type = Type::B8;
  uint32_t components = 1;
  /// Bytes; at least that of the type.
  uint64_t alignment = 1;
  /// The extents of an array; 0 for `[]`, only outermost.
  llvm::SmallVector<uint64_t, 2> extents;
  /// Bytes in all; 0 for an unsized array.
  uint64_t bytes = 0;
  /// `.ptr` of a parameter.
  bool isPointer = false;
  std::optional<StateSpace> pointerSpace;
  uint64_t pointerAlignment = 1;
  std::vector<InitialValue> initialValues;
};

/// `name: .branchtargets a, b` or `.calltargets`.
struct TargetList {
  Location location;
  llvm::StringRef name;
  uint32_t scope = 0;
  bool isCall = false;
  std::vector<Operand> targets;
};

/// `name: .callprototype (..) _ (..)`.
struct Prototype {
  Location location;
  llvm::StringRef name;
  uint32_t scope = 0;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
};

struct Scope {
  Location location;
  /// The enclosing scope; for the body of the function its own number.
  uint32_t parent = 0;
};

/// `.reqntid 128, 1, 1`.
struct PerformanceDirective {
  Location location;
  /// The name without the dot.
  llvm::StringRef name;
  llvm::SmallVector<uint32_t, 3> values;
};

struct Function {
  Location location;
  llvm::StringRef name;
  Linkage linkage = Linkage::Internal;
  bool isEntry = false;
  /// Whether there is a body; false for a declaration.
  bool hasBody = false;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<PerformanceDirective> directives;
  std::vector<Scope> scopes;
  std::vector<RegisterDeclaration> registers;
  std::vector<Variable> variables;
  std::vector<Label> labels;
  std::vector<TargetList> targetLists;
  std::vector<Prototype> prototypes;
  std::vector<Instruction> instructions;
  /// Registers of all scopes, components counted.
  uint32_t registerCount = 0;

  const PerformanceDirective *getDirective(llvm::StringRef name) const;
};

struct Module {
  /// What every StringRef below points into.
  std::unique_ptr<std::string> text;
  uint32_t versionMajor = 0;
  uint32_t versionMinor = 0;
  /// `sm_100a`.
  llvm::StringRef target;
  std::vector<llvm::StringRef> targetOptions;
  uint32_t addressSize = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  /// `.alias alias, aliasee;`
  std::vector<std::pair<Operand, Operand>> aliases;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_AST_H

//===- OperandVerifier.cpp - Check of operands against the table ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/OperandVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace blockscale::emulator {

/// Bits of the register that holds a value. Packed pairs of e2m1 have eight.
static unsigned getRegisterBits(Type type) {
  return type == Type::Pred ? 1 : getInfo(type).bits;
}

/// PTX ISA, "Type Checking Rules": the same size, and no float where an integer
/// is wanted or the other way; bits go with both.
static bool isCompatible(Type found, Type wanted, bool allowsWider) {
  if (found == wanted)
    return true;
  if ((found == Type::Pred) != (wanted == Type::Pred))
    return false;
  TypeKind foundKind = getInfo(found).kind, wantedKind = getInfo(wanted).kind;
  unsigned foundBits = getRegisterBits(found),
           wantedBits = getRegisterBits(wanted);
  bool isInteger =
      foundKind == TypeKind::Signed || foundKind == TypeKind::Unsigned;
  bool wantsInteger =
      wantedKind == TypeKind::Signed || wantedKind == TypeKind::Unsigned;
  if ((foundKind == TypeKind::Float && wantsInteger) ||
      (isInteger && wantedKind == TypeKind::Float) ||
      (foundKind == TypeKind::Float && wantedKind == TypeKind::Float &&
       foundBits == 16))
    return false;
  if (foundBits == wantedBits)
    return true;
  // A wider register of floats holds no narrower float.
  return allowsWider && foundBits > wantedBits && foundKind != TypeKind::Float;
}

namespace {

class Matcher {
public:
  Matcher(const Instruction &instruction, const InstructionForm &form)
      : instruction(instruction), form(form), types(instruction.getTypes()) {}

  OperandMismatch run();

private:
  // Each returns true where the operand does not fit.
  bool matchOperand(const Operand &operand, const OperandSpec &spec);
  bool matchValue(const Operand &operand, const OperandSpec &spec);
  bool matchType(const Operand &operand, Type wanted, bool allowsWider);
  bool matchImmediate(const Operand &operand, Type wanted);
  bool matchPair(const Operand &operand, const OperandSpec &spec);
  bool matchVector(const Operand &operand, const OperandSpec &spec,
                   unsigned count);
  bool matchSplit(const Operand &operand, const OperandSpec &spec);
  bool matchAddress(const Operand &operand, const OperandSpec &spec);
  bool matchAccess(const Operand &operand, const OperandSpec &spec);
  bool matchAccumulators(const Operand &operand, const OperandSpec &spec);
  bool matchLabel(const Operand &operand, const OperandSpec &spec);

  bool fail(const Operand &operand, const llvm::Twine &message);
  bool failKind(const Operand &operand, const OperandSpec &spec);
  std::optional<Type> getType(const OperandSpec &spec) const;
  unsigned getVectorSize() const;
  unsigned getMatrixCount() const;
  unsigned getTensorCount() const;
  unsigned getAccumulatorCount() const;
  unsigned getCoordinateCount() const;

  const Instruction &instruction;
  const InstructionForm &form;
  llvm::SmallVector<Type, 4> types;
  unsigned number = 0;
  OperandMismatch mismatch;
};

} // namespace

bool Matcher::fail(const Operand &operand, const llvm::Twine &message) {
  mismatch.location = operand.location;
  ++mismatch.fitness;
  mismatch.message = ("expected operand " + llvm::Twine(number) + " of '" +
                      instruction.getSpelling() + "' " + message)
                         .str();
  return true;
}

bool Matcher::failKind(const Operand &operand, const OperandSpec &spec) {
  fail(operand,
       "to be " + getKindName(spec) + ", but got " + getKindName(operand));
  --mismatch.fitness;
  return true;
}

std::optional<Type> Matcher::getType(const OperandSpec &spec) const {
  return getOperandType(spec, types);
}

/// The N of `.vN`, else 1.
unsigned Matcher::getVectorSize() const {
  llvm::StringRef vector = instruction.getModifier({"v2", "v4", "v8"});
  return vector.empty() ? 1 : vector[1] - '0';
}

/// Registers of ldmatrix and stmatrix: one for each 8x8 matrix of b16, so two
/// for each 16x16 matrix of b8.
unsigned Matcher::getMatrixCount() const {
  llvm::StringRef number = instruction.getModifier({"x1", "x2", "x4"});
  unsigned count = number.empty() ? 1 : number[1] - '0';
  return instruction.has("m16n16") ? 2 * count : count;
}

/// Registers of tcgen05.ld and .st: a lane of 32x32b, 16x64b and 16x32bx2 takes
/// one for each repeat, of 16x128b two, of 16x256b four.
unsigned Matcher::getTensorCount() const {
  unsigned repeats = 1;
  instruction.getModifier({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"})
      .drop_front()
      .getAsInteger(10, repeats);
  if (instruction.has("16x128b"))
    return 2 * repeats;
  if (instruction.has("16x256b"))
    return 4 * repeats;
  return repeats;
}

/// A thread's part of 64xN accumulators: N/2 of 32 bits, N/4 pairs of f16.
unsigned Matcher::getAccumulatorCount() const {
  unsigned n = 0;
  for (const Modifier &modifier : instruction.modifiers)
    if (modifier.text.starts_with("m64n"))
      modifier.text.drop_front(4).split('k').first.getAsInteger(10, n);
  return !types.empty() && types.front() == Type::F16 ? n / 4 : n / 2;
}

/// `.Nd` gives N; gather4 and scatter4 take a column and four rows.
unsigned Matcher::getCoordinateCount() const {
  if (instruction.has("tile::gather4") || instruction.has("tile::scatter4"))
    return 5;
  llvm::StringRef dim = instruction.getModifier({"1d", "2d", "3d", "4d", "5d"});
  return dim.empty() ? 0 : dim[0] - '0';
}

bool Matcher::matchImmediate(const Operand &operand, Type wanted) {
  const TypeInfo &info = getInfo(wanted);
  bool isFloat = operand.kind != OperandKind::Integer;
  bool fits = !isFloat;
  if (info.kind == TypeKind::Float)
    fits = isFloat && info.bits >= 32;
  else if (info.kind == TypeKind::Bits && isFloat)
    fits = info.bits == (operand.kind == OperandKind::Single ? 32 : 64);
  else if (info.kind == TypeKind::Packed)
    fits = !isFloat;
  return fits ? false
              : fail(operand, "to have type '." + info.name + "', but got " +
                                  getKindName(operand));
}

bool Matcher::matchType(const Operand &operand, Type wanted, bool allowsWider) {
  if (operand.kind == OperandKind::Sink)
    return false;
  if (operand.kind == OperandKind::Symbol)
    return getInfo(wanted).bits >= 32
               ? false
               : fail(operand, "to have type '." + getInfo(wanted).name +
                                   "', but got the address of '" +
                                   operand.name + "'");
  if (operand.kind != OperandKind::Register &&
      operand.kind != OperandKind::Special)
    return matchImmediate(operand, wanted);
  // Special registers are converted to the width that is asked for.
  bool isSpecial = operand.kind == OperandKind::Special;
  bool isInteger = isSpecial && operand.type != Type::Pred &&
                   wanted != Type::Pred &&
                   getInfo(wanted).kind != TypeKind::Float;
  if (isInteger || isCompatible(operand.type, wanted, allowsWider))
    return false;
  return fail(operand, "to have type '." + getInfo(wanted).name +
                           "', but got '" + operand.name + "' of type '." +
                           getInfo(operand.type).name + "'");
}

/// A scalar of the kinds d, s, S, r, b and i.
bool Matcher::matchValue(const Operand &operand, const OperandSpec &spec) {
  bool fits = false;
  switch (operand.kind) {
  case OperandKind::Register:
    fits = spec.kind != 'i' && spec.kind != 'o';
    break;
  case OperandKind::Special:
    fits = spec.kind == 'S';
    break;
  case OperandKind::Symbol:
    fits = spec.kind == 'S' && operand.symbol.kind != SymbolKind::Label &&
           operand.symbol.kind != SymbolKind::TargetList &&
           operand.symbol.kind != SymbolKind::Prototype;
    break;
  case OperandKind::Integer:
    fits = spec.kind != 'd' && spec.kind != 'r' && spec.kind != 'o';
    break;
  case OperandKind::Single:
  case OperandKind::Double:
    fits = spec.kind == 's' || spec.kind == 'S';
    break;
  case OperandKind::Sink:
    fits = spec.kind == 'd' || spec.kind == 'o';
    break;
  default:
    break;
  }
  if (!fits)
    return failKind(operand, spec);
  if (operand.isNegated && spec.kind != 'b')
    return fail(operand, "to have no '!'");
  std::optional<Type> type = getType(spec);
  return type && matchType(operand, *type, spec.allowsWider);
}

bool Matcher::matchPair(const Operand &operand, const OperandSpec &spec) {
  if (operand.kind != OperandKind::Pair)
    return spec.pair == OperandSpec::MustPair ? failKind(operand, spec)
                                              : matchValue(operand, spec);
  if (spec.pair == OperandSpec::NoPair)
    return failKind(operand, spec);
  OperandSpec second = spec;
  second.type = spec.pairType;
  second.typeIndex = std::nullopt;
  return matchValue(operand.elements[0], spec) ||
         matchValue(operand.elements[1], second);
}

/// `count` elements; one may stand without braces.
bool Matcher::matchVector(const Operand &operand, const OperandSpec &spec,
                          unsigned count) {
  bool isVector = operand.kind == OperandKind::Vector;
  if (!isVector && count > 1)
    return failKind(operand, spec);
  // A vector destination may have gaps, so may a source that is ignored.
  OperandSpec element = spec;
  element.kind = 's';
  auto matchElement = [&](const Operand &value) {
    if (value.kind != OperandKind::Sink)
      return matchValue(value, element);
    return false;
  };
  if (!isVector)
    return matchElement(operand);
  if (count != 0 && operand.elements.size() != count)
    return fail(operand, "to have " + llvm::Twine(count) +
                             (count == 1 ? " element" : " elements") +
                             ", but got " +
                             llvm::Twine(operand.elements.size()));
  return llvm::any_of(operand.elements, matchElement);
}

/// The elements share the bits of the type evenly.
bool Matcher::matchSplit(const Operand &operand, const OperandSpec &spec) {
  if (operand.kind != OperandKind::Vector)
    return failKind(operand, spec);
  std::optional<Type> type = getType(spec);
  unsigned bits = type ? getInfo(*type).bits : 0;
  size_t count = operand.elements.size();
  if (count != 2 && count != 4 && count != 8)
    return fail(operand,
                "to have 2, 4 or 8 elements, but got " + llvm::Twine(count));
  for (const Operand &element : operand.elements) {
    if (element.kind == OperandKind::Sink)
      continue;
    if (element.kind != OperandKind::Register)
      return fail(element, "to have registers as elements, but got " +
                               getKindName(element));
    if (getRegisterBits(element.type) * count != bits)
      return fail(element, "to have elements of " + llvm::Twine(bits / count) +
                               " bits, but got '" + element.name +
                               "' of type '." + getInfo(element.type).name +
                               "'");
  }
  return false;
}

bool Matcher::matchAddress(const Operand &operand, const OperandSpec &spec) {
  if (operand.kind != OperandKind::Address)
    return failKind(operand, spec);
  const Operand &base = operand.elements.front();
  if (base.kind == OperandKind::Register &&
      (base.type == Type::Pred || getInfo(base.type).kind == TypeKind::Float ||
       getInfo(base.type).bits < 32))
    return fail(operand, "to have an address of 32 or 64 bits, but got '" +
                             base.name + "' of type '." +
                             getInfo(base.type).name + "'");
  if (base.kind != OperandKind::Register && base.kind != OperandKind::Symbol &&
      base.kind != OperandKind::Integer)
    return fail(operand, "to have an address, but got " + getKindName(base));
  bool hasCoordinates = operand.elements.size() > 1;
  if (hasCoordinates != (spec.kind == 't'))
    return fail(operand, spec.kind == 't' ? "to have coordinates"
                                          : "to have no coordinates");
  if (!hasCoordinates)
    return false;
  OperandSpec coordinate;
  coordinate.type = Type::S32;
  return matchVector(operand.elements[1], coordinate, getCoordinateCount());
}

/// No access is wider than 32 bytes; what stays in the L2 is told for those.
bool Matcher::matchAccess(const Operand &operand, const OperandSpec &spec) {
  unsigned count = getVectorSize();
  std::optional<Type> type = getType(spec);
  if (type && count * getInfo(*type).bits > 256)
    return fail(operand, "to have at most 256 bits, but got " +
                             llvm::Twine(count * getInfo(*type).bits));
  llvm::StringRef priority = instruction.getModifier(
      {"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  if (type && !priority.empty() && count * getInfo(*type).bits != 256)
    return fail(operand, "to have 256 bits with '." + priority + "', but got " +
                             llvm::Twine(count * getInfo(*type).bits));
  return matchVector(operand, spec, count);
}

/// Accumulators of f16 lie in pairs.
bool Matcher::matchAccumulators(const Operand &operand,
                                const OperandSpec &spec) {
  OperandSpec pairs = spec;
  if (getType(spec) == Type::F16) {
    pairs.typeIndex = std::nullopt;
    pairs.type = Type::F16x2;
  }
  return matchVector(operand, pairs, getAccumulatorCount());
}

bool Matcher::matchLabel(const Operand &operand, const OperandSpec &spec) {
  SymbolKind wanted =
      spec.kind == 'l' ? SymbolKind::Label : SymbolKind::TargetList;
  return operand.kind == OperandKind::Symbol && operand.symbol.kind == wanted
             ? false
             : failKind(operand, spec);
}

bool Matcher::matchOperand(const Operand &operand, const OperandSpec &spec) {
  switch (spec.kind) {
  case 'a':
  case 't':
    return matchAddress(operand, spec);
  case 'v':
    return matchVector(operand, spec, spec.count);
  case 'x':
    return matchAccess(operand, spec);
  case 'm':
    return matchVector(operand, spec, getMatrixCount());
  case 'z':
    return matchVector(operand, spec, getTensorCount());
  case 'g':
    return matchAccumulators(operand, spec);
  case 'k':
    return matchSplit(operand, spec);
  case 'l':
  case 'n':
    return matchLabel(operand, spec);
  default:
    return matchPair(operand, spec);
  }
}

OperandMismatch Matcher::run() {
  llvm::SmallVector<const OperandSpec *, 8> specs;
  unsigned needed = 0;
  for (const OperandSpec &spec : form.operands) {
    if ((spec.kind == 'h' && !instruction.has("L2::cache_hint")) ||
        (spec.kind == 'M' && !instruction.has("multicast::cluster")))
      continue;
    specs.push_back(&spec);
    needed += !spec.isOptional;
  }
  size_t found = instruction.operands.size();
  // What a call takes follows from the function that it names.
  if (specs.size() == 1 && specs.front()->kind == 'c')
    return mismatch;
  if (found < needed || found > specs.size()) {
    mismatch.location = instruction.location;
    std::string wanted = llvm::utostr(needed);
    if (specs.size() != needed)
      wanted += " to " + llvm::utostr(specs.size());
    llvm::SmallVector<std::string, 8> kinds;
    for (const OperandSpec *spec : specs)
      kinds.push_back(getKindName(*spec).str());
    mismatch.message =
        "expected " + wanted +
        (specs.size() == 1 ? " operand of '" : " operands of '") +
        instruction.getSpelling() + "'" +
        (kinds.empty() ? "" : " (" + llvm::join(kinds, ", ") + ")") +
        ", but got " + llvm::utostr(found);
    return mismatch;
  }
  size_t extra = found - needed;
  for (const OperandSpec *spec : specs) {
    if (spec->isOptional && extra == 0)
      continue;
    extra -= spec->isOptional;
    const Operand &operand = instruction.operands[number++];
    if (matchOperand(operand, *spec))
      return mismatch;
    mismatch.fitness += 2;
  }
  return mismatch;
}

OperandMismatch matchOperands(const Instruction &instruction,
                              const InstructionForm &form) {
  return Matcher(instruction, form).run();
}

} // namespace blockscale::emulator

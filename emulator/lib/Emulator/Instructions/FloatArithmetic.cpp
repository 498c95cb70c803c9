//===- FloatArithmetic.cpp - Floating-point arithmetic --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/FloatMinMax.h"
#include "Emulator/Arithmetic/FloatOps.h"

namespace blockscale::emulator {

using Bits = uint64_t;

static FloatModifiers getFloatModifiers(const Instruction &instruction) {
  FloatModifiers modifiers;
  modifiers.ftz = instruction.has("ftz");
  modifiers.sat = instruction.has("sat");
  modifiers.relu = instruction.has("relu");
  modifiers.rounding = instruction.has("rz")   ? Rounding::Zero
                       : instruction.has("rm") ? Rounding::Down
                       : instruction.has("rp") ? Rounding::Up
                                               : Rounding::NearestEven;
  return modifiers;
}

static bool isPlain(const FloatModifiers &modifiers) {
  return modifiers.rounding == Rounding::NearestEven && !modifiers.ftz &&
         !modifiers.sat && !modifiers.relu;
}

static MinMaxModifiers getMinMaxModifiers(const Instruction &instruction) {
  MinMaxModifiers modifiers;
  modifiers.ftz = instruction.has("ftz");
  modifiers.propagateNaN = instruction.has("NaN");
  modifiers.abs = instruction.has("abs");
  modifiers.xorSign = instruction.has("xorsign");
  return modifiers;
}

//===----------------------------------------------------------------------===//
// Scalars and pairs
//===----------------------------------------------------------------------===//

/// One value of format F in a register.
template <typename F>
struct Scalar {
  using Format = F;
  template <typename Operation>
  static auto lift(Operation operation) {
    return operation;
  }
};

/// Two of them.
template <typename F>
struct Pair {
  using Format = F;
  template <typename Operation>
  static auto lift(Operation operation) {
    return [operation](auto... sources) -> decltype(operation(sources...)) {
      return mapPair<F>(operation, sources...);
    };
  }
};

template <typename Shape>
static llvm::Error decodeMinMax(Op &op, bool isMin) {
  using F = typename Shape::Format;
  MinMaxModifiers m = getMinMaxModifiers(*op.instruction);
  if (op.sources.size() == 3)
    return isMin ? setLanes(op, [=](Bits a, Bits b,
                                    Bits c) { return minFloat(a, b, c, m); })
                 : setLanes(op, [=](Bits a, Bits b, Bits c) {
                     return maxFloat(a, b, c, m);
                   });
  if (!m.ftz && !m.propagateNaN && !m.abs)
    return isMin ? setLanes(op, Shape::lift([](Bits a, Bits b) {
                              return minFloat<F>(a, b, MinMaxModifiers());
                            }))
                 : setLanes(op, Shape::lift([](Bits a, Bits b) {
                              return maxFloat<F>(a, b, MinMaxModifiers());
                            }));
  return isMin ? setLanes(op, Shape::lift([=](Bits a, Bits b) {
                            return minFloat<F>(a, b, m);
                          }))
               : setLanes(op, Shape::lift([=](Bits a, Bits b) {
                            return maxFloat<F>(a, b, m);
                          }));
}

template <typename Shape>
static llvm::Error decodeUnary(Op &op, llvm::StringRef opcode) {
  using F = typename Shape::Format;
  FloatModifiers m = getFloatModifiers(*op.instruction);
  if (opcode == "abs")
    return setLanes(
        op, Shape::lift([ftz = m.ftz](Bits a) { return absFloat<F>(a, ftz); }));
  if (opcode == "neg")
    return setLanes(
        op, Shape::lift([ftz = m.ftz](Bits a) { return negFloat<F>(a, ftz); }));
  if constexpr (std::is_same_v<Shape, Scalar<F>>) {
    if (opcode == "rcp")
      return setLanes(op, [=](Bits a) { return rcpFloat<F>(a, m); });
    if (opcode == "sqrt")
      return setLanes(op, [=](Bits a) { return sqrtFloat<F>(a, m); });
  }
  return makeNotModelled(op);
}

/// With no modifiers but `.rn`: each a loop without branches where the host has
/// the operation.
template <typename Shape>
static std::optional<llvm::Error> decodePlain(Op &op, llvm::StringRef opcode) {
  using F = typename Shape::Format;
  if (opcode == "add")
    return setLanes(op, Shape::lift([](Bits a, Bits b) {
                      return addFloat<F>(a, b, FloatModifiers());
                    }));
  if (opcode == "sub")
    return setLanes(op, Shape::lift([](Bits a, Bits b) {
                      return subFloat<F>(a, b, FloatModifiers());
                    }));
  if (opcode == "mul")
    return setLanes(op, Shape::lift([](Bits a, Bits b) {
                      return mulFloat<F>(a, b, FloatModifiers());
                    }));
  if (opcode == "fma" || opcode == "mad")
    return setLanes(op, Shape::lift([](Bits a, Bits b, Bits c) {
                      return fmaFloat<F>(a, b, c, FloatModifiers());
                    }));
  return std::nullopt;
}

template <typename Shape>
static llvm::Error decodeArithmetic(Op &op) {
  using F = typename Shape::Format;
  const Instruction &instruction = *op.instruction;
  llvm::StringRef opcode = instruction.form->words.front();
  if (opcode == "min" || opcode == "max")
    return decodeMinMax<Shape>(op, opcode == "min");
  FloatModifiers m = getFloatModifiers(instruction);
  if (isPlain(m))
    if (std::optional<llvm::Error> error = decodePlain<Shape>(op, opcode))
      return std::move(*error);
  if (opcode == "add")
    return setLanes(
        op, Shape::lift([=](Bits a, Bits b) { return addFloat<F>(a, b, m); }));
  if (opcode == "sub")
    return setLanes(
        op, Shape::lift([=](Bits a, Bits b) { return subFloat<F>(a, b, m); }));
  if (opcode == "mul")
    return setLanes(
        op, Shape::lift([=](Bits a, Bits b) { return mulFloat<F>(a, b, m); }));
  if (opcode == "fma" || opcode == "mad")
    return setLanes(op, Shape::lift([=](Bits a, Bits b, Bits c) {
                      return fmaFloat<F>(a, b, c, m);
                    }));
  if constexpr (std::is_same_v<Shape, Scalar<F>>) {
    if (opcode == "div")
      return setLanes(op, [=](Bits a, Bits b) { return divFloat<F>(a, b, m); });
    if (opcode == "copysign")
      return setLanes(op, [](Bits a, Bits b) { return copySign<F>(a, b); });
  }
  return decodeUnary<Shape>(op, opcode);
}

//===----------------------------------------------------------------------===//
// Mixed precision: `add.f32.f16 d, a, c`, `fma.f32.f16 d, a, b, c`
//===----------------------------------------------------------------------===//

template <typename F>
static Bits widen(Bits value) {
  return F32::encode(F::decode(value));
}

template <typename F>
static llvm::Error decodeMixed(Op &op) {
  llvm::StringRef opcode = op.instruction->form->words.front();
  FloatModifiers m = getFloatModifiers(*op.instruction);
  if (opcode == "add")
    return setLanes(
        op, [=](Bits a, Bits c) { return addFloat<F32>(widen<F>(a), c, m); });
  if (opcode == "sub")
    return setLanes(
        op, [=](Bits a, Bits c) { return subFloat<F32>(widen<F>(a), c, m); });
  return setLanes(op, [=](Bits a, Bits b, Bits c) {
    return fmaFloat<F32>(widen<F>(a), widen<F>(b), c, m);
  });
}

llvm::Error decodeFloat(Op &op) {
  const Instruction &instruction = *op.instruction;
  // What marks an element as out of bounds is not public.
  if (instruction.has("oob"))
    return makeNotModelled(op);
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  if (types.size() == 2)
    return types.back() == Type::F16 ? decodeMixed<F16>(op)
                                     : decodeMixed<BF16>(op);
  switch (types.back()) {
  case Type::F16:
    return decodeArithmetic<Scalar<F16>>(op);
  case Type::BF16:
    return decodeArithmetic<Scalar<BF16>>(op);
  case Type::F32:
    return decodeArithmetic<Scalar<F32>>(op);
  case Type::F64:
    return decodeArithmetic<Scalar<F64>>(op);
  case Type::F16x2:
    return decodeArithmetic<Pair<F16>>(op);
  case Type::BF16x2:
    return decodeArithmetic<Pair<BF16>>(op);
  case Type::F32x2:
    return decodeArithmetic<Pair<F32>>(op);
  default:
    return makeNotModelled(op);
  }
}

} // namespace blockscale::emulator

//===- KernelOperands.cpp - Operands and registers of random kernels ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace blockscale::emulator;

namespace blockscale {

/// Digits behind the first character of a modifier such as x16.
static unsigned getNumber(StringRef modifier) {
  unsigned number = 1;
  modifier.drop_front().getAsInteger(10, number);
  return number;
}

std::string KernelWriter::define(StringRef name) {
  auto [it, isNew] = initial.try_emplace(name.str());
  if (isNew)
    it->second = initialValue(name);
  return name.str();
}

std::string KernelWriter::getRegister(Type type) {
  unsigned bits = type == Type::Pred ? 1 : getInfo(type).bits;
  switch (bits) {
  case 1:
    return define("%p" + utostr(bytes.choose(8)));
  case 8:
    return define("%b" + utostr(bytes.choose(8)));
  case 16:
    return define("%h" + utostr(bytes.choose(16)));
  case 32:
    return define("%r" + utostr(bytes.choose(32)));
  case 64:
    return define("%d" + utostr(bytes.choose(32)));
  default:
    return "%q" + utostr(bytes.choose(4));
  }
}

std::string KernelWriter::writeImmediate(Type type) {
  if (getInfo(type).kind == TypeKind::Float)
    return getInfo(type).bits == 64
               ? bytes.pick<const char *>({"0d3FF0000000000000",
                                           "0d7FF8000000000000", "-0.0",
                                           "0d0000000000000001"})
               : bytes.pick<const char *>({"0f3F800000", "0f7FC00000", "1.5",
                                           "0f00000001", "0fFF800000"});
  return bytes.pick<const char *>({"0", "1", "2", "4", "8", "16", "31", "32",
                                   "64", "128", "-1", "0x80000000",
                                   "0x7FFFFFFFFFFFFFFF", "1024"});
}

std::string KernelWriter::writeAddress() {
  const char *base = bytes.pick<const char *>(
      {"mbar", "smem", "slot", "gmem", "lmem", "cmem", "pointer", "map", "gmap",
       "%d0", "%d1", "%d2", "%d3", "%d4", "%r0", "%r1", "%r2", "%r3", "0x10"});
  if (*base == '%')
    define(base);
  return std::string("[") + base +
         bytes.pick<const char *>({"", "", "", "+16", "+8", "+1024", "+128",
                                   "+4", "+1", "-8", "+65536"}) +
         "]";
}

std::string KernelWriter::writeList(const OperandSpec &spec, Type type,
                                    unsigned count) {
  if (count == 1 && spec.kind != 'v')
    return spec.kind == 'x' && bytes.rarely(16) ? "_" : getRegister(type);
  // Consecutive ones, as most instructions need that many different ones.
  unsigned bits = getInfo(type).bits;
  const char *file = bits <= 8    ? "%b"
                     : bits <= 16 ? "%h"
                     : bits <= 32 ? "%r"
                     : bits <= 64 ? "%d"
                                  : "%q";
  unsigned total = bits <= 8    ? 8
                   : bits <= 16 ? 16
                   : bits <= 32 ? 256
                   : bits <= 64 ? 32
                                : 4;
  unsigned first = count < total ? bytes.choose(total - count + 1) : 0;
  std::string list;
  for (unsigned i = 0; i < count; ++i) {
    std::string name = file + utostr((first + i) % total);
    // Undefined values are faults, which only a few lists should be.
    if (count <= 8)
      define(name);
    list += (i ? ", " : "{") + name;
  }
  return list + "}";
}

/// Elements of what the notation of InstructionSet.h calls k, m, x, z and g.
unsigned KernelWriter::getVectorCount(const OperandSpec &spec) const {
  auto find = [&](StringRef prefix) {
    for (StringRef modifier : modifiers)
      if (modifier.starts_with(prefix) &&
          all_of(modifier.drop_front(prefix.size()).take_while(isDigit),
                 isDigit))
        return modifier;
    return StringRef();
  };
  switch (spec.kind) {
  case 'x': {
    for (StringRef vector : {"v2", "v4", "v8"})
      if (has(vector))
        return getNumber(vector);
    return 1;
  }
  case 'm':
  case 'z': {
    unsigned count = 1;
    for (StringRef number :
         {"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"})
      if (has(number))
        count = getNumber(number);
    if (has("m16n16") || has("16x128b"))
      return 2 * count;
    return has("16x256b") ? 4 * count : count;
  }
  case 'g': {
    unsigned n = 8;
    find("m64n").drop_front(4).take_while(isDigit).getAsInteger(10, n);
    return !types.empty() && types.front() == Type::F16 ? n / 4 : n / 2;
  }
  default:
    if (spec.count == 0 && has("im2col"))
      return has("3d") ? 1 : has("4d") ? 2 : 3;
    return spec.count ? spec.count : 3;
  }
}

/// What an instruction takes as a constant alone is mostly one of a few
/// numbers.
std::string KernelWriter::writeConstant() {
  if (name.starts_with("wgmma.mma") && !bytes.rarely(16))
    return bytes.pick<const char *>({"1", "-1"});
  if (name == "cp.async" && !bytes.rarely(16))
    return bytes.pick<const char *>({"16", "8", "4"});
  if ((has("sp") || has("sp::ordered_metadata")) && !bytes.rarely(16))
    return "0";
  return bytes.pick<const char *>(
      {"0", "1", "2", "-1", "4", "8", "16", "32", "64", "128"});
}

std::string KernelWriter::writeValue(const OperandSpec &spec) {
  Type type = getOperandType(spec, types).value_or(Type::B32);
  bool isResult = spec.kind == 'd' || spec.kind == 'r';
  if (spec.kind == 'i')
    return writeConstant();
  if (!isResult && spec.kind != 'b' && getInfo(type).kind != TypeKind::Packed &&
      getInfo(type).bits >= (getInfo(type).kind == TypeKind::Float ? 32 : 8) &&
      bytes.rarely(6))
    return writeImmediate(type);
  if (spec.kind == 'S' && getInfo(type).kind != TypeKind::Float &&
      bytes.rarely(3))
    return bytes.pick<const char *>(
        {"%tid.x", "%laneid", "%clock64", "%ctaid.y", "%nwarpid"});
  if (spec.kind == 'S' && getInfo(type).bits == 64 && bytes.flag())
    return bytes.pick<const char *>({"smem", "gmem", "lmem", "mbar", "callee"});
  if (spec.kind == 'd' && bytes.rarely(16))
    return "_";
  return (spec.kind == 'b' && bytes.flag() ? "!" : "") + getRegister(type);
}

std::string KernelWriter::writeOperand(const OperandSpec &spec) {
  switch (spec.kind) {
  case 'a':
    return writeAddress();
  case 't': {
    unsigned dims = 5;
    for (StringRef dim : {"1d", "2d", "3d", "4d"})
      if (has(dim) && !has("tile::gather4") && !has("tile::scatter4"))
        dims = dim[0] - '0';
    std::string map = bytes.pick<const char *>({"map", "gmap", "%d2", "%d4"});
    if (map[0] == '%')
      define(map);
    OperandSpec coordinate;
    coordinate.kind = 'v';
    return "[" + map + ", " + writeList(coordinate, Type::S32, dims) + "]";
  }
  case 'v':
  case 'x':
  case 'm':
  case 'z':
    return writeList(spec, getOperandType(spec, types).value_or(Type::B32),
                     getVectorCount(spec));
  case 'g': {
    Type type = getOperandType(spec, types).value_or(Type::F32);
    return writeList(spec, type == Type::F16 ? Type::F16x2 : type,
                     getVectorCount(spec));
  }
  case 'k': {
    unsigned bits =
        getInfo(getOperandType(spec, types).value_or(Type::B32)).bits;
    Type part = bits == 128  ? Type::B64
                : bits == 64 ? Type::B32
                : bits == 32 ? Type::B16
                             : Type::B8;
    OperandSpec element;
    element.kind = 'v';
    return writeList(element, part, 2);
  }
  case 'l':
    return "L" + utostr(bytes.choose(kLabels));
  case 'n':
    return "targets";
  case 'c':
    return "(outcome), callee, (argument)";
  case 'o':
    return "_";
  default:
    break;
  }
  std::string text = writeValue(spec);
  if (spec.pair == OperandSpec::MustPair ||
      (spec.pair == OperandSpec::MayPair && bytes.flag()))
    text += "|" + getRegister(spec.pairType.value_or(Type::Pred));
  return text;
}

/// %d0 is global, %d1 generic shared, %d2 the generic address of the tensor
/// map, %d3 of an mbarrier; %r0 to %r3 are addresses of shared memory and of
/// tensor memory. Others are descriptors, small and odd numbers.
std::string KernelWriter::initialValue(StringRef name) {
  StringRef number = name.drop_front(2);
  switch (name[1]) {
  case 'p':
    return ("  setp." +
            Twine(bytes.pick<const char *>({"eq.u32 ", "lt.u32 ", "ge.u32 "})) +
            name + ", %t, " + bytes.pick<const char *>({"0", "16", "32"}) +
            ";\n")
        .str();
  case 'b':
    return ("  cvt.u8.u32 " + name + ", %t;\n").str();
  case 'h':
    return ("  mov.b16 " + name + ", " +
            bytes.pick<const char *>(
                {"1", "0x3C00", "0x7FFF", "0x3F80", "0", "0xFFFF", "3"}) +
            ";\n")
        .str();
  case 'r': {
    if (number == "0")
      return "  ld.shared.b32 %r0, [slot];\n";
    if (number == "1" || number == "2" || number == "3")
      return ("  mov.u32 " + name + ", " +
              (number == "1"   ? "mbar"
               : number == "2" ? "smem"
                               : "%tid.x") +
              ";\n")
          .str();
    return ("  mov.b32 " + name + ", " +
            bytes.pick<const char *>(
                {"0", "1", "32", "0xFFFFFFFF", "16", "%tid.x", "%laneid",
                 "0x3F800000", "0x7F800001", "0x80000000", "64", "128", "1024",
                 // Instruction descriptors: 128x64 of f16 and of mxf8f6f4.
                 "0x08100490", "0x08100010", "0x8900010", "-8", "5"}) +
            ";\n")
        .str();
  }
  default:
    break;
  }
  if (number == "0")
    return "  ld.param.u64 %d0, [pointer];\n";
  if (number == "1")
    return "  cvta.shared.u64 %d1, smem;\n";
  if (number == "2")
    return "  cvta.param.u64 %d2, map;\n";
  if (number == "3")
    return "  cvta.shared.u64 %d3, mbar;\n";
  if (number == "4")
    return "  cvta.global.u64 %d4, gmap;\n";
  return ("  mov.b64 " + name + ", " +
          bytes.pick<const char *>(
              {"0", "1", "0xFFFFFFFFFFFFFFFF", "16", "256", "128",
               // Descriptors of shared memory: no swizzle, and 128 bytes.
               "0x0000400800080000", "0x4000404000010000", "0x0000000800080000",
               "0x4000004000010000", "0x7FF0000000000001", "0x8000000000000000",
               "0x3FF0000000000000", "65536"}) +
          ";\n")
      .str();
}

} // namespace blockscale

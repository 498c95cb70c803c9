//===- InstructionDescriptor.cpp - Descriptor of tcgen05.mma --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/InstructionDescriptor.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

llvm::StringRef getName(MmaKind kind) {
  static constexpr llvm::StringLiteral kNames[] = {
      "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return kNames[static_cast<unsigned>(kind)];
}

namespace {
/// One descriptor being read.
struct DescriptorReader {
  uint32_t bits;
  const MmaVariant &variant;
  Faults &faults;

  unsigned get(unsigned first, unsigned last) const {
    return bits >> first & ((2u << (last - first)) - 1);
  }

  void report(std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::Descriptor, std::move(what), advice.str()});
  }

  /// A field that must have one value.
  void expect(unsigned first, unsigned last, unsigned value,
              llvm::StringRef field) {
    if (get(first, last) != value)
      report(llvm::formatv("expected bits {0}-{1} ({2}) of the instruction "
                           "descriptor {3:x} of kind::{4} to be {5}, but got "
                           "{6}",
                           first, last, field, bits, getName(variant.kind),
                           value, get(first, last)),
             "see the table of the kind in PTX ISA, Instruction Descriptor");
  }

  void expectReserved(unsigned first, unsigned last) {
    expect(first, last, 0, "reserved");
  }

  std::optional<MmaFormat> getFormat(unsigned first, unsigned last,
                                     llvm::StringRef operand);
  std::optional<MmaAccumulator> getAccumulator();
  void checkReserved();
  bool isLongK() const { return variant.kind >= MmaKind::MXF4 && get(31, 31); }
  bool checkScaleId(unsigned first, llvm::StringRef operand);
  void checkTranspose(const InstructionDescriptor &descriptor);
  bool checkShape(const InstructionDescriptor &descriptor);
};
} // namespace

static std::optional<MmaFormat> findFormat(MmaKind kind, unsigned code) {
  switch (kind) {
  case MmaKind::F16:
    if (code <= 1)
      return code == 0 ? MmaFormat::F16 : MmaFormat::BF16;
    return std::nullopt;
  case MmaKind::TF32:
    if (code == 2)
      return MmaFormat::TF32;
    return std::nullopt;
  case MmaKind::I8:
    if (code <= 1)
      return code == 0 ? MmaFormat::U8 : MmaFormat::S8;
    return std::nullopt;
  case MmaKind::F8F6F4:
  case MmaKind::MXF8F6F4:
    switch (code) {
    case 0:
      return MmaFormat::E4M3;
    case 1:
      return MmaFormat::E5M2;
    case 3:
      return MmaFormat::E2M3;
    case 4:
      return MmaFormat::E3M2;
    case 5:
      return MmaFormat::E2M1;
    default:
      return std::nullopt;
    }
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    if (code == 1)
      return MmaFormat::E2M1;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<MmaFormat> DescriptorReader::getFormat(unsigned first,
                                                     unsigned last,
                                                     llvm::StringRef operand) {
  std::optional<MmaFormat> format = findFormat(variant.kind, get(first, last));
  if (!format)
    report(llvm::formatv("expected a type of kind::{0} in bits {1}-{2} ({3}) "
                         "of the instruction descriptor {4:x}, but got {5}",
                         getName(variant.kind), first, last, operand, bits,
                         get(first, last)),
           "E2M1 is 5 in kind::f8f6f4 and mxf8f6f4, and 1 in mxf4 and "
           "mxf4nvf4");
  return format;
}

std::optional<MmaAccumulator> DescriptorReader::getAccumulator() {
  if (isBlockScaled(variant.kind))
    return MmaAccumulator::F32;
  unsigned code = get(4, 5);
  if (variant.kind == MmaKind::I8
          ? code == 2
          : code == 1 || (code == 0 && variant.kind == MmaKind::F16))
    return static_cast<MmaAccumulator>(code);
  report(llvm::formatv("expected a type of D of kind::{0} in bits 4-5 of the "
                       "instruction descriptor {1:x}, but got {2}",
                       getName(variant.kind), bits, code),
         "D is f32 (1), s32 (2) in kind::i8, or f16 (0) in kind::f16");
  return std::nullopt;
}

bool DescriptorReader::checkScaleId(unsigned first, llvm::StringRef operand) {
  // With K = 96 and blocks of 32 there are three: each byte may be the first.
  if (variant.kind < MmaKind::MXF4 || isLongK() ||
      get(first, first + 1) % 2 == 0)
    return true;
  report(llvm::formatv("expected the scale factor id of {0} of kind::{1} to be "
                       "0 or 2, but got {2} in the instruction descriptor "
                       "{3:x}",
                       operand, getName(variant.kind), get(first, first + 1),
                       bits),
         "each MMA uses two or four bytes of a column");
  return false;
}

void DescriptorReader::checkReserved() {
  expectReserved(6, 6);
  if (!isBlockScaled(variant.kind)) {
    if (!get(2, 2))
      expect(0, 1, 0, "sparsity selector of a dense product");
    else if (!hasSparsitySelector(variant.kind))
      expect(0, 1, 0, "sparsity selector, for kind::f16 and kind::tf32");
    if (variant.kind != MmaKind::I8)
      expect(3, 3, 0, "saturation, for kind::i8 alone");
    else
      expect(13, 14, 0, "negation, not for kind::i8");
    expectReserved(23, 23);
    expectReserved(29, 29);
    if (!variant.isWeightStationary)
      expect(30, 31, 0, "maximum shift, for .ws alone");
    return;
  }
  expectReserved(0, 1);
  expectReserved(3, 3);
  expectReserved(24, 26);
  if (variant.kind != MmaKind::MXF4NVF4)
    expect(23, 23, 1, "scale type, UE8M0");
  if (variant.kind == MmaKind::MXF8F6F4) {
    expectReserved(31, 31);
    return;
  }
  expectReserved(12, 12);
  expect(15, 16, 0, "transposition, not for packed types");
}

/// Operands of less than 8 bits have no MN-major form.
void DescriptorReader::checkTranspose(const InstructionDescriptor &descriptor) {
  auto isNarrow = [](MmaFormat format) {
    return format >= MmaFormat::E2M3 && format <= MmaFormat::E2M1;
  };
  // The packed kinds have no such bits at all.
  if (variant.kind >= MmaKind::MXF4)
    return;
  if ((descriptor.transposeA && isNarrow(descriptor.a)) ||
      (descriptor.transposeB && isNarrow(descriptor.b)))
    report(llvm::formatv("expected operands of 4 and 6 bits not to be "
                         "transposed in the instruction descriptor {0:x}",
                         bits),
           "store the operand K-major");
}

/// Whether N is a multiple of `step` from `step` to 256.
static bool isInSteps(unsigned n, unsigned step) {
  return n >= step && n <= 256 && n % step == 0;
}

static bool isShape(const InstructionDescriptor &descriptor,
                    const MmaVariant &variant) {
  unsigned m = descriptor.m, n = descriptor.n;
  bool isInteger = variant.kind == MmaKind::I8;
  if (variant.isWeightStationary)
    return !isBlockScaled(variant.kind) && variant.ctaGroup == 1 &&
           (m == 32 || m == 64 || m == 128) &&
           (n == 64 || n == 128 || (n == 256 && !descriptor.isSparse));
  if (variant.ctaGroup == 2) {
    bool isRows =
        m == 256 ||
        (m == 128 && !(isBlockScaled(variant.kind) && descriptor.isSparse));
    return isRows && isInSteps(n, isInteger ? 32 : 16);
  }
  bool isRows = m == 128 || (m == 64 && !isBlockScaled(variant.kind));
  return isRows && isInSteps(n, isInteger && n > 32 ? 16 : 8);
}

bool DescriptorReader::checkShape(const InstructionDescriptor &descriptor) {
  if (isLongK() && (!variant.mayHaveLongK || descriptor.isSparse)) {
    report(llvm::formatv("expected K to be 64, but bit 31 of the instruction "
                         "descriptor {0:x} makes it 96",
                         bits),
           "clear the bit; sm_103a alone has K = 96, of dense products");
    return false;
  }
  if (isShape(descriptor, variant))
    return true;
  report(llvm::formatv("expected a shape of kind::{0}{1} with cta_group::{2}, "
                       "but got M = {3}, N = {4} in the instruction "
                       "descriptor {5:x}",
                       getName(variant.kind),
                       variant.isWeightStationary ? " .ws" : "",
                       variant.ctaGroup, descriptor.m, descriptor.n, bits),
         "see the table of shapes in PTX ISA, Matrix Shape");
  return false;
}

static unsigned getK(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
    return 16;
  case MmaKind::TF32:
    return 8;
  case MmaKind::F8F6F4:
  case MmaKind::I8:
  case MmaKind::MXF8F6F4:
    return 32;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return 64;
  }
  return 0;
}

std::optional<InstructionDescriptor>
decodeInstructionDescriptor(uint32_t bits, const MmaVariant &variant,
                            Faults &faults) {
  DescriptorReader in{bits, variant, faults};
  bool isPacked = variant.kind >= MmaKind::MXF4;
  in.checkReserved();
  std::optional<MmaFormat> a = in.getFormat(7, 9, "A");
  std::optional<MmaFormat> b = in.getFormat(10, isPacked ? 11 : 12, "B");
  std::optional<MmaAccumulator> accumulator = in.getAccumulator();
  if (!a || !b || !accumulator || !in.checkScaleId(29, "A") ||
      !in.checkScaleId(4, "B"))
    return std::nullopt;
  if (*accumulator == MmaAccumulator::F16 &&
      (*a != MmaFormat::F16 || *b != MmaFormat::F16)) {
    in.report(llvm::formatv("expected A and B to be f16 where D is, in the "
                            "instruction descriptor {0:x}",
                            bits),
              "accumulate bf16 in f32");
    return std::nullopt;
  }

  InstructionDescriptor result;
  result.kind = variant.kind;
  result.m = in.get(24, 28) << 4;
  result.n = in.get(17, 22) << 3;
  result.isSparse = in.get(2, 2);
  result.sparsitySelector =
      hasSparsitySelector(variant.kind) ? in.get(0, 1) : 0;
  result.k =
      in.isLongK() ? kLongK : getK(variant.kind) * (result.isSparse ? 2 : 1);
  result.a = *a;
  result.b = *b;
  result.accumulator = *accumulator;
  result.saturate = variant.kind == MmaKind::I8 && in.get(3, 3);
  result.negateA = in.get(13, 13);
  result.negateB = in.get(14, 14);
  result.transposeA = in.get(15, 15);
  result.transposeB = in.get(16, 16);
  bool hasScales = isBlockScaled(variant.kind);
  result.scaleFormat = in.get(23, 23) ? ScaleFormat::UE8M0 : ScaleFormat::UE4M3;
  result.scaleIdA = hasScales ? in.get(29, 30) : 0;
  result.scaleIdB = hasScales ? in.get(4, 5) : 0;
  // Reserved bits of M were told above, and count for nothing.
  if (hasScales)
    result.m = in.get(27, 28) << 7;
  in.checkTranspose(result);
  if (!in.checkShape(result))
    return std::nullopt;
  return result;
}

unsigned countBlocks(const InstructionDescriptor &descriptor,
                     unsigned blockSize) {
  return descriptor.getStoredK() / blockSize;
}

bool checkBlockSize(const InstructionDescriptor &descriptor, unsigned blockSize,
                    Faults &faults) {
  auto refuse = [&](std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::Descriptor, std::move(what), advice.str()});
    return false;
  };
  bool hasBlock16 = descriptor.kind == MmaKind::MXF4NVF4;
  if (blockSize != 32 && !(hasBlock16 && blockSize == 16))
    return refuse(llvm::formatv("expected blocks of {0} values in kind::{1}, "
                                "but got {2}",
                                hasBlock16 ? "16 or 32" : "32",
                                getName(descriptor.kind), blockSize),
                  "use .block32, or kind::mxf4nvf4");
  if (blockSize == 32 && descriptor.scaleFormat == ScaleFormat::UE4M3)
    return refuse("expected scales of blocks of 32 values to be UE8M0, but the "
                  "instruction descriptor says UE4M3",
                  "set bit 23, or use .block16");
  // With K = 96 there are six scales, a word and a half.
  bool isLongK = descriptor.k == kLongK;
  unsigned wrong = isLongK ? 1 : 3;
  if (blockSize == 16 &&
      ((descriptor.scaleIdA | descriptor.scaleIdB) & wrong) != 0)
    return refuse(
        llvm::formatv("expected the scale factor ids of .block16 to "
                      "be {0}, but got {1} for A and {2} for B",
                      isLongK ? "0 or 2" : "0", descriptor.scaleIdA,
                      descriptor.scaleIdB),
        isLongK ? "an MMA uses six bytes of two columns"
                : "an MMA uses all four bytes of a column; move on by columns");
  return true;
}

} // namespace blockscale::emulator

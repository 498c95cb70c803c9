//===- DamagedFunctionTest.cpp - Saved functions that are damaged ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes of saved functions whose hash is right, but which nobody would have
// saved. Whatever they are, they are refused, or made a function that nobody
// calls here: no instruction of theirs is executed.
//
//===----------------------------------------------------------------------===//

#include "SavedFixture.h"
#include "blockscale/Emit/ObjectVerifier.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/SHA256.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace mlir;
using namespace blockscale;
using namespace llvm::ELF;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;

namespace {

using ElfFile = llvm::object::ELF64LEFile;

constexpr const char *kSavedProgram = R"(
func.func @decode(%d: tensor<?x64xf4E2M1FN>, %s: tensor<?x4xf8E4M3FN>, %g: f32)
    -> (tensor<?x64xf32>, tensor<f32>) {
  %x = blockscale.dequantize %d, %s block [1, 16] global_scale(%g : f32)
      : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xf32>
  %a = blockscale.amax %x : tensor<?x64xf32> -> tensor<f32>
  return %x, %a : tensor<?x64xf32>, tensor<f32>
})";

/// Compiled once for all tests.
const SavedFunction &getSaved(Place place) {
  static std::map<Place, SavedFunction> made;
  auto [found, isNew] = made.try_emplace(place);
  if (!isNew)
    return found->second;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  ExecutableOptions options;
  options.place = place;
  found->second = saveFunction(context, kSavedProgram, options);
  return found->second;
}

/// The bytes with the hash that belongs to them.
std::string sign(std::string bytes) {
  if (bytes.size() < kSavedFunctionHeaderBytes)
    return bytes;
  llvm::SHA256 hash;
  hash.update(StringRef(bytes).take_front(24));
  hash.update(StringRef(bytes).drop_front(kSavedFunctionHeaderBytes));
  std::array<uint8_t, 32> digest = hash.final();
  std::memcpy(&bytes[24], digest.data(), digest.size());
  return bytes;
}

/// Reads them and makes them callable, as the cache does. False where they are
/// refused, which has a message.
bool load(const std::string &bytes, Place place) {
  Result<SavedFunction> saved = readSavedFunction(bytes);
  if (!saved.ok()) {
    EXPECT_NE(saved.message(), "");
    return false;
  }
  auto loaded = Executable::load(std::move(*saved), place, 0);
  EXPECT_TRUE(loaded.ok() || !loaded.message().empty());
  return loaded.ok();
}

class DamagedFunctionTest : public testing::TestWithParam<Place> {
protected:
  void SetUp() override {
    bytes = *writeSavedFunction(getSaved(GetParam()));
    ASSERT_TRUE(load(sign(bytes), GetParam()));
  }

  std::string bytes;
};

TEST_P(DamagedFunctionTest, EveryTruncationIsRefused) {
  // The whole hash is computed for none of them, so that there may be many.
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(load(bytes.substr(0, size), GetParam())) << size;
  // Those whose header fits what is left.
  for (size_t size = kSavedFunctionHeaderBytes; size < bytes.size();
       size += 1 + size / 16) {
    std::string part = bytes.substr(0, size);
    uint32_t description;
    std::memcpy(&description, &bytes[12], sizeof(description));
    uint64_t rest = size - kSavedFunctionHeaderBytes;
    auto kept = static_cast<uint32_t>(std::min<uint64_t>(description, rest));
    uint64_t code = rest - kept;
    std::memcpy(&part[12], &kept, sizeof(kept));
    std::memcpy(&part[16], &code, sizeof(code));
    EXPECT_FALSE(load(sign(part), GetParam())) << size;
  }
}

TEST_P(DamagedFunctionTest, NoByteEndsTheProcess) {
  std::mt19937 random(47);
  size_t step = bytes.size() / 1000 + 1;
  for (size_t i = 0; i < bytes.size(); i += step) {
    size_t at = i + random() % std::min(step, bytes.size() - i);
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1 + random() % 255);
    (void)load(sign(damaged), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Places, DamagedFunctionTest,
                         testing::Values(Place::CPU, Place::Emulator));

/// The object of the CPU's function.
class DamagedObjectTest : public testing::Test {
protected:
  void SetUp() override {
    saved = getSaved(Place::CPU);
    ElfFile file = cantFail(ElfFile::create(saved.code));
    header = &at<ElfFile::Elf_Ehdr>(0);
    sections = &at<ElfFile::Elf_Shdr>(header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      if (sections[i].sh_type == SHT_SYMTAB)
        symbolTable = i;
      if (sections[i].sh_type == SHT_RELA && !relocated)
        relocated = i;
    }
    ASSERT_NE(symbolTable, 0u);
    ASSERT_NE(relocated, 0u);
    symbols = &at<ElfFile::Elf_Sym>(sections[symbolTable].sh_offset);
    for (numFunction = 0; symbols[numFunction].getType() != STT_FUNC;)
      ++numFunction;
    relocation = &at<ElfFile::Elf_Rela>(sections[relocated].sh_offset);
  }

  /// What is at a byte of the code, to be changed.
  template <typename T>
  T &at(uint64_t offset) {
    return *reinterpret_cast<T *>(&saved.code[offset]);
  }

  /// Expects it to be refused for that reason.
  void expectRefused(const std::string &message) {
    auto loaded = Executable::load(saved, Place::CPU, 0);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().kind(), ErrorKind::InvalidBundle);
    EXPECT_EQ(loaded.message().find("the code of a saved function: "), 0u);
    EXPECT_NE(loaded.message().find(message), std::string::npos)
        << loaded.message();
  }

  /// The same with a value for the time of it.
  template <typename Field, typename Value>
  void expectRefused(Field &field, Value value, const std::string &message) {
    Field before = field;
    field = value;
    expectRefused(message);
    field = before;
  }

  SavedFunction saved;
  ElfFile::Elf_Ehdr *header = nullptr;
  ElfFile::Elf_Shdr *sections = nullptr;
  ElfFile::Elf_Sym *symbols = nullptr;
  ElfFile::Elf_Rela *relocation = nullptr;
  unsigned symbolTable = 0, relocated = 0, numFunction = 0;
};

TEST_F(DamagedObjectTest, TheObjectAsItIs) {
  EXPECT_FALSE(llvm::errorToBool(verifyObject(saved.code)));
}

TEST_F(DamagedObjectTest, Headers) {
  expectRefused(header->e_ident[EI_CLASS], uint8_t(ELFCLASS32),
                "expected an ELF object of 64 bits, little endian");
  expectRefused(header->e_type, ET_EXEC,
                "expected a relocatable object of machine ");
  expectRefused(header->e_machine, EM_RISCV, "of machine 243");
  saved.code.resize(10);
  expectRefused("invalid buffer");
}

TEST_F(DamagedObjectTest, OddRelocations) {
  uint32_t symbol = relocation->getSymbol(false);
  uint32_t type = relocation->getType(false);
  for (uint32_t odd : {255u, uint32_t(R_X86_64_TLSGD), uint32_t(R_X86_64_32)}) {
    relocation->setSymbolAndType(symbol, odd, false);
    expectRefused("expected relocations of position-independent code, but got "
                  "type " +
                  std::to_string(odd));
  }
  relocation->setSymbolAndType(1u << 20, type, false);
  expectRefused("expected a relocation to refer to one of ");
  relocation->setSymbolAndType(0, type, false);
  expectRefused("symbols, but got 0");
  relocation->setSymbolAndType(symbol, type, false);

  ElfFile::Elf_Sym before = symbols[symbol];
  symbols[symbol].setBindingAndType(STB_LOCAL, STT_FILE);
  symbols[symbol].st_shndx = SHN_ABS;
  expectRefused("expected a relocation to refer to data or code, but symbol");
  symbols[symbol] = before;

  for (uint64_t offset :
       {uint64_t(1) << 40, ~uint64_t(0),
        uint64_t(sections[sections[relocated].sh_info].sh_size) - 1})
    expectRefused(relocation->r_offset, offset,
                  "bytes of its section, but got one of ");
  expectRefused(sections[relocated].sh_info, 10000,
                "by the table of symbols, but got section 10000");
  expectRefused(sections[relocated].sh_link, 1, "by 1");
  unsigned target = sections[relocated].sh_info;
  expectRefused(sections[relocated].sh_info, symbolTable,
                "expected relocations of data or code that is loaded");
  expectRefused(sections[target].sh_type, SHT_NOBITS,
                "expected relocations of data or code that is loaded");
  expectRefused(sections[relocated].sh_entsize, 1, "sh_entsize");
}

TEST_F(DamagedObjectTest, OddSections) {
  unsigned target = sections[relocated].sh_info;
  expectRefused(sections[target].sh_type, SHT_GROUP,
                "to be of a known type, but got 17");
  expectRefused(sections[target].sh_flags, sections[target].sh_flags | SHF_TLS,
                "to be plain data or code, but its flags are ");
  for (uint64_t alignment : {uint64_t(3), uint64_t(1) << 40})
    expectRefused(sections[target].sh_addralign, alignment,
                  "to be aligned to a power of two of at most 65536, but got " +
                      std::to_string(alignment));
  expectRefused(sections[target].sh_offset, ~uint64_t(0), "sh_offset");
  expectRefused(sections[target].sh_name, 1 << 30, "sh_name");
  // A symbol table of code, beside the other one.
  expectRefused(sections[target].sh_type, SHT_SYMTAB,
                "expected one table of symbols, but got two");
  expectRefused(sections[symbolTable].sh_type, SHT_PROGBITS,
                "expected a table of symbols, but got none");
  // Memory that nothing fills.
  ElfFile::Elf_Shdr &empty = sections[0];
  empty.sh_type = SHT_NOBITS;
  empty.sh_flags = SHF_ALLOC;
  empty.sh_size = uint64_t(1) << 40;
  expectRefused("expected sections of at most 2147483648 bytes, but '' of "
                "1099511627776 makes them more");
}

TEST_F(DamagedObjectTest, MoreMemoryThanIsReserved) {
  ElfFile::Elf_Shdr &empty = sections[0];
  empty.sh_type = SHT_NOBITS;
  empty.sh_flags = SHF_ALLOC;
  empty.sh_size = uint64_t(2047) << 20;
  auto loaded = Executable::load(saved, Place::CPU, 0);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.message().find("bytes that are reserved for it, but it may "
                                  "need "),
            std::string::npos)
      << loaded.message();
}

TEST_F(DamagedObjectTest, OddSymbols) {
  ElfFile::Elf_Sym &function = symbols[numFunction];
  ElfFile::Elf_Sym before = function;
  function.setBindingAndType(STB_GLOBAL, STT_GNU_IFUNC);
  expectRefused("to be of a known type and binding, but got 10 and 1");
  function.setBindingAndType(STB_GNU_UNIQUE, STT_FUNC);
  expectRefused("to be of a known type and binding, but got 2 and 10");
  function = before;
  for (unsigned index : {unsigned(SHN_ABS), unsigned(SHN_COMMON), 1000u})
    expectRefused(function.st_shndx, index,
                  "sections, but got " + std::to_string(index));
  expectRefused(function.st_shndx, symbolTable,
                "to be in a section that is loaded, but section ");
  unsigned data = 0;
  while (!(sections[data].sh_flags & SHF_ALLOC) ||
         (sections[data].sh_flags & SHF_EXECINSTR))
    ++data;
  expectRefused(function.st_shndx, data, "to be in a section of code");
  expectRefused(function.st_value, uint64_t(1) << 40,
                "bytes of its section, but it has ");
  expectRefused(function.st_size, ~uint64_t(0),
                "bytes of its section, but it has 18446744073709551615 from");
  expectRefused(function.st_name, 1 << 30, "st_name");
}

TEST_F(DamagedObjectTest, TheEntryIsAFunction) {
  for (unsigned i = 0;
       i < sections[symbolTable].sh_size / sizeof(ElfFile::Elf_Sym); ++i)
    if (symbols[i].getType() == STT_FUNC)
      symbols[i].setBindingAndType(symbols[i].getBinding(), STT_OBJECT);
  auto loaded = Executable::load(saved, Place::CPU, 0);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.message().find(
                "expected 'decode' to be a function, but it is data"),
            std::string::npos)
      << loaded.message();
}

} // namespace

//===- ObjectVerifier.cpp - Objects that can be linked --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/ObjectVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm::ELF;
using llvm::Twine;
using File = llvm::object::ELF64LEFile;
using Section = File::Elf_Shdr;
using Symbol = File::Elf_Sym;
using Relocation = File::Elf_Rela;

namespace blockscale {

#if defined(__x86_64__)
static constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
static constexpr unsigned kMachine = EM_AARCH64;
#else
static constexpr unsigned kMachine = EM_NONE;
#endif

/// The largest alignment of a section: a page of any machine.
static constexpr uint64_t kMaxAlignment = uint64_t(1) << 16;
/// Distances between sections have 31 bits.
static constexpr uint64_t kMaxBytes = uint64_t(1) << 31;

static llvm::Error fail(const Twine &message) {
  return llvm::createStringError(message);
}

/// The bytes that a relocation changes; 0 for those that position-independent
/// code has none of, or that LLVM's linker does not know.
static unsigned getWidth(uint32_t type) {
  if (kMachine == EM_X86_64)
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64:
      return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      return 4;
    default:
      return 0;
    }
  switch (type) {
  case R_AARCH64_ABS64:
  case R_AARCH64_PREL64:
    return 8;
  case R_AARCH64_PREL32:
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26:
  case R_AARCH64_ADR_PREL_PG_HI21:
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
  case R_AARCH64_LDST16_ABS_LO12_NC:
  case R_AARCH64_LDST32_ABS_LO12_NC:
  case R_AARCH64_LDST64_ABS_LO12_NC:
  case R_AARCH64_LDST128_ABS_LO12_NC:
  case R_AARCH64_ADR_GOT_PAGE:
  case R_AARCH64_LD64_GOT_LO12_NC:
    return 4;
  default:
    return 0;
  }
}

namespace {

class Verifier {
public:
  explicit Verifier(const File &file) : file(file) {}

  llvm::Error run();

private:
  llvm::Error checkHeader();
  llvm::Error checkSection(const Section &section);
  llvm::Error checkSymbols();
  llvm::Error checkSymbol(const Symbol &symbol, llvm::StringRef name);
  llvm::Error checkRelocations(const Section &section);
  llvm::Error checkRelocation(const Relocation &relocation,
                              const Section &target);

  const File &file;
  llvm::ArrayRef<Section> sections;
  const Section *symbolTable = nullptr;
  llvm::ArrayRef<Symbol> symbols;
  llvm::StringRef names;
  /// Of the sections that are loaded.
  uint64_t bytes = 0;
};

} // namespace

llvm::Error Verifier::checkHeader() {
  const File::Elf_Ehdr &header = file.getHeader();
  if (!header.checkMagic() || header.getFileClass() != ELFCLASS64 ||
      header.getDataEncoding() != ELFDATA2LSB)
    return fail("expected an ELF object of 64 bits, little endian");
  if (header.e_type != ET_REL || header.e_machine != kMachine)
    return fail("expected a relocatable object of machine " + Twine(kMachine) +
                ", but got type " + Twine(header.e_type) + " of machine " +
                Twine(header.e_machine));
  return llvm::Error::success();
}

llvm::Error Verifier::checkSection(const Section &section) {
  auto name = file.getSectionName(section);
  if (!name)
    return name.takeError();
  constexpr uint32_t kTypes[] = {SHT_NULL,          SHT_PROGBITS,    SHT_NOBITS,
                                 SHT_SYMTAB,        SHT_STRTAB,      SHT_RELA,
                                 SHT_X86_64_UNWIND, SHT_LLVM_ADDRSIG};
  if (!llvm::is_contained(kTypes, uint32_t(section.sh_type)))
    return fail("expected section '" + *name +
                "' to be of a known type, but got " + Twine(section.sh_type));
  if (section.sh_flags & (SHF_TLS | SHF_COMPRESSED))
    return fail("expected section '" + *name +
                "' to be plain data or code, but its flags are " +
                Twine(section.sh_flags));
  uint64_t alignment = section.sh_addralign;
  if (alignment > kMaxAlignment ||
      (alignment && !llvm::isPowerOf2_64(alignment)))
    return fail("expected section '" + *name +
                "' to be aligned to a power of two of at most " +
                Twine(kMaxAlignment) + ", but got " + Twine(alignment));
  if (section.sh_type != SHT_NOBITS)
    if (auto content = file.getSectionContents(section); !content)
      return content.takeError();
  if (section.sh_flags & SHF_ALLOC) {
    uint64_t size = section.sh_size;
    bytes += std::min(size, kMaxBytes + 1);
    if (bytes > kMaxBytes)
      return fail("expected sections of at most " + Twine(kMaxBytes) +
                  " bytes, but '" + *name + "' of " + Twine(size) +
                  " makes them more");
  }
  if (section.sh_type != SHT_SYMTAB)
    return llvm::Error::success();
  if (symbolTable)
    return fail("expected one table of symbols, but got two");
  symbolTable = &section;
  return llvm::Error::success();
}

llvm::Error Verifier::checkSymbol(const Symbol &symbol, llvm::StringRef name) {
  unsigned type = symbol.getType(), binding = symbol.getBinding();
  uint16_t index = symbol.st_shndx;
  if (type > STT_FILE || binding > STB_WEAK)
    return fail("expected symbol '" + name +
                "' to be of a known type and binding, but got " + Twine(type) +
                " and " + Twine(binding));
  if (index == SHN_UNDEF || (index == SHN_ABS && type == STT_FILE))
    return llvm::Error::success();
  if (index >= sections.size())
    return fail("expected symbol '" + name + "' to be in one of " +
                Twine(sections.size()) + " sections, but got " + Twine(index));
  const Section &section = sections[index];
  if (!(section.sh_flags & SHF_ALLOC))
    return fail("expected symbol '" + name +
                "' to be in a section that is loaded, but section " +
                Twine(index) + " is not");
  if (type == STT_FUNC && !(section.sh_flags & SHF_EXECINSTR))
    return fail("expected function '" + name +
                "' to be in a section of code, but section " + Twine(index) +
                " is none");
  uint64_t size = section.sh_size, at = symbol.st_value;
  if (at > size || symbol.st_size > size - at)
    return fail("expected symbol '" + name + "' to end within the " +
                Twine(size) + " bytes of its section, but it has " +
                Twine(symbol.st_size) + " from byte " + Twine(at) + " on");
  return llvm::Error::success();
}

llvm::Error Verifier::checkSymbols() {
  if (!symbolTable)
    return fail("expected a table of symbols, but got none");
  auto found = file.symbols(symbolTable);
  if (!found)
    return found.takeError();
  symbols = *found;
  auto table = file.getStringTableForSymtab(*symbolTable);
  if (!table)
    return table.takeError();
  names = *table;
  for (const Symbol &symbol : symbols) {
    auto name = symbol.getName(names);
    if (!name)
      return name.takeError();
    if (llvm::Error error = checkSymbol(symbol, *name))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::checkRelocation(const Relocation &relocation,
                                      const Section &target) {
  uint32_t type = relocation.getType(/*isMips64EL=*/false);
  unsigned width = getWidth(type);
  if (!width)
    return fail("expected relocations of position-independent code, but got "
                "type " +
                Twine(type));
  uint64_t size = target.sh_size, at = relocation.r_offset;
  if (width > size || at > size - width)
    return fail("expected a relocation within the " + Twine(size) +
                " bytes of its section, but got one of " + Twine(width) +
                " at byte " + Twine(at));
  uint32_t number = relocation.getSymbol(/*isMips64EL=*/false);
  if (number == 0 || number >= symbols.size())
    return fail("expected a relocation to refer to one of " +
                Twine(symbols.size()) + " symbols, but got " + Twine(number));
  const Symbol &symbol = symbols[number];
  auto name = symbol.getName(names);
  if (!name)
    return name.takeError();
  if (symbol.getType() == STT_FILE ||
      (symbol.st_shndx == SHN_UNDEF && name->empty()))
    return fail("expected a relocation to refer to data or code, but symbol " +
                Twine(number) + " is none");
  return llvm::Error::success();
}

llvm::Error Verifier::checkRelocations(const Section &section) {
  if (section.sh_info >= sections.size() ||
      section.sh_link != static_cast<uint32_t>(symbolTable - sections.data()))
    return fail("expected relocations of one of " + Twine(sections.size()) +
                " sections, by the table of symbols, but got section " +
                Twine(section.sh_info) + " by " + Twine(section.sh_link));
  const Section &target = sections[section.sh_info];
  if (!(target.sh_flags & SHF_ALLOC) || target.sh_type == SHT_NOBITS)
    return fail("expected relocations of data or code that is loaded, but got "
                "some of section " +
                Twine(section.sh_info));
  auto relocations = file.relas(section);
  if (!relocations)
    return relocations.takeError();
  for (const Relocation &relocation : *relocations)
    if (llvm::Error error = checkRelocation(relocation, target))
      return error;
  return llvm::Error::success();
}

llvm::Error Verifier::run() {
  if (llvm::Error error = checkHeader())
    return error;
  auto found = file.sections();
  if (!found)
    return found.takeError();
  sections = *found;
  for (const Section &section : sections)
    if (llvm::Error error = checkSection(section))
      return error;
  if (llvm::Error error = checkSymbols())
    return error;
  for (const Section &section : sections)
    if (section.sh_type == SHT_RELA)
      if (llvm::Error error = checkRelocations(section))
        return error;
  return llvm::Error::success();
}

llvm::Error verifyObject(llvm::StringRef object) {
  llvm::Expected<File> file = File::create(object);
  if (!file)
    return file.takeError();
  return Verifier(*file).run();
}

bool refersTo(llvm::StringRef object, llvm::StringRef symbol) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "code"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  return llvm::any_of((*file)->symbols(), [&](llvm::object::SymbolRef each) {
    auto name = each.getName();
    auto flags = each.getFlags();
    bool isReadable = name && flags;
    bool isSame = isReadable && *name == symbol &&
                  (*flags & llvm::object::SymbolRef::SF_Undefined);
    if (!name)
      llvm::consumeError(name.takeError());
    if (!flags)
      llvm::consumeError(flags.takeError());
    return isSame;
  });
}

} // namespace blockscale

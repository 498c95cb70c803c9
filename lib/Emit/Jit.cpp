//===- Jit.cpp - Link compiled code and call it ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Jit.h"

#include "JitMemory.h"
#include "PackedCalls.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace orc = llvm::orc;

namespace blockscale {

namespace {
/// Sections in memory of one program. Frames are not given to the system's
/// unwinder: code throws nothing that would be unwound, and the unwinder ends
/// the process where frames are damaged.
class SectionMemory : public llvm::SectionMemoryManager {
public:
  using SectionMemoryManager::SectionMemoryManager;

  void registerEHFrames(uint8_t *, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
};
} // namespace

/// What linked code is in. The memory is given back after the session ended.
struct Jit::Session {
  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)),
        layer(session, [this](const llvm::MemoryBuffer &) {
          return std::make_unique<SectionMemory>(&memory);
        }) {
    session.setErrorReporter([this](llvm::Error error) {
      reported += llvm::toString(std::move(error)) + "; ";
    });
  }
  ~Session() { llvm::consumeError(session.endSession()); }

  JitMemory memory;
  orc::ExecutionSession session;
  orc::RTDyldObjectLinkingLayer layer;
  orc::JITDylib *library = nullptr;
  /// Why symbols could not be linked, which a lookup does not say.
  std::string reported;
};

Jit::Jit(std::unique_ptr<Session> session) : session(std::move(session)) {}
Jit::~Jit() = default;
Jit::Jit(Jit &&) noexcept = default;

/// Defines the symbols; others are those of this process, as libm's.
static llvm::Error define(orc::ExecutionSession &session,
                          orc::JITDylib &library,
                          llvm::ArrayRef<Jit::Symbol> symbols) {
  orc::SymbolMap map;
  for (const Jit::Symbol &symbol : symbols)
    map[session.intern(symbol.name)] = {
        orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error = library.define(orc::absoluteSymbols(std::move(map))))
    return error;
  // ELF gives names no prefix.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

/// Whether memory is large enough for the sections of an object with stubs and
/// what lies between them, for which its own size twice is enough. LLVM's
/// linker ends the process where it is not.
static llvm::Error checkSize(llvm::StringRef object, const JitMemory &memory) {
  constexpr uint64_t kPage = 1 << 16;
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "code"));
  if (!file)
    return file.takeError();
  uint64_t needed = 2 * object.size() + kPage;
  for (const llvm::object::SectionRef &section : (*file)->sections())
    needed += section.getSize() + 2 * section.getAlignment().value() + kPage;
  if (needed <= memory.getSize())
    return llvm::Error::success();
  return llvm::createStringError(
      "expected code to need at most the " + llvm::Twine(memory.getSize()) +
      " bytes that are reserved for it, but it may need " +
      llvm::Twine(needed));
}

llvm::Expected<Jit> Jit::link(llvm::StringRef object,
                              llvm::ArrayRef<Symbol> symbols,
                              llvm::StringRef function) {
  // In this thread: what is wrong is reported before a lookup returns.
  auto control = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control)
    return control.takeError();
  auto session = std::make_unique<Session>(std::move(*control));
  session->library = &session->session.createBareJITDylib("code");
  if (llvm::Error error = checkSize(object, session->memory))
    return error;
  if (llvm::Error error = define(session->session, *session->library, symbols))
    return error;
  if (llvm::Error error = session->layer.add(
          *session->library,
          llvm::MemoryBuffer::getMemBuffer(object, "code",
                                           /*RequiresNullTerminator=*/false)))
    return error;
  Jit jit(std::move(session));
  // A lookup links the whole object.
  if (auto found = jit.find(function); !found)
    return found.takeError();
  return jit;
}

llvm::Expected<Jit::Function> Jit::find(llvm::StringRef function) const {
  auto found = session->session.lookup(
      {session->library}, session->session.intern(getPackedName(function)));
  if (found && !found->getFlags().isCallable())
    return llvm::createStringError("expected '" + function +
                                   "' to be a function, but it is data");
  if (found)
    return found->getAddress().toPtr<Function>();
  return llvm::createStringError(session->reported +
                                 llvm::toString(found.takeError()));
}

} // namespace blockscale

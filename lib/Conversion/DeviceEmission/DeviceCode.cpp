//===- DeviceCode.cpp - Threads, addresses and loops in kernels -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "LaunchSite.h"

#include "llvm/ADT/bit.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Lanes emitThreadNumber(KernelBuilder &b, int64_t threads) {
  return {b, gpu::ThreadIdOp::create(b, gpu::Dimension::x,
                                     b.getIndexAttr(threads))};
}

Lanes emitThreadNumber32(KernelBuilder &b, int64_t threads) {
  return {b, arith::IndexCastOp::create(b, b.getI32Type(),
                                        emitThreadNumber(b, threads))};
}

Lanes emitBlockNumber(KernelBuilder &b) {
  return {b, gpu::BlockIdOp::create(b, gpu::Dimension::x)};
}

Lanes emitGlobalThreadNumber(KernelBuilder &b, int64_t threads) {
  Lanes before = emitBlockNumber(b) * threads;
  return before + emitThreadNumber(b, threads);
}

Lanes emitMatrixNumber(KernelBuilder &b) {
  Lanes y(b, gpu::BlockIdOp::create(b, gpu::Dimension::y));
  Lanes z(b, gpu::BlockIdOp::create(b, gpu::Dimension::z));
  return z * kMaxGridY + y;
}

Lanes toIndex(KernelBuilder &b, Value integer) {
  return {b, arith::IndexCastOp::create(b, b.getIndexType(), integer)};
}

SmallVector<Lanes> emitIfElse(KernelBuilder &b, Value condition, LanesBody body,
                              LanesBody otherwise) {
  if (!condition)
    return body();
  auto emitInside = [&](LanesBody branch) {
    return [&b, branch](OpBuilder &inside, Location loc) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(inside.getInsertionBlock());
      scf::YieldOp::create(b, llvm::to_vector_of<Value>(branch()));
    };
  };
  auto branch =
      scf::IfOp::create(b, condition, emitInside(body), emitInside(otherwise));
  return llvm::map_to_vector(branch.getResults(),
                             [&](Value result) { return Lanes(b, result); });
}

SmallVector<Lanes> emitIfElseZero(KernelBuilder &b, Value condition,
                                  LanesBody body) {
  SmallVector<Lanes> results;
  return emitIfElse(
      b, condition, [&] { return results = body(); },
      [&] {
        return llvm::map_to_vector(results,
                                   [](Lanes result) { return result.like(0); });
      });
}

SmallVector<Value> emitIfElse(KernelBuilder &b, Value condition,
                              TypeRange types,
                              function_ref<SmallVector<Value>()> body,
                              function_ref<SmallVector<Value>()> otherwise) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, types, condition, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, body());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> emitIfElseZero(KernelBuilder &b, Value condition,
                                  TypeRange types,
                                  function_ref<SmallVector<Value>()> body) {
  return emitIfElse(b, condition, types, body, [&] {
    return llvm::map_to_vector(types, [&](Type type) -> Value {
      return arith::ConstantOp::create(b, b.getZeroAttr(type));
    });
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value emitAddress(KernelBuilder &b, Value pointer, Type type, Value index) {
  if (index.getType().isIndex())
    index = b.createOrFold<arith::IndexCastOp>(b.getI64Type(), index);
  return b.offset(pointer, type, index);
}

Lanes emitLoadBits(KernelBuilder &b, Value pointer, Type type, Value index) {
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width);
  return b.load(bits, emitAddress(b, pointer, bits, index), width / 8);
}

SmallVector<Lanes> emitLoadWords(KernelBuilder &b, Value address, int64_t bytes,
                                 int64_t access) {
  SmallVector<Lanes> words;
  access = std::min(access, bytes);
  auto accessType = VectorType::get({access / kWordBytes}, b.getI32Type());
  for (int64_t at = 0; at < bytes; at += access) {
    Value place = b.offset(address, b.getI8Type(), b.i64(at));
    Value loaded = b.load(accessType, place, access);
    for (int64_t i = 0; i < access / kWordBytes; ++i)
      words.push_back(b.extract(loaded, i));
  }
  return words;
}

void emitStoreWords(KernelBuilder &b, ArrayRef<Lanes> words, Value address,
                    int64_t access) {
  size_t count = access / kWordBytes;
  for (size_t i = 0; i < words.size(); i += count) {
    SmallVector<Value> part(words.begin() + i, words.begin() + i + count);
    Value place = b.offset(address, b.getI8Type(), b.i64(i * kWordBytes));
    b.store(b.pack(part), place, access);
  }
}

void emitStoreBytes(KernelBuilder &b, ArrayRef<Value> words, Value address,
                    int64_t bytes, int64_t access) {
  for (int64_t done = 0; done < bytes;) {
    int64_t size =
        std::min<int64_t>(access, llvm::bit_floor<uint64_t>(bytes - done));
    Value part;
    if (size < kWordBytes) {
      Lanes word(b, words[done / kWordBytes]);
      part = truncate(word >> (done % kWordBytes * 8), size * 8);
    } else {
      part = b.pack(words.slice(done / kWordBytes, size / kWordBytes));
    }
    b.store(part, b.offset(address, b.getI8Type(), b.i64(done)), size);
    done += size;
  }
}

// NVPTX address space
static constexpr unsigned kSharedMemory = 3;

/// The function that the code of a kernel is in.
static gpu::GPUFuncOp getKernelFunction(KernelBuilder &b) {
  Operation *parent = b.getBlock()->getParentOp();
  auto function = dyn_cast<gpu::GPUFuncOp>(parent);
  return function ? function : parent->getParentOfType<gpu::GPUFuncOp>();
}

/// Adds an array in shared memory of a name that the module does not have.
static void addSharedArray(KernelBuilder &b, StringRef name, Type element,
                           int64_t count, int64_t alignment) {
  OpBuilder outside(getKernelFunction(b));
  LLVM::GlobalOp::create(outside, b.getLoc(),
                         LLVM::LLVMArrayType::get(element, count),
                         /*isConstant=*/false, LLVM::Linkage::Internal, name,
                         Attribute(), alignment, kSharedMemory);
}

static Value getSharedAddress(KernelBuilder &b, StringRef name) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kSharedMemory);
  return LLVM::AddressOfOp::create(b, pointer, name);
}

Value createSharedArray(KernelBuilder &b, StringRef name, Type element,
                        int64_t count, int64_t alignment) {
  Operation *module = getKernelFunction(b)->getParentOp();
  // Code of several x in one kernel has arrays of one name.
  std::string own = name.str();
  for (int64_t i = 1; SymbolTable::lookupSymbolIn(module, own); ++i)
    own = (name + "_" + Twine(i)).str();
  addSharedArray(b, own, element, count, alignment);
  return getSharedAddress(b, own);
}

Value getSharedArray(KernelBuilder &b, StringRef name, Type element,
                     int64_t count, int64_t alignment) {
  std::string own = (name + Twine(count)).str();
  if (!SymbolTable::lookupSymbolIn(getKernelFunction(b)->getParentOp(), own))
    addSharedArray(b, own, element, count, alignment);
  return getSharedAddress(b, own);
}

Value getDynamicSharedMemory(KernelBuilder &b) {
  constexpr StringLiteral name = "blockscale_shared_memory";
  // The alignment that swizzled tiles of TMA need.
  constexpr int64_t alignment = 1024;
  auto module =
      b.getBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(name)) {
    auto outside = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(outside, b.getLoc(),
                           LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External, name,
                           Attribute(), alignment, kSharedMemory);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kSharedMemory);
  return LLVM::AddressOfOp::create(b, pointer, name);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value>
emitWhile(KernelBuilder &b, ValueRange inits,
          function_ref<Value(ValueRange)> condition,
          function_ref<SmallVector<Value>(ValueRange)> body) {
  auto inside = [&](OpBuilder &builder, function_ref<void()> emit) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(builder.getInsertionBlock());
    emit();
  };
  auto loop = scf::WhileOp::create(
      b, inits.getTypes(), inits,
      [&](OpBuilder &builder, Location, ValueRange values) {
        inside(builder,
               [&] { scf::ConditionOp::create(b, condition(values), values); });
      },
      [&](OpBuilder &builder, Location, ValueRange values) {
        inside(builder, [&] { scf::YieldOp::create(b, body(values)); });
      });
  return SmallVector<Value>(loop.getResults());
}

SmallVector<SmallVector<Value>>
emitRounds(KernelBuilder &b, int64_t rounds, ArrayRef<SmallVector<Value>> lists,
           function_ref<void(MutableArrayRef<SmallVector<Value>>)> body) {
  auto divide = [&](ValueRange values) {
    SmallVector<SmallVector<Value>> divided;
    for (ArrayRef<Value> list : lists) {
      divided.emplace_back(values.take_front(list.size()));
      values = values.drop_front(list.size());
    }
    return divided;
  };
  SmallVector<Value> carried;
  for (ArrayRef<Value> list : lists)
    llvm::append_range(carried, list);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(rounds), b.i32(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<SmallVector<Value>> all = divide(loop.getRegionIterArgs()), first;
  for (ArrayRef<Value> list : all)
    first.emplace_back(list.take_front(list.size() / rounds));
  body(first);
  carried.clear();
  for (auto [list, ofRound] : llvm::zip_equal(all, first)) {
    llvm::append_range(carried, ArrayRef(list).drop_front(ofRound.size()));
    llvm::append_range(carried, ofRound);
  }
  scf::YieldOp::create(b, carried);
  return divide(loop.getResults());
}

} // namespace blockscale

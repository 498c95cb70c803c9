//===- KernelTextsTest.cpp - PTX that was made before ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

using namespace blockscale;

namespace {

/// The hash of a kernel that stores a number.
std::string hashStore(unsigned number, const PtxTarget &target,
                      const char *name = "kernel") {
  llvm::LLVMContext context;
  llvm::Module module("module", context);
  llvm::IRBuilder<> b(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
      llvm::Function::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  b.CreateStore(b.getInt32(number), function->getArg(0));
  b.CreateRetVoid();
  return hashKernel(module, target);
}

TEST(KernelTexts, FindsWhatWasAdded) {
  KernelTexts texts(100);
  EXPECT_FALSE(texts.find("a"));
  texts.add("a", "one");
  texts.add("b", "two");
  EXPECT_EQ(texts.find("a"), "one");
  EXPECT_EQ(texts.find("b"), "two");
  EXPECT_FALSE(texts.find("c"));
}

TEST(KernelTexts, OldestMakeRoom) {
  KernelTexts texts(10);
  texts.add("a", "1234");
  texts.add("b", "1234");
  // What is there already takes no room twice.
  texts.add("b", "1234");
  texts.add("c", "12");
  EXPECT_TRUE(texts.find("a"));
  texts.add("d", "1");
  EXPECT_FALSE(texts.find("a"));
  EXPECT_TRUE(texts.find("b"));
  EXPECT_TRUE(texts.find("c"));
  texts.add("e", "1234567890");
  EXPECT_FALSE(texts.find("d"));
  EXPECT_EQ(texts.find("e"), "1234567890");
  // Longer than all together: the others stay.
  texts.add("f", "12345678901");
  EXPECT_FALSE(texts.find("f"));
  EXPECT_TRUE(texts.find("e"));
}

TEST(KernelTexts, HashesTellKernelsApart) {
  std::set<std::string> hashes = {
      hashStore(1, {"sm_90a", "+ptx88"}),
      hashStore(2, {"sm_90a", "+ptx88"}),
      hashStore(1, {"sm_100a", "+ptx88"}),
      hashStore(1, {"sm_90a", "+ptx86"}),
      hashStore(1, {"sm_90a", "+ptx88"}, "other"),
  };
  EXPECT_EQ(hashes.size(), 5u);
  EXPECT_EQ(hashes.count(hashStore(1, {"sm_90a", "+ptx88"})), 1u);
}

TEST(KernelTexts, ThreadsUseIt) {
  KernelTexts texts(1000);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&texts] {
      for (int number = 0; number < 2000; ++number) {
        std::string text = std::to_string(number);
        texts.add(text, text);
        std::optional<std::string> found = texts.find(text);
        EXPECT_TRUE(!found || *found == text);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

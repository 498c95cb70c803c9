//===- BytecodeReaderTest.cpp - The program that reads bytecode -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BytecodeFixture.h"

#include "llvm/ADT/ScopeExit.h"

#include <cstdlib>

using namespace blockscale;
using Kind = BytecodeAnswer::Kind;
using std::chrono::milliseconds;

namespace {

class BytecodeReaderTest : public FakeReader {
protected:
  /// Expects a failure whose message has `part`, and that says nothing of the
  /// file, which is good.
  void expectFailure(const std::string &program, const std::string &part,
                     std::optional<milliseconds> limit = {}) const {
    auto answer = askBytecodeReader(program, writeBytecode(), limit);
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.message().find(part), std::string::npos)
        << answer.message();
    EXPECT_NE(answer.message().find(program), std::string::npos);
    EXPECT_EQ(answer.message().find("damaged"), std::string::npos);
  }
};

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

// The variable comes first, then the folders that a package, a build and an
// installation have.
TEST_F(BytecodeReaderTest, PlacesAreInOrder) {
  setenv("BLOCKSCALE_BYTECODE_READER", "/named/reader", 1);
  llvm::scope_exit restore([] { unsetenv("BLOCKSCALE_BYTECODE_READER"); });
  auto places = getBytecodeReaderPlaces();
  ASSERT_GE(places.size(), 4u);
  EXPECT_EQ(places[0].name, "$BLOCKSCALE_BYTECODE_READER");
  EXPECT_EQ(places[0].path, "/named/reader");
  std::string own =
      std::filesystem::canonical("/proc/self/exe").parent_path().string();
  EXPECT_EQ(places[1].path, own + "/blockscale-read-bytecode");
  std::string build = std::filesystem::path(own).parent_path().string();
  EXPECT_EQ(places[2].path, build + "/bin/blockscale-read-bytecode");
  EXPECT_EQ(places[3].path,
            build + "/libexec/blockscale/blockscale-read-bytecode");
}

// What is no program is passed over.
TEST_F(BytecodeReaderTest, TakesTheFirstProgram) {
  std::string text = directory + "/text";
  std::ofstream(text) << "no program";
  std::string fake = create("");
  auto found = findBytecodeReader(
      {{"a", ""}, {"b", directory + "/none"}, {"c", text}, {"d", fake}});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, fake);
}

// The message says where it was looked for and what can be done.
TEST_F(BytecodeReaderTest, AbsentItIsAnError) {
  auto found = findBytecodeReader({{"$NAME", ""}, {"/a", "/a/reader"}});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.message(),
            "expected the program blockscale-read-bytecode, which reads "
            "bytecode, but found none; name it by the option for it or by "
            "$BLOCKSCALE_BYTECODE_READER, or give MLIR text; searched:\n"
            "  $NAME: not set\n"
            "  /a: no program '/a/reader'");
  Reading reading(writeBytecode(), "/nowhere/reader");
  EXPECT_FALSE(reading.isGood());
  EXPECT_NE(reading.error.find("the option: no program '/nowhere/reader'"),
            std::string::npos)
      << reading.error;
  // Text needs none.
  EXPECT_TRUE(Reading(kQuantize, "/nowhere/reader").isGood());
}

// The option is obeyed: a script that marks that it ran.
TEST_F(BytecodeReaderTest, TheOptionNamesIt) {
  Reading reading(writeBytecode(),
                  create("touch " + directory + "/ran\nexec " + reader));
  EXPECT_TRUE(reading.isGood()) << reading.error;
  EXPECT_TRUE(std::filesystem::exists(directory + "/ran"));
}

//===----------------------------------------------------------------------===//
// What it answers
//===----------------------------------------------------------------------===//

// A crash of MLIR's reader is told from an error of it.
TEST_F(BytecodeReaderTest, TellsCrashesFromErrors) {
  auto damaged = askBytecodeReader(reader, readDamaged());
  ASSERT_TRUE(damaged.ok()) << damaged.message();
  EXPECT_EQ(damaged->kind, Kind::Damaged);
  std::string whole = writeBytecode();
  auto error = askBytecodeReader(reader, whole.substr(0, whole.size() / 2));
  ASSERT_TRUE(error.ok()) << error.message();
  EXPECT_EQ(error->kind, Kind::Error);
  EXPECT_NE(error->text, "");
}

// Whatever ends it before it has answered says nothing of the file.
TEST_F(BytecodeReaderTest, EndingEarlyIsNotDamage) {
  for (const char *script :
       {"kill -KILL $$", "kill -TERM $$", "exit 0", "exit 1", "kill -SEGV $$",
        "cat > /dev/null", "printf blockscale-read-bytecode"})
    expectFailure(create(script), "to answer, but it ended before it did");
}

// A program that is none of ours, or of another version, is told by its name.
TEST_F(BytecodeReaderTest, RefusesOtherAnswers) {
  expectFailure(create("echo hello"), "but got 'hello'");
  expectFailure(create("echo blockscale-read-bytecode 0.0.1 module 0"),
                "but got 'blockscale-read-bytecode 0.0.1 module 0'");
  expectFailure(create("cat /dev/zero"), "but got '\\00\\00");
  expectFailure(create(reader + " | sed '1s/[0-9]*$/99999999999999/'"),
                "module 99999999999999'");
}

// An answer that says module and is none is an error of the text.
TEST_F(BytecodeReaderTest, RefusesTextThatIsNoModule) {
  Reading reading(writeBytecode(),
                  create(reader + " | sed '2,$s/module/modula/'"));
  EXPECT_FALSE(reading.isGood());
  EXPECT_FALSE(reading.isDamaged());
  EXPECT_NE(reading.error, "");
}

// One that does not answer is ended, also where it cannot end by itself.
TEST_F(BytecodeReaderTest, DoesNotWaitForever) {
  for (const char *script : {"exec sleep 1000", "kill -STOP $$"}) {
    std::string program = create("echo $$ > " + directory + "/id\n" + script);
    expectFailure(program, "to answer within 300 milliseconds",
                  milliseconds(300));
    pid_t id = 0;
    ASSERT_TRUE(std::ifstream(directory + "/id") >> id);
    EXPECT_NE(kill(id, 0), 0);
  }
}

// Another process that keeps the stream open, as a fork of the host may, does
// not delay the answer, nor that there is none.
TEST_F(BytecodeReaderTest, DoesNotWaitForTheEndOfTheStream) {
  auto start = std::chrono::steady_clock::now();
  std::string fork = "sleep 2000 &\necho $! > " + directory + "/id\n";
  for (const std::string &script : {fork + reader, fork + "exit 1"}) {
    auto answer = askBytecodeReader(create(script), writeBytecode());
    EXPECT_EQ(answer.ok(), script != fork + "exit 1") << answer.message();
    pid_t id = 0;
    ASSERT_TRUE(std::ifstream(directory + "/id") >> id);
    EXPECT_EQ(kill(id, SIGKILL), 0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(1000));
}

// A content that is more than a socket holds and that nobody reads: the reader
// neither hangs nor gets a signal.
TEST_F(BytecodeReaderTest, MayEndWithoutReading) {
  auto answer = askBytecodeReader(create("exit 0"), std::string(1 << 24, 'x'));
  EXPECT_FALSE(answer.ok());
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// Regions in regions, which the printer recurs into.
std::string nest(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i)
    text += "module {\n";
  return text + std::string(depth, '}');
}

/// An array of 16 MiB, whose text has twice that.
std::string writeLargeBytecode() {
  std::string digits;
  for (int i = 0; i < 1 << 23; ++i)
    digits += "1234";
  return writeBytecode("func.func private @f() attributes {a = dense<\"0x" +
                       digits + "\"> : tensor<16777216xi8>}");
}

// Soft limits of the host are not those of the reader.
TEST_F(BytecodeReaderTest, RaisesSoftLimits) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer itself takes more than the limits";
#endif
  std::string script = "ulimit -S -s 128\nulimit -S -d 131072\n";
  Reading deep(writeBytecode(nest(250)), create(script + "exec " + reader));
  EXPECT_TRUE(deep.isGood()) << deep.error;
  Reading large(writeLargeBytecode(), create(script + "exec " + reader));
  EXPECT_TRUE(large.isGood()) << large.error;
}

// Where hard limits leave too little memory, that is the error, and the file is
// not called damaged.
TEST_F(BytecodeReaderTest, TellsThatHardLimitsAreLow) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer itself takes more than the limits";
#endif
  std::string bytecode = writeLargeBytecode();
  auto answer =
      askBytecodeReader(create("ulimit -d 65536\nexec " + reader), bytecode);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer->kind, Kind::Error);
  EXPECT_NE(answer->text.find("(RLIMIT_AS, RLIMIT_DATA) leave less"),
            std::string::npos)
      << answer->text.substr(0, 200);
  // With so little memory the program cannot even be loaded.
  expectFailure(create("ulimit -v 100000\nexec " + reader),
                "to answer, but it ended before it did");
}

} // namespace

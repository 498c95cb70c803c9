//===- NpyHeaderTest.cpp - The header of a .npy file ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/NpyHeader.h"

#include "gtest/gtest.h"

using namespace blockscale::runtime;

namespace {

using Shape = std::vector<int64_t>;

constexpr NpyType kAllTypes[] = {
    NpyType::Bool,  NpyType::UInt8,   NpyType::Int8,    NpyType::UInt16,
    NpyType::Int16, NpyType::UInt32,  NpyType::Int32,   NpyType::UInt64,
    NpyType::Int64, NpyType::Float16, NpyType::Float32, NpyType::Float64};

std::string dict(const std::string &descr, const std::string &order,
                 const std::string &shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order +
         ", 'shape': " + shape + ", }";
}

/// The message with which a header is refused.
std::string rejectHeader(const std::string &text) {
  Result<NpyHeader> header = parseNpyHeader(text);
  return header.ok() ? "accepted" : header.message();
}

/// The shape of an accepted header, else the message.
std::string acceptHeader(const std::string &text) {
  Result<NpyHeader> header = parseNpyHeader(text);
  return header.ok() ? formatNpyShape(header->shape) : header.message();
}

std::string rejectPreamble(const std::string &prefix, uint64_t fileSize) {
  Result<NpyPreamble> preamble = parseNpyPreamble(prefix, fileSize);
  return preamble.ok() ? "accepted" : preamble.message();
}

//===----------------------------------------------------------------------===//
// Types and shapes
//===----------------------------------------------------------------------===//

TEST(NpyType, NameDescrAndWidth) {
  std::string all;
  for (NpyType type : kAllTypes)
    all += std::string(getNpyTypeName(type)) + " " +
           std::string(getNpyDescr(type)) + " " +
           std::to_string(getNpyByteWidth(type)) + "\n";
  EXPECT_EQ(all, "bool |b1 1\nuint8 |u1 1\nint8 |i1 1\nuint16 <u2 2\n"
                 "int16 <i2 2\nuint32 <u4 4\nint32 <i4 4\nuint64 <u8 8\n"
                 "int64 <i8 8\nfloat16 <f2 2\nfloat32 <f4 4\nfloat64 <f8 8\n");
}

TEST(NpyShape, PrintsAsPython) {
  EXPECT_EQ(formatNpyShape({}), "()");
  EXPECT_EQ(formatNpyShape({3}), "(3,)");
  EXPECT_EQ(formatNpyShape({0, 4, 1}), "(0, 4, 1)");
}

TEST(NpyShape, ByteCount) {
  EXPECT_EQ(*computeNpyByteCount(NpyType::Float64, {}), 8);
  EXPECT_EQ(*computeNpyByteCount(NpyType::UInt16, {3, 5}), 30);
  EXPECT_EQ(*computeNpyByteCount(NpyType::Float32, {7, 0, 9}), 0);
  EXPECT_EQ(*computeNpyByteCount(NpyType::UInt8, Shape(64, 1)), 1);
  EXPECT_EQ(*computeNpyByteCount(NpyType::UInt8, {INT64_MAX}), INT64_MAX);
}

TEST(NpyShape, RejectsWhatCannotBeStored) {
  EXPECT_EQ(computeNpyByteCount(NpyType::UInt8, {2, -1}).message(),
            "expected dimension 1 to be non-negative, but got -1");
  EXPECT_EQ(computeNpyByteCount(NpyType::UInt8, Shape(65, 1)).message(),
            "expected at most 64 dimensions, but got 65");
  EXPECT_EQ(computeNpyByteCount(NpyType::UInt16, {INT64_MAX}).message(),
            "expected an array of less than 2^63 bytes, but got shape "
            "(9223372036854775807,) of uint16");
  // 2^64 elements: the product wraps to 0.
  EXPECT_FALSE(
      computeNpyByteCount(NpyType::UInt8, {int64_t(1) << 32, int64_t(1) << 32})
          .ok());
  // The arrays are empty, but their strides do not fit.
  EXPECT_FALSE(computeNpyByteCount(NpyType::UInt8, {0, INT64_MAX, 4}).ok());
  EXPECT_FALSE(computeNpyByteCount(NpyType::UInt8, {INT64_MAX, 4, 0}).ok());
  EXPECT_FALSE(computeNpyByteCount(NpyType::UInt8, {0, -1}).ok());
}

//===----------------------------------------------------------------------===//
// Preamble
//===----------------------------------------------------------------------===//

TEST(NpyPreamble, Versions) {
  const std::string magic("\x93NUMPY", 6);
  auto check = [&](const std::string &rest, uint64_t offset, uint64_t length) {
    Result<NpyPreamble> preamble = parseNpyPreamble(magic + rest, 100000);
    ASSERT_TRUE(preamble.ok()) << preamble.message();
    EXPECT_EQ(preamble->headerOffset, offset);
    EXPECT_EQ(preamble->headerLength, length);
  };
  check({"\x01\x00\x76\x00{'", 6}, 10, 0x76);
  check({"\x01\x00\xff\xff{'", 6}, 10, 0xffff);
  check({"\x02\x00\x34\x12\x00\x00", 6}, 12, 0x1234);
  check({"\x03\x00\x74\x00\x00\x00", 6}, 12, 0x74);
}

TEST(NpyPreamble, RejectsOtherFiles) {
  EXPECT_EQ(rejectPreamble("PK\x03\x04\x14", 5000),
            "expected an .npy file, which begins with '\\x93NUMPY', but got "
            "'PK\\x03\\x04\\x14'");
  EXPECT_EQ(rejectPreamble("\x93NUMPX\x01", 5000),
            "expected an .npy file, which begins with '\\x93NUMPY', but got "
            "'\\x93NUMPX'");
}

TEST(NpyPreamble, RejectsVersions) {
  auto version = [](char major, char minor) {
    return rejectPreamble(std::string("\x93NUMPY") + major + minor +
                              std::string("v\0{'", 4),
                          200);
  };
  EXPECT_EQ(version(0, 0),
            "expected format version 1.0, 2.0 or 3.0, but got 0.0");
  EXPECT_EQ(version(1, 1),
            "expected format version 1.0, 2.0 or 3.0, but got 1.1");
  EXPECT_EQ(version(4, 0),
            "expected format version 1.0, 2.0 or 3.0, but got 4.0");
  EXPECT_EQ(version('\xff', '\x80'),
            "expected format version 1.0, 2.0 or 3.0, but got 255.128");
}

TEST(NpyPreamble, RejectsTruncation) {
  const std::string v1("\x93NUMPY\x01\x00\x76\x00", 10);
  const std::string v2("\x93NUMPY\x02\x00\x76\x00\x00\x00", 12);
  for (size_t size : {0, 3, 6, 7})
    EXPECT_EQ(rejectPreamble(v1.substr(0, size), size),
              "expected at least 10 bytes of an .npy file, but got " +
                  std::to_string(size));
  for (size_t size : {8, 9})
    EXPECT_EQ(rejectPreamble(v1.substr(0, size), size),
              "expected at least 10 bytes of an .npy file, but got " +
                  std::to_string(size));
  for (size_t size : {8, 10, 11})
    EXPECT_EQ(rejectPreamble(v2.substr(0, size), size),
              "expected at least 12 bytes of an .npy file, but got " +
                  std::to_string(size));
  EXPECT_EQ(rejectPreamble(v1, 10), "expected 118 bytes of header, but got 0");
  EXPECT_EQ(rejectPreamble(v1, 127),
            "expected 118 bytes of header, but got 117");
  EXPECT_EQ(rejectPreamble(v1, 128), "accepted");
  EXPECT_EQ(rejectPreamble(v2, 129),
            "expected 118 bytes of header, but got 117");
}

TEST(NpyPreamble, RejectsHugeHeaders) {
  const std::string huge("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_EQ(rejectPreamble(huge, 128),
            "expected 4294967295 bytes of header, but got 116");
  EXPECT_EQ(rejectPreamble(huge, uint64_t(1) << 40),
            "expected a header of at most 65536 bytes, but got 4294967295");
}

//===----------------------------------------------------------------------===//
// Header text
//===----------------------------------------------------------------------===//

TEST(NpyHeader, ReadsEachType) {
  for (NpyType type : kAllTypes) {
    Result<NpyHeader> header = parseNpyHeader(
        dict("'" + std::string(getNpyDescr(type)) + "'", "False", "(2,)"));
    ASSERT_TRUE(header.ok()) << header.message();
    EXPECT_EQ(header->type, type);
  }
}

TEST(NpyHeader, OneByteTypesHaveNoOrder) {
  for (const char *descr : {"'|u1'", "'<u1'", "'>u1'", "'=u1'"}) {
    Result<NpyHeader> header = parseNpyHeader(dict(descr, "False", "()"));
    ASSERT_TRUE(header.ok()) << header.message();
    EXPECT_EQ(header->type, NpyType::UInt8);
  }
}

TEST(NpyHeader, ReadsShapes) {
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "()")), "()");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "(3,)")), "(3,)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "(3, 4)")), "(3, 4)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "(3,4,)")), "(3, 4)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "(2, 0, 5)")), "(2, 0, 5)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "False", "(3L, 4L)")), "(3, 4)");
  EXPECT_EQ(acceptHeader(dict("'|u1'", "False", "(9223372036854775807,)")),
            "(9223372036854775807,)");
}

// Other writers order, quote and space the dict in their own way.
TEST(NpyHeader, ReadsOtherWriters) {
  EXPECT_EQ(acceptHeader("{\"shape\":(1,2),\"fortran_order\":False,"
                         "\"descr\":\"<i4\"}"),
            "(1, 2)");
  EXPECT_EQ(acceptHeader(" { 'descr' :'<i4' ,\t'fortran_order' : False,\r\n"
                         "'shape' : ( 1 , 2 ) , } \n   \n"),
            "(1, 2)");
}

TEST(NpyHeader, AcceptsFortranOrderWhereItIsCOrder) {
  EXPECT_EQ(acceptHeader(dict("'<f4'", "True", "()")), "()");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "True", "(7,)")), "(7,)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "True", "(1, 1)")), "(1, 1)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "True", "(1, 7, 1)")), "(1, 7, 1)");
  EXPECT_EQ(acceptHeader(dict("'<f4'", "True", "(3, 0, 7)")), "(3, 0, 7)");
}

TEST(NpyHeader, RejectsFortranOrder) {
  EXPECT_EQ(rejectHeader(dict("'<f4'", "True", "(2, 3)")),
            "expected C order ('fortran_order': False), but got Fortran order "
            "for shape (2, 3)");
  EXPECT_EQ(rejectHeader(dict("'<f4'", "1", "(2, 3)")),
            "expected True or False for 'fortran_order' at byte 34 of the "
            "header, but got '1, 'shape': (2, 3), }'");
}

TEST(NpyHeader, RejectsTypes) {
  auto type = [](const std::string &descr) {
    return rejectHeader(dict(descr, "False", "(2,)"));
  };
  EXPECT_EQ(type("'>f4'"), "expected little-endian data ('<f4'), but got "
                           "big-endian data ('>f4')");
  EXPECT_EQ(type("'>i2'"), "expected little-endian data ('<i2'), but got "
                           "big-endian data ('>i2')");
  const std::string rule = "expected dtype bool, int8 to int64, uint8 to "
                           "uint64 or float16 to float64, but got ";
  EXPECT_EQ(type("'|O'"), rule + "an object array ('|O')");
  EXPECT_EQ(type("'<V2'"),
            rule + "'<V2' (save ml_dtypes arrays through .view('uint8') or "
                   ".view('uint16'))");
  for (const char *descr : {"''", "'<'", "'<c8'", "'<f16'", "'<U2'", "'<M8[s]'",
                            "'|f4'", "'=f4'", "'f4'", "'<u3'", "'<b2'"})
    EXPECT_EQ(type(descr), rule + descr);
  EXPECT_EQ(type("'\x01" + std::string(50, 'a') + "'"),
            rule + "'\\x01" + std::string(39, 'a') + "'...");
  EXPECT_EQ(type("[('a', '<f4')]"),
            "expected a simple dtype string for 'descr' at byte 10 of the "
            "header, but got '[('a', '<f4')], 'fortran_order': False, '...");
}

TEST(NpyHeader, RejectsShapes) {
  auto shape = [](const std::string &text) {
    return rejectHeader(dict("'<f4'", "False", text));
  };
  EXPECT_EQ(shape("(2, -3)"),
            "expected dimension 1 to be non-negative, but got -3");
  EXPECT_EQ(shape("(9223372036854775808,)"),
            "expected dimension 0 to be below 2^63, but got "
            "'9223372036854775808'");
  EXPECT_EQ(shape("(1, -99999999999999999999999)"),
            "expected dimension 1 to be below 2^63, but got "
            "'-99999999999999999999999'");
  EXPECT_EQ(shape("(4294967296, 4294967296)"),
            "expected an array of less than 2^63 bytes, but got shape "
            "(4294967296, 4294967296) of float32");
  EXPECT_EQ(shape("(3)"), "expected a tuple for 'shape', but got the number "
                          "(3)");
  EXPECT_EQ(shape("3"), "expected a tuple for 'shape' at byte 50 of the "
                        "header, but got '3, }'");
  EXPECT_EQ(shape("[3]"), "expected a tuple for 'shape' at byte 50 of the "
                          "header, but got '[3], }'");
  EXPECT_EQ(shape("(3 4)"), "expected ',' or ')' at byte 53 of the header, "
                            "but got '4), }'");
  EXPECT_EQ(shape("(3.5,)"), "expected ',' or ')' at byte 52 of the header, "
                             "but got '.5,), }'");
  EXPECT_EQ(shape("(010,)"), "expected an integer without leading zeros at "
                             "byte 51 of the header, but got '010,), }'");
  for (const char *text : {"(,)", "(3,,4)", "(-,)", "(x,)", "(+3,)", "('3',)"})
    EXPECT_NE(shape(text).find("expected an integer at byte"),
              std::string::npos)
        << shape(text);
}

TEST(NpyHeader, RejectsHighRank) {
  std::string dimensions;
  for (int i = 0; i < 64; ++i)
    dimensions += "1,";
  EXPECT_NE(rejectHeader(dict("'<f4'", "False", "(" + dimensions + "1)")),
            "accepted");
  EXPECT_EQ(rejectHeader(dict("'<f4'", "False", "(" + dimensions + "1)")),
            "expected at most 64 dimensions, but got more");
  EXPECT_EQ(rejectHeader(dict("'<f4'", "False", "(" + dimensions + ")")),
            "accepted");
}

TEST(NpyHeader, RejectsKeys) {
  const std::string rule =
      "expected keys 'descr', 'fortran_order' and 'shape' in the header, but "
      "got ";
  EXPECT_EQ(rejectHeader("{}"), rule + "no 'descr'");
  EXPECT_EQ(rejectHeader("{'descr': '<f4', 'shape': (1,)}"),
            rule + "no 'fortran_order'");
  EXPECT_EQ(rejectHeader("{'descr': '<f4', 'fortran_order': False}"),
            rule + "no 'shape'");
  EXPECT_EQ(rejectHeader("{'descr': '<f4', 'colour': 'red'}"),
            rule + "'colour'");
  EXPECT_EQ(rejectHeader("{'des\\x63r': '<f4'}"), rule + "'des\\x63r'");
  EXPECT_EQ(rejectHeader("{'descr': '<f4', 'descr': '<f4'}"),
            "expected key 'descr' once in the header, but got it twice");
  EXPECT_EQ(rejectHeader("{'shape': (), 'shape': ()}"),
            "expected key 'shape' once in the header, but got it twice");
  EXPECT_EQ(rejectHeader("{'fortran_order': False, 'fortran_order': True}"),
            "expected key 'fortran_order' once in the header, but got it "
            "twice");
}

TEST(NpyHeader, RejectsWhatIsNoDict) {
  EXPECT_EQ(rejectHeader(""),
            "expected a dict ('{') at byte 0 of the header, but "
            "got its end");
  EXPECT_EQ(rejectHeader("   [1]"),
            "expected a dict ('{') at byte 3 of the header, "
            "but got '[1]'");
  EXPECT_EQ(rejectHeader("{"),
            "expected a key string at byte 1 of the header, but "
            "got its end");
  EXPECT_EQ(rejectHeader("{,}"),
            "expected a key string at byte 1 of the header, "
            "but got ',}'");
  EXPECT_EQ(rejectHeader("{1: 2}"),
            "expected a key string at byte 1 of the header, "
            "but got '1: 2}'");
  EXPECT_EQ(rejectHeader("{'descr"),
            "expected a string with an end at byte 1 of "
            "the header, but got ''descr'");
  EXPECT_EQ(rejectHeader("{'descr' '<f4'}"),
            "expected ':' at byte 9 of the header, "
            "but got ''<f4'}'");
  EXPECT_EQ(rejectHeader("{'descr': '<f4' 'shape': ()}"),
            "expected ',' or '}' at byte 16 of the header, but got "
            "''shape': ()}'");
  EXPECT_EQ(rejectHeader(dict("'<f4'", "False", "()") + "; import os"),
            "expected nothing after the dict at byte 55 of the header, but "
            "got '; import os'");
  EXPECT_EQ(rejectHeader(dict("'<f4'", "False", "()") + std::string("\0", 1)),
            "expected nothing after the dict at byte 55 of the header, but "
            "got '\\x00'");
}

// Every cut of a good header is refused, never read past.
TEST(NpyHeader, RejectsEveryPrefix) {
  std::string text = dict("'<f4'", "False", "(12, 34)");
  ASSERT_EQ(rejectHeader(text), "accepted");
  for (size_t size = 0; size < text.size(); ++size) {
    // The bytes are on the heap, so that the address sanitizer sees one byte
    // too many.
    std::vector<char> prefix(text.begin(), text.begin() + size);
    EXPECT_FALSE(
        parseNpyHeader(std::string_view(prefix.data(), prefix.size())).ok())
        << size;
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

// The first bytes of numpy.save's output (NumPy 2.4).
TEST(NpyHeader, IsWrittenAsNumPyDoes) {
  auto padded = [](std::string text, size_t size) {
    text.resize(size - 1, ' ');
    return text + '\n';
  };
  const std::string preamble("\x93NUMPY\x01\x00v\x00", 10);
  EXPECT_EQ(formatNpyHeader(NpyType::Float32, {}),
            padded(preamble + dict("'<f4'", "False", "()"), 128));
  EXPECT_EQ(formatNpyHeader(NpyType::UInt8, {3}),
            padded(preamble + dict("'|u1'", "False", "(3,)"), 128));
  EXPECT_EQ(formatNpyHeader(NpyType::Bool, {2, 0, 1}),
            padded(preamble + dict("'|b1'", "False", "(2, 0, 1)"), 128));
}

// Lengths around a multiple of 64, and the longest header there is.
TEST(NpyHeader, WrittenHeadersParse) {
  auto roundTrip = [](const Shape &shape) {
    std::string bytes = formatNpyHeader(NpyType::UInt8, shape);
    EXPECT_EQ(bytes.size() % 64, 0u);
    EXPECT_EQ(bytes.back(), '\n');
    Result<NpyPreamble> preamble =
        parseNpyPreamble(bytes.substr(0, 12), bytes.size());
    ASSERT_TRUE(preamble.ok()) << preamble.message();
    EXPECT_EQ(preamble->headerOffset + preamble->headerLength, bytes.size());
    Result<NpyHeader> header =
        parseNpyHeader(bytes.substr(preamble->headerOffset));
    ASSERT_TRUE(header.ok()) << header.message();
    EXPECT_EQ(header->shape, shape);
  };
  for (int64_t last = INT64_MAX; last > 0; last /= 10)
    for (size_t rank = 1; rank <= 20; ++rank) {
      Shape shape(rank, 1);
      shape.back() = last;
      roundTrip(shape);
    }
  roundTrip(Shape(64, 0));
  roundTrip({INT64_MAX});
}

} // namespace

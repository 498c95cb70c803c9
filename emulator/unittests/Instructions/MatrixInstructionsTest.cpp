//===- MatrixInstructionsTest.cpp - Matrices in the registers of warps ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sm_90 lacks, so that PtxKernelsTest.cpp does not reach it: matrices of
// bytes, narrow formats and scale factors; and what is refused.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "Emulator/Arithmetic/NarrowFormats.h"

#include <functional>
#include <numeric>

using namespace blockscale::emulator;

/// Codes of a matrix by row and index along K.
using Codes = std::function<unsigned(unsigned, unsigned)>;

namespace {
/// The registers of each lane, in the order of the operands.
struct LaneWords {
  std::vector<std::vector<uint32_t>> lanes =
      std::vector<std::vector<uint32_t>>(32);

  /// Two or four registers of A, one or two of B: rows of 32 bytes, 16 of A and
  /// 8 of B, of codes of `bits` bits.
  void addOperand(bool isA, unsigned bits, const Codes &code) {
    unsigned perWord = 32 / bits;
    for (unsigned i = 0; i < (isA ? 4 : 2); ++i)
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = lane / 4 + (isA ? i % 2 * 8 : 0);
        unsigned first = perWord * (lane % 4 + (isA ? i / 2 : i) * 4);
        uint32_t word = 0;
        for (unsigned j = 0; j < perWord; ++j)
          word |= code(row, first + j) << j * bits;
        lanes[lane].push_back(word);
      }
  }
  void addWords(const std::function<uint32_t(unsigned)> &word) {
    for (unsigned lane = 0; lane < 32; ++lane)
      lanes[lane].push_back(word(lane));
  }
  std::vector<uint32_t> get() const {
    std::vector<uint32_t> words;
    for (const std::vector<uint32_t> &lane : lanes)
      words.insert(words.end(), lane.begin(), lane.end());
    return words;
  }
};

struct DecodeMatrix : KernelTest {
  /// Runs `body`, which finds its thread's words in %a0 and on and leaves its
  /// results in %d0 and on; `shared` fills the variable `s`.
  std::vector<uint32_t> runWarp(const std::string &body, const LaneWords &words,
                                unsigned results,
                                const std::vector<uint32_t> &shared = {}) {
    size_t count = words.lanes[0].size();
    std::string loads, fills, stores;
    auto at = [](const char *base, size_t offset) {
      return "[" + std::string(base) + "+" + std::to_string(4 * offset) + "]";
    };
    for (size_t i = 0; i < count; ++i)
      loads +=
          "ld.global.b32 %a" + std::to_string(i) + ", " + at("%in", i) + ";\n";
    for (size_t i = 0; i < shared.size(); ++i)
      fills += "ld.global.b32 %w, " + at("%from", i) + ";\nst.shared.b32 " +
               at("s", i) + ", %w;\n";
    for (unsigned i = 0; i < results; ++i)
      stores +=
          "st.global.b32 " + at("%out", i) + ", %d" + std::to_string(i) + ";\n";
    std::string error =
        load(R"(
      .entry k(.param .b64 in, .param .b64 from, .param .b64 out) {
      .reg .b64 %in, %from, %out; .reg .b32 %t, %w, %a<16>, %d<8>;
      .shared .align 128 .b8 s[1024];
      mov.u32 %t, %tid.x;
      ld.param.b64 %in, [in];
      ld.param.b64 %from, [from];
      ld.param.b64 %out, [out];
      mad.wide.u32 %in, %t, )" +
             std::to_string(4 * count) + ", %in;\nmad.wide.u32 %out, %t, " +
             std::to_string(4 * results) + ", %out;\n" + fills + loads + body +
             "\n" + stores + "}");
    EXPECT_EQ(error, "");
    if (!error.empty())
      return {};
    std::string suffix = std::to_string(device.global.getBuffers().size());
    uint64_t in = add("in" + suffix, words.get());
    uint64_t from = add("from" + suffix, shared);
    uint64_t out = addEmpty("out" + suffix, 128 * results);
    shape.block = {32, 1, 1};
    EXPECT_EQ(run("k", in, from, out), "");
    return get<uint32_t>("out" + suffix);
  }

  /// The f32 accumulators of m16n8, by row.
  static std::vector<double> getProduct(const std::vector<uint32_t> &words) {
    std::vector<double> product(16 * 8);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i)
        product[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] =
            F32::decode(words[lane * 4 + i]);
    return product;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

/// Bytes 0, 1, 2, ...
static std::vector<uint32_t> makeBytes(size_t words) {
  std::vector<uint32_t> values(words);
  for (size_t i = 0; i < words; ++i)
    for (unsigned byte = 0; byte < 4; ++byte)
      values[i] |= uint32_t((4 * i + byte) & 0xFF) << 8 * byte;
  return values;
}

// 16 rows of 16 bytes: a lane gets four of a column and of that eight further.
TEST_F(DecodeMatrix, LoadsTransposedBytes) {
  LaneWords none;
  none.addWords([](unsigned lane) { return 16 * (lane % 16); });
  std::vector<uint32_t> results = runWarp(R"(
    mov.u32 %w, s;
    add.u32 %a0, %a0, %w;
    ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%d0, %d1}, [%a0];)",
                                          none, 2, makeBytes(64));
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned byte = 0; byte < 4; ++byte) {
        unsigned row = lane % 4 * 4 + byte, column = lane / 4 + 8 * i;
        EXPECT_EQ(results[lane * 2 + i] >> 8 * byte & 0xFF, 16 * row + column);
      }
  EXPECT_EQ(getFindings(), "");
}

// Rows of 16 values of 4 bits in the lower half of 16 bytes; the rest of them
// was never written.
TEST_F(DecodeMatrix, LoadsAndExpandsValuesOf4Bits) {
  LaneWords addresses;
  addresses.addWords([](unsigned lane) { return 16 * (lane % 8); });
  std::vector<uint32_t> results =
      runWarp(R"(
    .shared .align 16 .b8 narrow[128];
    .reg .b64 %v;
    ld.shared.b64 %v, [s];
    st.shared.b64 [narrow+48], %v;
    mov.u32 %w, narrow;
    add.u32 %a0, %w, 48;
    ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%d0}, [%a0];)",
              addresses, 1, {0x76543210, 0xFEDCBA98});
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned byte = 0; byte < 4; ++byte)
      EXPECT_EQ(results[lane] >> 8 * byte & 0xFF, lane % 4 * 4 + byte);
  EXPECT_EQ(getFindings(), "");
}

// 6 bits each in 12 of 16 bytes, transposed: value j of row i is i + j.
TEST_F(DecodeMatrix, LoadsAndExpandsValuesOf6Bits) {
  std::vector<uint32_t> rows(64);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned bit = 0; bit < 6; ++bit)
        if ((row + 2 * i) >> bit & 1)
          rows[4 * row + (6 * i + bit) / 32] |= 1u << (6 * i + bit) % 32;
  LaneWords addresses;
  addresses.addWords([](unsigned lane) { return 16 * (lane % 16); });
  std::vector<uint32_t> results = runWarp(R"(
    mov.u32 %w, s;
    add.u32 %a0, %a0, %w;
    ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 {%d0, %d1}, [%a0];)",
                                          addresses, 2, rows);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned byte = 0; byte < 4; ++byte)
        EXPECT_EQ(results[lane * 2 + i] >> 8 * byte & 0xFF,
                  lane % 4 * 4 + byte + 2 * (lane / 4 + 8 * i));
}

// The accumulators of m16n8, as bytes, become eight rows of 16.
TEST_F(DecodeMatrix, StoresTransposedBytes) {
  LaneWords words;
  words.addWords([](unsigned lane) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      word |= uint32_t(16 * column + row) << 8 * i;
    }
    return word;
  });
  std::vector<uint32_t> results = runWarp(R"(
    mov.u32 %w, s;
    mad.lo.u32 %a1, %t, 16, %w;
    stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%a1], {%a0};
    bar.warp.sync 0xFFFFFFFF;
    mad.lo.u32 %a1, %t, 4, %w;
    ld.shared.b32 %d0, [%a1];)",
                                          words, 1);
  EXPECT_EQ(results, makeBytes(32));
  EXPECT_EQ(getFindings(), "");
}

// Each row begins at a multiple of 16 bytes.
TEST_F(DecodeMatrix, MisalignedRow) {
  LaneWords words;
  words.addWords([](unsigned) { return 8; });
  runWarp(R"(
    mov.u32 %w, s;
    add.u32 %a0, %a0, %w;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%a0];
    mov.u32 %d0, 0;)",
          words, 1, makeBytes(64));
  expectFinding(FaultKind::Misaligned, "");
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

// Codes of e2m1 lie in bits 2 to 5 of their byte, the others from bit 0 on.
TEST_F(DecodeMatrix, MixesNarrowFormats) {
  Codes a = [](unsigned m, unsigned k) { return (m + 3 * k) % 16; };
  Codes b = [](unsigned n, unsigned k) { return (5 * n + k) % 64; };
  LaneWords words;
  words.addOperand(/*isA=*/true, 8,
                   [&](unsigned m, unsigned k) { return a(m, k) << 2; });
  words.addOperand(/*isA=*/false, 8, b);
  std::vector<double> product = getProduct(runWarp(R"(
    .reg .f32 %c;
    mov.f32 %c, 0f3F800000;
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c, %c, %c, %c};)",
                                                   words, 4));
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = 1;
      for (unsigned k = 0; k < 32; ++k)
        sum += decodeNarrow(kE2M1, a(m, k)) * decodeNarrow(kE3M2, b(n, k));
      EXPECT_EQ(product[m * 8 + n], sum) << m << ' ' << n;
    }
  EXPECT_EQ(getFindings(), "");
}

/// Scale data: byte `first` + i of lane 4 g + 2 `thread` + r / 8 is the factor
/// of block i of row r of A; of lane 4 c + `thread` that of column c of B.
static void addScales(LaneWords &words, bool isA, unsigned thread,
                      unsigned first, unsigned blocks, const Codes &scale) {
  words.addWords([&](unsigned lane) -> uint32_t {
    // What nobody selects is NaN.
    uint32_t word = 0xFFFFFFFF;
    bool isHeld = isA ? lane % 4 / 2 == thread : lane % 4 == thread;
    unsigned row = lane / 4 + (isA ? lane % 2 * 8 : 0);
    for (unsigned i = 0; isHeld && i < blocks; ++i) {
      word &= ~(0xFFu << 8 * (first + i));
      word |= scale(row, i) << 8 * (first + i);
    }
    return word;
  });
}

// NVFP4: blocks of 16 with scale factors of UE4M3, all four bytes of a word.
TEST_F(DecodeMatrix, ScalesBlocksOf16) {
  Codes a = [](unsigned m, unsigned k) { return (7 * m + k) % 16; };
  Codes b = [](unsigned n, unsigned k) { return (n + 11 * k) % 16; };
  Codes scaleA = [](unsigned m, unsigned i) { return 0x30 + m + 2 * i; };
  Codes scaleB = [](unsigned n, unsigned i) { return 0x38 + 3 * n + i; };
  for (unsigned thread : {0, 1}) {
    LaneWords words;
    words.addOperand(/*isA=*/true, 4, a);
    words.addOperand(/*isA=*/false, 4, b);
    addScales(words, /*isA=*/true, thread, 0, 4, scaleA);
    addScales(words, /*isA=*/false, thread + 2, 0, 4, scaleB);
    std::string text = std::to_string(thread);
    // Scales stand alone or, as in CUTLASS, in braces.
    std::string ofA = thread ? "{%a6}" : "%a6", ofB = thread ? "{%a7}" : "%a7";
    std::vector<double> product = getProduct(runWarp(
        R"(
      .reg .f32 %c;
      mov.f32 %c, 0f00000000;
      mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
        {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c, %c, %c, %c},
        )" + ofA +
            ", {0, " + text + "}, " + ofB + ", {0, " +
            std::to_string(thread + 2) + "};",
        words, 4));
    for (unsigned m = 0; m < 16; ++m)
      for (unsigned n = 0; n < 8; ++n) {
        double sum = 0;
        for (unsigned k = 0; k < 64; ++k)
          sum += decodeNarrow(kE2M1, a(m, k)) * decodeNarrow(kE2M1, b(n, k)) *
                 decodeNarrow(kE4M3, scaleA(m, k / 16)) *
                 decodeNarrow(kE4M3, scaleB(n, k / 16));
        EXPECT_EQ(product[m * 8 + n], static_cast<float>(sum)) << m << ' ' << n;
      }
    EXPECT_EQ(getFindings(), "");
  }
}

// MXFP4: blocks of 32, the upper pair of bytes; and MXFP8: one byte of four.
TEST_F(DecodeMatrix, ScalesBlocksOf32) {
  Codes scaleA = [](unsigned m, unsigned i) { return 120 + m % 5 + i; };
  Codes scaleB = [](unsigned n, unsigned i) { return 130 - n + 2 * i; };
  Codes a = [](unsigned m, unsigned k) { return (m + k) % 16; };
  Codes b = [](unsigned n, unsigned k) { return (3 * n + k) % 16; };
  LaneWords words;
  words.addOperand(/*isA=*/true, 4, a);
  words.addOperand(/*isA=*/false, 4, b);
  addScales(words, /*isA=*/true, 1, 2, 2, scaleA);
  addScales(words, /*isA=*/false, 3, 2, 2, scaleB);
  std::vector<double> product = getProduct(runWarp(R"(
    .reg .f32 %c;
    mov.f32 %c, 0f00000000;
    mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c, %c, %c, %c},
      %a6, {2, 1}, %a7, {2, 3};)",
                                                   words, 4));
  LaneWords bytes;
  Codes code = [](unsigned row, unsigned k) { return 0x30 + (row + k) % 16; };
  bytes.addOperand(/*isA=*/true, 8, code);
  bytes.addOperand(/*isA=*/false, 8, code);
  addScales(bytes, /*isA=*/true, 0, 3, 1, scaleA);
  addScales(bytes, /*isA=*/false, 1, 1, 1, scaleB);
  std::vector<double> productOfBytes = getProduct(runWarp(R"(
    .reg .f32 %c;
    mov.f32 %c, 0f00000000;
    mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c, %c, %c, %c},
      %a6, {3, 0}, %a7, {1, 1};)",
                                                          bytes, 4));
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = 0, sumOfBytes = 0;
      for (unsigned k = 0; k < 64; ++k)
        sum += decodeNarrow(kE2M1, a(m, k)) * decodeNarrow(kE2M1, b(n, k)) *
               decodeUE8M0(scaleA(m, k / 32)) * decodeUE8M0(scaleB(n, k / 32));
      for (unsigned k = 0; k < 32; ++k)
        sumOfBytes += decodeNarrow(kE4M3, code(m, k)) *
                      decodeNarrow(kE5M2, code(n, k)) *
                      decodeUE8M0(scaleA(m, 0)) * decodeUE8M0(scaleB(n, 0));
      EXPECT_EQ(product[m * 8 + n], static_cast<float>(sum));
      EXPECT_EQ(productOfBytes[m * 8 + n], static_cast<float>(sumOfBytes));
    }
  EXPECT_EQ(getFindings(), "");
}

static constexpr char kScaledMma[] = R"(
    .reg .f32 %c;
    mov.f32 %c, 0f00000000;
    mov.u32 %d0, 0; mov.u32 %d1, 0; mov.u32 %d2, 0; mov.u32 %d3, 0;
    mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c, %c, %c, %c},
      %a6, {0, 0}, %a7, {SELECTOR};)";

static std::string makeScaledMma(const std::string &selector) {
  std::string text = kScaledMma;
  return text.replace(text.find("SELECTOR"), 8, selector);
}

TEST_F(DecodeMatrix, NaNScale) {
  LaneWords words;
  for (unsigned i = 0; i < 7; ++i)
    words.addWords([](unsigned) { return 0x7F7F7F7F; });
  words.addWords([](unsigned lane) { return lane == 12 ? 0xFF7F : 0x7F7F; });
  runWarp(makeScaledMma("0, 0"), words, 4);
  expectFinding(FaultKind::NanScale, "that of row 3 is 0xff");
  options.allowNanScales = true;
  runWarp(makeScaledMma("0, 0"), words, 4);
  EXPECT_EQ(getFindings(), "");
}

TEST_F(DecodeMatrix, SelectorsOutOfRange) {
  LaneWords words;
  for (unsigned i = 0; i < 8; ++i)
    words.addWords([](unsigned) { return 0x7F7F7F7F; });
  runWarp(makeScaledMma("1, 0"), words, 4);
  expectFinding(FaultKind::Descriptor, "byte-id and thread-id of B");
  runWarp(makeScaledMma("2, 4"), words, 4);
  expectFinding(FaultKind::Descriptor, "but got 2 and 4");
}

//===----------------------------------------------------------------------===//
// mma.sp
//===----------------------------------------------------------------------===//

namespace {
/// The parts of a chunk that are stored, in ascending order.
constexpr unsigned kParts[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
} // namespace

static unsigned getParts(unsigned row, unsigned chunk) {
  return kParts[(5 * row + chunk) % std::size(kParts)];
}

/// The place in K of stored value `i` of a row, in chunks of `chunk` values.
static unsigned getPlace(unsigned row, unsigned i, unsigned chunk) {
  unsigned stored = chunk / 2, index = i / stored, j = i % stored;
  unsigned parts = getParts(row, index);
  unsigned part = 2 * j < stored ? parts & 3 : parts >> 2;
  return index * chunk + part * chunk / 4 + (chunk == 8 ? j % 2 : 0);
}

/// Lane 4 g + t has metadata of row g + 8 (t % 2), of half t / 2 of K.
static void addMetadata(LaneWords &words) {
  words.addWords([](unsigned lane) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 8; ++i)
      word |= getParts(lane / 4 + lane % 2 * 8, lane % 4 / 2 * 8 + i) << 4 * i;
    return word;
  });
}

/// B of 64 bytes a row: two operands of 32 behind each other.
static void addLongB(LaneWords &words, unsigned bits, const Codes &code) {
  unsigned half = 256 / bits;
  words.addOperand(/*isA=*/false, bits, code);
  words.addOperand(/*isA=*/false, bits,
                   [&](unsigned n, unsigned k) { return code(n, half + k); });
}

// Two of four values of a byte each, without scales.
TEST_F(DecodeMatrix, SparseBytes) {
  Codes a = [](unsigned m, unsigned i) { return (m + 3 * i) % 16; };
  Codes b = [](unsigned n, unsigned k) { return (5 * n + k) % 64; };
  LaneWords words;
  words.addOperand(/*isA=*/true, 8,
                   [&](unsigned m, unsigned i) { return a(m, i) << 2; });
  addLongB(words, 8, b);
  addMetadata(words);
  std::vector<double> product = getProduct(runWarp(R"(
    .reg .f32 %c;
    mov.f32 %c, 0f3F800000;
    mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e2m1.e3m2.f32
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5, %a6, %a7},
      {%c, %c, %c, %c}, %a8, 0x0;)",
                                                   words, 4));
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = 1;
      for (unsigned i = 0; i < 32; ++i)
        sum += decodeNarrow(kE2M1, a(m, i)) *
               decodeNarrow(kE3M2, b(n, getPlace(m, i, 4)));
      EXPECT_EQ(product[m * 8 + n], sum) << m << ' ' << n;
    }
  EXPECT_EQ(getFindings(), "");
}

// Two of four pairs of e2m1, and scales of blocks of 32 values of K. CUTLASS
// writes the metadata in braces.
TEST_F(DecodeMatrix, SparsePairs) {
  Codes a = [](unsigned m, unsigned i) { return (7 * m + i) % 16; };
  Codes b = [](unsigned n, unsigned k) { return (n + 11 * k) % 16; };
  Codes scaleA = [](unsigned m, unsigned i) { return 0x30 + m + 2 * i; };
  Codes scaleB = [](unsigned n, unsigned i) { return 0x38 + 3 * n + i; };
  LaneWords words;
  words.addOperand(/*isA=*/true, 4, a);
  addLongB(words, 4, b);
  addMetadata(words);
  addScales(words, /*isA=*/true, 0, 0, 4, scaleA);
  addScales(words, /*isA=*/false, 1, 0, 4, scaleB);
  std::vector<double> product = getProduct(runWarp(R"(
    .reg .f32 %c;
    mov.f32 %c, 0f00000000;
    mma.sync.aligned.kind::mxf4nvf4.sp::ordered_metadata.block_scale.scale_vec::4X.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue4m3
      {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5, %a6, %a7},
      {%c, %c, %c, %c}, {%a8}, 0x0, {%a9}, {0, 0}, {%a10}, {0, 1};)",
                                                   words, 4));
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = 0;
      for (unsigned i = 0; i < 64; ++i) {
        unsigned k = getPlace(m, i, 8);
        sum += decodeNarrow(kE2M1, a(m, i)) * decodeNarrow(kE2M1, b(n, k)) *
               decodeNarrow(kE4M3, scaleA(m, k / 32)) *
               decodeNarrow(kE4M3, scaleB(n, k / 32));
      }
      EXPECT_EQ(product[m * 8 + n], static_cast<float>(sum)) << m << ' ' << n;
    }
  EXPECT_EQ(getFindings(), "");
}

/// A product of integers that are all 1, with one word of metadata in all
/// lanes.
static std::string makeSparseMma(const std::string &order,
                                 const std::string &selector) {
  return "mma." + order + R"(.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32
      {%d0, %d1, %d2, %d3}, {%a0, %a0, %a0, %a0}, {%a0, %a0, %a0, %a0},
      {0, 0, 0, 0}, %a1, )" +
         selector + ";";
}

// Parts in descending order are for mma.sp alone, a part twice for none, and
// where all lanes have metadata there is one selector.
TEST_F(DecodeMatrix, BadMetadata) {
  auto makeWords = [](uint32_t metadata) {
    LaneWords words;
    words.addWords([](unsigned) { return 0x01010101; });
    words.addWords([=](unsigned) { return metadata; });
    return words;
  };
  EXPECT_EQ(runWarp(makeSparseMma("sp", "0"), makeWords(0x11111111), 4)[0],
            32u);
  EXPECT_EQ(getFindings(), "");
  runWarp(makeSparseMma("sp::ordered_metadata", "0"), makeWords(0x11111111), 4);
  expectFinding(
      FaultKind::Descriptor,
      "expected sparsity metadata of 4 values to be 0100, 1000, 1001, "
      "1100, 1101 or 1110, but those of row 0 from K = 0 on are 0001");
  runWarp(makeSparseMma("sp", "0"), makeWords(0x44444404), 4);
  expectFinding(FaultKind::Descriptor,
                "to be two different parts, but those of row 0 from K = 4 on "
                "are 0000");
  ASSERT_EQ(load(".entry k() { .reg .b32 %a<2>, %d<4>; mov.b32 %a0, 0; "
                 "mov.b32 %a1, 0; " +
                 makeSparseMma("sp", "1") + " }"),
            "");
  EXPECT_NE(run("k").find("expected a sparsity selector of 0"),
            std::string::npos);
}

TEST_F(DecodeMatrix, UndefinedOperand) {
  LaneWords words;
  words.addWords([](unsigned) { return 0; });
  runWarp(R"(
    mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32
      {%d0, %d1}, {%a0}, {%a9}, {0, 0};)",
          words, 2);
  expectFinding(FaultKind::Uninitialised, "an operand of mma");
}

// A warp of 16 threads has no matrices.
TEST_F(DecodeMatrix, WarpOfFewThreads) {
  ASSERT_EQ(load(R"(.entry k() { .reg .b32 %r<2>; mov.b32 %r0, 0;
      movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0; })"),
            "");
  shape.block = {16, 1, 1};
  ASSERT_EQ(run("k"), "");
  expectFinding(FaultKind::Hazard, "all 32 threads of the warp");
}

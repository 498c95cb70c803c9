//===- Rendering.cpp - Reports as text and pictures -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rendering.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;

namespace blockscale::report {

/// A number with one digit behind the point, or a dash.
static std::string print(double value) {
  return std::isnan(value) ? std::string("-") : formatv("{0:F1}", value).str();
}

static std::string printSize(int64_t size) {
  return size < 0 ? "?" : std::to_string(size);
}

/// A bar of a character for each 2 dB.
static std::string drawBar(double sqnr) {
  if (!(sqnr > 0) || std::isinf(sqnr))
    return "";
  return std::string(std::min<size_t>(std::lround(sqnr / 2), 30), '#');
}

static void printRow(ArrayRef<std::string> cells, ArrayRef<size_t> widths,
                     raw_ostream &os) {
  std::string row;
  for (auto [i, cell] : enumerate(cells)) {
    bool isLeft = i == 0 || i == 4 || i + 1 == cells.size();
    std::string blanks(widths[i] - cell.size(), ' ');
    row += (i ? "  " : "") + (isLeft ? cell + blanks : blanks + cell);
  }
  os << StringRef(row).rtrim() << "\n";
}

void printTable(ArrayRef<Product> products, const target::Gpu &gpu,
                raw_ostream &os) {
  std::string seconds = ("us on " + Twine(gpu.name)).str();
  std::vector<std::vector<std::string>> rows = {
      {"product", "M", "N", "K", "format", "weight bytes", "quantized", seconds,
       "quantized", "SQNR dB", ""}};
  Product sum;
  sum.plainSeconds = sum.seconds = 0;
  for (const Product &product : products) {
    if (!product.isQuantized())
      continue;
    double sqnr = product.getSqnr();
    rows.push_back({product.name, printSize(product.m), printSize(product.n),
                    printSize(product.k), product.form,
                    formatv("{0:F0}", product.plainBytes),
                    formatv("{0:F0}", product.bytes),
                    print(product.plainSeconds * 1e6),
                    print(product.seconds * 1e6), print(sqnr), drawBar(sqnr)});
    sum.plainBytes += product.plainBytes;
    sum.bytes += product.bytes;
    sum.plainSeconds += product.plainSeconds;
    sum.seconds += product.seconds;
  }
  rows.push_back({"sum", "", "", "", "", formatv("{0:F0}", sum.plainBytes),
                  formatv("{0:F0}", sum.bytes), print(sum.plainSeconds * 1e6),
                  print(sum.seconds * 1e6), "", ""});
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (auto [width, cell] : zip_equal(widths, row))
      width = std::max(width, cell.size());
  for (const auto &row : rows)
    printRow(row, widths, os);
  for (const Product &product : products)
    if (!product.isQuantized())
      os << product.name << " is left " << product.reason << "\n";
}

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

// A row of the picture, where bars begin, and the width of a decibel.
static constexpr double kRow = 22, kTop = 60, kLeft = 260, kDecibel = 8;
static constexpr double kLargest = 60;

static std::string escape(StringRef text) {
  std::string escaped;
  raw_string_ostream os(escaped);
  printHTMLEscaped(text, os);
  return escaped;
}

static std::string drawText(double x, double y, StringRef anchor,
                            StringRef text) {
  return formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" font-family=\"'DejaVu Sans', "
                 "Verdana, sans-serif\" font-size=\"12\" text-anchor=\"{2}\" "
                 "fill=\"#1f2430\">{3}</text>\n",
                 x, y, anchor, escape(text));
}

std::string drawNoise(ArrayRef<Product> products) {
  std::string rows;
  double y = kTop;
  for (const Product &product : products) {
    double sqnr = product.getSqnr();
    if (!product.isQuantized() || std::isnan(sqnr))
      continue;
    double width = kDecibel * std::min(std::max(sqnr, 0.0), kLargest);
    rows += drawText(kLeft - 8, y + 14, "end", product.name);
    rows += formatv("<rect x=\"{0:F1}\" y=\"{1:F1}\" width=\"{2:F1}\" "
                    "height=\"{3:F1}\" fill=\"#1f6fb2\"/>\n",
                    kLeft, y + 3, width, kRow - 7);
    rows += drawText(kLeft + width + 6, y + 14, "start",
                     print(sqnr) + " dB, " + product.form);
    y += kRow;
  }
  double width = kLeft + kDecibel * kLargest + 220;
  return formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:F0}\" "
                 "height=\"{1:F0}\" viewBox=\"0 0 {0:F0} {1:F0}\" "
                 "role=\"img\">\n<title>Signal to quantization noise of "
                 "products</title>\n<rect width=\"{0:F0}\" height=\"{1:F0}\" "
                 "fill=\"#ffffff\"/>\n",
                 width, y + 20)
             .str() +
         drawText(20, 30, "start", "Signal to quantization noise of products") +
         rows + "</svg>\n";
}

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

/// A pattern that is like one name alone.
static std::string toPattern(StringRef name) {
  std::string pattern;
  for (char c : name)
    pattern +=
        (StringRef("*?[]{}\\").contains(c) ? "\\" : "") + std::string(1, c);
  return pattern;
}

std::string writePolicy(ArrayRef<Product> products) {
  std::string text;
  raw_string_ostream os(text);
  os << "{\n  \"version\": 1,\n  \"leave_last_projection\": false,\n"
     << "  \"leave_narrow\": false,\n  \"rules\": [";
  StringRef separator = "\n";
  for (const Product &product : products) {
    if (!product.isQuantized())
      continue;
    json::Value pattern = json::fixUTF8(toPattern(product.name));
    os << separator << "    {\"match\": {\"location\": " << pattern
       << "}, \"format\": \"" << product.form << "\"}";
    separator = ",\n";
  }
  os << "\n  ]\n}\n";
  return text;
}

} // namespace blockscale::report

//===- Plot.cpp - Rooflines as pictures -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace blockscale::roofline {

namespace {

// The picture; the area of the curves within it, which shapes with long names
// make wider.
constexpr double kHeight = 440, kMargin = 20, kMinWidth = 680;
constexpr double kLeft = 60, kTop = 70, kBottom = 370;
/// What a letter of names takes, at least.
constexpr double kLetter = 7.5;
constexpr const char *kInk = "#1f2430", *kFaint = "#d4d7dd";
constexpr const char *kColors[] = {"#1f6fb2", "#c8641b", "#3a8f3a", "#8a4fb0",
                                   "#a33a4a"};

/// One curve: the speed-ups of a recipe, NaN where there is none.
struct Curve {
  StringRef name;
  StringRef color;
  std::vector<double> values;
};

/// Places of values: equal steps from shape to shape, from 0 to `largest`.
struct Axes {
  size_t count;
  double width;
  double largest;

  double right() const { return kLeft + width; }
  double x(size_t index) const { return kLeft + width / count * (index + 0.5); }
  double y(double value) const {
    return kBottom - (kBottom - kTop) * value / largest;
  }
};

} // namespace

static std::string drawText(double x, double y, StringRef anchor, int size,
                            const Twine &text) {
  return formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" font-family=\"'DejaVu Sans', "
                 "Verdana, sans-serif\" font-size=\"{2}\" "
                 "text-anchor=\"{3}\" fill=\"{4}\">{5}</text>\n",
                 x, y, size, anchor, kInk, text.str());
}

static std::string drawLine(double x1, double y1, double x2, double y2,
                            StringRef color, StringRef style = "") {
  return formatv("<line x1=\"{0:F1}\" y1=\"{1:F1}\" x2=\"{2:F1}\" "
                 "y2=\"{3:F1}\" stroke=\"{4}\"{5}/>\n",
                 x1, y1, x2, y2, color, style);
}

static std::string drawAxes(const Axes &axes, const Comparison &comparison) {
  std::string text;
  for (int value = 0; value <= axes.largest; ++value) {
    double y = axes.y(value);
    text += drawLine(kLeft, y, axes.right(), y, value == 1 ? kInk : kFaint,
                     value == 1 ? " stroke-dasharray=\"4 3\"" : "");
    text += drawText(kLeft - 8, y + 4, "end", 12, Twine(value));
  }
  for (auto [index, shape] : enumerate(comparison.shapes))
    text +=
        drawText(axes.x(index), kBottom + 20, "middle", 12, printShape(shape));
  text += drawText(kLeft + axes.width / 2, kBottom + 45, "middle", 13,
                   "M = K = N, or M x K x N");
  return text;
}

/// Lines between neighbours that both have a value, and a mark with it.
static std::string drawCurve(const Curve &curve, const Axes &axes) {
  std::string text;
  for (auto [index, value] : enumerate(curve.values)) {
    if (std::isnan(value))
      continue;
    double x = axes.x(index), y = axes.y(value);
    if (index && !std::isnan(curve.values[index - 1]))
      text += drawLine(axes.x(index - 1), axes.y(curve.values[index - 1]), x, y,
                       curve.color, " stroke-width=\"2\"");
    text += formatv("<circle cx=\"{0:F1}\" cy=\"{1:F1}\" r=\"4\" fill=\"{2}\">"
                    "<title>{3}: {4:F2}</title></circle>\n",
                    x, y, curve.color, curve.name, value);
  }
  return text;
}

std::string drawSpeedups(const Comparison &comparison) {
  std::vector<Curve> curves;
  double largest = 1;
  for (auto [index, recipe] : enumerate(comparison.recipes)) {
    Curve curve{recipe->name, kColors[index % std::size(kColors)], {}};
    for (const LinearShape &shape : comparison.shapes) {
      curve.values.push_back(
          getLinearTimes(comparison.model, *recipe, *comparison.gpu, shape)
              .getSpeedup());
      // NaN stays out: it is not larger.
      largest = std::max(largest, curve.values.back());
    }
    curves.push_back(std::move(curve));
  }
  double step = 0;
  for (const LinearShape &shape : comparison.shapes)
    step = std::max(step, kLetter * (printShape(shape).size() + 2));
  size_t count = comparison.shapes.size();
  Axes axes{count, std::max(kMinWidth, step * count), std::ceil(largest)};
  std::string title =
      ("Speed-up of a linear layer over bf16, roofline of " +
       Twine(comparison.gpu->name) + ", model " + getName(comparison.model))
          .str();
  std::string text =
      formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:F0}\" "
              "height=\"{1:F0}\" viewBox=\"0 0 {0:F0} {1:F0}\" role=\"img\">\n"
              "<title>{2}</title>\n"
              "<rect width=\"{0:F0}\" height=\"{1:F0}\" fill=\"#ffffff\"/>\n",
              axes.right() + kMargin, kHeight, title);
  text += drawText(kLeft, 28, "start", 15, title);
  text += drawAxes(axes, comparison);
  double x = kLeft;
  for (const Curve &curve : curves) {
    text += drawCurve(curve, axes);
    // The legend: a name is as wide as its letters.
    text += drawLine(x, 48, x + 20, 48, curve.color, " stroke-width=\"2\"");
    text += drawText(x + 26, 52, "start", 12, curve.name);
    x += 26 + kLetter * curve.name.size() + 20;
  }
  return text + "</svg>\n";
}

} // namespace blockscale::roofline

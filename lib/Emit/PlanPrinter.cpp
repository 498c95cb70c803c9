//===- PlanPrinter.cpp - Launch plans as JSON -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanModel.h"

#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace json = llvm::json;

namespace blockscale::plan {

template <typename T>
static std::string toString(T printable) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << printable;
  return text;
}

/// As plans name layouts: without the attribute's wrapping.
static std::string getLayoutName(Type type) {
  LayoutAttr layout = getLayout(type);
  if (!layout)
    return "row_major";
  std::string text = toString(Attribute(layout));
  return StringRef(text).split('<').second.rsplit('>').first.str();
}

static json::Value toJson(const PlanExpression &expression) {
  if (auto constant = expression.getConstant())
    return *constant;
  return expression.getText();
}

static json::Array toJson(ArrayRef<PlanExpression> expressions) {
  json::Array array;
  for (const PlanExpression &expression : expressions)
    array.push_back(toJson(expression));
  return array;
}

static StringRef getName(Parameter::Kind kind) {
  switch (kind) {
  case Parameter::Kind::Pointer:
    return "pointer";
  case Parameter::Kind::I32:
    return "i32";
  case Parameter::Kind::I64:
    return "i64";
  case Parameter::Kind::F32:
    return "f32";
  case Parameter::Kind::TensorMap:
    return "tensor_map";
  }
  return "";
}

namespace {

/// Small arrays and objects stay on one line.
class Printer {
public:
  Printer(llvm::raw_ostream &os, std::vector<std::string> *blobs)
      : json(os, /*IndentSize=*/2), blobs(blobs) {}

  void print(StringRef chip, ArrayRef<Kernel> kernels,
             ArrayRef<Function> functions);

private:
  void attribute(StringRef key, json::Value value) {
    json.attributeBegin(key);
    json.rawValue(toString(std::move(value)));
    json.attributeEnd();
  }
  void print(const Function &function);
  void print(ArrayRef<Buffer> buffers, Buffer::Role role, StringRef key);
  void print(const Buffer &buffer);
  void print(const Launch &launch, ArrayRef<Buffer> buffers);
  void printData(const std::string &data);

  json::OStream json;
  std::vector<std::string> *blobs;
};

} // namespace

static json::Object toJson(const Pointer &pointer, ArrayRef<Buffer> buffers) {
  json::Object address{{"buffer", buffers[pointer.buffer].name}};
  if (pointer.offset.getConstant() != 0)
    address["offset"] = toJson(pointer.offset);
  return address;
}

static json::Object toJson(const TensorMap &map, ArrayRef<Buffer> buffers) {
  return json::Object{
      {"address", toJson(map.address, buffers)},
      {"element", map.element},
      {"dims", toJson(map.dims)},
      {"strides", toJson(map.strides)},
      {"box", json::Array(map.box)},
      {"element_strides", json::Array(SmallVector<int64_t>(map.box.size(), 1))},
      {"interleave", "NONE"},
      {"swizzle", map.swizzle},
      {"l2_promotion", "256B"},
      {"fill", "ZERO"}};
}

static json::Object toJson(const Parameter &parameter,
                           ArrayRef<Buffer> buffers) {
  StringRef kind = getName(parameter.kind);
  switch (parameter.kind) {
  case Parameter::Kind::Pointer:
    return toJson(parameter.pointer, buffers);
  case Parameter::Kind::I32:
  case Parameter::Kind::I64:
    return json::Object{{kind, toJson(parameter.value)}};
  case Parameter::Kind::TensorMap:
    return json::Object{{kind, toJson(*parameter.map, buffers)}};
  case Parameter::Kind::F32:
    break;
  }
  if (parameter.number.scalar)
    return json::Object{{kind, buffers[*parameter.number.scalar].name}};
  return json::Object{{kind, static_cast<int64_t>(parameter.number.bits)}};
}

/// The place of a constant in `blobs`, where equal ones are once.
static int64_t findOrAdd(std::vector<std::string> &blobs,
                         const std::string &data) {
  auto found = llvm::find(blobs, data);
  int64_t number = found - blobs.begin();
  if (found == blobs.end())
    blobs.push_back(data);
  return number;
}

void Printer::printData(const std::string &data) {
  if (blobs)
    attribute("blob", findOrAdd(*blobs, data));
  else
    attribute("data", llvm::encodeBase64(data));
}

void Printer::print(const Buffer &buffer) {
  json.objectBegin();
  attribute("name", buffer.name);
  attribute("type", toString(buffer.type));
  if (buffer.isScalar) {
    attribute("scalar", true);
    attribute("dtype", buffer.dtype);
    if (!buffer.dim.empty())
      attribute("dim", buffer.dim);
    return json.objectEnd();
  }
  attribute("element", toString(getElementTypeOrSelf(buffer.type)));
  attribute("layout", getLayoutName(buffer.type));
  attribute("dtype", buffer.dtype);
  attribute("shape", toJson(buffer.shape));
  attribute("bytes", toJson(buffer.bytes));
  attribute("alignment", buffer.alignment);
  if (buffer.role == Buffer::Role::Constant)
    printData(buffer.data);
  json.objectEnd();
}

void Printer::print(ArrayRef<Buffer> buffers, Buffer::Role role,
                    StringRef key) {
  json.attributeArray(key, [&] {
    for (const Buffer &buffer : buffers)
      if (buffer.role == role)
        print(buffer);
  });
}

void Printer::print(const Launch &launch, ArrayRef<Buffer> buffers) {
  json.attributeObject("launch", [&] {
    attribute("kernel", launch.kernel);
    attribute("grid", toJson(launch.grid));
    attribute("block", toJson(launch.block));
    attribute("cluster", toJson(launch.cluster));
    attribute("shared", toJson(launch.sharedBytes));
    json.attributeArray("parameters", [&] {
      for (const Parameter &parameter : launch.parameters)
        json.rawValue(toString(json::Value(toJson(parameter, buffers))));
    });
  });
}

void Printer::print(const Function &function) {
  json.objectBegin();
  attribute("name", function.name);
  attribute("dims", json::Array(function.dims));
  print(function.buffers, Buffer::Role::Argument, "arguments");
  print(function.buffers, Buffer::Role::Result, "results");
  print(function.buffers, Buffer::Role::Constant, "constants");
  print(function.buffers, Buffer::Role::Workspace, "workspaces");
  json.attributeArray("constraints", [&] {
    for (const Condition &condition : function.constraints)
      json.object([&] {
        attribute("left", toJson(condition.left));
        attribute("relation", condition.relation);
        attribute("right", toJson(condition.right));
        attribute("message", condition.message);
      });
  });
  json.attributeArray("steps", [&] {
    for (const Step &step : function.steps)
      json.object([&] {
        if (step.launch)
          return print(*step.launch, function.buffers);
        json.attributeObject("copy", [&] {
          attribute("from", toJson(step.copy->from, function.buffers));
          attribute("to", toJson(step.copy->to, function.buffers));
          attribute("bytes", toJson(step.copy->bytes));
        });
      });
  });
  json.objectEnd();
}

void Printer::print(StringRef chip, ArrayRef<Kernel> kernels,
                    ArrayRef<Function> functions) {
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("chip", chip);
    json.attributeArray("kernels", [&] {
      for (const Kernel &kernel : kernels) {
        json.objectBegin();
        attribute("name", kernel.name);
        json::Array parameters;
        for (Parameter::Kind kind : kernel.parameters)
          parameters.push_back(getName(kind));
        attribute("parameters", std::move(parameters));
        json.objectEnd();
      }
    });
    json.attributeArray("functions", [&] {
      for (const Function &function : functions)
        print(function);
    });
  });
}

std::string print(StringRef chip, ArrayRef<Kernel> kernels,
                  ArrayRef<Function> functions,
                  std::vector<std::string> *blobs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Printer(os, blobs).print(chip, kernels, functions);
  os << "\n";
  return text;
}

} // namespace blockscale::plan

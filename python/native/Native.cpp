//===- Native.cpp - The C interface for Python ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that can fail return (status, message, diagnostics, value); the
// package raises what they say. None of them holds the GIL while it works.
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"
#include "XlaFfi.h"

#include "blockscale-c/Numerics.h"
#include "blockscale-c/Run.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

/// Text of the compiler, which may quote bytes of a source that are none.
nb::object toText(const std::string &text) {
  return nb::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

struct Diagnostic {
  int severity;
  std::string message, file;
  unsigned line, column;
  std::vector<Diagnostic> notes;

  nb::tuple toPython() const {
    nb::list list;
    for (const Diagnostic &note : notes)
      list.append(note.toPython());
    return nb::make_tuple(severity, toText(message), toText(file), line, column,
                          list);
  }
};

Diagnostic convert(const blockscale_diagnostic &from) {
  Diagnostic to = {from.severity, from.message, from.file,
                   from.line,     from.column,  {}};
  for (size_t i = 0; i < from.note_count; ++i)
    to.notes.push_back(convert(from.notes[i]));
  return to;
}

/// What a call says while it works.
class Watch {
public:
  explicit Watch(nb::object progress) : progress(std::move(progress)) {}

  static void onDiagnostic(const blockscale_diagnostic *diagnostic,
                           void *user) {
    static_cast<Watch *>(user)->diagnostics.push_back(convert(*diagnostic));
  }

  /// Ends the work where Python raises: the callback does, or Ctrl-C.
  static int onProgress(const char *step, size_t number, size_t count,
                        void *user) {
    auto *watch = static_cast<Watch *>(user);
    nb::gil_scoped_acquire acquired;
    try {
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
      if (!watch->progress.is_none())
        watch->progress(step, number, count);
      return 0;
    } catch (nb::python_error &error) {
      watch->error.emplace(std::move(error));
      return 1;
    }
  }

  /// What the call returned, or the exception that ended it.
  template <typename Value>
  nb::tuple finish(blockscale_status status, const std::string &message,
                   Value value) {
    if (error)
      throw std::move(*error);
    nb::list list;
    for (const Diagnostic &diagnostic : diagnostics)
      list.append(diagnostic.toPython());
    return nb::make_tuple(static_cast<int>(status), toText(message), list,
                          value);
  }

private:
  nb::object progress;
  std::vector<Diagnostic> diagnostics;
  std::optional<nb::python_error> error;
};

/// The message of a failure that was just returned: this thread must not have
/// called the library since.
std::string getMessage(blockscale_status status) {
  return status == BLOCKSCALE_OK ? "" : blockscale_last_error();
}

const char *toPointer(const std::optional<std::string> &text) {
  return text ? text->c_str() : nullptr;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

nb::tuple compile(const nb::bytes &source, const std::string &sourceName,
                  const std::vector<std::string> &targets, int emission,
                  const std::optional<std::string> &ptxas, bool fuse,
                  const std::optional<std::string> &tuned, bool remarks,
                  bool keepStages, nb::object progress,
                  const std::optional<std::string> &bytecodeReader,
                  const std::optional<std::string> &policy) {
  Watch watch(std::move(progress));
  std::vector<const char *> names;
  for (const std::string &target : targets)
    names.push_back(target.c_str());
  blockscale_compile_config config = blockscale_compile_config_default();
  config.targets = names.data();
  config.target_count = names.size();
  config.emission = static_cast<blockscale_emission>(emission);
  config.source_name = sourceName.c_str();
  config.ptxas = toPointer(ptxas);
  config.no_fusion = !fuse;
  config.tuned = toPointer(tuned);
  config.remarks = remarks;
  config.keep_stages = keepStages;
  config.on_diagnostic = Watch::onDiagnostic;
  config.on_progress = Watch::onProgress;
  config.user = &watch;
  config.bytecode_reader = toPointer(bytecodeReader);
  config.policy = toPointer(policy);
  blockscale_output *output = nullptr;
  blockscale_status status;
  std::string message;
  {
    nb::gil_scoped_release released;
    // Without targets it is only read.
    status = (targets.empty() ? blockscale_verify : blockscale_compile)(
        source.data(), source.size(), &config, &output);
    message = getMessage(status);
  }
  nb::list stages;
  for (size_t i = 0; i < blockscale_output_stage_count(output); ++i)
    stages.append(
        nb::make_tuple(blockscale_output_stage_name(output, i),
                       toText(blockscale_output_stage_text(output, i))));
  nb::object value = nb::none();
  if (output)
    value = nb::make_tuple(nb::bytes(blockscale_output_data(output),
                                     blockscale_output_size(output)),
                           stages);
  blockscale_output_destroy(output);
  return watch.finish(status, message, value);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Address, dtype, shape and strides of an array.
using ArrayTuple =
    std::tuple<uintptr_t, int, std::vector<int64_t>, std::vector<int64_t>>;

std::vector<blockscale_array> toArrays(const std::vector<ArrayTuple> &tuples) {
  std::vector<blockscale_array> arrays;
  for (const auto &[address, dtype, shape, strides] : tuples)
    arrays.push_back({reinterpret_cast<void *>(address),
                      static_cast<blockscale_dtype>(dtype), shape.size(),
                      shape.data(), strides.data()});
  return arrays;
}

class Executable {
public:
  explicit Executable(blockscale_executable *executable)
      : executable(executable) {}
  ~Executable() { blockscale_executable_destroy(executable); }
  Executable(const Executable &) = delete;

  std::string getEntry() const {
    return blockscale_executable_entry(executable);
  }

  /// Type, dtype, shape and whether it is a scalar, of each.
  nb::list getSlots(int role) const {
    auto which = static_cast<blockscale_role>(role);
    nb::list slots;
    for (size_t i = 0; i < blockscale_executable_slot_count(executable, which);
         ++i) {
      blockscale_slot slot;
      blockscale_executable_slot(executable, which, i, &slot);
      slots.append(nb::make_tuple(
          slot.type, static_cast<int>(slot.dtype),
          std::vector<int64_t>(slot.shape, slot.shape + slot.rank),
          slot.is_scalar != 0));
    }
    return slots;
  }

  nb::tuple getResultShapes(const std::vector<ArrayTuple> &arguments) const {
    std::vector<blockscale_array> arrays = toArrays(arguments);
    std::vector<std::vector<int64_t>> shapes;
    blockscale_status status = BLOCKSCALE_OK;
    std::string message;
    {
      nb::gil_scoped_release released;
      size_t count =
          blockscale_executable_slot_count(executable, BLOCKSCALE_RESULT);
      for (size_t i = 0; i < count && status == BLOCKSCALE_OK; ++i) {
        blockscale_slot slot;
        blockscale_executable_slot(executable, BLOCKSCALE_RESULT, i, &slot);
        std::vector<int64_t> &shape = shapes.emplace_back(slot.rank);
        status = blockscale_executable_result_shape(executable, arrays.data(),
                                                    arrays.size(), i,
                                                    shape.data(), shape.size());
      }
      message = getMessage(status);
    }
    return Watch(nb::none()).finish(status, message, shapes);
  }

  nb::tuple call(const std::vector<ArrayTuple> &arguments,
                 const std::vector<ArrayTuple> &results, uintptr_t stream,
                 bool acceptNanScales, bool adversarial, uint64_t seed,
                 nb::object progress) const {
    Watch watch(std::move(progress));
    std::vector<blockscale_array> from = toArrays(arguments);
    std::vector<blockscale_array> to = toArrays(results);
    blockscale_call_config config = blockscale_call_config_default();
    config.stream = reinterpret_cast<void *>(stream);
    config.accept_nan_scales = acceptNanScales;
    config.adversarial = adversarial;
    config.seed = seed;
    config.on_progress = Watch::onProgress;
    config.user = &watch;
    blockscale_status status;
    std::string message;
    {
      nb::gil_scoped_release released;
      status = blockscale_executable_call(executable, from.data(), from.size(),
                                          to.data(), to.size(), &config);
      message = getMessage(status);
    }
    return watch.finish(status, message, nb::none());
  }

  /// Makes it callable by XLA; it and the arrays, its last arguments, must live
  /// from then on.
  int64_t addToXla(const std::vector<ArrayTuple> &constants) const {
    std::vector<blockscale_array> arrays = toArrays(constants);
    return addXlaCall(executable, arrays.data(), arrays.size());
  }

private:
  blockscale_executable *executable;
};

nb::tuple createExecutable(const nb::bytes &source,
                           const std::string &sourceName, int place,
                           const std::optional<std::string> &entry,
                           const std::optional<std::string> &chip, int device,
                           bool fuse, const std::optional<std::string> &tuned,
                           nb::object progress,
                           const std::optional<std::string> &bytecodeReader,
                           const std::optional<std::string> &policy) {
  Watch watch(std::move(progress));
  blockscale_executable_config config = blockscale_executable_config_default();
  config.place = static_cast<blockscale_place>(place);
  config.entry = toPointer(entry);
  config.chip = toPointer(chip);
  config.device = device;
  config.no_fusion = !fuse;
  config.tuned = toPointer(tuned);
  config.source_name = sourceName.c_str();
  config.on_diagnostic = Watch::onDiagnostic;
  config.on_progress = Watch::onProgress;
  config.user = &watch;
  config.bytecode_reader = toPointer(bytecodeReader);
  config.policy = toPointer(policy);
  blockscale_executable *executable = nullptr;
  blockscale_status status;
  std::string message;
  {
    nb::gil_scoped_release released;
    status = blockscale_executable_create(source.data(), source.size(), &config,
                                          &executable);
    message = getMessage(status);
  }
  nb::object value = nb::none();
  if (executable)
    value = nb::cast(new Executable(executable), nb::rv_policy::take_ownership);
  return watch.finish(status, message, value);
}

} // namespace

NB_MODULE(_native, module) {
  module.attr("version") = blockscale_version();
  nb::list recipes;
  for (size_t i = 0; const char *name = blockscale_recipe_name(i); ++i)
    recipes.append(name);
  module.attr("recipes") = nb::tuple(recipes);
  module.def("status_name", [](int status) {
    return blockscale_status_name(static_cast<blockscale_status>(status));
  });
  module.def("dtype_name", [](int dtype) {
    return blockscale_dtype_name(static_cast<blockscale_dtype>(dtype));
  });
  module.def("set_num_threads", &blockscale_set_num_threads);
  module.def("compile", &compile, nb::arg("source"), nb::arg("source_name"),
             nb::arg("targets"), nb::arg("emission"), nb::arg("ptxas").none(),
             nb::arg("fuse"), nb::arg("tuned").none(), nb::arg("remarks"),
             nb::arg("keep_stages"), nb::arg("progress").none(),
             nb::arg("bytecode_reader").none() = nb::none(),
             nb::arg("policy").none() = nb::none());
  module.def("create_executable", &createExecutable, nb::arg("source"),
             nb::arg("source_name"), nb::arg("place"), nb::arg("entry").none(),
             nb::arg("chip").none(), nb::arg("device"), nb::arg("fuse"),
             nb::arg("tuned").none(), nb::arg("progress").none(),
             nb::arg("bytecode_reader").none() = nb::none(),
             nb::arg("policy").none() = nb::none());
  nb::class_<Executable>(module, "Executable")
      .def_prop_ro("entry", &Executable::getEntry)
      .def("slots", &Executable::getSlots, nb::arg("role"))
      .def("result_shapes", &Executable::getResultShapes, nb::arg("arguments"))
      .def("call", &Executable::call, nb::arg("arguments"), nb::arg("results"),
           nb::arg("stream"), nb::arg("accept_nan_scales"),
           nb::arg("adversarial"), nb::arg("seed"), nb::arg("progress").none())
      .def("add_to_xla", &Executable::addToXla, nb::arg("constants"));
  module.def("xla_handler", [] { return nb::capsule(getXlaHandler()); });
  defineExchange(module);
}

//===- Exchange.cpp - Arrays of other packages, by DLPack -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {

/// Keeps what it views alive.
class Exchanged {
public:
  Exchanged(nb::ndarray<nb::ro> array, bool isWritable)
      : array(std::move(array)), isWritable(isWritable) {}

  static Exchanged get(nb::handle object) {
    nb::ndarray<> writable;
    if (nb::try_cast(object, writable))
      return Exchanged(nb::ndarray<nb::ro>(writable), true);
    return Exchanged(nb::cast<nb::ndarray<nb::ro>>(object), false);
  }

  uintptr_t getAddress() const {
    return reinterpret_cast<uintptr_t>(array.data());
  }
  /// DLPack's code and the bits.
  std::tuple<int, int> getDType() const {
    nb::dlpack::dtype dtype = array.dtype();
    return {dtype.code, dtype.bits * dtype.lanes};
  }
  /// DLPack's type and the number of it.
  std::tuple<int, int> getDevice() const {
    return {array.device_type(), array.device_id()};
  }
  std::vector<int64_t> getShape() const {
    std::vector<int64_t> shape;
    for (size_t i = 0; i < array.ndim(); ++i)
      shape.push_back(array.shape(i));
    return shape;
  }
  std::vector<int64_t> getStrides() const {
    std::vector<int64_t> strides;
    for (size_t i = 0; i < array.ndim(); ++i)
      strides.push_back(array.stride(i));
    return strides;
  }
  bool getIsWritable() const { return isWritable; }

private:
  nb::ndarray<nb::ro> array;
  bool isWritable;
};

} // namespace

void defineExchange(nb::module_ &module) {
  nb::class_<Exchanged>(module, "Exchanged")
      .def_prop_ro("address", &Exchanged::getAddress)
      .def_prop_ro("dtype", &Exchanged::getDType)
      .def_prop_ro("device", &Exchanged::getDevice)
      .def_prop_ro("shape", &Exchanged::getShape)
      .def_prop_ro("strides", &Exchanged::getStrides)
      .def_prop_ro("is_writable", &Exchanged::getIsWritable);
  module.def("exchange", &Exchanged::get, nb::arg("object"));
}

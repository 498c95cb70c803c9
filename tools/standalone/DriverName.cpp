//===- DriverName.cpp - The driver's library of the wheel -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library without functions of its own: programs that load libcuda.so.1 get
// libcudart.so.13 with it, which has the driver's functions, and so the same
// device. In a build this name is a link, which a wheel cannot hold.
//
//===----------------------------------------------------------------------===//

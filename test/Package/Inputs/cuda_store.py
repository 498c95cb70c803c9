# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of CUDA: a kernel stores a number, which the driver's library (libcuda.so.1)
launches, and the runtime's (libcudart.so.13) reads. Both libraries have the same device.

    cuda_store.py [BYTE]      stores at this byte of four (default 0)

prints the number.
"""

import ctypes
import sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

KERNEL = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 to)
{
  .reg .b64 %to;
  ld.param.u64 %to, [to];
  st.global.u32 [%to], 7;
  ret;
}
"""

driver, runtime = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcudart.so.13")


def call(function, *arguments):
    code = function(*arguments)
    if code != 0:
        sys.exit(f"{function.__name__}: error {code}")


context, module, kernel, place = c_void_p(), c_void_p(), c_void_p(), c_void_p()
call(driver.cuInit, 0)
call(driver.cuDevicePrimaryCtxRetain, byref(context), 0)
call(driver.cuCtxPushCurrent_v2, context)
call(driver.cuModuleLoadDataEx, byref(module), KERNEL, 0, None, None)
call(driver.cuModuleGetFunction, byref(kernel), module, b"store")
call(driver.cuMemAlloc_v2, byref(place), c_size_t(4))
to = c_uint64(place.value + int(sys.argv[1] if len(sys.argv) > 1 else 0))
arguments = (c_void_p * 1)(ctypes.addressof(to))
call(driver.cuLaunchKernel, kernel, *[1] * 6, 0, None, arguments, None)
found = c_int()
TO_HOST = 2
call(runtime.cudaMemcpy, byref(found), place, c_size_t(4), TO_HOST)
print(found.value)
